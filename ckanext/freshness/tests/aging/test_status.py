"""The status of a dataset: every boundary, day by day, and dates that cannot be."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.aging.status import (
    Assessment,
    Status,
    Thresholds,
    assess,
    next_boundary,
    status_at,
)
from ckanext.freshness.aging.vocabularies import AS_NEEDED, LIVE, MAX_DAYS, NEVER
from ckanext.freshness.dates import EARLIEST

HDX = Thresholds()
MODIFIED = datetime(2024, 2, 28, 13, 37, 42, 123456, tzinfo=timezone.utc)
NOW = datetime(2025, 1, 1, tzinfo=timezone.utc)
SECOND = timedelta(seconds=1)
AGES = (30, 44, 60)
"""In days, at which monthly data become due, overdue and delinquent."""
STEPS = (
    (Status.FRESH, Status.DUE),
    (Status.DUE, Status.OVERDUE),
    (Status.OVERDUE, Status.DELINQUENT),
)


@pytest.mark.parametrize(
    ("age", "before", "after"),
    [(age, before, after) for age, (before, after) in zip(AGES, STEPS, strict=True)],
)
@pytest.mark.parametrize("margin", [SECOND, timedelta(microseconds=1)], ids=["1 s", "1 us"])
def test_every_boundary(age: int, before: Status, after: Status, margin: timedelta) -> None:
    boundary = MODIFIED + timedelta(days=age)
    found = [
        assess(MODIFIED, 30, now, HDX).status
        for now in (boundary - margin, boundary, boundary + margin)
    ]
    assert found == [before, after, after]


@pytest.mark.parametrize("frequency", [LIVE, NEVER, AS_NEEDED])
@pytest.mark.parametrize("modified", [EARLIEST, MODIFIED, None])
def test_always_fresh(frequency: int, modified: datetime | None) -> None:
    assert assess(modified, frequency, NOW, HDX) == Assessment(Status.FRESH, None)


@pytest.mark.parametrize(
    ("modified", "frequency", "has_resources"),
    [
        (MODIFIED, None, True),
        (None, None, True),
        (None, 30, True),
        (MODIFIED, 30, False),
        (MODIFIED, NEVER, False),
        (MODIFIED, LIVE, False),
        (None, None, False),
    ],
)
def test_unavailable(modified: datetime | None, frequency: int | None, has_resources: bool) -> None:
    found = assess(modified, frequency, NOW, HDX, has_resources=has_resources)
    assert found == Assessment(Status.UNAVAILABLE, None)


moments = st.datetimes(timezones=st.just(timezone.utc))
frequencies = st.integers(1, MAX_DAYS)


@given(moments, frequencies, moments)
def test_the_status_changes_at_the_next_boundary_and_not_before(
    modified: datetime, frequency: int, now: datetime
) -> None:
    found = assess(modified, frequency, now, HDX)
    assert found.boundaries is not None
    assert found.status is status_at(found.boundaries, now)
    at = next_boundary(found, now)
    if at is None:
        assert found.status is Status.DELINQUENT
    else:
        assert status_at(found.boundaries, at - timedelta(microseconds=1)) is found.status
        assert status_at(found.boundaries, at) is not found.status
