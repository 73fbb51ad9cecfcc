"""A stacked chart of shares over time as inline SVG, without scripts or other servers. Pure.

Every chart has a table with the same numbers beside it, for readers who cannot see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

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
