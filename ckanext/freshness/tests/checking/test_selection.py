"""Which resources a run visits: each rule, and the moments around each boundary."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.checking.rotation import SelectedResource, Selection, rotation_budget
from ckanext.freshness.checking.selection import (
    SHARDS,
    SLACK,
    Candidate,
    Intervals,
    NextCheck,
    SelectionReason,
    SelectionRules,
    choose,
    is_broken,
    next_visit,
    shard_of,
)
from ckanext.freshness.tests.checking.rows import NEW, NOW

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
LONG_AGO = NOW - 400 * DAY
RULES = SelectionRules(internal_hosts={"data.example.org"}, adhoc_hosts={"proxy.example.org"})


def hashed(at: datetime, **more: Any) -> dict[str, Any]:
    """A resource whose last visit found it, and hashed it."""
    return {
        "has_hash": True,
        "hashed_at": at,
        "visited_at": at,
        "tried_at": at,
        "succeeded_at": at,
        **more,
    }


def failed(visited_at: datetime, failures: int, **more: Any) -> dict[str, Any]:
    """One whose last visits failed, and that was never found."""
    return {"visited_at": visited_at, "tried_at": visited_at, "failures": failures, **more}


def verdict(rules: SelectionRules = RULES, **facts: Any) -> SelectionReason:
    return choose(replace(NEW, **facts), NOW, rules).verdict


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, SelectionReason.VISIT_DUE),
        ({"due": NOW - SECOND}, SelectionReason.VISIT_DUE),
        ({"due": NOW}, SelectionReason.VISIT_DUE),
        ({"due": NOW + SECOND}, SelectionReason.FRESH),
        ({"due": None}, SelectionReason.VISIT_NO_DATE),
        ({"frequency_days": 1, "due": NOW + DAY}, SelectionReason.VISIT_DAILY),
        ({"frequency_days": 1, "due": None}, SelectionReason.VISIT_DAILY),
        ({"frequency_days": 2, "due": NOW + DAY}, SelectionReason.FRESH),
        ({"frequency_days": 0, "due": None}, SelectionReason.ALWAYS_FRESH),
        ({"frequency_days": -1, "due": None}, SelectionReason.ALWAYS_FRESH),
        ({"frequency_days": -2, "due": None}, SelectionReason.ALWAYS_FRESH),
        ({"frequency_days": None, "due": None}, SelectionReason.NO_FREQUENCY),
        ({"assessed": False, "frequency_days": None, "due": None}, SelectionReason.NOT_ASSESSED),
        ({"host": ""}, SelectionReason.VISIT_DUE),
    ],
)
def test_the_datasets_status_decides(facts: dict[str, Any], expected: SelectionReason) -> None:
    assert verdict(**facts) is expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"url_type": "upload"}, SelectionReason.INTERNAL),
        ({"url_type": "datastore"}, SelectionReason.VISIT_DUE),
        ({"host": "data.example.org"}, SelectionReason.INTERNAL),
        ({"host": "sub.data.example.org"}, SelectionReason.VISIT_DUE),
        ({"host": "proxy.example.org"}, SelectionReason.AD_HOC),
        ({"archived": True}, SelectionReason.ARCHIVED),
        ({"requestable": True}, SelectionReason.REQUESTABLE),
        ({"archived": True, "url_type": "upload"}, SelectionReason.INTERNAL),
        ({"archived": True, "host": "proxy.example.org"}, SelectionReason.ARCHIVED),
    ],
)
@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("unconfirmed", [False, True])
def test_some_are_left_out_whatever_their_status(
    facts: dict[str, Any], expected: SelectionReason, everything: bool, unconfirmed: bool
) -> None:
    rules = replace(RULES, everything=everything, at_once=everything)
    choice = choose(replace(NEW, unconfirmed=unconfirmed, **facts), NOW, rules)
    if expected is SelectionReason.VISIT_DUE:
        assert choice.verdict.visits
    else:
        assert choice.verdict is expected
        assert not choice.is_candidate


INTERVALS = [
    (1, 1), (2, 1), (30, 1), (31, 3), (180, 3), (181, 7), (365, 7), (730, 7),
]  # fmt: skip


@pytest.mark.parametrize(("frequency", "days"), INTERVALS)
@pytest.mark.parametrize(("late", "visits"), [(-SECOND, False), (0 * SECOND, True), (SECOND, True)])
def test_low_frequencies_are_visited_less_often(
    frequency: int, days: int, late: timedelta, visits: bool
) -> None:
    # An hour early, since runs do not start at the same second each night.
    at = NOW - days * DAY + HOUR - late
    facts = hashed(at, frequency_days=frequency)
    assert verdict(**facts).visits is visits
    if not visits:
        assert verdict(**facts) is SelectionReason.RECENT
        assert verdict(replace(RULES, at_once=True), **facts).visits


def test_the_intervals_are_the_sites() -> None:
    rules = replace(RULES, intervals=Intervals(((7, 2 * DAY),), 5 * DAY))
    ages = {
        days: next(
            age
            for age in range(1, 8)
            if verdict(rules, **hashed(NOW - age * DAY, frequency_days=days)).visits
        )
        for days in (1, 7, 8, 365)
    }
    assert ages == {1: 2, 7: 2, 8: 5, 365: 5}


@pytest.mark.parametrize(
    ("frequency", "failures", "days"),
    [
        *((30, failures, days) for failures, days in enumerate([1, 1, 2, 4, 7, 7, 7])),
        *((1, failures, days) for failures, days in enumerate([1, 1, 2, 4, 7])),
        *((180, failures, days) for failures, days in enumerate([3, 3, 6, 7, 7])),
        *((365, failures, days) for failures, days in enumerate([7, 7, 7])),
        (30, 10**6, 7),
        (30, 2**31 - 1, 7),
    ],
)
def test_what_fails_is_asked_less_and_less_often(frequency: int, failures: int, days: int) -> None:
    at = NOW - days * DAY + HOUR

    def seen(visited_at: datetime) -> SelectionReason:
        return verdict(**failed(visited_at, failures, frequency_days=frequency))

    assert seen(at).visits
    assert seen(at - SECOND).visits
    assert seen(at + SECOND) is (
        SelectionReason.BACKING_OFF if failures else SelectionReason.RECENT
    )


def test_an_interval_longer_than_the_longest_back_off_stays() -> None:
    rules = replace(RULES, intervals=Intervals((), 20 * DAY))
    assert verdict(rules, **failed(NOW - 19 * DAY, 5)) is SelectionReason.BACKING_OFF
    assert verdict(rules, **failed(NOW - 20 * DAY, 5)).visits


def test_an_unconfirmed_change_is_asked_for_again_at_once() -> None:
    found = hashed(NOW, unconfirmed=True)
    for facts in ({}, {"due": NOW + DAY}, {"frequency_days": -1}, {"frequency_days": None}):
        assert verdict(**(found | facts)) is SelectionReason.VISIT_UNCONFIRMED
    gone = hashed(NOW, unconfirmed=True, tried_at=NOW + HOUR, failures=1)
    assert verdict(**gone) is SelectionReason.BACKING_OFF


def test_what_is_asked_for_is_visited_whatever_its_status() -> None:
    rules = replace(RULES, everything=True)
    for facts in ({"due": NOW + DAY}, {"frequency_days": 0}, {"frequency_days": None}):
        assert verdict(rules, **facts) is SelectionReason.VISIT_ASKED
        assert verdict(rules, **hashed(NOW, **facts)) is SelectionReason.RECENT


def test_another_shard_is_anothers() -> None:
    own = shard_of(NEW.host)
    others = replace(RULES, shards=frozenset(range(SHARDS)) - {own})
    assert choose(NEW, NOW, others).verdict is SelectionReason.ELSEWHERE
    assert not choose(NEW, NOW, others).is_candidate
    assert verdict(replace(RULES, shards={own})).visits


def test_shards_are_the_same_on_every_machine() -> None:
    assert [shard_of(host) for host in ("", "example.org", "xn--bcher-kva.example")] == [0, 31, 54]


FRESH: dict[str, Any] = {"due": NOW + DAY}


@pytest.mark.parametrize(
    ("facts", "is_candidate"),
    [
        (FRESH, True),
        (FRESH | hashed(NOW - 30 * DAY + HOUR + SECOND), False),
        (FRESH | hashed(NOW - 30 * DAY + HOUR), True),
        (FRESH | hashed(NOW - 30 * DAY + HOUR - SECOND), True),
        (hashed(LONG_AGO, frequency_days=0), True),
        (hashed(LONG_AGO, frequency_days=-1), True),
        (hashed(LONG_AGO, frequency_days=None), True),
        # Due anyhow: with a hash it is to be read whole, without one it is.
        (hashed(LONG_AGO), True),
        ({}, False),
        # Found lately, but not read: the rotation is there for that.
        (FRESH | hashed(LONG_AGO, visited_at=NOW, tried_at=NOW, succeeded_at=NOW), True),
        # Not found lately: it waits for a week.
        (FRESH | hashed(LONG_AGO, visited_at=NOW, tried_at=NOW), False),
        (FRESH | failed(NOW - 7 * DAY + HOUR + SECOND, 1), False),
        (FRESH | failed(NOW - 7 * DAY + HOUR, 1), True),
        (FRESH | failed(NOW - 7 * DAY + HOUR, 100), True),
    ],
)
def test_the_rotation_takes_what_was_not_hashed_for_long(
    facts: dict[str, Any], is_candidate: bool
) -> None:
    row = replace(NEW, **facts)
    assert choose(row, NOW, RULES).is_candidate is is_candidate
    assert not choose(row, NOW, replace(RULES, rotation=timedelta(0))).is_candidate


@pytest.mark.parametrize(
    ("total", "days", "budget"),
    [(149_308, 30, 4977), (1, 30, 1), (30, 30, 1), (31, 30, 2), (0, 30, 0), (60, 7, 9), (60, 0, 0)],
)
def test_each_run_reads_its_share(total: int, days: int, budget: int) -> None:
    assert rotation_budget(total, replace(RULES, rotation=days * DAY)) == budget


def test_the_rotation_picks_the_oldest() -> None:
    selection = Selection(NOW, RULES, 3)
    facts = {
        "fresh": FRESH | hashed(NOW - DAY),
        "older": FRESH | hashed(NOW - 40 * DAY),
        "oldest": FRESH | hashed(NOW - 50 * DAY),
        "failed": FRESH | failed(NOW - 35 * DAY, 3),
        "never": FRESH,
        "due": hashed(NOW - 60 * DAY),
        "due too": {},
        "upload": {"url_type": "upload"},
    }
    for name, one in facts.items():
        selection.add(replace(NEW, resource_id=name, **one))
    assert selection.picked() == [
        SelectedResource("due", SelectionReason.VISIT_DUE, True),
        SelectedResource("due too", SelectionReason.VISIT_DUE, False),
        SelectedResource("never", SelectionReason.VISIT_ROTATION, True),
        SelectedResource("oldest", SelectionReason.VISIT_ROTATION, True),
    ]
    assert selection.verdicts == {
        SelectionReason.FRESH: 5,
        SelectionReason.VISIT_DUE: 2,
        SelectionReason.INTERNAL: 1,
    }


def test_of_equals_the_rotation_picks_the_first() -> None:
    selection = Selection(NOW, RULES, 2)
    for number in range(5):
        selection.add(replace(NEW, resource_id=str(number), **FRESH))
    assert [one.resource_id for one in selection.picked()] == ["0", "1"]


def test_without_a_budget_the_rotation_picks_nothing() -> None:
    selection = Selection(NOW, RULES, 0)
    selection.add(replace(NEW, **FRESH))
    assert selection.picked() == []


@pytest.mark.parametrize(
    ("failures", "span", "expected"),
    [
        (3, DAY, True),
        (3, DAY - SECOND, False),
        (2, 30 * DAY, False),
        (4, DAY, True),
        (0, None, False),
    ],
)
def test_broken_is_what_failed_several_times_over_time(
    failures: int, span: timedelta | None, expected: bool
) -> None:
    since = None if span is None else NOW - span
    found = is_broken(failures, since, NOW, least_failures=3, least_span=DAY)
    assert found is expected


MOMENTS = st.none() | st.integers(0, 500 * 24).map(lambda hours: NOW - hours * HOUR)
ROWS = st.builds(
    Candidate,
    resource_id=st.uuids().map(str),
    package_id=st.just("p"),
    url_type=st.sampled_from([None, "", "upload", "datastore"]),
    host=st.sampled_from(["", "files.example.org", "data.example.org", "proxy.example.org"]),
    assessed=st.booleans(),
    frequency_days=st.none() | st.integers(-2, 800),
    due=st.none() | st.integers(-9000, 9000).map(lambda hours: NOW + hours * HOUR),
    archived=st.booleans(),
    requestable=st.booleans(),
    visited_at=MOMENTS,
    has_hash=st.booleans(),
    hashed_at=MOMENTS,
    tried_at=MOMENTS,
    succeeded_at=MOMENTS,
    failures=st.integers(0, 2**31 - 1),
    unconfirmed=st.booleans(),
    is_new=st.booleans(),
    is_touched=st.booleans(),
)
ALL_RULES = st.builds(
    SelectionRules,
    internal_hosts=st.just(RULES.internal_hosts),
    adhoc_hosts=st.just(RULES.adhoc_hosts),
    rotation=st.sampled_from([timedelta(0), 30 * DAY]),
    everything=st.booleans(),
    at_once=st.booleans(),
    shards=st.none() | st.sets(st.integers(0, SHARDS - 1)),
)


@given(ROWS, ALL_RULES)
def test_nothing_that_is_left_out_is_ever_visited(row: Candidate, rules: SelectionRules) -> None:
    choice = choose(row, NOW, rules)
    if choice.verdict.visits or choice.is_candidate:
        assert row.url_type != "upload"
        assert row.host not in rules.internal_hosts
        assert row.host not in rules.adhoc_hosts
        assert not (row.archived or row.requestable)
        assert rules.shards is None or shard_of(row.host) in rules.shards


@given(
    st.lists(ROWS, max_size=30, unique_by=lambda row: row.resource_id), ALL_RULES, st.integers(0, 5)
)
def test_each_is_picked_once_and_the_rotation_keeps_to_its_budget(
    rows: list[Candidate], rules: SelectionRules, budget: int
) -> None:
    selection = Selection(NOW, rules, budget)
    verdicts = {row.resource_id: selection.add(row) for row in rows}
    picked = selection.picked()
    assert len({one.resource_id for one in picked}) == len(picked)
    assert sum(one.hash_anyway for one in picked) <= budget
    for one in picked:
        if one.verdict is SelectionReason.VISIT_ROTATION:
            assert one.hash_anyway
            assert not verdicts[one.resource_id].visits
        else:
            assert one.verdict is verdicts[one.resource_id]
    assert sum(selection.verdicts.values()) == len(rows)


def test_within_its_time_the_rotation_comes_to_each_whatever_cannot_be_read() -> None:
    """A third can never be read: they take their turns, and no more."""
    rows = [replace(NEW, resource_id=str(number), frequency_days=None) for number in range(90)]
    gaps = dict.fromkeys((row.resource_id for row in rows), 0)
    last = dict.fromkeys(gaps, 0)
    for night in range(1, 121):
        now = NOW + night * DAY
        selection = Selection(now, RULES, rotation_budget(len(rows), RULES))
        for row in rows:
            selection.add(row)
        by_id = {row.resource_id: row for row in rows}
        picked = selection.picked()
        assert len(picked) <= 3
        for one in picked:
            row = by_id[one.resource_id]
            row.visited_at = row.tried_at = now
            if int(one.resource_id) % 3:
                row.hashed_at = row.succeeded_at = now
                row.has_hash = True
            else:
                row.failures += 1
            gaps[one.resource_id] = max(gaps[one.resource_id], night - last[one.resource_id])
            last[one.resource_id] = night
    assert max(gaps.values()) <= 31
    assert min(last.values()) > 120 - 31


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        # Never visited, due.
        ({}, NextCheck(NOW)),
        # Due, visited half a day ago, weekly: each day.
        (hashed(NOW - DAY / 2), NextCheck(NOW + DAY / 2 - SLACK)),
        # Fresh: when it becomes due, unless its turn comes before.
        (hashed(NOW - DAY, due=NOW + 5 * DAY), NextCheck(NOW + 5 * DAY)),
        (hashed(NOW - 28 * DAY, due=NOW + 5 * DAY), NextCheck(NOW + 2 * DAY - SLACK, True)),
        # Due soon, but visited just now.
        (hashed(NOW, due=NOW + 2 * HOUR), NextCheck(NOW + DAY - SLACK)),
        # Always fresh, or without a frequency: its turn alone.
        (
            hashed(NOW - 10 * DAY, frequency_days=-1, due=None),
            NextCheck(NOW + 20 * DAY - SLACK, True),
        ),
        (
            hashed(NOW - 10 * DAY, frequency_days=None, due=None),
            NextCheck(NOW + 20 * DAY - SLACK, True),
        ),
        ({"frequency_days": None, "due": None}, NextCheck(NOW, True)),
        # It fails: the interval doubles.
        (failed(NOW - DAY, 3, hashed_at=NOW - DAY), NextCheck(NOW + 3 * DAY - SLACK)),
        (failed(NOW - DAY, 3), NextCheck(NOW + 3 * DAY - SLACK)),
        # Its turn waits as well.
        (failed(NOW - DAY, 3, frequency_days=None), NextCheck(NOW + 6 * DAY - SLACK, True)),
        # Nothing but the confirmation is missing.
        (hashed(NOW, unconfirmed=True), NextCheck(NOW)),
        # Never.
        ({"url_type": "upload"}, None),
        ({"host": "proxy.example.org"}, None),
        ({"archived": True}, None),
    ],
)
def test_the_next_visit(facts: dict[str, Any], expected: NextCheck | None) -> None:
    assert next_visit(replace(NEW, **facts), NOW, RULES) == expected


@given(
    ROWS.map(lambda row: replace(row, failures=row.failures % 12)),
    ALL_RULES.map(lambda rules: replace(rules, shards=None)),
    st.floats(0, 1, exclude_max=True),
)
def test_a_visit_comes_when_it_was_said_and_not_before(
    row: Candidate, rules: SelectionRules, part: float
) -> None:
    """The choice of that moment agrees, and that of every moment before, whatever the row."""

    def is_chosen(now: datetime) -> bool:
        choice = choose(row, now, rules)
        return choice.verdict.visits or choice.is_candidate

    coming = next_visit(row, NOW, rules)
    if coming is None:
        assert not any(is_chosen(NOW + days * DAY) for days in (0, 1, 30, 1000))
        return
    assert coming.at >= NOW
    assert is_chosen(coming.at)
    assert coming.in_turn is not choose(row, coming.at, rules).verdict.visits
    for before in (coming.at - timedelta(microseconds=1), NOW + part * (coming.at - NOW)):
        if NOW <= before < coming.at:
            assert not is_chosen(before)
