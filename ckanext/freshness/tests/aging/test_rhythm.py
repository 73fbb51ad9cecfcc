"""The rhythm that data keep of themselves, as a table, with properties."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.aging.observed_frequency import Update, rhythm
from ckanext.freshness.aging.status import Thresholds

NOW = datetime(2026, 11, 21, 2, tzinfo=timezone.utc)
DAY = timedelta(days=1)
TABLE = Thresholds()
WORKDAYS = [1, 1, 1, 1, 3] * 6
MONTHS = [31, 28, 31, 30, 31, 30, 31, 31]


def updates(times: Sequence[float], since: float = 1, within: float = 0) -> list[Update]:
    """Return updates with these days between them, the oldest first, and the newest ``since`` days ago."""
    at = NOW - (since + sum(times)) * DAY
    found = [Update(at, within * DAY)]
    for days in times:
        at += days * DAY
        found.append(Update(at, within * DAY))
    return found


@pytest.mark.parametrize(
    ("what", "times", "since", "days"),
    [
        ("daily", [1] * 35, 1, 1),
        ("on workdays", WORKDAYS, 3, 2),
        ("daily for two weeks", [1] * 14, 1, None),
        ("twice a day", [0.6, 0.4] * 40, 1, 1),
        ("weekly", [7] * 10, 3, 7),
        ("weekly, a week missed", [7, 7, 7, 14, 7, 7, 7, 7, 7], 3, 7),
        ("weekly, two weeks missed", [7, 7, 14, 7, 7, 14, 7, 7, 7], 3, 14),
        ("weekly, two days at most early or late", [6, 9, 5, 8, 7, 7, 6, 9, 7], 3, 7),
        ("weekly for a month", [7, 7, 7, 7], 3, None),
        ("every ten days", [10] * 9, 3, 14),
        ("monthly", MONTHS, 3, 30),
        ("monthly, one three weeks late", [30, 30, 50, 10, 30, 30, 30], 3, 30),
        ("monthly, one three months late", [30, 30, 90, 30, 30, 30, 30], 3, 60),
        ("quarterly", [91, 92, 90, 91], 40, 90),
        ("quarterly, three times", [91, 92], 40, None),
        ("half-yearly", [181, 184, 182], 40, 180),
        ("yearly", [365, 366, 365], 200, 365),
        ("bursts", [1, 1, 1, 60, 1, 1, 1, 60, 1, 1], 3, None),
        ("corrections after a publication", [1, 2, 1, 5, 1], 3, None),
        ("two changes on one day", [30, 30, 0.6, 29.4, 30, 30, 30, 30], 3, 30),
        ("slowing down", [7, 7, 7, 14, 21, 30, 45], 3, None),
        ("speeding up", [90, 60, 30, 14, 7, 7], 3, None),
        ("two seasons", [7] * 12 + [250] + [7] * 10, 3, None),
        ("weekly, not changed for a month", [7] * 10, 30, 7),
        ("weekly, ended two months ago", [7] * 10, 63, None),
        ("monthly, ended half a year ago", MONTHS, 180, None),
        ("none", [], 1, None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rhythms(what: str, times: list[float], since: float, days: int | None) -> None:
    assert rhythm(updates(times, since), NOW, TABLE) == days


def test_changes_that_only_weekly_checks_see_are_weekly() -> None:
    """Data that change daily are seen to change at each check: they change that often, at least."""
    assert rhythm(updates([7] * 10, within=7), NOW, TABLE) == 7


TIMES = st.lists(st.floats(0, 500), max_size=40)


# Rounded, the last of many times may otherwise lie behind now, where no update counts.
@given(TIMES, st.floats(0.01, 600))
def test_what_any_rhythm_keeps(times: list[float], since: float) -> None:
    known = updates(times, since)
    days = rhythm(known, NOW, TABLE)
    assert rhythm(reversed(known), NOW, TABLE) == days
    later = [*known, Update(NOW + DAY), Update(NOW + 2 * DAY)]
    assert rhythm(later, NOW, TABLE) == days
    if days is not None:
        assert len(times) >= 3
        # By it, the data would have been late once at most.
        newest = times[-39:]
        overdue = TABLE.limits(days).overdue / DAY
        assert sum(time >= overdue + 1 for time in newest) <= 1
