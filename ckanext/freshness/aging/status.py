"""Computes a dataset's status (fresh, due, overdue, delinquent) and the moments when it changes by itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from ..dates import shifted
from .frequency import ALWAYS_FRESH
from .thresholds import Thresholds


class Status(Enum):
    """The statuses of a dataset, in the order in which it ages."""

    FRESH = "fresh"
    DUE = "due"
    OVERDUE = "overdue"
    DELINQUENT = "delinquent"
    UNAVAILABLE = "unavailable"
    """Freshness unknown: no frequency, no resources, or no known modification."""


GROUPS = {
    "up_to_date": (Status.FRESH,),
    "needs_update": (Status.DUE, Status.OVERDUE, Status.DELINQUENT),
    "unknown": (Status.UNAVAILABLE,),
}
"""The statuses of each group. The groups are the first level of the facet."""


@dataclass(frozen=True, slots=True)
class Boundaries:
    """The moments at which the status of an unchanged dataset changes."""

    due: datetime
    overdue: datetime
    delinquent: datetime


@dataclass(frozen=True, slots=True)
class Assessment:
    """A dataset's status at one moment, with the dates from which it follows."""

    status: Status
    boundaries: Boundaries | None
    """None if the status does not depend on time: always fresh, or unavailable."""
    last_modified: datetime | None
    """The last modification that counts."""
    cut: bool
    """Whether the given date lay in the future, so that the date when it was first seen counts."""


def assess(
    last_modified: datetime | None,
    frequency_days: int | None,
    now: datetime,
    thresholds: Thresholds,
    *,
    has_resources: bool = True,
    first_seen: datetime | None = None,
) -> Assessment:
    """Compute the status of a dataset by HDX's aging methodology.

    A dataset without resources is unavailable, whatever its frequency. A dataset with the frequency
    ``LIVE``, ``NEVER`` or ``AS_NEEDED`` is always fresh, even without a known modification. A dataset
    without a frequency or a last modification is unavailable. Otherwise the age decides, to the
    microsecond.

    A last modification in the future counts as of the time when it was first seen. For evidence, pass
    ``dated.claim`` with ``first_seen=dated.when``.

    :param last_modified: the newest modification, as claimed
    :param frequency_days: ``Frequency.days``; None if no frequency is understood
    :param first_seen: when ``last_modified`` was first seen; None for ``now``
    :raises ValueError: the number of days is no frequency
    """
    seen = now if first_seen is None else min(first_seen, now)
    modified = None if last_modified is None else min(last_modified, seen)
    cut = modified != last_modified
    if not has_resources or frequency_days is None:
        return Assessment(Status.UNAVAILABLE, None, modified, cut)
    if frequency_days in ALWAYS_FRESH:
        return Assessment(Status.FRESH, None, modified, cut)
    limits = thresholds.limits(frequency_days)
    if modified is None:
        return Assessment(Status.UNAVAILABLE, None, None, cut)
    boundaries = Boundaries(
        due=shifted(modified, limits.due),
        overdue=shifted(modified, limits.overdue),
        delinquent=shifted(modified, limits.delinquent),
    )
    return Assessment(status_at(boundaries, now), boundaries, modified, cut)


def status_at(boundaries: Boundaries, now: datetime) -> Status:
    """Return the status at a moment; each boundary is reached with ``>=``."""
    if now >= boundaries.delinquent:
        return Status.DELINQUENT
    if now >= boundaries.overdue:
        return Status.OVERDUE
    if now >= boundaries.due:
        return Status.DUE
    return Status.FRESH


def next_boundary(assessment: Assessment, now: datetime) -> datetime | None:
    """Return when the status changes next by itself; None if it never does."""
    if assessment.boundaries is None:
        return None
    bounds = assessment.boundaries
    return next((at for at in (bounds.due, bounds.overdue, bounds.delinquent) if at > now), None)
