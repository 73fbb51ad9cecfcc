"""The upgrade of a site from CKAN 2.11 to 2.12, whose extras have another storage."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from ckan.tests import factories

from ckanext.freshness.ckan_adapter.core import IS_2_12, model
from ckanext.freshness.status.refresh import RefreshCounts, refresh
from ckanext.freshness.tests.datasets import stored
from ckanext.freshness.tests.processes import disconnect

pytestmark = [
    pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index"),
    pytest.mark.skipif(not IS_2_12, reason="CKAN 2.11 cannot upgrade to 2.12"),
]

HEAD_OF_2_11 = "4a5e3465beb6"
"""The last of CKAN's migrations that 2.11 has; the next one moves the extras into the table of packages."""


@pytest.fixture
def newest_tables() -> Iterator[None]:
    """Leave CKAN's tables as other tests expect them."""
    yield
    disconnect()
    model.repo.upgrade_db()


def test_extras_of_2_11(newest_tables: None) -> None:
    made = factories.Dataset(
        extras=[{"key": "frequency", "value": "weekly"}, {"key": "zone", "value": "3"}],
        resources=[{"url": "http://x.org/1"}],
    )
    had = stored(made["id"])
    assert had["freshness"] == "fresh"
    disconnect()
    model.repo.downgrade_db(HEAD_OF_2_11)
    statement = "SELECT key, value FROM package_extra WHERE package_id = :id"
    with model.meta.engine.connect() as connection:
        rows: Any = connection.execute(sa.text(statement), {"id": made["id"]})
        assert {key: value for key, value in rows} == had, "as CKAN 2.11 stores them"

    disconnect()
    model.repo.upgrade_db()
    assert stored(made["id"]) == had
    now = datetime.now(timezone.utc)
    assert refresh(now) == RefreshCounts()
    assert refresh(now, everything=True).changed == 0
    assert refresh(now + timedelta(days=8)).changed == 1
    assert stored(made["id"]) == {**had, "freshness": "due"}
