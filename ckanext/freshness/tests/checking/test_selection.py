"""Which resources a run checks: each rule, and the moments around each limit."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.checking.learned import LearnedSelection, priority_of
from ckanext.freshness.checking.selection import (
    Candidate,
    LeftOut,
    Selection,
    SelectionRules,
    is_due,
    left_out,
    rotation_budget,
)
from ckanext.freshness.tests.checking.rows import NEW, NOW

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
LONG_AGO = NOW - 400 * DAY
RULES = SelectionRules(adhoc_hosts={"proxy.example.org"})


def hashed(at: datetime, **more: Any) -> dict[str, Any]:
    """A resource whose last check found and hashed the file."""
    return {
        "has_hash": True,
        "hashed_at": at,
        "checked_at": at,
        "tried_at": at,
        "succeeded_at": at,
        **more,
    }


def failed(checked_at: datetime, failures: int, **more: Any) -> dict[str, Any]:
    """A resource whose checks have always failed, each night."""
    return {
        "checked_at": checked_at,
        "tried_at": checked_at,
        "failed_at": checked_at,
        "failures": failures,
        "failing_since": checked_at - min(failures - 1, 5000) * DAY,
        **more,
    }


def is_checked(rules: SelectionRules = RULES, **facts: Any) -> bool:
    return is_due(NEW._replace(**facts), NOW, rules)


def rotates(candidate: Candidate) -> bool:
    selection = Selection(NOW, RULES, 1)
    selection.add(candidate)
    return bool(selection.rotation())


@pytest.mark.parametrize(
    ("facts", "is_late"),
    [
        ({}, True),
        ({"due": NOW}, True),
        ({"due": NOW + SECOND}, False),
        ({"due": None}, True),
        ({"frequency_days": 1, "due": NOW + DAY}, True),
        ({"frequency_days": 2, "due": NOW + DAY}, False),
        ({"frequency_days": 0, "due": None}, False),
        ({"frequency_days": -2, "due": None}, False),
        ({"frequency_days": None, "due": None}, False),
    ],
)
def test_the_datasets_status_decides(facts: dict[str, Any], is_late: bool) -> None:
    assert is_checked(**facts) is is_late


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"is_internal": True}, LeftOut.INTERNAL),
        ({"host": "proxy.example.org"}, LeftOut.AD_HOC),
        ({"archived": True}, LeftOut.ARCHIVED),
        ({"requestable": True}, LeftOut.REQUESTABLE),
    ],
)
@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("unconfirmed", [False, True])
def test_some_are_left_out_whatever_their_status(
    facts: dict[str, Any], expected: LeftOut, everything: bool, unconfirmed: bool
) -> None:
    rules = replace(RULES, everything=everything)
    candidate = NEW._replace(unconfirmed=unconfirmed, **facts)
    assert left_out(candidate, rules) is expected
    for selection in (Selection(NOW, rules, 1), LearnedSelection(NOW, rules, 1, 1)):
        assert selection.add(candidate) is expected
        assert not selection.chosen()


@pytest.mark.parametrize("policy", [is_due, priority_of])
@pytest.mark.parametrize(
    ("facts", "is_failing"),
    [
        (hashed(NOW - DAY), False),
        (hashed(NOW - DAY, waits_since=NOW - 9 * DAY), True),
        (hashed(NOW - DAY, waits_since=NOW - 15 * DAY), False),
        (hashed(NOW - DAY / 2, waits_since=NOW - 9 * DAY), False),
        (failed(NOW - DAY, 1, waits_since=NOW - 11 * DAY), True),
        (failed(NOW - DAY, 3, waits_since=NOW - 13 * DAY), False),
    ],
)
def test_what_waits_for_its_file_is_checked_nightly(
    policy: Any, facts: dict[str, Any], is_failing: bool
) -> None:
    found = policy(NEW._replace(frequency_days=365, **facts), NOW, RULES)
    is_first = found if isinstance(found, bool) else found is not None and found.is_first
    assert is_first is is_failing


INTERVALS = [
    (1, 1), (2, 1), (30, 1), (31, 3), (180, 3), (181, 7), (365, 7), (730, 7),
]  # fmt: skip


@pytest.mark.parametrize(("frequency", "days"), INTERVALS)
@pytest.mark.parametrize(("late", "checks"), [(-SECOND, False), (0 * SECOND, True), (SECOND, True)])
def test_low_frequencies_are_visited_less_often(
    frequency: int, days: int, late: timedelta, checks: bool
) -> None:
    # An hour early, since runs do not start at the same second each night.
    at = NOW - days * DAY + HOUR - late
    facts = hashed(at, frequency_days=frequency)
    assert is_checked(**facts) is checks
    if not checks:
        assert is_checked(replace(RULES, everything=True), **facts)


@pytest.mark.parametrize(
    ("frequency", "failures", "days"),
    [
        *((30, failures, days) for failures, days in enumerate([1, 1, 1, 4, 7, 7, 7])),
        *((1, failures, days) for failures, days in enumerate([1, 1, 1, 4, 7])),
        *((180, failures, days) for failures, days in enumerate([3, 1, 1, 7, 7])),
        *((365, failures, days) for failures, days in enumerate([7, 1, 1, 7])),
        (30, 10**6, 7),
        (30, 2**31 - 1, 7),
    ],
)
def test_what_fails_is_checked_nightly_until_it_is_broken_then_less_often(
    frequency: int, failures: int, days: int
) -> None:
    at = NOW - days * DAY + HOUR

    def seen(checked_at: datetime) -> bool:
        return is_checked(**failed(checked_at, failures, frequency_days=frequency))

    assert seen(at)
    assert seen(at - SECOND)
    assert not seen(at + SECOND)


@pytest.mark.parametrize(
    ("failures", "span", "days"),
    [
        # Three failures, but within one day.
        (3, DAY - SECOND, 1),
        (3, DAY, 7),
        # A server that has blocked our checks since the first failure.
        (1, 14 * DAY - SECOND, 1),
        (1, 14 * DAY, 7),
    ],
)
@pytest.mark.parametrize(
    "facts",
    [
        {"due": NOW + 100 * DAY, "frequency_days": 365},
        {"due": None, "frequency_days": None},
        {"due": None, "frequency_days": -1},
    ],
)
def test_what_fails_is_checked_whatever_the_datasets_status(
    facts: dict[str, Any], failures: int, span: timedelta, days: int
) -> None:
    at = NOW - days * DAY + HOUR
    facts = {**failed(at, failures), "failing_since": at - span, **facts}
    assert is_checked(**facts)
    facts |= {"checked_at": at + SECOND}
    assert not is_checked(**facts)


def test_a_check_that_could_not_tell_breaks_no_link() -> None:
    facts = {**failed(NOW - 2 * DAY, 3), "failing_since": NOW - 2 * DAY - HOUR}
    # A server that blocks checks has been asked since.
    facts |= {"checked_at": NOW - DAY, "tried_at": NOW - DAY}
    assert is_checked(**facts)


FRESH: dict[str, Any] = {"due": NOW + DAY}


@pytest.mark.parametrize(
    ("facts", "is_candidate"),
    [
        (FRESH, True),
        (FRESH | hashed(NOW - 30 * DAY + HOUR + SECOND), False),
        (FRESH | hashed(NOW - 30 * DAY + HOUR), True),
        (hashed(LONG_AGO, frequency_days=0), True),
        (hashed(LONG_AGO, frequency_days=None), True),
        # Due anyhow: with a hash it is to be read whole, without one it is.
        (hashed(LONG_AGO), True),
        ({}, False),
        # Found lately, but not read: the rotation is there for that.
        (FRESH | hashed(LONG_AGO, checked_at=NOW, tried_at=NOW, succeeded_at=NOW), True),
        # Not found lately: it waits for a week.
        # What fails is checked apart from the rotation: without a hash, it is read whole.
        (FRESH | failed(NOW - 7 * DAY + HOUR, 100), False),
        (FRESH | failed(NOW - 7 * DAY + HOUR, 100, has_hash=True), True),
    ],
)
def test_the_rotation_takes_what_was_not_hashed_for_long(
    facts: dict[str, Any], is_candidate: bool
) -> None:
    candidate = NEW._replace(**facts)
    assert rotates(candidate) is is_candidate


@pytest.mark.parametrize(("total", "budget"), [(149_308, 4977), (1, 1), (30, 1), (31, 2), (0, 0)])
def test_each_run_reads_its_share(total: int, budget: int) -> None:
    assert rotation_budget(total) == budget


def test_the_rotation_picks_the_oldest() -> None:
    selection = Selection(NOW, RULES, 3)
    facts = {
        "fresh": FRESH | hashed(NOW - DAY),
        "older": FRESH | hashed(NOW - 40 * DAY),
        "oldest": FRESH | hashed(NOW - 50 * DAY),
        "blocked": FRESH | failed(NOW - 35 * DAY, 0),
        "never": FRESH,
        "due": hashed(NOW - 60 * DAY),
        "due too": {},
        "upload": {"is_internal": True},
    }
    candidates = {name: NEW._replace(resource_id=name, **one) for name, one in facts.items()}
    for candidate in candidates.values():
        selection.add(candidate)
    chosen = ["due", "due too", "never", "oldest"]
    assert selection.chosen() == chosen
    # A run keeps them until its end, without what only the choice needs.
    assert selection.rotation() == {"due", "never", "oldest"}


MOMENTS = st.none() | st.integers(0, 500 * 24).map(lambda hours: NOW - hours * HOUR)
ROWS = st.builds(
    Candidate,
    resource_id=st.uuids().map(str),
    package_id=st.just("p"),
    is_internal=st.booleans(),
    host=st.sampled_from(["", "files.example.org", "proxy.example.org"]),
    frequency_days=st.none() | st.integers(-2, 800),
    due=st.none() | st.integers(-9000, 9000).map(lambda hours: NOW + hours * HOUR),
    archived=st.booleans(),
    requestable=st.booleans(),
    checked_at=MOMENTS,
    has_hash=st.booleans(),
    hashed_at=MOMENTS,
    tried_at=MOMENTS,
    succeeded_at=MOMENTS,
    failures=st.integers(0, 2**31 - 1),
    failing_since=MOMENTS,
    failed_at=MOMENTS,
    unconfirmed=st.booleans(),
    is_new=st.booleans(),
    is_touched=st.booleans(),
    waits_since=MOMENTS,
)
ALL_RULES = st.builds(
    SelectionRules,
    adhoc_hosts=st.just(RULES.adhoc_hosts),
    everything=st.booleans(),
)


@given(
    st.lists(ROWS, max_size=8, unique_by=lambda row: row.resource_id), ALL_RULES, st.integers(0, 5)
)
def test_each_is_picked_once_and_the_rotation_keeps_to_its_budget(
    rows: list[Candidate], rules: SelectionRules, budget: int
) -> None:
    selection = Selection(NOW, rules, budget)
    reasons = {row.resource_id: selection.add(row) for row in rows}
    chosen = selection.chosen()
    assert len(set(chosen)) == len(chosen)
    assert len(selection.rotation()) <= budget
    checked = {
        row.resource_id
        for row in rows
        if reasons[row.resource_id] is None and is_due(row, NOW, rules)
    }
    assert set(chosen) == checked | selection.rotation()


@pytest.mark.parametrize("policy", ["hdx", "learned"])
def test_within_its_time_the_rotation_comes_to_each_whatever_cannot_be_read(policy: str) -> None:
    """A third of the resources can never be read, and delays no other. No server reports a change."""
    rows = [NEW._replace(resource_id=str(number), frequency_days=None) for number in range(90)]
    by_id = {row.resource_id: row for row in rows}
    gaps = dict.fromkeys(by_id, 0)
    last = dict.fromkeys(gaps, 0)
    for night in range(1, 121):
        now = NOW + night * DAY
        budget = rotation_budget(len(by_id))
        selection = (
            Selection(now, RULES, budget)
            if policy == "hdx"
            else LearnedSelection(now, RULES, len(by_id), budget)
        )
        for row in by_id.values():
            selection.add(row)
        assert len(selection.rotation()) <= 3
        for row in map(by_id.__getitem__, selection.chosen()):
            id_ = row.resource_id
            is_read = id_ in selection.rotation() or not row.has_hash
            if int(id_) % 3 == 0:
                by_id[id_] = row._replace(**failed(now, row.failures + 1))
            else:
                facts = hashed(now, hashed_at=now if is_read else row.hashed_at)
                by_id[id_] = row._replace(**facts)
            if is_read or int(id_) % 3 == 0:
                gaps[id_] = max(gaps[id_], night - last[id_])
                last[id_] = night
    # By the policy learned, all are read in the first night, and due on the same one.
    longest = 31 if policy == "hdx" else 51
    assert max(gaps.values()) <= longest
    assert min(last.values()) > 120 - longest
