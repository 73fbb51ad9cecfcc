"""A dataset's status (fresh, due, overdue, delinquent) by the table of thresholds, and when it changes by time.

The table is HDX's aging methodology. For a frequency that is not in it, the graces (from due to
overdue, and from due to delinquent) are interpolated linearly between the neighbouring rows. Outside
the table, the graces of the nearest row apply.

Interpolated graces are exact to the second, like stored dates: every 15 days gives 7 d 10 h 30 min.
Rounding to days would make steps, so that one day more of frequency moved a boundary by none or two.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import lru_cache
from itertools import pairwise

from ..dates import shifted
from .frequency import ALWAYS_FRESH
from .vocabularies import MAX_DAYS

_DAY = 86400


class ThresholdsError(ValueError):
    """An invalid table of thresholds. The message names the entry and the reason."""


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    """The ages, in days, at which data of one update frequency change their status."""

    frequency: int
    due: int
    overdue: int
    delinquent: int

    def __str__(self) -> str:
        return f"{self.frequency}:{self.due},{self.overdue},{self.delinquent}"


HDX_ROWS = (
    ThresholdRow(1, 1, 2, 3),
    ThresholdRow(2, 2, 4, 6),
    ThresholdRow(7, 7, 14, 21),
    ThresholdRow(14, 14, 21, 28),
    ThresholdRow(30, 30, 44, 60),
    ThresholdRow(60, 60, 84, 108),
    ThresholdRow(90, 90, 120, 150),
    ThresholdRow(120, 120, 147, 174),
    ThresholdRow(180, 180, 210, 240),
    ThresholdRow(300, 300, 342, 384),
    ThresholdRow(365, 365, 425, 455),
    ThresholdRow(730, 730, 785, 840),
)
"""HDX's numbers, the default of a site. HDX publishes formulas and day counts. They differ for daily data, and
the table has the day counts."""


def hdx_table() -> str:
    """Return HDX's rows as the option ``ckanext.freshness.thresholds`` has them."""
    return str(Thresholds())


@dataclass(frozen=True, slots=True)
class Ages:
    """The ages at which data of one frequency change their status, reached with ``>=``."""

    due: timedelta
    overdue: timedelta
    delinquent: timedelta


@dataclass(frozen=True, slots=True)
class Thresholds:
    """A table of thresholds.

    :raises ThresholdsError: rows are missing, out of order or impossible
    """

    rows: tuple[ThresholdRow, ...] = HDX_ROWS
    """In ascending order of their frequency."""

    def __post_init__(self) -> None:
        if not self.rows:
            raise ThresholdsError("The table of thresholds is empty: give one row at least.")
        for row in self.rows:
            if not 1 <= row.frequency <= MAX_DAYS:
                raise ThresholdsError(
                    f"Thresholds '{row}': the frequency {row.frequency} must be from 1 to "
                    f"{MAX_DAYS} days."
                )
            ages = (row.frequency, row.due, row.overdue, row.delinquent, 2 * MAX_DAYS)
            if list(ages) != sorted(ages):
                raise ThresholdsError(
                    f"Thresholds '{row}': due must not come before the frequency, overdue not "
                    f"before due, delinquent not before overdue nor after {2 * MAX_DAYS} days."
                )
        for row, following in pairwise(self.rows):
            if row.frequency >= following.frequency:
                raise ThresholdsError(
                    f"Thresholds '{following}': rows must be in ascending order of their "
                    f"frequency, each of them once, but this one comes after '{row}'."
                )

    @classmethod
    @lru_cache(maxsize=1)
    def parse(cls, text: str) -> Thresholds:
        """Parse a table of the site's configuration: ``7:7,14,21 30:30,44,60``.

        :param text: rows ``FREQUENCY:DUE,OVERDUE,DELINQUENT`` in days, separated by blanks or line ends
        :raises ThresholdsError: an entry is wrong; the message quotes it
        """
        return cls(tuple(_row(entry) for entry in text.split()))

    def __str__(self) -> str:
        """Return the rows in the form that ``parse`` reads."""
        return " ".join(str(row) for row in self.rows)

    def limits(self, frequency_days: int) -> Ages:
        """Return the ages at which data become due, overdue and delinquent.

        :param frequency_days: 1 to ``MAX_DAYS``; live, never and as needed have no limits
        :raises ValueError: any other number of days
        """
        if not 1 <= frequency_days <= MAX_DAYS:
            raise ValueError(
                f"There are no thresholds for a frequency of {frequency_days} days: it must be "
                f"from 1 to {MAX_DAYS}."
            )
        index = bisect_left(self.rows, frequency_days, key=lambda row: row.frequency)
        below = self.rows[max(index - 1, 0)]
        above = self.rows[min(index, len(self.rows) - 1)]

        def grace(column: Callable[[ThresholdRow], int]) -> int:
            """Return a grace in seconds, rounded down."""
            width = above.frequency - below.frequency
            if width == 0:
                return column(above) * _DAY
            part = (column(above) - column(below)) * (frequency_days - below.frequency)
            return column(below) * _DAY + part * _DAY // width

        due = frequency_days * _DAY + grace(lambda r: r.due - r.frequency)
        return Ages(
            due=timedelta(seconds=due),
            overdue=timedelta(seconds=due + grace(lambda r: r.overdue - r.due)),
            delinquent=timedelta(seconds=due + grace(lambda r: r.delinquent - r.due)),
        )


_ENTRY = re.compile(r"([0-9]{1,6}):([0-9]{1,6}),([0-9]{1,6}),([0-9]{1,6})")


def _row(entry: str) -> ThresholdRow:
    match = _ENTRY.fullmatch(entry)
    if match is None:
        raise ThresholdsError(
            f"Thresholds '{entry[:80]}': write FREQUENCY:DUE,OVERDUE,DELINQUENT in whole days, "
            "for example 7:7,14,21, with blanks between rows only."
        )
    return ThresholdRow(*(int(number) for number in match.groups()))


# Status


class Status(Enum):
    """The statuses of a dataset, in the order in which it ages."""

    FRESH = "fresh"
    DUE = "due"
    OVERDUE = "overdue"
    DELINQUENT = "delinquent"
    UNAVAILABLE = "unavailable"
    """Freshness unknown: no frequency, no resources, or no known modification."""


NO_WORKING_LINK = "no_working_link"
"""What people are shown in place of the status of a dataset with resources whose links are all broken."""

GROUPS = {
    "up_to_date": (Status.FRESH.value,),
    "needs_update": (Status.DUE.value, Status.OVERDUE.value, Status.DELINQUENT.value),
    NO_WORKING_LINK: (NO_WORKING_LINK,),
    "unknown": (Status.UNAVAILABLE.value,),
}
"""What people are shown of datasets, by group. The groups are the first level of the facet."""


def shown_status(status: str, broken_since: object) -> str:
    """Return what people are shown of a dataset: a value of :data:`GROUPS`.

    :param status: by the dates of its data
    :param broken_since: since when all of its links have been broken; None if one of them is not
    """
    return status if broken_since is None else NO_WORKING_LINK


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


def assess(
    last_modified: datetime | None,
    frequency_days: int | None,
    now: datetime,
    thresholds: Thresholds,
    *,
    has_resources: bool = True,
) -> Assessment:
    """Compute the status of a dataset by HDX's aging methodology.

    A dataset without resources is unavailable, whatever its frequency. A dataset with the frequency
    ``LIVE``, ``NEVER`` or ``AS_NEEDED`` is always fresh, even without a known modification. A dataset
    without a frequency or a last modification is unavailable. Otherwise the age decides, to the
    microsecond.

    :param last_modified: the newest modification; one in the future counts as of ``now``
    :param frequency_days: as :func:`.frequency.parse` returns them; None if no frequency is understood
    :raises ValueError: the number of days is no frequency
    """
    if not has_resources or frequency_days is None:
        return Assessment(Status.UNAVAILABLE, None)
    if frequency_days in ALWAYS_FRESH:
        return Assessment(Status.FRESH, None)
    limits = thresholds.limits(frequency_days)
    if last_modified is None:
        return Assessment(Status.UNAVAILABLE, None)
    modified = min(last_modified, now)
    boundaries = Boundaries(
        due=shifted(modified, limits.due),
        overdue=shifted(modified, limits.overdue),
        delinquent=shifted(modified, limits.delinquent),
    )
    return Assessment(status_at(boundaries, now), boundaries)


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
