"""The trend, the ranking and the state of the last run, as tables."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

from ckanext.freshness.reporting import dashboard
from ckanext.freshness.reporting.counts import CurrentCounts, StatusCounts
from ckanext.freshness.reporting.dashboard import Trend
from ckanext.freshness.reporting.history import HistoryCounts
from ckanext.freshness.reporting.run_problems import finished_run

TODAY = date(2026, 11, 22)
NOW = datetime(2026, 11, 22, 10, tzinfo=timezone.utc)


def counts(fresh: int, due: int, unknown: int = 0) -> StatusCounts:
    return StatusCounts(numbers(fresh, due, unknown))


def numbers(fresh: int, due: int, unknown: int = 0) -> dict[str, int]:
    return {"fresh": fresh, "due": due, "overdue": 0, "delinquent": 0, "unavailable": unknown}


TRENDS: dict[str, tuple[dict[int, tuple[int, ...]], StatusCounts | None, Trend | None]] = {
    "the present counts": ({40: (1, 1), 0: (1, 1)}, counts(3, 1), Trend(25, 50)),
    "the newest day": ({40: (1, 1), 1: (1, 3)}, None, Trend(-25, 50)),
    "the last day that is old enough": ({44: (1, 9), 30: (1, 1)}, counts(1, 1), Trend(0, 50)),
    "a month is not over": ({29: (1, 1), 0: (1, 1)}, counts(1, 0), None),
    "a day that is too long ago": ({46: (1, 1)}, counts(1, 0), None),
    "an old newest day": ({40: (1, 1), 3: (1, 0)}, None, None),
    "nothing known before": ({40: (0, 0, 5)}, counts(1, 0), None),
    "nothing known now": ({40: (1, 1)}, counts(0, 0, 5), None),
    "no days": ({}, counts(1, 0), None),
}


@pytest.mark.parametrize("case", TRENDS)
def test_the_trend(case: str) -> None:
    past, present, expected = TRENDS[case]
    days = [HistoryCounts(TODAY - timedelta(days=age), numbers(*of)) for age, of in past.items()]
    assert dashboard.trend(days, TODAY, present) == expected


def test_the_ranking() -> None:
    organizations = {
        "best": counts(3, 0),
        "unknown": counts(0, 0, 9),
        "b": counts(1, 1),
        "a": counts(5, 5, 90),
        "worst": counts(0, 1),
    }
    found = CurrentCounts(
        StatusCounts(), organizations, {name: name.title() for name in organizations}
    )
    assert [row["name"] for row in dashboard.ranking(found)] == ["worst", "a", "b", "best"]


HOUR = timedelta(hours=1)
STATES: dict[str, tuple[dict[str, Any], str]] = {
    "ended": ({"ended_at": NOW}, "finished"),
    "runs": ({}, "running"),
    "failed": ({"ended_at": NOW, "error": "No space left"}, "failed"),
    "failed at once": ({"error": "No space left"}, "failed"),
    "killed": ({"started_at": NOW - 25 * HOUR}, "failed"),
    "ended long ago": ({"started_at": NOW - 25 * HOUR, "ended_at": NOW - 24 * HOUR}, "late"),
}


@pytest.mark.parametrize("case", STATES)
def test_the_state_of_a_run(case: str) -> None:
    values, state = STATES[case]
    row = {"id": "1", "kind": "check", "started_at": NOW - HOUR, "ended_at": None}
    run = finished_run(**{**row, "options": {}, "datasets": None, "error": None, **values})
    assert dashboard.run_state(run, NOW) == state


def test_a_run_without_a_process_has_failed() -> None:
    run = finished_run("1", "check", NOW - HOUR, None, None, None, None)
    assert dashboard.run_state(run, NOW, is_alive=False) == "failed"
