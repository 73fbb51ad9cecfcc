"""Runs as the report shows them: when the last one was, and the tables of what one counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..aging.messages import N_
from ..ckan_adapter import model
from ..dates import aware
from ..model import CheckRun
from . import metrics, run_problems
from .tables import Column, ColumnKind, Row

FIELDS = ("part", "name", "figure", "value")
"""The keys of a run's rows as a file has them."""

_HOST_FIGURES = (
    Column("visits", N_("Visits"), ColumnKind.NUMBER),
    Column("errors", N_("Errors"), ColumnKind.NUMBER),
    Column("blocked", N_("Cannot tell"), ColumnKind.NUMBER),
    Column("last_modified", N_("Send Last-Modified"), ColumnKind.NUMBER),
    Column("etag", N_("Send ETag"), ColumnKind.NUMBER),
    Column("agreed", N_("Last-Modified agreed with the hash"), ColumnKind.NUMBER),
    Column("missed", N_("It missed a change"), ColumnKind.NUMBER),
    Column("moved", N_("It moved without one"), ColumnKind.NUMBER),
)


@dataclass(frozen=True, slots=True)
class RunTable:
    """A table of what a run counted."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: list[Row]


def last() -> datetime | None:
    """When the newest run began that was to look at everything; None if there was none."""
    found = run_problems.last_run(newest())
    return None if found is None else found.started_at


def is_missing(now: datetime) -> bool:
    """Whether there was no such run for so long that somebody should look after it."""
    return run_problems.is_silent(last(), now)


def newest() -> list[run_problems.FinishedRun]:
    """The newest runs, as :mod:`.watch` judges them."""
    table = CheckRun.__table__
    rows = (
        model.Session.query(*(table.c[key] for key in _COLUMNS))
        .order_by(table.c.started_at.desc())
        .limit(_LOOKED_AT)
    )
    return [
        run_problems.run(
            id=row.id,
            kind=row.kind,
            started_at=aware(row.started_at),
            ended_at=aware(row.ended_at),
            options=row.options,
            datasets=row.datasets,
            error=row.error,
        )
        for row in rows
    ]


_COLUMNS = ("id", "kind", "started_at", "ended_at", "options", "datasets", "error")
_LOOKED_AT = 500
"""Among so many runs that people asked for there is one of a night."""


def tables(shown: Mapping[str, Any]) -> list[RunTable]:
    """What a run counted, as ``freshness_run_show`` tells it."""
    counted = (
        ("resources", N_("Resources"), N_("What was found")),
        ("datasets", N_("Datasets"), N_("Status, and what was updated")),
        ("frequencies", N_("Update frequencies"), N_("Update frequency")),
    )
    found = [
        RunTable(
            name,
            title,
            (Column("name", label), Column("count", N_("Number"), ColumnKind.NUMBER)),
            [{"name": key, "count": value} for key, value in sorted(shown[name].items())],
        )
        for name, title, label in counted
    ]
    hosts = metrics.hosts(metrics.RunMetrics(hosts=shown["hosts"]))
    columns = (Column("name", N_("Host")), *_HOST_FIGURES)
    rows: list[Row] = [{"name": name, **numbers} for name, numbers in hosts]
    return [*found, RunTable("hosts", N_("Hosts"), columns, rows)]


def flat(shown: Mapping[str, Any]) -> Iterator[Row]:
    """The same as rows of one table: a figure each."""
    for part in ("resources", "datasets", "frequencies"):
        for name, value in sorted(shown[part].items()):
            yield {"part": part, "name": name, "figure": "count", "value": value}
    for name, numbers in sorted(shown["hosts"].items()):
        for figure, value in sorted(numbers.items()):
            yield {"part": "hosts", "name": name, "figure": figure, "value": value}
