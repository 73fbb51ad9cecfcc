"""The newest runs, and whether a check of all datasets is missing."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ..ckan_adapter.ckan_core import model
from ..dates import aware
from ..model import CheckRun
from . import run_problems


def full_checks() -> Any:
    """Return a query for the checks of all datasets, the newest first."""
    options = CheckRun.options
    return (
        model.Session.query(CheckRun)
        .filter(CheckRun.kind == "check")
        .filter(options["package_ids"].astext.is_(None), options["host"].astext.is_(None))
        .order_by(CheckRun.started_at.desc())
    )


def last() -> datetime | None:
    """Return the start of the newest check of all datasets; None if there was none."""
    run = full_checks().first()
    return None if run is None else aware(run.started_at)


def is_missing(now: datetime) -> bool:
    """Decide whether the newest check of all datasets is so old that an operator should know."""
    return run_problems.is_silent(last(), now)


def newest() -> list[run_problems.FinishedRun]:
    """Return the newest runs, for :mod:`.run_problems`."""
    rows = model.Session.query(*_COLUMNS).order_by(CheckRun.started_at.desc()).limit(_MOST)
    return [_finished(row) for row in rows]


def newest_check() -> run_problems.FinishedRun | None:
    """Return the newest check of all datasets; None if there was none."""
    row = full_checks().with_entities(*_COLUMNS).first()
    return None if row is None else _finished(row)


def _finished(row: Any) -> run_problems.FinishedRun:
    return run_problems.finished_run(
        id=row.id,
        kind=row.kind,
        started_at=aware(row.started_at),
        ended_at=aware(row.ended_at),
        options=row.options,
        datasets=row.datasets,
        error=row.error,
        visited=row.visited,
    )


_COLUMNS = tuple(
    CheckRun.__table__.c[key]
    for key in ["id", "kind", "started_at", "ended_at", "options", "datasets", "error", "visited"]
)
_MOST = 500
"""Runs to read. Among so many, at least one is a nightly run, the others may be checks of single datasets."""
