"""How often the data of a dataset really change, and whether its declared update frequency fits. Pure.

The observed frequency is the median of the last times between two updates. Two things limit what they tell:

* If no update has come for longer than usual, that time counts as one of them, though the update is still to
  come.
* Checks may be so far apart that each of them finds a change, which may be one of several. The data then change
  at least that often (:attr:`ObservedFrequency.at_least`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from math import log
from statistics import fmean, median

from .frequency import CHOICES
from .status import Thresholds
from .vocabularies import MAX_DAYS, NEVER

LEAST_UPDATES = 3
"""Fewer updates tell nothing."""

MOST_UPDATES = 11
"""Only so many updates count, the newest ones: habits change."""

SUGGESTED_FROM = 5
"""The number of updates from which on another frequency is suggested."""

FACTOR = 2
"""How many times longer or shorter than declared all times between these updates must be."""

ONE_UPDATE = timedelta(hours=12)
"""Files that change within this time belong to one update."""

_DAY = timedelta(days=1)
_PERIODS = sorted(days for days in CHOICES if days > 0)


@dataclass(frozen=True, slots=True)
class Update:
    """An update of a dataset's data.

    :ivar at: when the data changed, as exactly as it is known; aware
    :ivar within: length of the period in which they did; zero if the moment is known
    """

    at: datetime
    within: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class ObservedFrequency:
    """How often the data of a dataset change.

    :ivar moments: of the updates that it was computed from, in order
    :ivar days: the median of the days between two updates
    :ivar lowest: the fewest days between two updates
    :ivar highest: the most days between two updates
    :ivar at_least: whether the data may change more often, since each check found them changed
    """

    moments: tuple[datetime, ...]
    days: float
    lowest: float
    highest: float
    at_least: bool

    @property
    def updates(self) -> int:
        """The number of updates that it was computed from."""
        return len(self.moments)


def observed(updates: Iterable[Update], now: datetime) -> ObservedFrequency | None:
    """Return how often data change, by their updates in any order; None if too little is known.

    :param now: later updates are ignored: a clock was wrong
    """
    counted = _merged(sorted((one for one in updates if one.at <= now), key=lambda one: one.at))
    counted = counted[-MOST_UPDATES:]
    if len(counted) < LEAST_UPDATES:
        return None
    times = [(later.at - one.at) / _DAY for one, later in pairwise(counted)]
    since = (now - counted[-1].at) / _DAY
    if since > median(times):
        times.append(since)
    days = median(times)
    return ObservedFrequency(
        moments=tuple(one.at for one in counted),
        days=days,
        lowest=min(times),
        highest=max(times),
        at_least=fmean(one.within / _DAY for one in counted) > days / 2,
    )


def fitting(found: ObservedFrequency, declared_days: int) -> int | None:
    """Return the usual update frequency that fits better than the declared one; None if that may fit.

    :param declared_days: live and as needed fit any; never fits times above the longest usual frequency
    """
    if found.updates < SUGGESTED_FROM or (declared_days <= 0 and declared_days != NEVER):
        return None
    declared = FACTOR * _PERIODS[-1] if declared_days == NEVER else declared_days
    # Data that change in bursts, or have stopped to change, have times of both kinds.
    is_more_often = found.highest * FACTOR <= declared
    is_rarer = found.lowest >= declared * FACTOR and not found.at_least
    if not (is_more_often or is_rarer):
        return None
    return min(_PERIODS, key=lambda period: abs(log(period / found.days)))


MOST_OF_RHYTHM = 40
"""A rhythm counts by so many updates, the newest ones."""

LEAST_OF_RHYTHM = ((2, 15, 30), (14, 8, 60), (45, 6, 120), (MAX_DAYS, 4, 180))
"""What data need to have a rhythm, by its days (up to): the fewest updates, and the fewest days between the
first and the last of them. The shorter a rhythm, the easier do some corrections in a row look like one."""

SHORTEST, LONGEST = 0.5, 1.2
"""Parts of a rhythm's days: three of four times between two updates are no shorter than the first, since they
would be bursts, and their median is no longer than the second."""

END_OF_RHYTHM = 3
"""Data that have not changed for so many times as long as takes them to be long overdue have no rhythm any
more: they may have ended, or rest until the next season."""


def rhythm(updates: Iterable[Update], now: datetime, thresholds: Thresholds) -> int | None:
    """Return the update frequency that data keep of themselves, in days; None if none is certain.

    It is the shortest usual one by which they would not have been called late so far: of the times between two
    updates none is overdue but one, and that one is not long overdue.

    :param now: later updates are ignored: a clock was wrong
    """
    counted = _merged(sorted((one for one in updates if one.at <= now), key=lambda one: one.at))
    counted = counted[-MOST_OF_RHYTHM:]
    if len(counted) < LEAST_OF_RHYTHM[-1][1]:
        return None
    times = sorted((later.at - one.at) / _DAY for one, later in pairwise(counted))
    for days in _PERIODS:
        ages = thresholds.limits(days)
        if times[-2] * _DAY < ages.overdue and times[-1] * _DAY < ages.delinquent:
            _, least, span = next(row for row in LEAST_OF_RHYTHM if days <= row[0])
            is_kept = times[len(times) // 4] >= SHORTEST * days and median(times) <= LONGEST * days
            is_known = len(counted) >= least and sum(times) >= span
            is_over = now - counted[-1].at >= END_OF_RHYTHM * ages.delinquent
            if is_kept:
                return days if is_known and not is_over else None
    return None


def _merged(updates: list[Update]) -> list[Update]:
    """Merge updates that belong together. Keep the one whose date is known best, in the order of time."""
    found: list[Update] = []
    began: datetime | None = None
    for update in updates:
        if began is not None and update.at - began < ONE_UPDATE:
            found[-1] = min(found[-1], update, key=lambda one: one.within)
        else:
            found.append(update)
            began = update.at
    return found
