"""Flags in, HDX's labels out."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.aging.frequency import AS_NEEDED, LIVE, NEVER
from ckanext.freshness.aging.status import Status
from ckanext.freshness.checking.decisions import Memory, Outcome
from ckanext.freshness.checking.results import Agreement, Attempt, Finding, Visit
from ckanext.freshness.checking.run_counts import (
    ALL_HOSTS,
    HOSTS_KEPT,
    Counting,
    Metadata,
    Place,
    Updated,
)
from ckanext.freshness.checking.selection import Row, Verdict
from ckanext.freshness.tests.checking.rows import NEW

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
BEFORE = NOW - timedelta(days=3)


def found(
    outcome: Outcome,
    package_id: str = "p",
    *,
    host: str = "example.org",
    modified: datetime | None = None,
    handed_to: str | None = None,
    agreement: Agreement | None = None,
    etag: bool = False,
    last_modified: bool = False,
) -> Finding:
    return Finding(
        visit=Visit("r", package_id, f"http://{host}/"),
        host=host,
        outcome=outcome,
        memory=Memory(),
        attempt=Attempt(NOW, "GET", outcome, received=100, seconds=0.25),
        modified=modified,
        agreement=agreement,
        has_etag=etag,
        has_last_modified=last_modified,
        handed_to=handed_to,
    )


def visit(counting: Counting, finding: Finding, metadata: Metadata = Metadata.NOTHING) -> None:
    counting.seen(finding.visit.package_id, Place.EXTERNAL, metadata)
    counting.visited(finding, metadata)


# Resources


@pytest.mark.parametrize(
    ("place", "metadata", "label"),
    [
        (Place.EXTERNAL, Metadata.NOTHING, "nothing"),
        (Place.EXTERNAL, Metadata.FIRST_RUN, "firstrun"),
        (Place.EXTERNAL, Metadata.FILESTORE, "filestore"),
        (Place.INTERNAL, Metadata.NOTHING, "internal-nothing"),
        (Place.INTERNAL, Metadata.FIRST_RUN, "internal-firstrun"),
        (Place.INTERNAL, Metadata.FILESTORE, "internal-filestore"),
        (Place.AD_HOC, Metadata.NOTHING, "adhoc-nothing"),
    ],
)
def test_labels_of_what_is_not_visited(place: Place, metadata: Metadata, label: str) -> None:
    counting = Counting()
    counting.seen("p", place, metadata)
    assert counting.resources() == {label: 1}
    assert counting.visits == 0


@pytest.mark.parametrize(
    ("metadata", "header", "outcome", "label"),
    [
        (Metadata.NOTHING, False, Outcome.SAME_HASH, "same hash"),
        (Metadata.FIRST_RUN, False, Outcome.FIRST_HASH, "first hash"),
        (Metadata.NOTHING, False, Outcome.REPEAT_HASH, "repeat hash"),
        (Metadata.NOTHING, False, Outcome.CHANGED, "hash"),
        (Metadata.NOTHING, True, Outcome.CHANGED, "http header,hash"),
        (Metadata.NOTHING, True, Outcome.HEADER, "http header"),
        (Metadata.NOTHING, True, Outcome.SAME_HASH, "http header,same hash"),
        (Metadata.FILESTORE, True, Outcome.CHANGED, "filestore,http header,hash"),
        (Metadata.FILESTORE, False, Outcome.SAME_HASH, "filestore,same hash"),
        (Metadata.FILESTORE, False, Outcome.ERROR, "filestore,error"),
        (Metadata.NOTHING, False, Outcome.API, "api"),
        (Metadata.NOTHING, False, Outcome.ERROR, "error"),
        (Metadata.FIRST_RUN, False, Outcome.ERROR, "error"),
        (Metadata.NOTHING, False, Outcome.NOT_MODIFIED, "not modified"),
        (Metadata.NOTHING, False, Outcome.CANNOT_TELL, "cannot tell"),
        (Metadata.NOTHING, False, Outcome.UNCONFIRMED, "unconfirmed"),
    ],
)
def test_labels_of_what_is_visited(
    metadata: Metadata, header: bool, outcome: Outcome, label: str
) -> None:
    counting = Counting()
    counting.seen("p", Place.EXTERNAL, metadata)
    counting.visited(found(outcome, modified=BEFORE if header else None), metadata)
    assert counting.resources() == {label: 1}


@pytest.mark.parametrize(
    ("verdict", "is_new", "is_touched", "label"),
    [
        (Verdict.INTERNAL, False, False, "internal-nothing"),
        (Verdict.INTERNAL, True, True, "internal-firstrun"),
        (Verdict.AD_HOC, False, False, "adhoc-nothing"),
        (Verdict.FRESH, False, False, "nothing"),
        (Verdict.ARCHIVED, False, False, "nothing"),
        (Verdict.VISIT_DUE, True, False, "firstrun"),
        (Verdict.RECENT, False, True, "filestore"),
    ],
)
def test_labels_of_what_is_chosen(
    verdict: Verdict, is_new: bool, is_touched: bool, label: str
) -> None:
    counting = Counting()
    counting.chosen(row(is_new=is_new, is_touched=is_touched), verdict)
    assert counting.resources() == {label: 1}


def test_requestable_datasets_are_left_out_wherever_their_resources_are() -> None:
    counting = Counting()
    counting.chosen(row(requestable=True), Verdict.INTERNAL)
    counting.dataset("p", Status.FRESH, LIVE)
    assert (counting.resources(), counting.datasets()) == ({}, {})


def row(*, is_new: bool = False, is_touched: bool = False, requestable: bool = False) -> Row:
    return replace(NEW, is_new=is_new, is_touched=is_touched, requestable=requestable)


def test_every_outcome_has_a_label_of_its_own() -> None:
    counting = Counting()
    for outcome in Outcome:
        visit(counting, found(outcome))
    assert len(counting.resources()) == len(Outcome)


def test_what_was_handed_on_is_not_visited() -> None:
    counting = Counting()
    visit(counting, found(Outcome.ERROR, handed_to="http://other.org/"))
    assert counting.resources() == {"nothing": 1}
    assert (counting.visits, counting.errors, counting.hosts()) == (0, 0, {})


# Datasets


@pytest.mark.parametrize(
    ("resources", "updated", "label"),
    [
        ([Metadata.NOTHING], Updated.NOTHING, "nothing"),
        ([Metadata.FIRST_RUN], Updated.NOTHING, "firstrun"),
        ([Metadata.FIRST_RUN, Metadata.NOTHING], Updated.NOTHING, "nothing"),
        ([Metadata.FILESTORE, Metadata.NOTHING], Updated.NOTHING, "filestore"),
        ([], Updated.NOTHING, "no resources"),
        ([], Updated.REVIEW, "no resources"),
        ([Metadata.FIRST_RUN], Updated.REVIEW, "review date"),
        ([Metadata.NOTHING], Updated.SCRIPT, "script update"),
        (
            [Metadata.FILESTORE],
            Updated.HASH | Updated.SCRIPT | Updated.REVIEW | Updated.HTTP_HEADER,
            "filestore,review date,script update,http header,hash",
        ),
    ],
)
def test_labels_of_datasets(resources: list[Metadata], updated: Updated, label: str) -> None:
    counting = Counting()
    for metadata in resources:
        counting.seen("p", Place.INTERNAL, metadata)
    counting.updated("p", updated)
    counting.dataset("p", Status.FRESH, 7)
    assert counting.datasets() == {f"0: Fresh, Updated {label}": 1}


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
    counting = Counting()
    counting.seen("p", Place.EXTERNAL, Metadata.NOTHING)
    for outcome in outcomes:
        visit(counting, found(outcome))
    counting.dataset("p", Status.DUE, 7)
    assert counting.datasets() == {f"1: Due, Updated {label}": 1}


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
    counting = Counting()
    counting.seen("p", Place.EXTERNAL, Metadata.NOTHING)
    counting.dataset("p", status, None)
    assert counting.datasets() == {f"{words}, Updated nothing": 1}


def test_always_fresh_ones_are_counted_where_there_are_resources() -> None:
    counting = Counting()
    for days in (LIVE, NEVER, NEVER, AS_NEEDED, 7, None):
        counting.seen("p", Place.EXTERNAL, Metadata.NOTHING)
        counting.dataset("p", Status.FRESH, days)
    counting.dataset("without resources", Status.UNAVAILABLE, NEVER)
    assert counting.frequencies() == {"live": 1, "never": 2, "as needed": 1}


def test_what_is_left_out_is_not_counted() -> None:
    counting = Counting()
    counting.leave_out("p")
    counting.dataset("p", Status.FRESH, LIVE)
    assert counting.datasets() == {}
    assert counting.frequencies() == {"live": 0, "never": 0, "as needed": 0}


# Hosts


def test_what_the_visits_to_a_host_were_like() -> None:
    counting = Counting()
    for finding in (
        found(Outcome.NOT_MODIFIED, "p", etag=True, last_modified=True),
        found(Outcome.SAME_HASH, "p", agreement=Agreement.AGREED, last_modified=True),
        found(Outcome.SAME_HASH, "q", agreement=Agreement.MOVED),
        found(Outcome.CHANGED, "r", agreement=Agreement.MISSED, etag=True),
        found(Outcome.ERROR, "s", etag=True),
        found(Outcome.CANNOT_TELL, "t", last_modified=True),
        found(Outcome.SAME_HASH, "q", host="other.org", etag=True),
    ):
        visit(counting, finding)
    hosts = counting.hosts()
    assert hosts["example.org"] == {
        **{"visits": 6, "errors": 1, "blocked": 1, "bytes": 600, "seconds": 1.5, "answered": 4},
        **{"etag": 2, "last_modified": 2, "either": 3, "agreed": 1, "missed": 1, "moved": 1},
        **{"datasets": 3, "datasets_either": 2, "put_off": 0},
    }
    # A dataset with resources on two hosts is one of all.
    assert hosts[ALL_HOSTS]["datasets"] == 3
    assert hosts[ALL_HOSTS]["datasets_either"] == 3
    assert hosts[ALL_HOSTS]["visits"] == counting.visits == 7


def test_the_most_visited_hosts_are_kept() -> None:
    counting = Counting()
    for number in range(HOSTS_KEPT + 1):
        visit(counting, found(Outcome.API, host=f"{number:04}.org"))
    visit(counting, found(Outcome.API, host=f"{HOSTS_KEPT:04}.org"))
    hosts = counting.hosts()
    assert len(hosts) == HOSTS_KEPT + 1
    assert f"{HOSTS_KEPT - 1:04}.org" not in hosts and f"{HOSTS_KEPT:04}.org" in hosts
    assert hosts[ALL_HOSTS]["visits"] == HOSTS_KEPT + 2


# All together

RESOURCES = st.lists(
    st.tuples(
        st.sampled_from("pqr"),
        st.sampled_from(list(Metadata)),
        st.one_of(st.none(), st.sampled_from(list(Outcome))),
        st.sampled_from(["a.org", "b.org"]),
        st.booleans(),
    ),
    max_size=12,
)


def counted(resources: list[tuple[str, Metadata, Outcome | None, str, bool]]) -> Counting:
    counting = Counting()
    for package_id, metadata, outcome, host, etag in resources:
        if outcome is None:
            counting.seen(package_id, Place.INTERNAL, metadata)
        else:
            visit(counting, found(outcome, package_id, host=host, etag=etag), metadata)
    return counting


def results(counting: Counting) -> tuple[object, ...]:
    for package_id in "pqr":
        counting.dataset(package_id, Status.FRESH, LIVE)
    return counting.resources(), counting.datasets(), counting.frequencies(), counting.hosts()


def test_one_process_visits_what_another_has_seen() -> None:
    seen, visited = Counting(), Counting()
    seen.seen("p", Place.EXTERNAL, Metadata.FIRST_RUN)
    visited.visited(found(Outcome.FIRST_HASH), Metadata.FIRST_RUN)
    for parts in ((seen, visited), (visited, seen)):
        whole = Counting()
        for part in parts:
            whole.merge(part)
        whole.dataset("p", Status.FRESH, 7)
        assert whole.resources() == {"first hash": 1}
        assert whole.datasets() == {"0: Fresh, Updated firstrun": 1}


@given(RESOURCES, st.integers(0, 12))
def test_parts_that_are_counted_apart_give_the_same(
    resources: list[tuple[str, Metadata, Outcome | None, str, bool]], cut: int
) -> None:
    whole, part = counted(resources), counted(resources[:cut])
    part.merge(pickle.loads(pickle.dumps(counted(resources[cut:]))))
    assert results(part) == results(whole)
    assert sum(whole.resources().values()) == len(resources)
    assert sum(whole.datasets().values()) == 3


def test_a_run_as_large_as_the_published_one() -> None:
    """The second published run's datasets, each with a resource that makes it so."""
    counting = Counting()
    rows = [
        (Status.FRESH, 16015, None, Updated.NOTHING),
        (Status.FRESH, 19, Outcome.ERROR, Updated.NOTHING),
        (Status.FRESH, 165, None, Updated.SCRIPT),
        (Status.DUE, 2, Outcome.SAME_HASH, Updated.FILESTORE),
        (Status.DUE, 259, Outcome.SAME_HASH, Updated.NOTHING),
        (Status.DUE, 27, Outcome.ERROR, Updated.NOTHING),
        (Status.OVERDUE, 26, Outcome.API, Updated.NOTHING),
        (Status.OVERDUE, 1, Outcome.ERROR, Updated.NOTHING),
        (Status.DELINQUENT, 5166, Outcome.NOT_MODIFIED, Updated.NOTHING),
        (Status.DELINQUENT, 24, Outcome.ERROR, Updated.NOTHING),
    ]
    frequencies = Counter({LIVE: 1248, NEVER: 3978, AS_NEEDED: 2163})
    always = iter(sorted(frequencies.elements()))
    for number, (status, count, outcome, updated) in enumerate(rows):
        for one in range(count):
            package_id = f"{number}-{one}"
            if outcome is None:
                counting.seen(package_id, Place.EXTERNAL, Metadata.NOTHING)
            else:
                visit(counting, found(outcome, package_id))
            counting.updated(package_id, updated)
            counting.dataset(package_id, status, next(always, None) if number == 0 else 7)
    for one in range(10):
        counting.dataset(f"empty {one}", Status.UNAVAILABLE, None)
    assert counting.datasets() == {
        "0: Fresh, Updated nothing": 16015,
        "0: Fresh, Updated nothing,error": 19,
        "0: Fresh, Updated script update": 165,
        "1: Due, Updated filestore": 2,
        "1: Due, Updated nothing": 259,
        "1: Due, Updated nothing,error": 27,
        "2: Overdue, Updated nothing": 26,
        "2: Overdue, Updated nothing,error": 1,
        "3: Delinquent, Updated nothing": 5166,
        "3: Delinquent, Updated nothing,error": 24,
        "Freshness Unavailable, Updated no resources": 10,
    }
    assert counting.frequencies() == {"live": 1248, "never": 3978, "as needed": 2163}
