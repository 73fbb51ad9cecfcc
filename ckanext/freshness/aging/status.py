"""Fresh, due, overdue, delinquent: the status of a dataset, and when it changes by itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from ..dates import shifted
from .frequency import ALWAYS_FRESH
from .thresholds import Thresholds


class Status(Enum):
    """How fresh a dataset is, in the order in which it ages."""

    FRESH = "fresh"
    DUE = "due"
    OVERDUE = "overdue"
    DELINQUENT = "delinquent"
    UNAVAILABLE = "unavailable"
    """It cannot be said: no frequency, no resources, or no known modification."""


@dataclass(frozen=True, slots=True)
class Boundaries:
    """The moments at which a dataset that stays as it is changes its status."""

    due: datetime
    overdue: datetime
    delinquent: datetime


@dataclass(frozen=True, slots=True)
class Assessment:
    """A dataset's status at one moment, and what it follows from."""

    status: Status
    boundaries: Boundaries | None
    """None where time changes nothing: always fresh, or unavailable."""
    last_modified: datetime | None
    """The last modification that counts."""
    cut: bool
    """Whether the date given lay in the future, so that an earlier one counts instead."""


def assess(
    last_modified: datetime | None,
    frequency_days: int | None,
    now: datetime,
    thresholds: Thresholds,
    *,
    has_resources: bool = True,
    first_seen: datetime | None = None,
) -> Assessment:
    """The status of a dataset by HDX's aging methodology.

    Without resources it is unavailable, whatever its frequency. With ``LIVE``, ``NEVER`` or
    ``AS_NEEDED`` it is always fresh, even where nothing is known of its modification. Without a
    frequency or a last modification it is unavailable. Otherwise its age decides, to the
    microsecond.

    A last modification in the future is cut to the time when it was first seen: for evidence,
    pass ``dated.claim`` with ``first_seen=dated.when``.

    :param last_modified: the newest modification, as it is claimed.
    :param frequency_days: ``Frequency.days``; None where no frequency is understood.
    :param first_seen: when ``last_modified`` was seen for the first time; ``now`` if None.
    :raises ValueError: for a number of days that is no frequency.
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
    """The status between boundaries; each is reached with ``>=``."""
    if now >= boundaries.delinquent:
        return Status.DELINQUENT
    if now >= boundaries.overdue:
        return Status.OVERDUE
    if now >= boundaries.due:
        return Status.DUE
    return Status.FRESH


def next_boundary(assessment: Assessment, now: datetime) -> datetime | None:
    """When the status changes next if nothing else happens; None if it never does."""
    if assessment.boundaries is None:
        return None
    bounds = assessment.boundaries
    return next((at for at in (bounds.due, bounds.overdue, bounds.delinquent) if at > now), None)
