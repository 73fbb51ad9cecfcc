"""The stream of data changes: what is written by checks and harvests, and what is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import sqlalchemy as sa

from ckanext.freshness import settings
from ckanext.freshness.aging.evidence import DatedEvidence, Evidence
from ckanext.freshness.checking import check_rows, data_changes
from ckanext.freshness.checking.decisions import (
    Attempt,
    CheckResult,
    KnownContent,
    Outcome,
    ResourceToCheck,
)
from ckanext.freshness.checking.formats import TableShape
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.dates import utc_text
from ckanext.freshness.reporting import links
from ckanext.freshness.status import conclusions
from ckanext.freshness.status.changes import changes_of_data
from ckanext.freshness.status.snapshot import DatasetSnapshot, ResourceSnapshot
from ckanext.freshness.tests import datasets
from ckanext.freshness.tests.clock import freeze_time
from ckanext.freshness.tests.datasets import Act

pytestmark = pytest.mark.usefixtures("kept_db")

Dataset = dict[str, Any]

MADE = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)
OLD = KnownContent(hash="sha256:old")
NEW = KnownContent(hash="sha256:new")


def new(act: Act) -> Dataset:
    with freeze_time(MADE):
        dataset = datasets.new(act)
    check_rows.sync(MADE, settings.aging().dataset_types)
    return dataset


def result(
    dataset: Dataset,
    now: datetime,
    outcome: Outcome,
    before: KnownContent,
    after: KnownContent,
    **more: Any,
) -> CheckResult:
    resource = dataset["resources"][0]
    asked = ResourceToCheck(resource["id"], dataset["id"], resource["url"], before)
    attempt = Attempt(now, outcome)
    return CheckResult(asked, "x.org", outcome, after, attempt, hashed=True, **more)


def conclude(now: datetime, *results: CheckResult) -> None:
    conclusions.write(results, "run", now, now)


def changes(dataset: Dataset) -> list[dict[str, Any]]:
    model.Session.remove()
    rows = model.Session.execute(
        sa.text("SELECT * FROM freshness_change WHERE package_id = :id ORDER BY seen_at"),
        {"id": dataset["id"]},
    )
    return [dict(row) for row in rows.mappings()]


def at(moment: datetime) -> datetime:
    return moment.replace(tzinfo=None)


def test_a_check_writes_a_confirmed_change_with_both_states(act: Act) -> None:
    dataset = new(act)
    first = {"size": 10, "mimetype": "text/csv"}
    conclude(
        MADE + DAY, result(dataset, MADE + DAY, Outcome.FIRST_HASH, KnownContent(), OLD, **first)
    )
    for day, outcome in ((2, Outcome.NOT_MODIFIED), (3, Outcome.ERROR)):
        conclude(MADE + day * DAY, result(dataset, MADE + day * DAY, outcome, OLD, OLD))
    assert changes(dataset) == []
    seen = MADE + 4 * DAY
    second = {"size": 12, "mimetype": "application/json", "changed_at": seen}
    conclude(seen, result(dataset, seen, Outcome.CHANGED, OLD, NEW, **second))
    (change,) = changes(dataset)
    assert change | {"id": "", "position": None} == {
        "id": "",
        "position": None,
        "package_id": dataset["id"],
        "resource_id": dataset["resources"][0]["id"],
        "seen_at": at(seen),
        "changed_after": at(MADE + 2 * DAY),
        "changed_before": at(seen),
        "stated_at": None,
        "evidence": "hash",
        "hash_before": "sha256:old",
        "hash_after": "sha256:new",
        "size_before": 10,
        "size_after": 12,
        "media_type_before": "text/csv",
        "media_type_after": "application/json",
        "summary": None,
    }


def test_a_change_says_what_changed_in_the_tables(act: Act) -> None:
    dataset = new(act)
    old, more, most = (
        [TableShape(None, rows, columns)]
        for rows, columns in ((3, ["a"]), (5, ["a", "b"]), (9, ["a", "b"]))
    )
    outdated = replace(NEW, outdated=True)
    steps: list[tuple[Outcome, KnownContent, KnownContent, Any]] = [
        (Outcome.FIRST_HASH, KnownContent(), OLD, old),
        (Outcome.SAME_HASH, OLD, OLD, None),
        (Outcome.CHANGED, OLD, NEW, more),
        # A newer date, whose file is read later: it is not known which of both changes did what.
        (Outcome.FIRST_HASH, outdated, OLD, most),
        (Outcome.REPEAT_HASH, OLD, NEW, None),
        (Outcome.CHANGED, NEW, OLD, old),
        (Outcome.CHANGED, OLD, NEW, []),
        (Outcome.CHANGED, NEW, OLD, old),
    ]
    for day, (outcome, before, after, shape) in enumerate(steps, 1):
        now = MADE + day * DAY
        dates = {"changed_at": now} if outcome is Outcome.CHANGED else {"modified": now}
        conclude(now, result(dataset, now, outcome, before, after, shape=shape, **dates))
        newest = [utc_text(one["seen_at"]) for one in changes(dataset)[-1:]] or [None]
        link = links.of_resource(dataset["resources"][0]["id"])
        assert link and [link["changed_at"]] == newest, "the link on the page says the same"
    assert [one["summary"] for one in changes(dataset)] == [
        {"tables": [{"name": None, "rows": [3, 5], "added": ["b"]}]},
        *([None] * 4),
    ]


# The rules for dates that a source or a script states, without a site.


def piece(evidence: Evidence, day: int, resource: str | None = "r") -> DatedEvidence:
    return DatedEvidence(MADE + day * DAY, evidence, resource)


def snapshot(*pieces: DatedEvidence, is_known: bool = True, **more: Any) -> DatasetSnapshot:
    class Row:
        judge_anew = False

    resource = ResourceSnapshot(
        *("r", "", "http://x.org/", None, "", MADE, None, {}, is_known, None, None),
        *(None, None, False, False, None, None, (), None, (), None),
    )
    dataset = DatasetSnapshot("p", "dataset", {}, True, None, {}, Row(), [resource], [], pieces)
    return replace(dataset, **more)


HARVEST = piece(Evidence.HARVEST, 1)
WHOLE = piece(Evidence.HARVEST, 1, None)
STATED: list[tuple[str, DatasetSnapshot, list[DatedEvidence], list[str | None]]] = [
    ("a newer date", snapshot(HARVEST), [piece(Evidence.HARVEST, 2)], ["r"]),
    ("the first date", snapshot(), [HARVEST], []),
    (
        "a date of a new resource",
        snapshot(HARVEST, is_known=False),
        [piece(Evidence.HARVEST, 2)],
        [],
    ),
    (
        "a date before a change that a check has seen",
        snapshot(HARVEST, piece(Evidence.HASH, 5)),
        [piece(Evidence.HARVEST, 4), piece(Evidence.HASH, 5)],
        [],
    ),
    (
        "of the dataset and its resource",
        snapshot(HARVEST, WHOLE),
        [piece(Evidence.HARVEST, 2), replace(WHOLE, when=MADE + 2 * DAY)],
        ["r"],
    ),
    (
        "of a script",
        snapshot(piece(Evidence.SCRIPT, 1, None)),
        [piece(Evidence.SCRIPT, 2, None)],
        [None],
    ),
    ("a review", snapshot(WHOLE), [WHOLE, piece(Evidence.REVIEW, 9, None)], []),
]


@pytest.mark.parametrize(
    ("before", "after", "expected"), [one[1:] for one in STATED], ids=[one[0] for one in STATED]
)
def test_stated_dates_that_show_a_change(
    before: DatasetSnapshot, after: list[DatedEvidence], expected: list[str | None]
) -> None:
    found = changes_of_data(before, after, [], MADE + 9 * DAY)
    assert [one.resource_id for one in found] == expected
    assert changes_of_data(before, after, after, MADE + 9 * DAY) == []


def test_old_changes_are_pruned(act: Act) -> None:
    dataset = new(act)
    for name, day in (("old", 1), ("kept", 2)):
        seen = MADE + day * DAY
        data_changes.write(
            [data_changes.DataChange(dataset["id"], name, Evidence.HASH, seen, seen)]
        )
    model.Session.commit()
    assert data_changes.prune(MADE + 1.5 * DAY + data_changes.KEEP) == 1
    assert [one["resource_id"] for one in changes(dataset)] == ["kept"]
