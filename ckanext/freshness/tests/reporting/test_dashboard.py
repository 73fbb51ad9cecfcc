"""The chart of shares over time."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.reporting.counts import (
    StatusCounts,
    of_statuses,
)
from ckanext.freshness.reporting.dashboard import HEIGHT, WIDTH, stacked


def counts(fresh: int, due: int, unknown: int = 0) -> StatusCounts:
    return of_statuses({"fresh": fresh, "due": due, "unavailable": unknown})


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


def test_nothing_is_a_share_of_no_datasets() -> None:
    shares = [
        found.row()["fresh_percent"] for found in (counts(0, 0, 4), counts(0, 1), counts(2, 1))
    ]
    assert shares == [None, 0.0, 66.7]
