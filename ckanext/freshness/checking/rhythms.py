"""When a file that changes regularly is expected to change next.

A file may change at random, or regularly: about every seven days, for example. What is known of a file is the
moment of its last change, the days between its changes, and the probability that it changes regularly. After
each change, the interval since the previous one says how well either assumption explains it (Bayes' rule).

If a file changes regularly, nothing is expected for most of the time, and a change within a short window around
its date. A check within the window is worth the waiting since the window opened. After the window, the change
is waiting to be seen, unless it was skipped.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from math import exp, hypot, pi, sqrt
from typing import NamedTuple

_DAY = timedelta(days=1)

UNKNOWN = 0.1
"""The probability that a file changes regularly, before anything is known of it."""

SURE = 0.95
"""The highest probability. The lowest one is what is missing to 1."""

_DEVIATION = 0.1
"""Standard deviation of regular intervals, as a share of them."""
_WINDOW = 0.2
"""Half the width of the window around the expected date, as a share of the interval."""
_LEAST = 0.25
"""Days: added to this half of the window, the shortest interval, and the shortest rest of a window."""
_SKIPPED = 0.5
"""The probability that a file that skipped a change keeps its dates."""
_STEP = 1 / 3
"""How much one interval counts in the mean."""
_STRONGEST = 10.0
"""How many times better one interval may speak for one assumption than for the other."""

MISSED = 0.5
MOST_MISSED = 15.0
"""Days that a change waits that is probably there: a share of the interval, up to a number of days."""


class Rhythm(NamedTuple):
    """The changes of a file in time.

    :ivar changed_at: the last change; None if none is known
    :ivar every: days between changes; None if fewer than two are known
    :ivar regularity: the probability that the file changes regularly
    """

    changed_at: datetime | None = None
    every: float | None = None
    regularity: float = UNKNOWN


NO_RHYTHM = Rhythm()


def after_change(before: Rhythm, after: datetime, until: datetime) -> Rhythm:
    """Return the rhythm after a change that happened between two moments.

    :param until: the same as ``after`` if the moment of the change is known
    """
    at = after + (until - after) / 2
    if before.changed_at is None or at <= before.changed_at:
        return before._replace(changed_at=at)
    interval = max((at - before.changed_at) / _DAY, _LEAST)
    if before.every is None:
        return Rhythm(at, interval, before.regularity)
    every = before.every
    # The standard deviation of a moment between two others is their distance by the root of twelve. Two moments
    # are uncertain: this one and the previous one.
    uncertain = max((until - after) / _DAY, 0.0) / sqrt(6)
    deviation = hypot(_DEVIATION * every, uncertain, 0.1)
    regular = exp(-(((interval - every) / deviation) ** 2) / 2) / (deviation * sqrt(2 * pi))
    random = exp(-interval / every) / every
    evidence = min(max(regular / random, 1 / _STRONGEST), _STRONGEST) if random else 1 / _STRONGEST
    odds = before.regularity / (1 - before.regularity) * evidence
    regularity = min(max(odds / (1 + odds), 1 - SURE), SURE)
    if evidence > 1:
        every += _STEP * (interval - every)
    elif regularity < 0.5:
        every = interval
    return Rhythm(at, every, regularity)


def pending(every: float, regularity: float, checked: float, now: float) -> tuple[float, float]:
    """Return the probability that a file changes regularly, and the days that a check now is worth if it does.

    :param every: days between changes
    :param regularity: before it is known that no change has been seen since the last one
    :param checked: days from the last known change to the last check, which saw no other one
    :param now: days from the last known change until now
    """
    half = _WINDOW * every + _LEAST
    # Once for each resource of a catalogue: comparisons take a third of the time of min() and max().
    skipped = int((checked - half) / every) if checked > half else 0
    middle = (skipped + 1) * every
    opens, closes = middle - half, middle + half
    begins = opens if opens > checked else checked
    left = closes - begins
    if left < _LEAST:
        left = _LEAST
    # The longer the file has not changed, the more probable it is that it changes at random, or was skipped.
    prior = regularity * _SKIPPED ** min(skipped, 20) if skipped else regularity
    chance = prior * left / (closes - opens) if begins > opens else prior
    since = checked - skipped * every
    otherwise = (1 - prior) * exp(-since / every) if since > 0 else 1 - prior
    chance /= chance + otherwise
    passed = now - begins
    if passed <= 0:
        return chance, 0.0
    if passed > left:
        passed = left
    days = passed * passed / (2 * left)
    if now >= closes:
        days += min(MISSED * every, MOST_MISSED)
    return chance, days
