"""Which resources the policy ``learned`` checks: the order of its reasons, and their shares of the budget."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.checking.learned import LearnedSelection, priority_of, rate
from ckanext.freshness.checking.selection import Candidate, SelectionRules
from ckanext.freshness.tests.checking.rows import NEW, NOW
from ckanext.freshness.tests.checking.test_selection import (
    ALL_RULES,
    DAY,
    HOUR,
    ROWS,
    failed,
    hashed,
)

RULES = SelectionRules()
BEFORE = NEW._replace(due=NOW + DAY, **hashed(NOW - 3 * DAY))
"""It was last checked three days ago, and is fresh."""


def reason(**facts: Any) -> str | None:
    priority = priority_of(BEFORE._replace(**facts), NOW, RULES)
    if priority is None:
        return None
    return "first" if priority.is_first else "bound" if priority.share >= 1 else "expected"


def value(facts: dict[str, Any], **more: Any) -> float:
    priority = priority_of(BEFORE._replace(**facts, **more), NOW, RULES)
    assert priority is not None
    return priority.value


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, "expected"),
        (hashed(NOW - DAY + HOUR), "expected"),
        (hashed(NOW - DAY + 2 * HOUR), None),
        ({"checked_at": None}, "first"),
        ({"unconfirmed": True}, "first"),
        (failed(NOW - DAY, 1), "first"),
        (failed(NOW - 6 * DAY, 3), "expected"),
        (failed(NOW - 7 * DAY, 3), "bound"),
        (failed(NOW - 30 * DAY, 9, succeeded_at=None), "bound"),
        (hashed(NOW - 8 * DAY + HOUR), "bound"),
    ],
)
def test_the_reason_of_a_check(facts: dict[str, Any], expected: str | None) -> None:
    assert reason(**facts) == expected


def test_values() -> None:
    # With a frequency of 30 days, a change in 300 days and one a day.
    slow, fast = {"days": 135}, {"changes": 14.5}
    assert value(fast) > value(slow)
    assert value(slow, **hashed(NOW - 6 * DAY)) == pytest.approx(4 * value(slow), rel=0.05)
    several = {**slow, "files": 5, "probed_at": NOW - 3 * DAY}
    # A check of one file of five watches the half of what happens to all.
    assert value(several) == pytest.approx(3 * value(slow), rel=0.05)
    assert value({**several, "turn": 1}) == pytest.approx(value(slow) / 2, rel=0.05)
    # Another file has changed since.
    assert value({**several, "turn": 1, "change_seen_at": NOW - DAY}) > 5
    assert value({**several, "turn": 1, "change_seen_at": NOW - 3 * DAY}) < 1
    assert value(slow, due=NOW - DAY) > value(slow)


def chosen(rows: list[Candidate], budget: int) -> list[str]:
    selection = LearnedSelection(NOW, RULES, budget)
    for row in rows:
        selection.add(row)
    return selection.chosen()


def test_failing_links_come_before_bounds_and_bounds_before_values_within_their_share() -> None:
    kinds: dict[str, dict[str, Any]] = {
        "failing": failed(NOW - DAY, 1),
        "unconfirmed": {"unconfirmed": True},
        "bound": hashed(NOW - 20 * DAY) | {"days": 485},
        "valuable": {"changes": 14.5},
    }
    rows = [
        BEFORE._replace(resource_id=f"{kind} {number}", **facts)
        for kind, facts in kinds.items()
        for number in range(20)
    ]
    counts = {}
    for budget in (80, 50, 20, 0):
        found = [one.split()[0] for one in chosen(rows, budget)]
        assert len(found) == budget
        counts[budget] = {kind: found.count(kind) for kind in kinds}
    assert counts[80] == dict.fromkeys(kinds, 20)
    assert counts[50] == {"unconfirmed": 20, "failing": 20, "bound": 6, "valuable": 4}
    assert counts[20] == {"unconfirmed": 20, "failing": 0, "bound": 0, "valuable": 0}


@pytest.mark.parametrize(
    ("frequency", "changes", "days", "expected"),
    [
        (None, 0, 0, 1 / 60),
        (0, 0, 0, 1 / 10),
        (-1, 0, 0, 1 / 600),
        # What was seen soon counts more than what was declared.
        (365, 10, 100, 10.5 / 282.5),
        (1, 0, 99.5, 0.005),
    ],
)
def test_the_rate_is_learned(
    frequency: int | None, changes: float, days: float, expected: float
) -> None:
    assert rate(frequency, changes, days) == pytest.approx(expected)


def test_the_rotation_reads_files_that_were_not_read_for_long() -> None:
    ages = {"old": 40, "older": 50, "oldest": 60, "young": 29}
    selection = LearnedSelection(NOW, RULES, 4, rotation_budget=2)
    for name, days in ages.items():
        selection.add(BEFORE._replace(resource_id=name, hashed_at=NOW - days * DAY))
    assert selection.rotation() == {"older", "oldest"}


@given(
    st.lists(ROWS, max_size=10, unique_by=lambda row: row.resource_id), ALL_RULES, st.integers(0, 5)
)
def test_each_is_chosen_once_within_the_budget_and_what_is_left_out_never(
    rows: list[Candidate], rules: SelectionRules, budget: int
) -> None:
    selection = LearnedSelection(NOW, rules, budget, 3)
    for row in rows:
        selection.add(row)
    found = selection.chosen()
    assert len(set(found)) == len(found) <= budget
    assert selection.rotation() <= set(found)
    by_id = {row.resource_id: row for row in rows}
    for row in map(by_id.__getitem__, found):
        assert not (row.is_internal or row.archived or row.requestable)
        assert row.host not in rules.adhoc_hosts
