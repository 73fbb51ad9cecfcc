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
        [(DAY, {"fresh": 1, "due": 1, "unavailable": 7}), (DAY + timedelta(days=1), {"fresh": 4})],
        STATUSES,
    )
    assert drawn is not None
    fresh, due = (points(area.points) for area in drawn.areas)
    right, bottom = chart.WIDTH, chart.HEIGHT
    assert fresh == [(0, bottom / 2), (right, 0), (right, bottom), (0, bottom)]
    assert (drawn.first, drawn.middle, drawn.last) == (DAY, DAY, DAY + timedelta(days=1))
    # The upper area begins where the lower one ends.
    assert due == [(0, 0), (right, 0), (right, 0), (0, bottom / 2)]


def test_each_month_says_its_last_numbers() -> None:
    days = [(date(2026, month, 1), {"fresh": month, "due": 1}) for month in range(1, 13)]
    drawn = stacked([*days, (date(2026, 12, 31), {"fresh": 50, "due": 50})], STATUSES)
    assert drawn is not None
    assert [month.day.month for month in drawn.months] == list(range(1, 13))
    assert drawn.months[-1].counts == {"fresh": 50, "due": 50}
    assert sum(month.width for month in drawn.months) == pytest.approx(chart.WIDTH, abs=1)


@pytest.mark.parametrize(
    "days",
    [
        [],
        [(DAY, {"fresh": 1})],
        [(DAY, {"fresh": 1}), (DAY + timedelta(days=1), {"unavailable": 9})],
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
