"""The chart of shares over time."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.reporting import chart
from ckanext.freshness.reporting.chart import stacked

DAY = date(2026, 11, 21)
STATUSES = ("fresh", "due")


def points(text: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in text.split())]


def test_two_days() -> None:
    drawn = stacked(
        [(DAY, {"fresh": 1, "due": 1}), (DAY + timedelta(days=1), {"fresh": 4})], STATUSES
    )
    assert drawn is not None
    fresh, due = (points(area.points) for area in drawn.areas)
    top, bottom = 8, chart.HEIGHT - 24
    middle = (top + bottom) / 2
    left, right = 40, chart.WIDTH - 8
    assert fresh == [(left, middle), (right, top), (right, bottom), (left, bottom)]
    # Each area begins where the area below it ends.
    assert due == [(left, top), (right, top), (right, top), (left, middle)]
    assert [mark.text for mark in drawn.days] == ["2026-11-21", "2026-11-22"]


@pytest.mark.parametrize(
    "days",
    [
        [],
        [(DAY, {"fresh": 1})],
        [(DAY, {"fresh": 1}), (DAY + timedelta(days=1), {"fresh": 0})],
        [(DAY, {}), (DAY + timedelta(days=1), {})],
    ],
)
def test_without_two_days_there_is_nothing_to_draw(days: list[tuple[date, dict[str, int]]]) -> None:
    assert stacked(days, STATUSES) is None


@given(
    st.lists(
        st.tuples(
            st.integers(0, 4000),
            st.dictionaries(st.sampled_from(STATUSES), st.integers(0, 10**6)),
        ),
        unique_by=lambda one: one[0],
    )
)
def test_nothing_is_drawn_outside(days: list[tuple[int, dict[str, int]]]) -> None:
    drawn = stacked(
        [(DAY + timedelta(days=n), c) for n, c in sorted(days, key=lambda d: d[0])], STATUSES
    )
    for area in drawn.areas if drawn else ():
        for x, y in points(area.points):
            assert 0 <= x <= chart.WIDTH
            assert 0 <= y <= chart.HEIGHT
