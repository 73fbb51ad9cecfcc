"""The rules for which resources a run checks, as pure functions of the facts about a resource.

The rules are those of HDX's data freshness process. A resource that is fresh by its dates is not checked. Daily
data are always checked. In the *rotation*, each run also reads the share of all resources that has not been
hashed for the longest time, so that every file is read from time to time. We add two rules: datasets with a low
update frequency are checked less often; a URL that fails is checked every night until it is broken, then less
often, up to a week apart.

:func:`is_due` decides for one resource. :class:`Selection` chooses from a whole catalogue.

Moments are naive and in UTC, as the database returns them.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from math import inf
from typing import NamedTuple

HDX, LEARNED = "hdx", "learned"
POLICIES = (HDX, LEARNED)
"""The policies that select resources. See :mod:`.learned` for the second."""


SLACK = timedelta(hours=1)
"""How early an interval counts as passed: nightly runs do not start at the same second."""

DAILY = 1
_DAY = timedelta(days=1)

ROTATION = 30 * _DAY
"""Age from which a hash is renewed. In days, its inverse is the share of all resources that the rotation of one
run reads."""
_LONGEST_BACK_OFF = 7 * _DAY
"""Upper limit of the intervals of broken URLs, which double with each failure."""

_DOUBTFUL = 14 * _DAY
"""How long a URL that failed is checked every night. Only a server that blocks checks after a failure keeps a
URL neither broken nor working for so long."""


class LeftOut(Enum):
    """The reason why no run checks a resource."""

    INTERNAL = "internal"
    """An upload, or a URL below the site's own: its metadata change with the file."""
    AD_HOC = "ad hoc"
    """On a host that makes files on request: it cannot be determined whether they changed."""
    ARCHIVED = "archived"
    """The dataset is archived."""
    REQUESTABLE = "requestable"
    """The dataset is only available on request."""

    # By identity: Enum's own function hashes the name, several times for each resource of the catalogue.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Intervals:
    """The times between two checks of a resource, by its dataset's update frequency.

    :ivar steps: pairs (highest frequency in days, interval), ascending
    :ivar above: the interval for all other frequencies, and for datasets without one
    """

    steps: tuple[tuple[int, timedelta], ...] = ((30, _DAY), (180, 3 * _DAY))
    above: timedelta = 7 * _DAY

    def of(self, frequency_days: int | None) -> timedelta:
        if frequency_days is not None and frequency_days > 0:
            for highest, interval in self.steps:
                if frequency_days <= highest:
                    return interval
        return self.above


@dataclass(frozen=True, slots=True)
class SelectionRules:
    """The site's options and the caller's wishes for a selection.

    :ivar adhoc_hosts: hosts that make files on request, normalised
    :ivar intervals: between two checks of a resource
    :ivar everything: check fresh resources, too, and ignore all intervals
    """

    adhoc_hosts: Collection[str] = frozenset()
    intervals: Intervals = field(default_factory=Intervals)
    everything: bool = False


class Candidate(NamedTuple):
    """A resource as the rules see it.

    A NamedTuple, since a run makes one for each resource of the catalogue (``./dev bench check``).

    :ivar is_internal: whether the file is on the portal itself
    :ivar host: of the URL, normalised
    :ivar frequency_days: the dataset's update frequency; None if it has none
    :ivar due: when the dataset becomes due; None if its status never changes, or no date is known
    :ivar archived: whether the dataset is archived
    :ivar requestable: whether the dataset is only available on request
    :ivar checked_at: start of the run that last checked the resource
    :ivar has_hash: whether a hash is stored
    :ivar hashed_at: when the file was last hashed
    :ivar tried_at: end of the last check
    :ivar succeeded_at: end of the last check that found the file
    :ivar failures: number of failed checks since then
    :ivar failing_since: end of the first of these
    :ivar failed_at: end of the last of these
    :ivar unconfirmed: whether the last check found another hash and could not confirm it
    :ivar is_new: whether this run is the first to see the resource
    :ivar is_touched: whether the resource's own date is later than at the previous run
    :ivar waits_since: the first check since which nobody can tell whether the server still has the file

    The others are for the policy ``learned``, and are read for it alone:

    :ivar changes: of the resource that checks have seen
    :ivar days: that checks have watched it
    :ivar files: number of files of the dataset whose last check did not fail, at least 1
    :ivar turn: number of these that have waited longer for a check
    :ivar probed_at: start of the run that last checked any of them
    :ivar change_seen_at: start of the run that last found a change of any of them
    """

    resource_id: str
    package_id: str
    is_internal: bool
    host: str
    frequency_days: int | None
    due: datetime | None
    archived: bool
    requestable: bool
    checked_at: datetime | None
    has_hash: bool
    hashed_at: datetime | None
    tried_at: datetime | None
    succeeded_at: datetime | None
    failures: int
    failing_since: datetime | None
    unconfirmed: bool
    is_new: bool
    is_touched: bool
    failed_at: datetime | None = None
    waits_since: datetime | None = None
    changes: float = 0.0
    days: float = 0.0
    files: int = 1
    turn: int = 0
    probed_at: datetime | None = None
    change_seen_at: datetime | None = None


class Entry(NamedTuple):
    """What is kept of a candidate that may be chosen: of a large catalogue, hundreds of thousands.

    :ivar number: minus the number of the candidate
    :ivar read_at: when the file was last hashed; None if it never was, or its last check did not find it
    """

    rank: float
    number: int
    resource_id: str
    read_at: datetime | None


class Best:
    """The entries with the highest ranks; if ranks are equal, those that came first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._heap: list[Entry] = []

    def add(self, rank: float, number: int, candidate: Candidate) -> float | None:
        """Offer a candidate. Return the rank of the candidate that has no room; None if all have."""
        is_full = len(self._heap) >= self._size
        if is_full and (not self._heap or rank <= self._heap[0].rank):
            return rank
        read_at = candidate.hashed_at if was_found(candidate) else None
        entry = Entry(rank, -number, candidate.resource_id, read_at)
        if is_full:
            return heapq.heapreplace(self._heap, entry).rank
        heapq.heappush(self._heap, entry)
        return None

    def sorted(self) -> list[Entry]:
        return sorted(self._heap, key=lambda entry: entry[:2], reverse=True)


class Selection:
    """The resources that a run checks. Its memory grows with these alone, not with the catalogue.

    :param now: start of the run
    :param budget: how many resources the rotation may choose; see :func:`rotation_budget`
    :ivar longest_days: see :class:`.learned.LearnedSelection`
    """

    longest_days = 0

    def __init__(self, now: datetime, rules: SelectionRules, budget: int) -> None:
        self._now = now
        self._rules = rules
        self._chosen: list[str] = []
        self._offered = 0
        self._oldest = Best(budget)
        """The rotation's choice, by age."""

    def add(self, candidate: Candidate) -> LeftOut | None:
        """Offer a candidate. Return why it is left out; None if it may be chosen."""
        reason = left_out(candidate, self._rules)
        if reason is not None:
            return reason
        is_checked = is_due(candidate, self._now, self._rules)
        if is_checked:
            self._chosen.append(candidate.resource_id)
        # A check without a hash reads the whole file anyway.
        is_read = is_checked and not candidate.has_hash
        if not is_read and may_rotate(candidate, self._now):
            # By the last hash alone, files that cannot be read would come first in every run.
            last = candidate.hashed_at if was_found(candidate) else candidate.tried_at
            age = inf if last is None else (self._now - last) / _DAY
            self._offered += 1
            self._oldest.add(age, self._offered, candidate)
        return None

    def chosen(self) -> list[str]:
        """Return the ids of the resources to check, at the end those of the rotation, the oldest first."""
        rotation = (one.resource_id for one in self._oldest.sorted())
        return list(dict.fromkeys([*self._chosen, *rotation]))

    def rotation(self) -> frozenset[str]:
        """Return the ids of the resources whose files are read even if their server reports no change."""
        return frozenset(one.resource_id for one in self._oldest.sorted())


def rotation_budget(total: int) -> int:
    """Return how many of ``total`` resources one run has to read so that the rotation reaches all in time."""
    return -(-total // ROTATION.days)


def is_due(candidate: Candidate, now: datetime, rules: SelectionRules) -> bool:
    """Decide whether a run that started at ``now`` checks a resource that is not left out.

    The rotation may choose it all the same.
    """
    if rules.everything or (candidate.unconfirmed and was_found(candidate)):
        return True
    # The dataset's status does not matter for a URL that failed, or whose change is to be confirmed.
    is_urgent = candidate.unconfirmed or candidate.failures or may_soon_be_broken(candidate)
    if not is_urgent and not _may_be_late(candidate, now):
        return False
    last = candidate.checked_at
    return last is None or last <= now - _interval(candidate, rules) + SLACK


def may_rotate(candidate: Candidate, now: datetime) -> bool:
    """Decide whether the rotation may choose a resource that is not left out."""
    hashed, checked = candidate.hashed_at, candidate.checked_at
    if hashed is not None and hashed + ROTATION - SLACK > now:
        return False
    if checked is None or was_found(candidate):
        return True
    # A file that could not be read waits as long as the longest back-off.
    return checked + _LONGEST_BACK_OFF - SLACK <= now


def left_out(candidate: Candidate, rules: SelectionRules) -> LeftOut | None:
    """Return why no run checks a resource; None if one may."""
    if candidate.is_internal:
        return LeftOut.INTERNAL
    if candidate.archived:
        return LeftOut.ARCHIVED
    if candidate.requestable:
        return LeftOut.REQUESTABLE
    if candidate.host in rules.adhoc_hosts:
        return LeftOut.AD_HOC
    return None


def _may_be_late(candidate: Candidate, now: datetime) -> bool:
    """Decide whether a dataset is due, by its status and its update frequency."""
    frequency = candidate.frequency_days
    if frequency is None or frequency <= 0:
        # Without a frequency, or updated live, never or as needed, the dataset becomes never due.
        return False
    # Daily data are checked at any status.
    return frequency == DAILY or candidate.due is None or candidate.due <= now


def _interval(candidate: Candidate, rules: SelectionRules) -> timedelta:
    """Return how long a resource waits between two checks."""
    if may_soon_be_broken(candidate):
        return _DAY
    interval = rules.intervals.of(candidate.frequency_days)
    if not candidate.failures:
        return interval
    # The limit of the exponent only avoids huge numbers: a week is reached long before.
    doublings = min(candidate.failures - 1, 20)
    return min(interval * int(2**doublings), _LONGEST_BACK_OFF)


def may_soon_be_broken(candidate: Candidate) -> bool:
    """Return whether a URL waits for its file, or has failed, but is not broken yet."""
    since, tried = candidate.failing_since, candidate.tried_at
    if not candidate.failures:
        since = candidate.waits_since
        return since is not None and tried is not None and tried - since < _DOUBTFUL
    if since is not None and tried is not None and tried - since >= _DOUBTFUL:
        return False
    return not is_broken(candidate.failures, since, candidate.failed_at)


def was_found(candidate: Candidate) -> bool:
    """Return whether the last check found the file."""
    if candidate.succeeded_at is None or candidate.tried_at is None:
        return False
    return candidate.succeeded_at >= candidate.tried_at


BROKEN_AFTER_FAILURES = 3
"""Failures in a row after which a URL may be broken."""
BROKEN_AFTER = _DAY
"""The least time between the first and the last of these failures."""


def is_broken(
    failures: int | None, failing_since: datetime | None, failed_at: datetime | None
) -> bool:
    """Decide whether a URL is broken: it failed several times in a row, spread over some time.

    Checks that could not tell, as of a server that blocks them, count neither way.

    :param failing_since: end of the first failed check
    :param failed_at: end of the last failed check
    """
    if not failures or failing_since is None or failed_at is None:
        return False
    return failures >= BROKEN_AFTER_FAILURES and failed_at - failing_since >= BROKEN_AFTER


IS_BROKEN = f"""c.failing_since IS NOT NULL AND c.failures >= {BROKEN_AFTER_FAILURES}
    AND c.failed_at - c.failing_since >= interval '{BROKEN_AFTER.days} days'"""
""":func:`is_broken` in SQL, for a row ``c`` of ``freshness_check``."""
