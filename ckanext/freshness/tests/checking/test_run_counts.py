"""Counts of runs, and HDX's labels."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from ckanext.freshness.aging.status import Status
from ckanext.freshness.checking.decisions import (
    Attempt,
    CheckResult,
    Outcome,
)
from ckanext.freshness.checking.run_records import (
    ALL_HOSTS,
    FILESTORE,
    FIRST_RUN,
    NOTHING,
    DatasetFact,
    RunCounts,
    metadata_change,
)
from ckanext.freshness.checking.selection import LeftOut
from ckanext.freshness.tests.checking.rows import NEW, finding, visit
from ckanext.freshness.web.errors import FailureReason

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
BEFORE = NOW - timedelta(days=3)


def found(
    outcome: Outcome,
    package_id: str = "p",
    metadata: str = NOTHING,
    *,
    host: str = "example.org",
    modified: datetime | None = None,
) -> CheckResult:
    resource = visit(is_new=metadata == FIRST_RUN, is_touched=metadata == FILESTORE)
    status = 404 if outcome is Outcome.ERROR else 200
    return finding(
        outcome,
        resource=resource._replace(package_id=package_id),
        host=host,
        attempt=Attempt(NOW, outcome, status, received=100, seconds=0.25, modified=modified),
    )


def see(counts: RunCounts, package_id: str, reason: LeftOut | None, metadata: str) -> None:
    counts.chosen(
        NEW._replace(
            package_id=package_id,
            is_new=metadata == FIRST_RUN,
            is_touched=metadata == FILESTORE,
        ),
        reason,
    )


def check(counts: RunCounts, result: CheckResult) -> None:
    metadata = metadata_change(result.resource)
    see(counts, result.resource.package_id, None, metadata)
    counts.checked(result)


# Resources


@pytest.mark.parametrize(
    ("metadata", "header", "outcome", "label"),
    [
        (NOTHING, False, Outcome.SAME_HASH, "same hash"),
        (NOTHING, True, Outcome.HEADER, "http header"),
        (FILESTORE, True, Outcome.CHANGED, "filestore,http header,hash"),
        (NOTHING, False, Outcome.ERROR, "error"),
    ],
)
def test_labels_of_what_is_visited(
    metadata: str, header: bool, outcome: Outcome, label: str
) -> None:
    counts = RunCounts()
    see(counts, "p", None, metadata)
    counts.checked(found(outcome, metadata=metadata, modified=BEFORE if header else None))
    assert counts.columns()["resources"] == {label: 1}


def test_a_link_is_put_off_only_if_it_was_not_asked() -> None:
    reason = FailureReason.HOST_SILENT.value
    assert finding(Outcome.CANNOT_TELL, reason=reason).is_put_off
    # Its second download was not asked for.
    assert not finding(Outcome.UNCONFIRMED, reason=reason).is_put_off


# Datasets


@pytest.mark.parametrize(
    ("resources", "updated", "label"),
    [
        ([FILESTORE, NOTHING], DatasetFact.NOTHING, "filestore"),
        ([], DatasetFact.NOTHING, "no resources"),
        ([FIRST_RUN], DatasetFact.REVIEW, "review date"),
        (
            [FILESTORE],
            DatasetFact.HASH | DatasetFact.SCRIPT | DatasetFact.REVIEW | DatasetFact.HTTP_HEADER,
            "filestore,review date,script update,http header,hash",
        ),
    ],
)
def test_labels_of_datasets(resources: list[str], updated: DatasetFact, label: str) -> None:
    counts = RunCounts()
    for metadata in resources:
        see(counts, "p", LeftOut.INTERNAL, metadata)
    counts.updated("p", updated)
    counts.dataset("p", Status.FRESH, 7)
    assert counts.columns()["datasets"] == {f"0: Fresh, Updated {label}": 1}


@pytest.mark.parametrize(
    ("outcomes", "label"),
    [
        ([Outcome.ERROR], "nothing,error"),
        ([Outcome.UNCONFIRMED], "nothing,error"),
        ([Outcome.ERROR, Outcome.SAME_HASH], "nothing"),
        ([Outcome.CANNOT_TELL, Outcome.ERROR], "nothing"),
        ([Outcome.CHANGED, Outcome.ERROR], "hash"),
    ],
)
def test_a_dataset_is_an_error_where_nothing_of_it_could_be_told(
    outcomes: list[Outcome], label: str
) -> None:
    counts = RunCounts()
    see(counts, "p", None, NOTHING)
    for outcome in outcomes:
        check(counts, found(outcome))
    counts.dataset("p", Status.DUE, 7)
    assert counts.columns()["datasets"] == {f"1: Due, Updated {label}": 1}


# Hosts


def test_all_hosts_are_counted() -> None:
    counts = RunCounts()
    for host, outcome in (
        ("fine.org", Outcome.SAME_HASH),
        ("fine.org", Outcome.CANNOT_TELL),
        ("failing.org", Outcome.ERROR),
    ):
        check(counts, found(outcome, host=host))
    silent = finding(Outcome.CANNOT_TELL, reason=FailureReason.HOST_SILENT.value)
    counts.checked(silent)
    counts.newly_broken, counts.repaired = 3, 4
    assert (counts.checks, counts.errors) == (3, 1)
    assert counts.columns()["hosts"] == {
        ALL_HOSTS: {"bytes": 300, "hosts": 2, "put_off": 1, "newly_broken": 3, "repaired": 4}
    }
