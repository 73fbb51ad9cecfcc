"""How often a file changes, learned from its checks.

A resource's rate of change is a Gamma distribution. Its prior has a fixed shape, and the mean that is expected
of the resource: by its dataset's update frequency, by its host and by the other resources of its dataset. The
resource's own observations are two numbers, the changes seen and the days watched, which add to the prior.

A check that finds the file changed says only that there was at least one change since the previous check. The
exact mean and variance of the rate after this observation are kept, as a Gamma distribution again (assumed
density filtering). If the date of the last change is known, the observation is exact: one change, and none
since. Old observations fade with a half-life of a year.

Changes are taken to be independent of each other (a Poisson process). For files that change regularly, the rate
is right on average.

Sources: Cho and Garcia-Molina, "Estimating frequency of change" (2003); Minka, "A family of algorithms for
approximate Bayesian inference" (2001), chapter 3.
"""

from __future__ import annotations

from math import expm1, log1p
from typing import NamedTuple

HALF_LIFE = 365.0
"""Days after which an observation counts half."""

SHAPE = 0.5
"""The shape of a prior: how much an expectation is believed, in changes seen. Few observations replace a small
one."""

LEAST_DAYS = 1 / 24
"""The shortest time between two observations. Two checks within an hour, or a clock that went back, say no
more."""

MOST = 1e5
"""The most changes and the most days that are kept. Every rate is positive and finite."""

_GUESSES = {None: 1 / 60, 0: 1 / 10, -1: 1 / 600, -2: 1 / 90}
"""Changes a day that are expected without an update frequency in days: none stated, live, never, as needed."""


class Observations(NamedTuple):
    """Observations of a resource, or of several together.

    :ivar changes: number of changes seen
    :ivar days: days watched
    """

    changes: float = 0.0
    days: float = 0.0

    def without(self, others: Observations) -> Observations:
        """Return the observations that remain if others are taken out."""
        return Observations(
            max(self.changes - others.changes, 0.0), max(self.days - others.days, 0.0)
        )


NONE = Observations()


def rate(expected: float, observations: Observations) -> float:
    """Return the mean rate, in changes a day, after observations.

    :param expected: the mean rate before them
    """
    return (SHAPE + observations.changes) / (SHAPE / expected + observations.days)


def expected(
    frequency_days: int | None, host: Observations = NONE, dataset: Observations = NONE
) -> float:
    """Return the rate that is expected of a resource, in changes a day, before its own observations.

    :param frequency_days: the dataset's update frequency; 0 live, -1 never, -2 as needed, None if it has none
    :param host: of all resources of the host whose datasets have no update frequency. They count only for such
        datasets.
    :param dataset: of the dataset's other resources
    """
    if frequency_days is None:
        first = rate(_GUESSES[None], host)
    elif frequency_days <= 0:
        first = _GUESSES.get(frequency_days, _GUESSES[None])
    else:
        first = 1 / frequency_days
    return rate(first, dataset)


def unchanged(before: Observations, days: float) -> Observations:
    """Return the observations after a check that found the file unchanged.

    :param days: time since the previous check
    """
    changes, watched, days = _faded(before, days)
    return _bounded(changes, watched + days)


def changed(before: Observations, expected_rate: float, days: float) -> Observations:
    """Return the observations after a check that found the file changed, at least once since the previous
    check.

    :param expected_rate: see :func:`expected`
    :param days: time since the previous check
    """
    changes, watched, days = _faded(before, days)
    shape, exposure = SHAPE + changes, SHAPE / expected_rate + watched
    # The moments of the rate, given at least one change within the days. Without the observation they would be
    # shape / exposure and shape (shape + 1) / exposure ** 2. `some` is the probability of a change; the moments
    # have the same expression for a larger shape.
    grown = log1p(days / exposure)
    some = -expm1(-shape * grown)
    mean = shape / exposure * -expm1(-(shape + 1) * grown) / some
    square = shape * (shape + 1) / exposure**2 * -expm1(-(shape + 2) * grown) / some
    variance = square - mean * mean
    if variance <= 0:
        return _bounded(changes + 1, watched)
    return _bounded(mean * mean / variance - SHAPE, mean / variance - SHAPE / expected_rate)


def changed_at(before: Observations, days: float, age: float) -> Observations:
    """Return the observations after a check that found the file changed, and when.

    :param days: time since the previous check
    :param age: days since the last change
    """
    changes, watched, days = _faded(before, days)
    return _bounded(changes + 1, watched + min(max(age, 0.0), days))


def mixed(first: Observations, second: Observations, share: float) -> Observations:
    """Return two possible outcomes of a check as one.

    :param share: the probability of the first
    """
    return Observations(
        second.changes + share * (first.changes - second.changes),
        second.days + share * (first.days - second.days),
    )


def _faded(before: Observations, days: float) -> tuple[float, float, float]:
    days = min(max(days, LEAST_DAYS), MOST)
    kept = 0.5 ** (days / HALF_LIFE)
    return before.changes * kept, before.days * kept, days


def _bounded(changes: float, days: float) -> Observations:
    return Observations(min(max(changes, 0.0), MOST), min(max(days, 0.0), MOST))
