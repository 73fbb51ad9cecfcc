"""Problems of runs: a table of runs and their problems."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from ckanext.freshness.mails.news import News, ProblemKind, problems
from ckanext.freshness.mails.recipients import Receivers

NOW = datetime(2026, 3, 10, 3, tzinfo=timezone.utc)


def at(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


def night(
    hours: float,
    datasets: int | None = 100,
    *,
    error: str | None = None,
    ended: bool = True,
    **columns: Any,
) -> SimpleNamespace:
    """Return the row of a run that began the given number of hours ago and took an hour."""
    row: dict[str, Any] = {
        "id": f"{hours:g}",
        "kind": "check",
        "started_at": at(hours).replace(tzinfo=None),
        "ended_at": at(hours - 1).replace(tzinfo=None) if ended else None,
        "options": {"package_ids": None, "host": None, "everything": True},
        "datasets": None if datasets is None else {"0: Fresh": 1, "1: Due": datasets - 1},
        "error": error,
    }
    return SimpleNamespace(**row | columns)


def problem(kind: str, run: str, at: datetime, **facts: Any) -> News:
    details = {"kind": ProblemKind(kind), "run_kind": "check", "at": at, **facts}
    return News(f"{kind}:{run}", Receivers.OPERATORS, details=details)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([], []),
        ([night(26), night(2)], []),
        # Nightly runs may be a little late, by an hour when the clocks change.
        ([night(27.1), night(2)], []),
        ([night(50), night(2)], [problem("missing", "50", at(50), until=at(2))]),
        ([night(30)], [problem("missing", "30", at(30), until=None)]),
        # A failed run has covered fewer datasets, which is no problem of its own.
        (
            [night(26), night(2, 3, error="no luck")],
            [problem("failed", "2", at(1), error="no luck")],
        ),
        (
            [night(26, ended=False, datasets=None), night(2)],
            [problem("killed", "26", at(26))],
        ),
        # The next run began: the one before does not run any more.
        (
            [night(5, ended=False, datasets=None), night(2)],
            [problem("killed", "5", at(5))],
        ),
        ([night(26), night(2, 97)], [problem("fallen", "2", at(1), datasets=97, before=100)]),
        ([night(26), night(2, 98)], []),
        # A run is compared with the last run that covered any datasets.
        (
            [night(50), night(26, 0), night(2, 40)],
            [
                problem("fallen", "26", at(25), datasets=0, before=100),
                problem("fallen", "2", at(1), datasets=40, before=100),
            ],
        ),
        # Checks of a few datasets are ignored.
        ([night(26), night(3, 1, options={"package_ids": ["a"]}), night(2)], []),
        (
            [night(28), night(2, 1, options={"host": "a.org"})],
            [problem("missing", "28", at(28), until=None)],
        ),
    ],
)
def test_problems(runs: list[Any], expected: list[News]) -> None:
    assert list(problems(runs, NOW)) == expected
    assert list(problems(runs[::-1], NOW)) == expected
