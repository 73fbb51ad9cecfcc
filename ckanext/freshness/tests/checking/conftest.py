"""Fixtures for tests of checks and of our tables."""

from __future__ import annotations

import pytest

from ckanext.freshness.tests.web.conftest import server, session_server  # noqa: F401


@pytest.fixture
def tables(kept_db: None) -> None:
    """Empty our tables. The rest of the database is emptied once for each module."""
    import sqlalchemy as sa

    from ckanext.freshness.ckan_adapter.core import model
    from ckanext.freshness.tests.checking.tables import sql

    own = [
        name
        for name in sa.inspect(model.Session.get_bind()).get_table_names()
        if name.startswith("freshness_") and not name.endswith("_alembic_version")
    ]
    sql(f"TRUNCATE package, {', '.join(own)} CASCADE")
