"""The locks and rows of runs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ckanext.freshness.checking import run_records
from ckanext.freshness.ckan_adapter import database
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.database import is_held, locked_if_free
from ckanext.freshness.dates import utc
from ckanext.freshness.tests.checking.tables import (
    AFTER,
    BEFORE,
    DAY,
    LATER,
    NOW,
    sql,
)
from ckanext.freshness.tests.processes import WITH_LOCKS, end_connections

pytestmark = pytest.mark.usefixtures("tables")


# Locks.


def test_one_run_or_the_parts_of_one() -> None:
    assert not is_held(run_records.CHECKING)
    with locked_if_free(run_records.CHECKING) as run:
        assert run is not None and is_held(run_records.CHECKING)
        for alone in (True, False):
            with locked_if_free(run_records.CHECKING, shared=not alone) as other:
                assert other is None
        run.check()
    # Going all over the table holds a lock, but not this one.
    database.lock_checks(model.Session)
    assert not is_held(run_records.CHECKING)
    model.Session.commit()
    with (
        locked_if_free(run_records.CHECKING, shared=True),
        locked_if_free(run_records.CHECKING, shared=True) as part,
    ):
        assert part is not None
        with locked_if_free(run_records.CHECKING) as run:
            assert run is None
    assert not is_held(run_records.CHECKING)


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


# Runs.


def test_a_run_is_written_down() -> None:
    run_id = run_records.begin_run(NOW, {"everything": True})
    assert sql("SELECT id, kind, started_at, ended_at, options, resources FROM freshness_run") == [
        (run_id, "check", BEFORE, None, {"everything": True}, None)
    ]
    figures = run_records.RunFigures(
        {"nothing": 3}, {"0: Fresh": 1}, {"live": 1}, {"x.org": {"checks": 2}}, 2
    )
    run_records.end_run(run_id, LATER, figures)
    assert sql(
        "SELECT ended_at, resources, datasets, frequencies, hosts, checked, error FROM freshness_run"
    ) == [(AFTER, {"nothing": 3}, {"0: Fresh": 1}, {"live": 1}, {"x.org": {"checks": 2}}, 2, None)]
    run_records.end_run(run_id, LATER, error="no database")
    assert sql("SELECT error FROM freshness_run") == [("no database",)]


def test_what_is_old_is_pruned() -> None:
    keep = {"keep_runs": 730 * DAY, "keep_transitions": 1826 * DAY}
    second = timedelta(seconds=1)
    for age in (730 * DAY - second, 730 * DAY, 730 * DAY + second):
        run_records.begin_run(NOW - age, {})
    for age in (1826 * DAY - second, 1826 * DAY + second):
        sql(
            "INSERT INTO freshness_transition (package_id, to_status, changed_at, cause) "
            "VALUES ('p', 'fresh', :at, 'edit')",
            at=utc(NOW - age),
        )
    assert run_records.prune(NOW, **keep) == run_records.Pruned(runs=1, transitions=1)
    assert run_records.prune(NOW, **keep) == run_records.Pruned(runs=0, transitions=0)
