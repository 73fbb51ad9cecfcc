"""Runs for the report: the newest ones, and the tables of one run's counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..aging.messages import N_
from ..ckan_adapter.ckan_core import model
from ..dates import aware
from ..model import CheckRun
from . import metrics, run_problems
from .tables import Column, ColumnKind, Row

FIELDS = ("part", "name", "figure", "value")
"""The columns of a run's CSV file."""

_HOST_FIGURES = (
    Column("visits", N_("Checks"), ColumnKind.NUMBER),
    Column("errors", N_("Failed"), ColumnKind.NUMBER),
    Column("blocked", N_("Couldn't be checked"), ColumnKind.NUMBER),
    Column("last_modified", N_("Send Last-Modified"), ColumnKind.NUMBER),
    Column("etag", N_("Send ETag"), ColumnKind.NUMBER),
    Column("agreed", N_("Last-Modified agreed with the hash"), ColumnKind.NUMBER),
    Column("missed", N_("Last-Modified missed a change"), ColumnKind.NUMBER),
    Column("moved", N_("Last-Modified moved without a change"), ColumnKind.NUMBER),
)


@dataclass(frozen=True, slots=True)
class RunTable:
    """A table of a run's counts."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: list[Row]


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


def tables(run: Mapping[str, Any]) -> list[RunTable]:
    """Return the tables of a run.

    :param run: a result of ``freshness_run_show``
    """
    counted = (
        ("resources", N_("Resources"), N_("What the checks found")),
        ("datasets", N_("Datasets"), N_("Status, and what was updated")),
        ("frequencies", N_("Update frequencies"), N_("Update frequency")),
    )
    counts = [
        RunTable(
            name,
            title,
            (Column("name", label), Column("count", N_("Number"), ColumnKind.NUMBER)),
            [{"name": key, "count": value} for key, value in sorted(run[name].items())],
        )
        for name, title, label in counted
    ]
    hosts = metrics.hosts(metrics.RunMetrics(hosts=run["hosts"]))
    columns = (Column("name", N_("Server")), *_HOST_FIGURES)
    rows: list[Row] = [{"name": name, **numbers} for name, numbers in hosts]
    return [*counts, RunTable("hosts", N_("Servers"), columns, rows)]


def flat(run: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the counts of a run as rows of one table, a number each."""
    for part in ("resources", "datasets", "frequencies"):
        for name, value in sorted(run[part].items()):
            yield {"part": part, "name": name, "figure": "count", "value": value}
    for name, numbers in sorted(run["hosts"].items()):
        for figure, value in sorted(numbers.items()):
            yield {"part": "hosts", "name": name, "figure": figure, "value": value}
