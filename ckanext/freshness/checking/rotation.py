"""A run's choice among all resources of a catalogue: what the rules have visited, and whose turn it is.

All but the turn is decided for each resource by itself, in :mod:`.selection`; the rotation picks the oldest
of all, as many as a run has room for.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf

from .selection import Candidate, SelectionReason, SelectionRules, choose, was_found


@dataclass(frozen=True, slots=True)
class SelectedResource:
    """A resource that a run visits.

    :ivar hash_anyway: its bytes are wanted, whatever the server says of them
    :ivar is_new: whether this run sees it for the first time
    :ivar is_touched: whether its own date is later than in the run before
    """

    resource_id: str
    verdict: SelectionReason
    hash_anyway: bool
    is_new: bool = False
    is_touched: bool = False


class Selection:
    """A run's choice among all resources; its memory grows with what it picks alone.

    :param budget: how many the rotation may pick; see :func:`rotation_budget`
    :ivar verdicts: how many resources got each verdict, without regard to the rotation
    """

    def __init__(self, now: datetime, rules: SelectionRules, budget: int) -> None:
        self.verdicts: Counter[SelectionReason] = Counter()
        self._now = now
        self._rules = rules
        self._visits: dict[str, _Visited] = {}
        self._rotation = _Oldest(budget)

    def add(self, row: Candidate) -> SelectionReason:
        """Choose what happens with a resource. The rotation may still pick what is not visited yet."""
        choice = choose(row, self._now, self._rules)
        verdict = choice.verdict
        self.verdicts[verdict] += 1
        if verdict.visits:
            self._visits[row.resource_id] = (verdict, row.is_new, row.is_touched)
        if choice.is_candidate:
            visited = (SelectionReason.VISIT_ROTATION, row.is_new, row.is_touched)
            self._rotation.offer(row.resource_id, _turn(row), visited)
        return verdict

    def picked(self) -> list[SelectedResource]:
        """All that are to be visited, once all resources were added."""
        turn = self._rotation.lowest()
        rest = {one: visited for one, visited in turn.items() if one not in self._visits}
        return [
            SelectedResource(one, verdict, one in turn, is_new, is_touched)
            for one, (verdict, is_new, is_touched) in (self._visits | rest).items()
        ]


def rotation_budget(total: int, rules: SelectionRules) -> int:
    """How many of so many resources the rotation may pick in one run: all of them, in its time."""
    days = rules.rotation / timedelta(days=1)
    return 0 if days <= 0 else -int(-total // max(days, 1))


def _turn(row: Candidate) -> float:
    """What the rotation's order goes by: who was read, or could not be read, longest ago is first.

    Were it the last hash alone, then the many that cannot be read would be first for ever.
    """
    last = row.hashed_at if was_found(row) else row.tried_at
    return -inf if last is None else (last - _EPOCH).total_seconds()


_EPOCH = datetime(1970, 1, 1)


_Visited = tuple[SelectionReason, bool, bool]
"""What is kept of a row that may be visited, of which there may be many: see :class:`SelectedResource`."""


class _Oldest:
    """The lowest of many, of equal ones the first, in memory for just so many."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._count = 0
        self._heap: list[tuple[float, int, str, _Visited]] = []

    def offer(self, id_: str, key: float, visited: _Visited) -> None:
        self._count += 1
        one = (-key, -self._count, id_, visited)
        if len(self._heap) < self._size:
            heapq.heappush(self._heap, one)
        elif self._heap and key < -self._heap[0][0]:
            heapq.heapreplace(self._heap, one)

    def lowest(self) -> dict[str, _Visited]:
        """The lowest first."""
        return {id_: visited for _key, _count, id_, visited in sorted(self._heap, reverse=True)}
