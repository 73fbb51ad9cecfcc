"""The trend, the ranking and the chart of shares over time."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.reporting import dashboard
from ckanext.freshness.reporting.counts import (
    CurrentCounts,
    OrganizationCounts,
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


def test_the_ranking() -> None:
    organizations = {
        "best": counts(3, 0),
        "unknown": counts(0, 0, 9),
        "b": counts(1, 1),
        "a": counts(5, 5, 90),
        "worst": counts(0, 1),
    }
    found = CurrentCounts(
        StatusCounts(),
        [OrganizationCounts(name, name, name.title(), one) for name, one in organizations.items()],
    )
    assert [row["name"] for row in dashboard.ranking(found)] == ["worst", "a", "b", "best"]


DAY = date(2026, 11, 21)


def points(text: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in text.split())]


def test_two_days() -> None:
    drawn = stacked([(DAY, counts(1, 1, 7)), (DAY + timedelta(days=1), counts(4, 0))])
    assert drawn is not None
    (fresh, due) = (points(found) for _, found in drawn["areas"][:2])
    assert fresh == [(0, HEIGHT / 2), (WIDTH, 0), (WIDTH, HEIGHT), (0, HEIGHT)]
    assert (drawn["first"], drawn["middle"], drawn["last"]) == (DAY, DAY, DAY + timedelta(days=1))
    # The upper area begins where the lower one ends.
    assert due == [(0, 0), (WIDTH, 0), (WIDTH, 0), (0, HEIGHT / 2)]


def test_each_month_says_its_last_numbers() -> None:
    days = [(date(2026, month, 1), counts(month, 1)) for month in range(1, 13)]
    drawn = stacked([*days, (date(2026, 12, 31), counts(50, 50))])
    assert drawn is not None
    assert [month["day"].month for month in drawn["months"]] == list(range(1, 13))
    last = drawn["months"][-1]["counts"]
    assert last == {"fresh": 50, "due": 50, "overdue": 0, "delinquent": 0}
    assert sum(month["width"] for month in drawn["months"]) == pytest.approx(WIDTH, abs=1)


def test_without_two_days_there_is_nothing_to_draw() -> None:
    for days in ([], [counts(1, 0)], [counts(1, 0), counts(0, 0, 9)], [counts(0, 0)] * 2):
        dated = [(DAY + timedelta(days=number), one) for number, one in enumerate(days)]
        assert stacked(dated) is None


NUMBERS = st.integers(0, 10**6)


@given(st.dictionaries(st.integers(0, 4000), st.builds(counts, NUMBERS, NUMBERS)))
def test_nothing_is_drawn_outside(days: dict[int, StatusCounts]) -> None:
    drawn = stacked((DAY + timedelta(days=number), days[number]) for number in sorted(days))
    for _, found in drawn["areas"] if drawn else ():
        for x, y in points(found):
            assert 0 <= x <= WIDTH
            assert 0 <= y <= HEIGHT
