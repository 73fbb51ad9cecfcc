"""Counts of runs, and HDX's labels."""

from __future__ import annotations

import pickle
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.aging.frequency import AS_NEEDED, LIVE, NEVER
from ckanext.freshness.aging.status import Status
from ckanext.freshness.checking.decisions import (
    Agreement,
    Attempt,
    CheckResult,
    KnownContent,
    Outcome,
    ResourceToCheck,
)
from ckanext.freshness.checking.run_records import (
    ALL_HOSTS,
    FILESTORE,
    FIRST_RUN,
    HOSTS_KEPT,
    NOTHING,
    DatasetFact,
    RunCounts,
    metadata_change,
)
from ckanext.freshness.checking.selection import Candidate, SelectionReason
from ckanext.freshness.tests.checking.rows import NEW

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
BEFORE = NOW - timedelta(days=3)


def found(
    outcome: Outcome,
    package_id: str = "p",
    metadata: str = NOTHING,
    *,
    host: str = "example.org",
    modified: datetime | None = None,
    agreement: Agreement | None = None,
    etag: bool = False,
    last_modified: bool = False,
) -> CheckResult:
    return CheckResult(
        resource=ResourceToCheck(
            "r",
            package_id,
            f"http://{host}/",
            is_new=metadata == FIRST_RUN,
            is_touched=metadata == FILESTORE,
        ),
        host=host,
        outcome=outcome,
        memory=KnownContent(),
        attempt=Attempt(
            NOW,
            "GET",
            outcome,
            status=404 if outcome is Outcome.ERROR else 200,
            received=100,
            seconds=0.25,
        ),
        modified=modified,
        agreement=agreement,
        has_etag=etag,
        has_last_modified=last_modified,
    )


def see(counts: RunCounts, package_id: str, reason: SelectionReason, metadata: str) -> None:
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
    see(counts, result.resource.package_id, SelectionReason.FRESH, metadata)
    counts.checked(result)


# Resources


@pytest.mark.parametrize(
    ("metadata", "header", "outcome", "label"),
    [
        (NOTHING, False, Outcome.SAME_HASH, "same hash"),
        (FIRST_RUN, False, Outcome.FIRST_HASH, "first hash"),
        (NOTHING, False, Outcome.REPEAT_HASH, "repeat hash"),
        (NOTHING, False, Outcome.CHANGED, "hash"),
        (NOTHING, True, Outcome.CHANGED, "http header,hash"),
        (NOTHING, True, Outcome.HEADER, "http header"),
        (NOTHING, True, Outcome.SAME_HASH, "http header,same hash"),
        (FILESTORE, True, Outcome.CHANGED, "filestore,http header,hash"),
        (FILESTORE, False, Outcome.SAME_HASH, "filestore,same hash"),
        (FILESTORE, False, Outcome.ERROR, "filestore,error"),
        (NOTHING, False, Outcome.API, "api"),
        (NOTHING, False, Outcome.ERROR, "error"),
        (FIRST_RUN, False, Outcome.ERROR, "error"),
        (NOTHING, False, Outcome.NOT_MODIFIED, "not modified"),
        (NOTHING, False, Outcome.CANNOT_TELL, "cannot tell"),
        (NOTHING, False, Outcome.UNCONFIRMED, "unconfirmed"),
    ],
)
def test_labels_of_what_is_visited(
    metadata: str, header: bool, outcome: Outcome, label: str
) -> None:
    counts = RunCounts()
    see(counts, "p", SelectionReason.FRESH, metadata)
    counts.checked(found(outcome, metadata=metadata, modified=BEFORE if header else None))
    assert counts.resources() == {label: 1}


@pytest.mark.parametrize(
    ("verdict", "is_new", "is_touched", "label"),
    [
        (SelectionReason.INTERNAL, False, False, "internal-nothing"),
        (SelectionReason.INTERNAL, True, True, "internal-firstrun"),
        (SelectionReason.AD_HOC, False, False, "adhoc-nothing"),
        (SelectionReason.FRESH, False, False, "nothing"),
        (SelectionReason.ARCHIVED, False, False, "nothing"),
        (SelectionReason.CHECK_DUE, True, False, "firstrun"),
        (SelectionReason.RECENT, False, True, "filestore"),
        (SelectionReason.INTERNAL, False, True, "internal-filestore"),
    ],
)
def test_labels_of_what_is_chosen(
    verdict: SelectionReason, is_new: bool, is_touched: bool, label: str
) -> None:
    counts = RunCounts()
    counts.chosen(row(is_new=is_new, is_touched=is_touched), verdict)
    assert counts.resources() == {label: 1}
    assert counts.checks == 0


def test_requestable_datasets_are_left_out_wherever_their_resources_are() -> None:
    counts = RunCounts()
    counts.chosen(row(requestable=True), SelectionReason.INTERNAL)
    counts.dataset("p", Status.FRESH, LIVE)
    assert (counts.resources(), counts.datasets()) == ({}, {})


def row(*, is_new: bool = False, is_touched: bool = False, requestable: bool = False) -> Candidate:
    return NEW._replace(is_new=is_new, is_touched=is_touched, requestable=requestable)


# Datasets


@pytest.mark.parametrize(
    ("resources", "updated", "label"),
    [
        ([NOTHING], DatasetFact.NOTHING, "nothing"),
        ([FIRST_RUN], DatasetFact.NOTHING, "firstrun"),
        ([FIRST_RUN, NOTHING], DatasetFact.NOTHING, "nothing"),
        ([FILESTORE, NOTHING], DatasetFact.NOTHING, "filestore"),
        ([], DatasetFact.NOTHING, "no resources"),
        ([], DatasetFact.REVIEW, "no resources"),
        ([FIRST_RUN], DatasetFact.REVIEW, "review date"),
        ([NOTHING], DatasetFact.SCRIPT, "script update"),
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
        see(counts, "p", SelectionReason.INTERNAL, metadata)
    counts.updated("p", updated)
    counts.dataset("p", Status.FRESH, 7)
    assert counts.datasets() == {f"0: Fresh, Updated {label}": 1}


@pytest.mark.parametrize(
    ("outcomes", "label"),
    [
        ([Outcome.ERROR], "nothing,error"),
        ([Outcome.UNCONFIRMED], "nothing,error"),
        ([Outcome.ERROR, Outcome.ERROR], "nothing,error"),
        ([Outcome.ERROR, Outcome.SAME_HASH], "nothing"),
        ([Outcome.CANNOT_TELL], "nothing"),
        ([Outcome.CANNOT_TELL, Outcome.ERROR], "nothing"),
        ([Outcome.CHANGED, Outcome.ERROR], "hash"),
        ([], "nothing"),
    ],
)
def test_a_dataset_is_an_error_where_nothing_of_it_could_be_told(
    outcomes: list[Outcome], label: str
) -> None:
    counts = RunCounts()
    see(counts, "p", SelectionReason.FRESH, NOTHING)
    for outcome in outcomes:
        check(counts, found(outcome))
    counts.dataset("p", Status.DUE, 7)
    assert counts.datasets() == {f"1: Due, Updated {label}": 1}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (Status.FRESH, "0: Fresh"),
        (Status.DUE, "1: Due"),
        (Status.OVERDUE, "2: Overdue"),
        (Status.DELINQUENT, "3: Delinquent"),
        (Status.UNAVAILABLE, "Freshness Unavailable"),
    ],
)
def test_labels_of_statuses(status: Status, words: str) -> None:
    counts = RunCounts()
    see(counts, "p", SelectionReason.FRESH, NOTHING)
    counts.dataset("p", status, None)
    assert counts.datasets() == {f"{words}, Updated nothing": 1}


def test_always_fresh_ones_are_counted_where_there_are_resources() -> None:
    counts = RunCounts()
    for days in (LIVE, NEVER, NEVER, AS_NEEDED, 7, None):
        see(counts, "p", SelectionReason.FRESH, NOTHING)
        counts.dataset("p", Status.FRESH, days)
    counts.dataset("without resources", Status.UNAVAILABLE, NEVER)
    assert counts.frequencies() == {"live": 1, "never": 2, "as needed": 1}


# Hosts


def test_what_the_visits_to_a_host_were_like() -> None:
    counts = RunCounts()
    for finding in (
        found(Outcome.NOT_MODIFIED, "p", etag=True, last_modified=True),
        found(Outcome.SAME_HASH, "p", agreement=Agreement.AGREED, last_modified=True),
        found(Outcome.SAME_HASH, "q", agreement=Agreement.MOVED),
        found(Outcome.CHANGED, "r", agreement=Agreement.MISSED, etag=True),
        found(Outcome.ERROR, "s", etag=True),
        found(Outcome.CANNOT_TELL, "t", last_modified=True),
        found(Outcome.SAME_HASH, "q", host="other.org", etag=True),
    ):
        check(counts, finding)
    hosts = counts.hosts()
    assert hosts["example.org"] == {
        **{"checks": 6, "errors": 1, "blocked": 1, "bytes": 600, "seconds": 1.5, "answered": 4},
        **{"etag": 2, "last_modified": 2, "either": 3, "agreed": 1, "missed": 1, "moved": 1},
        **{"datasets": 3, "datasets_either": 2, "put_off": 0, "reason": "404"},
    }
    # A dataset with resources on two hosts is one of all.
    assert hosts[ALL_HOSTS]["datasets"] == 3
    assert hosts[ALL_HOSTS]["datasets_either"] == 3
    assert hosts[ALL_HOSTS]["checks"] == counts.checks == 7


def test_all_hosts_are_counted_and_those_in_trouble() -> None:
    counts, other = RunCounts(), RunCounts()
    for part, host, outcome in (
        (counts, "fine.org", Outcome.SAME_HASH),
        (counts, "fine.org", Outcome.CANNOT_TELL),
        (counts, "walled.org", Outcome.CANNOT_TELL),
        (other, "failing.org", Outcome.ERROR),
        (other, "failing.org", Outcome.SAME_HASH),
    ):
        check(part, found(outcome, host=host))
    counts.newly_broken, other.newly_broken, other.repaired = 1, 2, 4
    counts.merge(other)
    every = counts.hosts()[ALL_HOSTS]
    assert (every["hosts"], every["in_trouble"]) == (3, 2)
    assert (every["newly_broken"], every["repaired"]) == (3, 4)


def test_the_most_visited_hosts_are_kept() -> None:
    counts = RunCounts()
    for number in range(HOSTS_KEPT + 1):
        check(counts, found(Outcome.API, host=f"{number:04}.org"))
    check(counts, found(Outcome.API, host=f"{HOSTS_KEPT:04}.org"))
    hosts = counts.hosts()
    assert len(hosts) == HOSTS_KEPT + 1
    assert f"{HOSTS_KEPT - 1:04}.org" not in hosts and f"{HOSTS_KEPT:04}.org" in hosts
    assert hosts[ALL_HOSTS]["checks"] == HOSTS_KEPT + 2


# All together

RESOURCES = st.lists(
    st.tuples(
        st.sampled_from("pqr"),
        st.sampled_from([FIRST_RUN, NOTHING, FILESTORE]),
        st.one_of(st.none(), st.sampled_from(list(Outcome))),
        st.sampled_from(["a.org", "b.org"]),
        st.booleans(),
    ),
    max_size=12,
)


def counted(resources: list[tuple[str, str, Outcome | None, str, bool]]) -> RunCounts:
    counts = RunCounts()
    for package_id, metadata, outcome, host, etag in resources:
        if outcome is None:
            see(counts, package_id, SelectionReason.INTERNAL, metadata)
        else:
            check(counts, found(outcome, package_id, metadata, host=host, etag=etag))
    return counts


def results(counts: RunCounts) -> tuple[object, ...]:
    for package_id in "pqr":
        counts.dataset(package_id, Status.FRESH, LIVE)
    return counts.resources(), counts.datasets(), counts.frequencies(), counts.hosts()


@given(RESOURCES, st.integers(0, 12))
def test_parts_that_are_counted_apart_give_the_same(
    resources: list[tuple[str, str, Outcome | None, str, bool]], cut: int
) -> None:
    whole, part = counted(resources), counted(resources[:cut])
    part.merge(pickle.loads(pickle.dumps(counted(resources[cut:]))))
    assert results(part) == results(whole)
    assert sum(whole.resources().values()) == len(resources)
    assert sum(whole.datasets().values()) == 3
