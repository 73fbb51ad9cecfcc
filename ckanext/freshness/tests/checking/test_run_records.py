"""The locks and rows of runs."""

from __future__ import annotations

import pytest

from ckanext.freshness.checking import run_records
from ckanext.freshness.ckan_adapter import database
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.database import is_held, locked_if_free
from ckanext.freshness.tests.processes import WITH_LOCKS, end_connections

pytestmark = pytest.mark.usefixtures("tables")


# Locks.


def test_one_run_at_a_time() -> None:
    assert not is_held(run_records.CHECKING)
    with locked_if_free(run_records.CHECKING) as run:
        assert run is not None and is_held(run_records.CHECKING)
        with locked_if_free(run_records.CHECKING) as other:
            assert other is None
        run.check()
    # Going all over the table holds a lock, but not this one.
    database.lock_checks(model.Session)
    assert not is_held(run_records.CHECKING)
    model.Session.commit()


def test_lost_locks_are_noticed() -> None:
    with locked_if_free(run_records.CHECKING) as mine:
        assert mine is not None
        assert end_connections(WITH_LOCKS) == 1
        with pytest.raises(database.LocksLostError, match="The next run goes on"):
            mine.check()
        with pytest.raises(database.LocksLostError):
            mine.check()
    with locked_if_free(run_records.CHECKING) as mine:
        assert mine is not None
