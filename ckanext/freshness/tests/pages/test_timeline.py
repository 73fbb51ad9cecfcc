"""The line of a dataset's coming statuses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.dates import utc_text
from ckanext.freshness.views.dataset import timeline

CHANGED = datetime(2026, 11, 1, tzinfo=timezone.utc)
DUE, OVERDUE, DELINQUENT = (CHANGED + timedelta(days=days) for days in (7, 14, 21))


def drawn(edges: Sequence[datetime], now: datetime) -> dict[str, Any]:
    names = ("due", "overdue", "delinquent")
    boundaries = {name: utc_text(edge) for name, edge in zip(names, edges, strict=True)}
    found = timeline({"boundaries": boundaries, "last_modified": utc_text(CHANGED)}, now)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("days", "status", "today"),
    [
        (0, "fresh", 0.0),
        (3.5, "fresh", 12.5),
        (7, "due", 25.0),
        (20.9, "overdue", 73.75),
        (24.5, "delinquent", 87.5),
        (400, "delinquent", 98.75),
    ],
)
def test_today_stands_in_the_zone_of_its_status(days: float, status: str, today: float) -> None:
    line = drawn((DUE, OVERDUE, DELINQUENT), CHANGED + timedelta(days=days))
    assert [zone["status"] for zone in line["zones"] if zone["current"]] == [status]
    assert line["today"] == pytest.approx(today, abs=0.5)


@given(
    st.lists(st.integers(0, 10**5), min_size=3, max_size=3).map(sorted),
    st.integers(-(10**5), 10**5),
)
def test_today_is_always_on_the_line(edges: list[int], now: int) -> None:
    moments = [CHANGED + timedelta(minutes=one) for one in edges]
    line = drawn(moments, CHANGED + timedelta(minutes=now))
    assert 0 <= line["today"] < 100
    assert sum(zone["current"] for zone in line["zones"]) == 1
