"""Fixtures of all rooms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa


@pytest.fixture
def clean_db(
    with_plugins: Any, reset_db: Callable[[], None], migrate_db_for: Callable[[str], None]
) -> None:
    """An empty database, with the tables of the plugins."""
    from ckan import model

    reset_db()
    if not sa.inspect(model.Session.get_bind()).has_table("freshness_harvest_hold"):
        for plugin in ("activity", "harvest", "freshness"):
            migrate_db_for(plugin)
