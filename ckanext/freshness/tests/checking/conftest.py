"""What the tests of the checker's tables have in common."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def tables(request: pytest.FixtureRequest, with_plugins: Any) -> None:
    """Empty tables; the database is made once for the module."""
    import sqlalchemy as sa

    from ckanext.freshness.ckan_adapter import model
    from ckanext.freshness.tests.checking.tables import sql

    if not getattr(request.module, "is_made", False):
        request.getfixturevalue("clean_db")
        request.module.is_made = True  # type: ignore[attr-defined]
    model.Session.remove()
    own = [
        name
        for name in sa.inspect(model.Session.get_bind()).get_table_names()
        if name.startswith("freshness_") and not name.endswith("_alembic_version")
    ]
    sql(f"TRUNCATE package, {', '.join(own)} CASCADE")
