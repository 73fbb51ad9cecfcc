"""How often the data of a dataset really change, and whether its declared update frequency fits. Pure.

The times between updates are taken to be independent of each other and about equally long. How much they vary
is learned from them; before, it is expected to be moderate (:data:`_VARIATION`). The average time between two
updates is then known as well as the variation and their number allow. Two things limit this:

* If no update has come for longer than usual, that time counts as one of them, though the update is still to
  come.
* Checks may be so far apart that each of them finds a change, which may be one of several. The average is then
  an upper limit: the data change at least that often (:attr:`ObservedFrequency.at_least`).

Everything is a probability, and no promise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from math import exp, log, log1p, sqrt
from statistics import NormalDist, fmean

from ..dates import shifted
from .frequency import CHOICES, NEVER

PROBABILITY = 0.8
"""The probability that a range contains its value."""

CERTAIN = 0.9
"""The certainty from which on another frequency is suggested."""

LEAST_UPDATES = 3
"""Fewer updates tell nothing."""

MOST_UPDATES = 50
"""Only so many updates count, the newest ones: habits change."""

ONE_UPDATE = timedelta(hours=12)
"""Files that change within this time belong to one update."""

_DAY = timedelta(days=1)
_VARIATION = 0.5
"""The standard deviation, in average times, of times between updates that is expected beforehand."""
_WEIGHT = 2
"""How many times between updates this expectation counts for."""
_LATE = 0.05
"""If a smaller share of times is as long as the one since the last update, nothing is said of the next."""

_MOST_CERTAIN = 0.999
"""Nothing is certain."""

_PERIODS = sorted(days for days in CHOICES if days > 0)
_NORMAL = NormalDist()
_BELOW = (1 - PROBABILITY) / 2
_Z = _NORMAL.inv_cdf(1 - _BELOW)


@dataclass(frozen=True, slots=True)
class Update:
    """An update of a dataset's data.

    :ivar at: when the data changed, as exactly as it is known; aware
    :ivar within: length of the period in which they did; zero if the moment is known
    """

    at: datetime
    within: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class NextUpdate:
    """When the next update is expected: the median, and a range with :data:`PROBABILITY`."""

    expected: datetime
    earliest: datetime
    latest: datetime


@dataclass(frozen=True, slots=True)
class ObservedFrequency:
    """How often the data of a dataset change.

    :ivar moments: of the updates that it was computed from, in order
    :ivar days: the average time between two updates, in days
    :ivar lowest: the range of this average with :data:`PROBABILITY`
    :ivar at_least: whether the data may change more often, since each check found them changed
    :ivar spread: the standard deviation of the average's logarithm
    :ivar longer: the average length of the times in which a moment lies: longer than ``days`` if updates come
        in bursts
    :ivar next: None if the next update is so late that nothing can be said
    """

    moments: tuple[datetime, ...]
    days: float
    lowest: float
    highest: float
    at_least: bool
    spread: float
    longer: float
    next: NextUpdate | None

    @property
    def updates(self) -> int:
        """The number of updates that it was computed from."""
        return len(self.moments)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A declared update frequency that does not fit the observed one.

    :ivar certainty: the probability that another of the usual frequencies fits better
    :ivar suggested_days: the usual frequency that fits best
    """

    certainty: float
    suggested_days: int


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
    days = fmean(times)
    if since > days:
        times.append(since)
        days = fmean(times)
    number = len(times)
    squares = sum((time / days - 1) ** 2 for time in times)
    freedom = _WEIGHT + number - 1
    variance = (_WEIGHT * _VARIATION**2 + squares) / freedom
    # A few times tell little of their variance: as with Student's t.
    spread = sqrt(variance / number * freedom / (freedom - 2))
    return ObservedFrequency(
        moments=tuple(one.at for one in counted),
        days=days,
        lowest=days * exp(-_Z * spread),
        highest=days * exp(_Z * spread),
        at_least=fmean(one.within / _DAY for one in counted) > days / 2,
        spread=spread,
        longer=sum(time * time for time in times) / sum(times),
        next=_next(days, variance * (1 + 1 / number), counted[-1].at, since),
    )


def misfit(found: ObservedFrequency, declared_days: int) -> Misfit | None:
    """Compare an observed frequency with the declared one; return None if that fits, or fits any.

    A usual frequency fits the average times that are nearer to it than to others, in proportion. Data that have
    stopped to change, or that change in bursts, do not show that a frequency is wrong.

    :param declared_days: live and as needed fit any; never fits no change
    """
    if declared_days == NEVER:
        # Rarer than the rarest of the usual frequencies.
        return _too_rare(found, _PERIODS[-1] * sqrt(2))
    if declared_days <= 0:
        return None
    shorter = max((days for days in _PERIODS if days < declared_days), default=None)
    longer = min((days for days in _PERIODS if days > declared_days), default=None)
    if longer is not None and found.next is not None and not found.at_least:
        limit = sqrt(declared_days * longer)
        if found.days > limit:
            return _misfit(found, log(found.days / limit))
    return None if shorter is None else _too_rare(found, sqrt(declared_days * shorter))


def _too_rare(found: ObservedFrequency, limit: float) -> Misfit | None:
    return _misfit(found, log(limit / found.days)) if found.longer < limit else None


def _misfit(found: ObservedFrequency, distance: float) -> Misfit:
    """
    :param distance: of the logarithms of the average time and of the limit between two frequencies
    """
    certainty = min(_NORMAL.cdf(distance / found.spread), _MOST_CERTAIN)
    return Misfit(certainty, nearest(found.days))


def nearest(days: float) -> int:
    """Return the usual update frequency, in days, that is nearest in proportion."""
    return min(_PERIODS, key=lambda period: abs(log(period / days)))


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


def _next(days: float, variance: float, last: datetime, since: float) -> NextUpdate | None:
    """Return when the next update is expected, given that none has come since the last.

    Times are taken to be distributed log-normally.

    :param variance: of the time until the next update, in squares of the average
    :param since: days since the last update
    """
    sigma = sqrt(log1p(variance))
    mean = log(days) - sigma * sigma / 2
    passed = _NORMAL.cdf((log(since) - mean) / sigma) if since > 0 else 0.0
    if 1 - passed < _LATE:
        return None

    def after(share: float) -> datetime:
        time = exp(mean + sigma * _NORMAL.inv_cdf(passed + share * (1 - passed)))
        return shifted(last, timedelta(days=min(max(time, since), _LONGEST)))

    return NextUpdate(after(0.5), after(_BELOW), after(1 - _BELOW))


_LONGEST = 1e6
"""Days, so that a date can be computed."""
