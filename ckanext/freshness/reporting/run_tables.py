"""The counts of one run as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..aging.messages import N_
from . import metrics
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
