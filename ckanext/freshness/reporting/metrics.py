"""The metrics of a run: counts in HDX's layout, the reliability of servers' headers, and both as tables. Pure.

:mod:`ckanext.freshness.checking.run_records` counts them, and a run stores them as plain numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..aging.messages import N_
from .tables import Column, ColumnKind, Row

ALL_HOSTS = "*"
"""The key of the sum of all hosts."""

_FREQUENCIES = {"live": "Live", "never": "Never", "as needed": "As Needed"}

Numbers = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RunMetrics:
    """The metrics of a run.

    :ivar resources: numbers of resources by label
    :ivar datasets: numbers of datasets by label
    :ivar frequencies: numbers of datasets whose frequency is ``live``, ``never`` or ``as needed``
    :ivar hosts: the numbers of each host, and their sum under :data:`ALL_HOSTS`
    """

    resources: Mapping[str, int] = field(default_factory=dict)
    datasets: Mapping[str, int] = field(default_factory=dict)
    frequencies: Mapping[str, int] = field(default_factory=dict)
    hosts: Mapping[str, Numbers] = field(default_factory=dict)


def text(metrics: RunMetrics) -> str:
    """Return the counts in the layout of HDX's data freshness process, which scripts parse.

    Labels are sorted by code point. Every line of a list but the last ends with a comma.
    """
    lines = [
        "*** Resources ***",
        _counts(metrics.resources),
        "",
        "*** Datasets ***",
        _counts(metrics.datasets),
        "",
    ]
    lines += [
        f"{metrics.frequencies.get(key, 0)} datasets have update frequency of {words}"
        for key, words in _FREQUENCIES.items()
    ]
    return "\n".join(lines)


def _counts(labels: Mapping[str, int]) -> str:
    total = f"* total: {sum(labels.values())} *"
    return ",\n".join([total, *(f"{label}: {labels[label]}" for label in sorted(labels))])


def headers(metrics: RunMetrics) -> str:
    """Return how many of the checked resources and datasets send validators, and how reliable these were.

    The text is empty if nothing was checked.
    """
    total = metrics.hosts.get(ALL_HOSTS)
    return "" if total is None else "\n".join(_headers(total))


def _headers(total: Numbers) -> Iterator[str]:
    answered, datasets = total["answered"], total["datasets"]
    yield "*** Headers ***"
    yield f"{total['visits']:.0f} checks, {answered:.0f} resources answered, of {datasets:.0f} datasets"
    if put_off := total.get("put_off", 0):
        yield f"{put_off:.0f} put off until the next run: their hosts gave no answer"
    for key, words in (
        ("last_modified", "resources send Last-Modified"),
        ("etag", "resources send ETag"),
        ("either", "resources send Last-Modified or ETag"),
    ):
        yield f"{_share(total[key], answered)} {words}"
    yield f"{_share(total['datasets_either'], datasets)} datasets send Last-Modified or ETag"
    compared = total["agreed"] + total["missed"] + total["moved"]
    yield f"{_share(total['agreed'], compared)} times Last-Modified agreed with the hash"
    yield f"{_share(total['missed'], compared)} times it missed a change"
    yield f"{_share(total['moved'], compared)} times it moved without one"


def _share(part: float, whole: float) -> str:
    return f"{part:.0f} of {whole:.0f}" + (f" ({100 * part / whole:.0f} %)" if whole else "")


def hosts(metrics: RunMetrics) -> list[tuple[str, Numbers]]:
    """Return each host with its numbers, the one with most checks first."""
    return sorted(
        ((name, numbers) for name, numbers in metrics.hosts.items() if name != ALL_HOSTS),
        key=lambda host: (-host[1]["visits"], host[0]),
    )


# As tables

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
    ordered = hosts(RunMetrics(hosts=run["hosts"]))
    columns = (Column("name", N_("Server")), *_HOST_FIGURES)
    rows: list[Row] = [{"name": name, **numbers} for name, numbers in ordered]
    return [*counts, RunTable("hosts", N_("Servers"), columns, rows)]


def flat(run: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the counts of a run as rows of one table, a number each."""
    for part in ("resources", "datasets", "frequencies"):
        for name, value in sorted(run[part].items()):
            yield {"part": part, "name": name, "figure": "count", "value": value}
    for name, numbers in sorted(run["hosts"].items()):
        for figure, value in sorted(numbers.items()):
            yield {"part": "hosts", "name": name, "figure": figure, "value": value}
