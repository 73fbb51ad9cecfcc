"""Charts as inline SVG, without scripts or other servers: shares over time, and lines of time. Pure.

Every chart has a table with the same numbers beside it, for readers who cannot see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from ..aging.status import Status

WIDTH, HEIGHT = 120, 100
"""The viewBox. The picture is stretched to the page; its words are HTML."""


@dataclass(frozen=True, slots=True)
class ChartArea:
    """The area of one status in a stacked chart.

    :ivar points: the polygon's ``points`` attribute
    """

    status: str
    points: str


@dataclass(frozen=True, slots=True)
class ChartMonth:
    """A part of the chart that says its numbers when it is pointed at: one month's last day.

    :ivar x: its left edge
    """

    day: date
    counts: Mapping[str, int]
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart for a template to draw, in the units of its viewBox."""

    areas: tuple[ChartArea, ...]
    months: tuple[ChartMonth, ...]
    first: date
    last: date
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def middle(self) -> date:
        """The day in the middle."""
        return self.first + (self.last - self.first) / 2


def stacked(
    days: Sequence[tuple[date, Mapping[str, int]]], statuses: Sequence[str]
) -> Chart | None:
    """Return the chart of the statuses' shares, with the first status at the bottom.

    :param days: numbers of datasets by status, in order of days
    :param statuses: those that are drawn; shares are of their sum
    :returns: None if fewer than two days have datasets
    """
    drawn = [(day, {name: counts.get(name, 0) for name in statuses}) for day, counts in days]
    drawn = [(day, counts) for day, counts in drawn if sum(counts.values())]
    if len(drawn) < 2:
        return None
    first, last = drawn[0][0], drawn[-1][0]
    span = (last - first).days or 1
    xs = [(day - first).days / span * WIDTH for day, _ in drawn]
    below = [0.0] * len(drawn)
    areas = []
    for status in statuses:
        above = [
            low + counts[status] / sum(counts.values())
            for low, (_, counts) in zip(below, drawn, strict=True)
        ]
        upper = [f"{x:.1f},{_y(share):.1f}" for x, share in zip(xs, above, strict=True)]
        lower = [f"{x:.1f},{_y(share):.1f}" for x, share in zip(xs, below, strict=True)]
        areas.append(ChartArea(status, " ".join([*upper, *reversed(lower)])))
        below = above
    return Chart(tuple(areas), tuple(_months(drawn, xs)), first, last)


def _months(
    drawn: Sequence[tuple[date, Mapping[str, int]]], xs: Sequence[float]
) -> list[ChartMonth]:
    ends = [
        number
        for number, (day, _) in enumerate(drawn)
        if number + 1 == len(drawn)
        or (drawn[number + 1][0].year, drawn[number + 1][0].month) != (day.year, day.month)
    ]
    months = []
    left = 0.0
    for number in ends:
        day, counts = drawn[number]
        months.append(ChartMonth(day, counts, round(left, 1), round(xs[number] - left, 1)))
        left = xs[number]
    return months


def _y(share: float) -> float:
    return (1 - share) * HEIGHT


@dataclass(frozen=True, slots=True)
class Zone:
    """The time in which a dataset has one status.

    :ivar begin: None for the first status, which the dataset has already
    :ivar end: None for the last status, which lasts until the data change
    :ivar current: whether this is the status of today
    """

    status: str
    begin: datetime | None
    end: datetime | None
    current: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """The zones of a line, drawn equally wide.

    :ivar today: the place of today on the line, in percent
    """

    zones: tuple[Zone, ...]
    today: float


_STATUSES = tuple(
    status.value for status in (Status.FRESH, Status.DUE, Status.OVERDUE, Status.DELINQUENT)
)


def timeline(
    last_modified: datetime, due: datetime, overdue: datetime, delinquent: datetime, now: datetime
) -> Timeline:
    """Return the time line of a dataset's status.

    :param last_modified: the last change of its data, from which the boundaries are counted
    """
    edges = (due, overdue, delinquent)
    index = sum(now >= edge for edge in edges)
    zones = tuple(
        Zone(status, begin, end, number == index)
        for number, (status, begin, end) in enumerate(
            zip(_STATUSES, (None, *edges), (*edges, None), strict=True)
        )
    )
    begin = (last_modified, *edges)[index]
    # The last zone has no end: let it seem as long as the one before it.
    end = edges[index] if index < len(edges) else delinquent + (delinquent - overdue)
    length = (end - begin).total_seconds()
    part = (now - begin).total_seconds() / length if length > 0 else 0.0
    return Timeline(zones, 100 * (index + min(max(part, 0.0), 0.95)) / len(zones))


@dataclass(frozen=True, slots=True)
class Beats:
    """Changes on a line that ends now.

    :ivar first: the moment of the first change, where the line begins; aware
    :ivar places: of each change, in percent of the line
    """

    first: datetime
    places: tuple[float, ...]


def beats(moments: Iterable[datetime], now: datetime) -> Beats:
    """Return changes, at least one, as places on a line.

    :param moments: aware
    :param now: aware
    """
    first, *_ = ordered = sorted(moments)
    length = max((now - first).total_seconds(), 1)
    places = (100 * (one - first).total_seconds() / length for one in ordered)
    return Beats(first, tuple(round(min(place, 100), 1) for place in places))
