"""The status that a dataset is shown with, where it stands in what CKAN shows."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from ckanext.freshness.logic.hooks import show_current

pytestmark = pytest.mark.usefixtures("with_plugins")


BOUNDARIES = {
    "freshness_due": "2026-01-08T00:00:00Z",
    "freshness_overdue": "2026-01-15T00:00:00Z",
    "freshness_delinquent": "2026-01-22T00:00:00Z",
}


@pytest.mark.parametrize(
    ("at", "status"),
    [
        ("2026-01-07T23:59:59Z", "fresh"),
        ("2026-01-08T00:00:00Z", "due"),
        ("2026-01-14T23:59:59Z", "due"),
        ("2026-01-15T00:00:00Z", "overdue"),
        ("2026-01-22T00:00:00Z", "delinquent"),
    ],
)
def test_the_status_is_replaced_where_it_stands(at: str, status: str) -> None:
    now = datetime.fromisoformat(at.replace("Z", "+00:00"))
    listed = {**BOUNDARIES, "freshness": "due"}
    among_extras = {"extras": [{"key": key, "value": value} for key, value in listed.items()]}
    show_current(among_extras, now)
    listed["freshness"] = status
    assert among_extras == {"extras": [{"key": key, "value": listed[key]} for key in listed]}
    flat: dict[str, Any] = {**BOUNDARIES, "freshness": "due", "type": "dataset", "extras": []}
    show_current(flat, now)
    assert flat == {**BOUNDARIES, "freshness": status, "type": "dataset", "extras": []}


@pytest.mark.parametrize(
    "stored",
    [
        {},
        BOUNDARIES,
        {"freshness": "fresh"},
        {"freshness": "unavailable", "freshness_due": "2026-01-08T00:00:00Z"},
        {**BOUNDARIES, "freshness": "fresh", "freshness_due": "soon"},
        {**BOUNDARIES, "freshness": "fresh", "type": "harvest"},
        {**BOUNDARIES, "freshness": ["fresh"]},
    ],
)
def test_what_does_not_age_is_left_alone(stored: dict[str, Any]) -> None:
    dataset = dict(stored)
    show_current(dataset, datetime(2026, 6, 1, tzinfo=timezone.utc))
    assert dataset == stored
