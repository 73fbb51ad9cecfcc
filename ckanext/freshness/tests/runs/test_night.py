"""The nightly run: each part is done even if others fail, by one process at a time."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from ckan import model
from ckan.cli.cli import ckan

from ckanext.freshness.ckan_adapter.database import locked
from ckanext.freshness.cli import site
from ckanext.freshness.interfaces import NightPart, PartReport
from ckanext.freshness.model import CheckRun, FreshnessTransition
from ckanext.freshness.reporting import counts
from ckanext.freshness.runs import night
from ckanext.freshness.runs.night import (
    LOCK,
    NightRunningError,
    nightly,
)
from ckanext.freshness.tests.clock import freeze_time
from ckanext.freshness.tests.conftest import Act

pytestmark = pytest.mark.usefixtures("kept_db")

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def no_runs(kept_db: None) -> None:
    model.Session.query(CheckRun).delete()
    model.Session.commit()


@pytest.fixture
def hours() -> Iterator[datetime]:
    return (NOW + timedelta(hours=number) for number in range(100))


def noted() -> list[tuple[str, str | None]]:
    """Return the kinds and errors of the stored runs."""
    rows = model.Session.query(CheckRun.kind, CheckRun.error).order_by(CheckRun.started_at)
    return [tuple(row) for row in rows]


def test_what_fails_is_written_down_and_the_others_are_done(
    hours: Iterator[datetime], caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(now: datetime) -> PartReport:
        # What the part left behind in the session is nobody else's business.
        model.Session.execute(sa.text("SELECT nothing"))
        return PartReport("never")

    parts = [
        NightPart("refresh", lambda now: PartReport("Solr is away", complete=False)),
        NightPart("prune", breaks),
        NightPart("report", lambda now: PartReport("all")),
        NightPart("notify", lambda now: PartReport("no luck", complete=False), is_noted=False),
    ]
    with caplog.at_level(logging.ERROR):
        done = list(nightly(parts, lambda: next(hours)))
    assert [report.complete for _, report in done] == [False, False, True, False]
    assert "The nightly prune failed" in caplog.text and "Traceback" in caplog.text
    (first, second) = noted()
    assert first == ("nightly", "refresh: Solr is away")
    assert second[0] == "nightly" and str(second[1]).startswith("prune: ProgrammingError: ")
    row = model.Session.query(CheckRun).filter_by(error=first[1]).one()
    assert (row.started_at, row.ended_at) == (
        NOW.replace(tzinfo=None),
        (NOW + timedelta(hours=1)).replace(tzinfo=None),
    )


def test_only_one_works_at_a_time(hours: Iterator[datetime]) -> None:
    parts = [NightPart("one", lambda now: pytest.fail("not to be done"))]
    with locked(LOCK), pytest.raises(NightRunningError, match="under way"):
        list(nightly(parts, lambda: next(hours)))


@pytest.mark.usefixtures("impatient_checks")
def test_the_nightly_command(act: Act, cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    extras = [{"key": "frequency", "value": "7"}, {"key": "review_date", "value": "2026-01-01"}]
    with freeze_time(NOW - timedelta(days=58)):
        made = act(
            "package_create",
            name="nightly",
            extras=extras,
            resources=[{"url": "http://127.0.0.1:9/"}],
        )
    done = cli.invoke(ckan, ["freshness", "nightly"])
    assert done.exit_code == 0, done.output
    assert "refresh: Computed the status of 1 dataset: 1 new" in done.output
    assert (
        "prune: Deleted 0 runs, 0 changes of statuses, 0 changes of data and 0 days of history"
        in done.output
    )
    shown = act("package_show", id=made["id"])["extras"]
    assert {one["key"]: one["value"] for one in shown}["freshness"] == "delinquent"
    with locked(LOCK):
        done = cli.invoke(ckan, ["freshness", "nightly"])
    assert done.exit_code == 1
    assert "Another nightly run is under way" in done.output
    failing = NightPart("extra", lambda now: PartReport("no luck", complete=False))
    parts = site.parts()
    monkeypatch.setattr(site, "parts", lambda: [failing, *parts])
    done = cli.invoke(ckan, ["freshness", "nightly"])
    assert done.exit_code == 1
    assert "extra: no luck" in done.output
    assert "refresh: Computed the statuses of 0 datasets" in done.output
    assert "These parts of the nightly run failed: extra" in done.output


def test_prune_forgets_what_is_older_than_the_options_say(
    kept_db: None, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    common: dict[str, Any] = {"kind": "check", "options": {}, "version": "1"}
    ages = {"old": 10.1, "young": 9.9}
    model.Session.add_all(
        CheckRun(id=name, started_at=now - timedelta(days=days), **common)
        for name, days in ages.items()
    )
    model.Session.add_all(
        FreshnessTransition(
            package_id=name,
            to_status="due",
            changed_at=now - timedelta(days=days * 2),
            cause="time",
        )
        for name, days in ages.items()
    )
    model.Session.commit()
    monkeypatch.setattr(night, "KEEP_RUNS", timedelta(days=10))
    monkeypatch.setattr(counts, "KEEP", timedelta(days=20))
    done = cli.invoke(ckan, ["freshness", "prune"])
    assert done.exit_code == 0, done.output
    assert "Deleted 1 run, " in done.output
    left = model.Session.query(CheckRun.id).filter(CheckRun.id.in_(ages)).all()
    assert [one.id for one in left] == ["young"]
    kept = model.Session.query(FreshnessTransition.package_id)
    assert [one.package_id for one in kept.filter(FreshnessTransition.package_id.in_(ages))] == [
        "young"
    ]


def test_nothing_is_left_of_purged_datasets(act: Act, cli: Any, impatient_checks: None) -> None:
    """CKAN calls no hook when a dataset is purged."""
    url = "http://127.0.0.1:9/gone.csv"
    purged = act("package_create", name="purged", resources=[{"url": url}])
    assert cli.invoke(ckan, ["freshness", "check", "--all"]).exit_code == 0
    columns = sa.inspect(model.Session.get_bind())
    tables = [
        table
        for table in columns.get_table_names()
        if table.startswith("freshness_")
        and "package_id" in {column["name"] for column in columns.get_columns(table)}
    ]

    def left() -> dict[str, int]:
        statement = "SELECT count(*) FROM {} WHERE package_id = :id"
        counts = {
            table: model.Session.execute(
                sa.text(statement.format(table)), {"id": purged["id"]}
            ).scalar()
            for table in tables
        }
        model.Session.rollback()
        return {table: count for table, count in counts.items() if count}

    before = left()
    assert {"freshness_check", "freshness_dataset", "freshness_resource"} <= before.keys()
    act("dataset_purge", id=purged["id"])
    assert cli.invoke(ckan, ["freshness", "nightly"]).exit_code == 0
    assert left() == {}
