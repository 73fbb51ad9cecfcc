"""Which resources a run checks by the policy ``learned``: the most valuable checks within a budget.

The value of a check is the number of changes that are expected in a day, times the square of the days since
the previous check. This is twice the waiting that the check ends, if the file changes at random. How often it
changes is learned: :func:`rate` divides the changes that checks have seen by the days that they have watched.
A change that is followed by another before it is seen is lost, which weighs more than the waiting for files
that change about every day.

The files of a dataset often change together. To this extent, a check of any of them watches all: the one that
has waited longest is checked for all, and once a change is seen, the others are checked in the next run. While
a dataset is due, a check can also correct its status.

Before these, a run makes the checks that must not wait: new resources, links that begin to fail, and changes
that were not confirmed. A share of the budget is for files that were not checked for the longest time. If it
is too small, the longest time is stretched in proportion: the most overdue checks come first.

Moments are naive and in UTC, as the database returns them.
"""

from __future__ import annotations

import heapq
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from .selection import (
    ROTATION,
    SLACK,
    Best,
    Candidate,
    Entry,
    LeftOut,
    SelectionRules,
    left_out,
    may_soon_be_broken,
)

_DAY = timedelta(days=1)

REACHABLE = 8 * _DAY
"""The longest time between two checks of a file."""
BROKEN = 7 * _DAY
"""The longest time between two checks of a broken link."""
UNREACHABLE = 30 * _DAY
"""The longest time between two checks of a URL that never worked."""

_BOUND_SHARE = 0.12
"""The share of the budget for files that were not checked for the longest time."""

_EXPECTED_DAYS = {None: 60, 0: 10, -1: 600, -2: 90}
"""Days between changes that are expected without an update frequency in days: none stated, live, never, as
needed."""

_TRUST = 0.5
"""How much the expected days count beside what was seen, in changes."""

_TOGETHER = 0.5
"""How often a file changes when another file of its dataset has changed."""

_MOST_CHANGES = 1.0
"""The most changes a day that count: one run a night cannot see more."""

_MOST_FOLLOWED = 10.0
"""The most days until its next change that count for a file of which others have changed."""

_LOSS = 3.0
"""The weight of a change that is followed by another before it is seen, against the waiting of a change."""

_STATUS = 40.0
"""The weight of a status that could be wrong, against the waiting of a change."""

_STRETCHED = 1.1
"""From how many times its length on an interval counts as stretched: a night more is none."""


def rate(frequency_days: int | None, changes: float, days: float) -> float:
    """Return the changes of a file that are expected in a day.

    :param frequency_days: the dataset's update frequency; 0 live, -1 never, -2 as needed, None if it has none
    :param changes: that checks have seen
    :param days: that checks have watched
    """
    if frequency_days is None or frequency_days <= 0:
        expected = _EXPECTED_DAYS.get(frequency_days, _EXPECTED_DAYS[None])
    else:
        expected = frequency_days
    return (_TRUST + changes) / (_TRUST * expected + days)


class Priority(NamedTuple):
    """The priority of a check.

    :ivar value: rank among all checks, or among those that must not wait
    :ivar share: of the longest time between two checks that has passed; 1 or more if it is over
    :ivar is_first: whether the check must not wait
    """

    value: float
    share: float = 0.0
    is_first: bool = False


class LearnedSelection:
    """The resources that a run checks. Its memory grows with the budget, not with the catalogue.

    :param now: start of the run
    :param budget: number of checks
    :param rotation_budget: how many files are read even if their server reports no change
    """

    def __init__(
        self, now: datetime, rules: SelectionRules, budget: int, rotation_budget: int = 0
    ) -> None:
        self._stretch = 1.0
        self._now = now
        self._rules = rules
        self._budget = budget
        self._rotation_budget = rotation_budget
        self._offered = 0
        self._first = Best(budget)
        self._bound = Best(ceil(budget * _BOUND_SHARE))
        self._valuable = Best(budget)
        self._chosen: dict[str, Entry] | None = None

    def add(self, candidate: Candidate) -> LeftOut | None:
        """Offer a candidate. Return why it is left out; None if it may be chosen."""
        reason = left_out(candidate, self._rules)
        if reason is not None:
            return reason
        priority = priority_of(candidate, self._now, self._rules)
        if priority is None:
            return None
        self._offered += 1
        if priority.is_first:
            self._first.add(priority.value, self._offered, candidate)
            return None
        if priority.share >= 1:
            left = self._bound.add(priority.share, self._offered, candidate)
            self._stretch = max(self._stretch, left or 1.0)
        self._valuable.add(priority.value, self._offered, candidate)
        return None

    @property
    def longest_days(self) -> int:
        """The longest interval between two checks in days if the budget is too small for the bounds, else 0."""
        return round(self._stretch * (REACHABLE / _DAY)) if self._stretch > _STRETCHED else 0

    def _all_chosen(self) -> dict[str, Entry]:
        if self._chosen is None:
            self._chosen = {}
            for best in (self._first, self._bound, self._valuable):
                for entry in best.sorted():
                    if len(self._chosen) < self._budget:
                        self._chosen.setdefault(entry.resource_id, entry)
        return self._chosen

    def chosen(self) -> list[str]:
        """Return the ids of the resources to check, the most urgent first."""
        return list(self._all_chosen())

    def rotation(self) -> frozenset[str]:
        """Return the ids of the chosen resources whose files are read even if their server reports no change.

        These were not hashed for :data:`.selection.ROTATION`, the oldest first. What has no hash
        is read anyway, and a file that was not found would be the oldest each night.
        """
        before = self._now - ROTATION + SLACK
        old = [
            (one.read_at, id_)
            for id_, one in self._all_chosen().items()
            if one.read_at is not None and one.read_at <= before
        ]
        return frozenset(id_ for _, id_ in heapq.nsmallest(self._rotation_budget, old))


def priority_of(candidate: Candidate, now: datetime, rules: SelectionRules) -> Priority | None:
    """Return the priority of a check; None if the resource was checked less than a day ago."""
    last = candidate.checked_at
    if last is None:
        return Priority(0.0, is_first=True)
    waited = now - last
    if waited < _DAY - SLACK:
        return None
    age = waited / _DAY
    if candidate.unconfirmed:
        return Priority(2e9 + age, is_first=True)
    if may_soon_be_broken(candidate):
        return Priority(1e9 + age, is_first=True)
    value, bound = 0.0, REACHABLE
    if not candidate.failures:
        value = _value(candidate, now, age)
    else:
        bound = BROKEN if candidate.succeeded_at is not None else UNREACHABLE
    return Priority(value, waited / (bound - SLACK))


def _value(candidate: Candidate, now: datetime, age: float) -> float:
    """Return the value of a check of a link that works.

    :param age: days since the previous one
    """
    expected = rate(candidate.frequency_days, candidate.changes, candidate.days)
    changes = min(expected, _MOST_CHANGES)
    together = _TOGETHER if candidate.files > 1 else 0.0
    value = (1 - together) * changes * age * age + _LOSS * changes * changes * age
    seen, last = candidate.change_seen_at, candidate.checked_at
    if seen is not None and last is not None and seen > last:
        # Another file of the dataset has changed since.
        return value + together * min(_MOST_FOLLOWED, 1 / changes) * (1 + (now - seen) / _DAY)
    if candidate.turn:
        return value
    watched = age
    if candidate.probed_at is not None:
        watched = max((now - candidate.probed_at) / _DAY, 0.0)
    value += together * candidate.files * changes * watched * watched
    if candidate.due is not None and candidate.due <= now:
        value += _STATUS * changes * watched
    return value
