"""Which resources a run checks by the policy ``learned``: the most valuable checks within a budget.

The value of a check is twice the waiting that it ends. For a file that changes at random this is rate x age²:
the changes that are expected in a day, times the square of the days since the previous check. It has four
refinements:

* As far as a file seems to change regularly, a check is worth nothing before the next change is expected, and
  much when the change is probably there (:mod:`.rhythms`).
* A change that is followed by another before it is seen is lost. For files that change about every day, this
  weighs more than the waiting (:data:`LOSS`).
* The files of many datasets change together. One of them is then enough to notice an update: the one that has
  waited longest. Once it has changed, the others are checked in the next run: they wait until their next
  change at most. How often files change together is learned (:attr:`.selection.History.together`).
* While a dataset is due, a check can also correct its status (:data:`STATUS`).

Before these, a run makes the checks that must not wait; see :data:`SHARES`. If its share of the budget is too
small for the bounds, they are stretched in proportion: the most overdue checks come first.

Moments are naive and in UTC, as the database returns them.
"""

from __future__ import annotations

import heapq
from collections import Counter
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from .rhythms import pending
from .selection import (
    SLACK,
    Candidate,
    Chosen,
    History,
    SelectionReason,
    SelectionRules,
    left_out,
    may_soon_be_broken,
)

_DAY = timedelta(days=1)

REACHABLE = 14 * _DAY
"""The longest time between two checks of a file."""
BROKEN = 7 * _DAY
"""The longest time between two checks of a broken link."""
UNREACHABLE = 30 * _DAY
"""The longest time between two checks of a URL that never worked."""

_BOUNDS = {bound: (bound - SLACK) / _DAY for bound in (REACHABLE, BROKEN, UNREACHABLE)}
"""Days after which a check is due by each of them."""

SHARES = {
    SelectionReason.VISIT_UNCONFIRMED: 1.0,
    SelectionReason.VISIT_FAILING: 1.0,
    SelectionReason.VISIT_NEW: 1.0,
    SelectionReason.VISIT_DUE: 0.2,
    SelectionReason.VISIT_BOUND: 0.12,
}
"""The reasons for checks that come before others, in this order, and the share of the budget that each may
take."""

LOSS = 3.0
STATUS = 40.0
TOUCHED = 2.0
"""Weights in a value: of a change that would be lost, of a status that could be wrong, and of a resource whose
own date is newer than at the previous run."""

FOLLOWED = 10.0
"""The most days until its next change that count for a file of which others have changed."""

MOST_CHANGES = 1.0
"""The most changes a day that count: one run a night cannot see more."""


class Priority(NamedTuple):
    """The priority of a check. A NamedTuple, since a run makes one for each resource of the catalogue.

    :ivar reason: a key of :data:`SHARES`, or ``VISIT_EXPECTED``
    :ivar score: rank among the checks of the same reason
    :ivar value: rank among all checks
    """

    reason: SelectionReason
    score: float
    value: float


_Entry = tuple[float, int, Chosen]
"""A score, minus the number of the candidate, the candidate as a run keeps it."""


class LearnedSelection:
    """The resources that a run checks. Its memory grows with the budget, not with the catalogue.

    :param now: start of the run
    :param budget: number of checks
    :param rotation_budget: how many files are read even if their server reports no change
    :ivar reasons: number of candidates by reason, complete after :meth:`chosen`
    :ivar stretch: how many times longer than allowed the longest interval is, since the budget is too small for
        the bounds; 1 if it is not
    """

    def __init__(
        self,
        now: datetime,
        rules: SelectionRules,
        budget: int,
        rotation_budget: int = 0,
    ) -> None:
        self.reasons: Counter[SelectionReason] = Counter()
        self.stretch = 1.0
        self._now = now
        self._rules = rules
        self._budget = budget
        self._rotation_budget = rotation_budget
        self._offered = 0
        self._first: dict[SelectionReason, list[_Entry]] = {reason: [] for reason in SHARES}
        self._rooms = {reason: ceil(budget * share) for reason, share in SHARES.items()}
        self._valuable: list[_Entry] = []
        self._chosen: dict[str, Chosen] | None = None
        self._why: dict[str, SelectionReason] = {}

    def add(self, candidate: Candidate) -> SelectionReason:
        """Offer a candidate. Return why it is left out, or ``NOT_EXPECTED`` if it may be chosen."""
        excluded = left_out(candidate, self._rules)
        if excluded is not None:
            self.reasons[excluded] += 1
            return excluded
        self._offered += 1
        priority = priority_of(candidate, self._now, self._rules)
        if priority is None:
            self.reasons[SelectionReason.RECENT] += 1
            return SelectionReason.RECENT
        # If ranks are equal, the candidate that came first stays.
        number = -self._offered
        kept: Chosen | None = None
        if priority.reason in SHARES:
            heap, room = self._first[priority.reason], self._rooms[priority.reason]
            left: float | None = priority.score
            if _has_room(heap, room, priority.score, number):
                kept = candidate.chosen()
                left = _push(heap, room, (priority.score, number, kept))
            if left is not None and priority.reason is SelectionReason.VISIT_BOUND:
                self.stretch = max(self.stretch, left)
        if _has_room(self._valuable, self._budget, priority.value, number):
            entry = (priority.value, number, kept or candidate.chosen())
            _push(self._valuable, self._budget, entry)
        self.reasons[SelectionReason.NOT_EXPECTED] += 1
        return SelectionReason.NOT_EXPECTED

    def chosen(self) -> list[Chosen]:
        """Return the resources to check, the most urgent first."""
        if self._chosen is None:
            self._chosen = {}
            for reason, heap in self._first.items():
                self._take(heap, reason)
            self._take(self._valuable, SelectionReason.VISIT_EXPECTED)
        return list(self._chosen.values())

    def why(self) -> dict[str, SelectionReason]:
        """Return the reason why each of the chosen resources is checked, by its id."""
        self.chosen()
        return dict(self._why)

    def _take(self, heap: list[_Entry], reason: SelectionReason) -> None:
        assert self._chosen is not None
        for _score, _number, candidate in sorted(heap, reverse=True):
            if len(self._chosen) >= self._budget:
                return
            if candidate.resource_id not in self._chosen:
                self._chosen[candidate.resource_id] = candidate
                self._why[candidate.resource_id] = reason
                self.reasons[reason] += 1
                self.reasons[SelectionReason.NOT_EXPECTED] -= 1

    def rotation(self) -> frozenset[str]:
        """Return the ids of the chosen resources whose files are read even if their server reports no change.

        These are the ones of datasets whose server has hidden a change, and the ones that were not hashed for
        :attr:`.selection.SelectionRules.rotation`, the oldest first.
        """
        before = self._now - self._rules.rotation + SLACK
        old = [
            (candidate.hashed_at or datetime.min, candidate.resource_id)
            for candidate in self.chosen()
            if self._rules.rotation and (candidate.hashed_at or datetime.min) <= before
        ]
        hidden = (one.resource_id for one in self.chosen() if one.hides_changes)
        return frozenset(hidden).union(
            id_ for _, id_ in heapq.nsmallest(self._rotation_budget, old)
        )


def _has_room(heap: list[_Entry], room: int, score: float, number: int) -> bool:
    """Decide whether a candidate is among the greatest ones of a heap."""
    return len(heap) < room or (room > 0 and (score, number) > heap[0][:2])


def _push(heap: list[_Entry], room: int, entry: _Entry) -> float | None:
    """Add an entry for which there is room.

    :returns: the score of the entry that has no room any more; None if all have
    """
    if len(heap) < room:
        heapq.heappush(heap, entry)
        return None
    return heapq.heappushpop(heap, entry)[0]


def priority_of(candidate: Candidate, now: datetime, rules: SelectionRules) -> Priority | None:
    """Return the priority of a check; None if the resource was checked less than a day ago."""
    last = candidate.visited_at
    if last is None:
        return Priority(SelectionReason.VISIT_NEW, 0.0, 1e9)
    if last > now - _DAY + SLACK:
        return None
    age = (now - last) / _DAY
    if candidate.unconfirmed:
        return Priority(SelectionReason.VISIT_UNCONFIRMED, age, 1e9)
    if candidate.failures:
        if may_soon_be_broken(candidate, rules):
            return Priority(SelectionReason.VISIT_FAILING, age, 1e9)
        bound = BROKEN if candidate.succeeded_at is not None else UNREACHABLE
        return _bounded(age, bound, 0.0)
    due = candidate.due
    is_due = due is not None and due <= now
    value = _value(candidate, now, age, is_due=is_due)
    history = candidate.history
    delinquent = history.delinquent
    # As many files as one update is expected to leave alone, and one more.
    enough = max(1, round((1 - history.together) * history.files))
    if is_due and history.turn < enough and delinquent is not None and now < delinquent:
        return Priority(SelectionReason.VISIT_DUE, value, value)
    return _bounded(age, REACHABLE, value)


def _bounded(age: float, bound: timedelta, value: float) -> Priority:
    share = age / _BOUNDS[bound]
    if share >= 1:
        return Priority(SelectionReason.VISIT_BOUND, share, value)
    return Priority(SelectionReason.VISIT_EXPECTED, value, value)


def _value(candidate: Candidate, now: datetime, age: float, *, is_due: bool) -> float:
    history = candidate.history
    changes = min(history.rate, MOST_CHANGES)
    together = history.together if history.files > 1 else 0.0
    value = (1 - together) * _ended(history, changes, now, age) + LOSS * changes * changes * age
    if candidate.is_touched:
        value += TOUCHED
    seen, last = history.change_seen_at, candidate.visited_at
    if seen is not None and last is not None and seen > last:
        # Another file of the dataset has changed since.
        return value + together * min(FOLLOWED, 1 / changes) * (1 + (now - seen) / _DAY)
    probed = age
    if history.probed_at is not None:
        probed = max((now - history.probed_at) / _DAY, 0.0)
    if history.turn:
        return value + changes * together * probed
    value += together * history.files * _ended(history, changes, now, probed)
    return value + STATUS * changes * probed if is_due else value


def _ended(history: History, changes: float, now: datetime, age: float) -> float:
    """Return twice the waiting for changes of a file that a check ends.

    :param age: days since a check would have seen them
    """
    random = changes * age * age
    if history.every is None or history.changed_at is None:
        return random
    since = (now - history.changed_at) / _DAY
    chance, days = pending(history.every, history.regularity, since - age, since)
    # Not every file of a dataset changes at each date.
    share = min(changes * history.every, 1.0)
    return random + chance * (2 * share * days - random)
