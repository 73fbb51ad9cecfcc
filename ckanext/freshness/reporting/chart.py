"""A stacked chart of shares over time as inline SVG, without scripts or other servers. Pure.

Every chart has a table with the same numbers beside it, for readers who cannot see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

WIDTH, HEIGHT = 640, 200
_LEFT, _BOTTOM, _TOP, _RIGHT = 40, 24, 8, 8


@dataclass(frozen=True, slots=True)
class ChartArea:
    """The area of one status in a stacked chart.

    :ivar points: the polygon's ``points`` attribute
    """

    status: str
    points: str


@dataclass(frozen=True, slots=True)
class AxisMark:
    """A label on an axis, and its position."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart for a template to draw, in the units of its viewBox."""

    areas: tuple[ChartArea, ...]
    days: tuple[AxisMark, ...]
    shares: tuple[AxisMark, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT


def stacked(
    days: Sequence[tuple[date, Mapping[str, int]]], statuses: Sequence[str]
) -> Chart | None:
    """Return the chart of the statuses' shares, with the first status at the bottom.

    :param days: numbers of datasets by status, in order of days
    :returns: None if fewer than two days have datasets
    """
    drawn = [(day, counts) for day, counts in days if sum(counts.values())]
    if len(drawn) < 2:
        return None
    first, last = drawn[0][0], drawn[-1][0]
    span = (last - first).days or 1
    xs = [_LEFT + (day - first).days / span * (WIDTH - _LEFT - _RIGHT) for day, _ in drawn]
    below = [0.0] * len(drawn)
    areas = []
    for status in statuses:
        above = [
            low + counts.get(status, 0) / sum(counts.values())
            for low, (_, counts) in zip(below, drawn, strict=True)
        ]
        upper = [f"{x:.1f},{_y(share):.1f}" for x, share in zip(xs, above, strict=True)]
        lower = [f"{x:.1f},{_y(share):.1f}" for x, share in zip(xs, below, strict=True)]
        areas.append(ChartArea(status, " ".join([*upper, *reversed(lower)])))
        below = above
    return Chart(
        tuple(areas),
        (
            AxisMark(xs[0], HEIGHT - 6, first.isoformat()),
            AxisMark(xs[-1], HEIGHT - 6, last.isoformat()),
        ),
        tuple(AxisMark(_LEFT - 4, _y(share) + 4, f"{100 * share:.0f} %") for share in (0, 0.5, 1)),
    )


def _y(share: float) -> float:
    return _TOP + (1 - share) * (HEIGHT - _TOP - _BOTTOM)
