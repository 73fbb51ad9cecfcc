"""When a file is expected to change: what its intervals say, and what a check is worth at which time."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import isfinite

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ckanext.freshness.checking.rhythms import (
    MISSED,
    SURE,
    UNKNOWN,
    Rhythm,
    after_change,
    pending,
)

NOW = datetime(2026, 11, 21, 2)
DAY = timedelta(days=1)


def after(intervals: list[float], uncertain: float = 0.0) -> Rhythm:
    """Return the rhythm after changes with these intervals.

    :param uncertain: days within which each moment lies
    """
    rhythm = Rhythm(NOW)
    at = NOW
    for interval in intervals:
        at += interval * DAY
        rhythm = after_change(rhythm, at - uncertain / 2 * DAY, at + uncertain / 2 * DAY)
    return rhythm


@pytest.mark.parametrize(
    ("intervals", "uncertain", "every", "least", "most"),
    [
        ([], 0, None, UNKNOWN, UNKNOWN),
        ([30], 0, 30, UNKNOWN, UNKNOWN),
        ([30, 31], 0, 30.3, 0.4, 0.7),
        ([30, 29, 31, 30], 0, 30, 0.9, SURE),
        # A late check says less of when the file has changed.
        ([30, 29, 31, 30], 20, 30, 0.6, 0.9),
        ([30, 2, 70, 9], 0, 9, 1 - SURE, UNKNOWN),
        # One change at another time is an exception, several are a new interval.
        ([30] * 6 + [60], 0, 30, 0.6, 0.7),
        ([30] * 4 + [7] * 4, 0, 7, 0.6, SURE),
    ],
)
def test_what_intervals_say(
    intervals: list[float], uncertain: float, every: float | None, least: float, most: float
) -> None:
    found = after(intervals, uncertain)
    assert found.every == (every and pytest.approx(every, rel=0.03))
    assert least <= found.regularity <= most
    assert found.changed_at == NOW + sum(intervals) * DAY


def test_a_moment_before_the_last_change_says_nothing() -> None:
    known = after([30, 30])
    assert after_change(known, NOW, NOW) == known._replace(changed_at=NOW)


@pytest.mark.parametrize(
    ("checked", "now", "least", "most"),
    [
        # The window of a file that changes every 30 days opens after 24.
        (5, 23, 0.0, 0.0),
        (5, 25, 0.0, 0.2),
        (5, 30, 1.0, 2.0),
        (29, 30, 0.0, 0.2),
        (5, 40, 30 * MISSED, 30 * MISSED + 10),
        # It has skipped a change: the next one is expected after 60.
        (40, 45, 0.0, 0.0),
        (40, 60, 1.0, 2.0),
    ],
)
def test_a_check_is_worth_something_in_the_window(
    checked: float, now: float, least: float, most: float
) -> None:
    _chance, days = pending(30, 0.9, checked, now)
    assert least <= days <= most


def test_a_file_that_skips_changes_may_change_at_random() -> None:
    chances = [pending(30, 0.9, checked, 80.0)[0] for checked in (29, 32, 35, 40)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.9 and chances[-1] < 0.6


DAYS = st.floats(-1e6, 1e6)
MOMENTS = st.floats(-7e5, 3e5).map(lambda days: NOW + days * DAY)
"""Moments within a million days, some before the year 200."""


@given(st.floats(0.25, 1e6), st.floats(1 - SURE, SURE), DAYS, DAYS)
def test_chances_and_days_are_never_negative_or_infinite(
    every: float, regularity: float, checked: float, now: float
) -> None:
    chance, days = pending(every, regularity, checked, now)
    assert 0 <= chance <= 1
    assert days >= 0 and isfinite(days)


@given(st.lists(st.tuples(MOMENTS, MOMENTS) | MOMENTS.map(lambda at: (at, at)), max_size=20))
@example([(NOW, NOW)] * 3)
@example([(NOW, NOW - DAY), (NOW - DAY, NOW)])
@example([(NOW - 7e5 * DAY,) * 2, (NOW,) * 2, (NOW + 3e5 * DAY,) * 2])
def test_any_moments_make_a_rhythm(moments: list[tuple[datetime, datetime]]) -> None:
    """Clocks go back, changes have the same moment, and a million days pass."""
    rhythm = Rhythm()
    for after_, until in moments:
        rhythm = after_change(rhythm, after_, until)
        assert rhythm.every is None or 0 < rhythm.every <= 1e6
        assert 1 - SURE - 1e-9 <= rhythm.regularity <= SURE
        assert rhythm.changed_at is not None
