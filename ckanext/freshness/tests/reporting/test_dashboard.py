"""The trend and the chart of shares over time."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.reporting import dashboard
from ckanext.freshness.reporting.counts import (
    StatusCounts,
    of_statuses,
)
from ckanext.freshness.reporting.dashboard import HEIGHT, WIDTH, stacked

TODAY = date(2026, 11, 22)


def counts(fresh: int, due: int, unknown: int = 0) -> StatusCounts:
    return of_statuses({"fresh": fresh, "due": due, "unavailable": unknown})


def month(before: StatusCounts, now: StatusCounts) -> dashboard.Month:
    return (
        dashboard.Day(TODAY - timedelta(days=30), before, {}),
        dashboard.Day(TODAY, now, {"roads": counts(1, 0)}),
    )


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (month(counts(1, 1), counts(3, 1)), (50, 75)),
        (month(counts(0, 0, 5), counts(1, 0)), None),
        (month(counts(1, 1), counts(0, 0, 5)), None),
        (None, None),
    ],
)
def test_the_trend(days: dashboard.Month | None, expected: tuple[int, int] | None) -> None:
    assert dashboard.trend(days, None) == expected
    # An organization that had no datasets then has no trend.
    assert dashboard.trend(days, "roads") is None


DAY = date(2026, 11, 21)


def points(text: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in text.split())]


NUMBERS = st.integers(0, 10**6)


@given(st.dictionaries(st.integers(0, 4000), st.builds(counts, NUMBERS, NUMBERS)))
def test_nothing_is_drawn_outside(days: dict[int, StatusCounts]) -> None:
    drawn = stacked((DAY + timedelta(days=number), days[number]) for number in sorted(days))
    for _, found in drawn["areas"] if drawn else ():
        for x, y in points(found):
            assert 0 <= x <= WIDTH
            assert 0 <= y <= HEIGHT
