"""The tables of the report by name: title, columns, and the functions that read their rows.

Pages, files, the action and the command all use them, and validate their parameters here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging.messages import N_
from ..ckan_adapter.core import model, same_user
from ..dates import aware, parse_date, utc_text
from ..model import CheckRun
from . import (
    change_stream,
    counts,
    dataset_tables,
    harvest_jobs,
    history,
    visibility,
)
from .tables import BATCH, Column, ColumnKind, Row, Table, TableRequest

_LONGEST = 200
"""Characters of a text to search for. The rest of a longer one is ignored."""

_DATASET = Column("title", N_("Dataset"), ColumnKind.DATASET)
_ORGANIZATION = Column("organization", N_("Organization"), ColumnKind.ORGANIZATION)
_RESOURCE = (
    _DATASET,
    Column("resource", N_("Resource"), ColumnKind.RESOURCE),
    _ORGANIZATION,
)
_PERCENT = Column("percent", N_("Percent"), ColumnKind.PERCENT)
_STATUSES = (
    Column("fresh", N_("Up to date"), ColumnKind.NUMBER),
    Column("due", N_("Due"), ColumnKind.NUMBER),
    Column("overdue", N_("Overdue"), ColumnKind.NUMBER),
    Column("delinquent", N_("Long overdue"), ColumnKind.NUMBER),
    Column("unavailable", N_("Freshness unknown"), ColumnKind.NUMBER),
)
_STATUS_FIELDS = tuple(column.key for column in _STATUSES)
_OF_PACKAGE = ("name", "title", "organization")
_OF_RESOURCE = (*_OF_PACKAGE, "resource_id", "resource", "url", "host")
_DATES = ("last_modified", "evidence", "frequency_days", "due", "overdue", "delinquent")

STATUSES = Table(
    "statuses",
    N_("Datasets by freshness"),
    N_("The number of datasets with each status, and their share of all datasets."),
    N_("There are no datasets."),
    (
        Column("status", N_("Status"), ColumnKind.STATUS),
        Column("datasets", N_("Datasets"), ColumnKind.NUMBER),
        _PERCENT,
    ),
    ("status", "datasets", "percent"),
    counts.status_rows,
)
DATASETS = Table(
    "datasets",
    N_("Datasets"),
    N_("All datasets with their freshness and how we know it."),
    N_("No dataset matches."),
    (
        _DATASET,
        _ORGANIZATION,
        Column("status", N_("Status"), ColumnKind.STATUS),
        Column("last_modified", N_("Last changed"), ColumnKind.MOMENT),
        Column("evidence", N_("How we know"), ColumnKind.EVIDENCE),
        Column("frequency_days", N_("Update frequency"), ColumnKind.FREQUENCY),
        Column("due", N_("Due"), ColumnKind.MOMENT),
    ),
    (*_OF_PACKAGE, "status", *_DATES, "undetermined"),
    dataset_tables.DATASETS.rows,
    dataset_tables.DATASETS.count,
)
DUE = Table(
    "due",
    N_("Due in the next 7 days"),
    N_("Datasets that are up to date now and need an update within a week."),
    N_("No dataset becomes due in the next 7 days."),
    (
        _DATASET,
        _ORGANIZATION,
        Column("due", N_("Due"), ColumnKind.MOMENT),
        Column("frequency_days", N_("Update frequency"), ColumnKind.FREQUENCY),
    ),
    (*_OF_PACKAGE, *_DATES),
    dataset_tables.DUE.rows,
    dataset_tables.DUE.count_some,
)
FREQUENCIES = Table(
    "frequencies",
    N_("Declared frequency does not fit"),
    N_(
        "Datasets whose data change more often or more rarely than their update frequency says, as far as this "
        "portal noticed."
    ),
    N_("No declared update frequency is known to be wrong."),
    (
        _DATASET,
        _ORGANIZATION,
        Column("declared_days", N_("Declared"), ColumnKind.FREQUENCY),
        Column("days", N_("Observed"), ColumnKind.OBSERVED),
        Column("suggested_days", N_("Fits better"), ColumnKind.FREQUENCY),
        Column("factor", N_("Factor"), ColumnKind.NUMBER),
    ),
    (
        *(*_OF_PACKAGE, "declared_days", "suggested_days", "factor"),
        *("days", "lowest_days", "highest_days", "at_least", "changes", "basis"),
    ),
    dataset_tables.FREQUENCIES.rows,
    dataset_tables.FREQUENCIES.count_some,
)
CHANGES = Table(
    "changes",
    N_("Latest changes"),
    N_("Datasets whose freshness has changed since yesterday or the chosen date."),
    N_("No status has changed."),
    (
        Column("changed_at", N_("When"), ColumnKind.MOMENT),
        _DATASET,
        _ORGANIZATION,
        Column("from_status", N_("From"), ColumnKind.STATUS),
        Column("to_status", N_("To"), ColumnKind.STATUS),
        Column("cause", N_("Why"), ColumnKind.CAUSE),
        Column("evidence", N_("Evidence"), ColumnKind.EVIDENCE),
    ),
    (*_OF_PACKAGE, "from_status", "to_status", "changed_at", "cause", "evidence"),
    dataset_tables.CHANGES.rows,
    dataset_tables.CHANGES.count_some,
)
DATA = Table(
    "data",
    N_("Data changes"),
    N_("Data that have changed since yesterday or the chosen date, as far as this portal noticed."),
    N_("No data have changed."),
    (
        Column("seen_at", N_("When"), ColumnKind.MOMENT),
        _DATASET,
        Column("resource", N_("Resource"), ColumnKind.RESOURCE),
        _ORGANIZATION,
        Column("what", N_("What changed")),
    ),
    (
        *("id", *_OF_PACKAGE, "resource_id", "resource", "url", "seen_at", "what", "evidence"),
        *change_stream.FACTS,
    ),
    change_stream.rows,
    dataset_tables.DATA.count_some,
)
BROKEN = Table(
    "broken",
    N_("Broken links"),
    N_("Links that have failed several times, over several days."),
    N_("No link is broken."),
    (
        *_RESOURCE,
        Column("failing_since", N_("Broken for"), ColumnKind.LASTING),
        Column("failures", N_("Failed checks"), ColumnKind.NUMBER),
        Column("words", N_("Reason"), ColumnKind.PROBLEM),
    ),
    (
        *(*_OF_RESOURCE, "failing_since", "failures", "succeeded_at", "tried_at"),
        *("status", "words"),
    ),
    dataset_tables.BROKEN.rows,
    dataset_tables.BROKEN.count_some,
)
UNCLEAR = Table(
    "unclear",
    N_("Couldn't be checked"),
    N_("Links we couldn't check, or whose changes we can't detect."),
    N_("Every link could be checked."),
    (
        *_RESOURCE,
        Column("undetermined", N_("Reason"), ColumnKind.UNDETERMINED),
        Column("tried_at", N_("Last check"), ColumnKind.MOMENT),
    ),
    (*_OF_RESOURCE, "undetermined", "tried_at", "status", "words"),
    dataset_tables.UNCLEAR.rows,
    dataset_tables.UNCLEAR.count_some,
)
MISMATCHES = Table(
    "mismatches",
    N_("Wrong formats"),
    N_("Files that are of another kind than their format says."),
    N_("Every checked file is of the kind that its format says."),
    (
        *_RESOURCE,
        Column("promised", N_("Format")),
        Column("found", N_("The file is"), ColumnKind.PHRASE),
        Column("tried_at", N_("Last check"), ColumnKind.MOMENT),
    ),
    (*_OF_RESOURCE, "promised", "found", "tried_at", "status", "words"),
    dataset_tables.MISMATCHES.rows,
    dataset_tables.MISMATCHES.count_some,
)
ORGANIZATIONS = Table(
    "organizations",
    N_("Organizations"),
    N_(
        "Organizations and the freshness of their datasets. Shares are of datasets with known freshness."
    ),
    N_("No organization has datasets."),
    (
        Column("title", N_("Organization"), ColumnKind.ORGANIZATION),
        Column("datasets", N_("Datasets"), ColumnKind.NUMBER),
        Column("fresh_percent", N_("Up to date"), ColumnKind.PERCENT),
        *_STATUSES[1:],
    ),
    ("name", "title", "datasets", "fresh_percent", *_STATUS_FIELDS),
    counts.organization_rows,
)
SOURCES = Table(
    "sources",
    N_("Harvest sources"),
    N_("Where harvested datasets come from, with the last job of each source."),
    N_("There are no harvest sources."),
    (
        Column("title", N_("Source"), ColumnKind.SOURCE),
        Column("type", N_("Type"), ColumnKind.SOURCE_TYPE),
        Column("datasets", N_("Datasets"), ColumnKind.NUMBER),
        Column("status", N_("Last job"), ColumnKind.JOB),
        Column("finished", N_("Finished"), ColumnKind.MOMENT),
        Column("errors", N_("Errors"), ColumnKind.NUMBER),
    ),
    ("name", "title", "type", "active", "datasets", "status", "created", "finished", "errors"),
    harvest_jobs.sources,
)
HOSTS = Table(
    "hosts",
    N_("Where files are hosted"),
    N_("Servers that hold the files of public datasets, as the last nightly report counted them."),
    N_("Nothing has been counted yet."),
    (
        Column("name", N_("Host"), ColumnKind.HOSTS),
        Column("resources", N_("Resources"), ColumnKind.NUMBER),
        _PERCENT,
    ),
    ("name", "resources", "percent"),
    history.hosted,
)
HISTORY = Table(
    "history",
    N_("Over time"),
    N_("The freshness of public datasets on each day, the newest first."),
    N_("Nothing has been counted yet. The nightly report does it."),
    (
        Column("day", N_("Day"), ColumnKind.DAY),
        Column("datasets", N_("Datasets"), ColumnKind.NUMBER),
        Column("fresh_percent", N_("Share up to date"), ColumnKind.PERCENT),
        *_STATUSES,
    ),
    ("day", "datasets", "fresh_percent", *_STATUS_FIELDS),
    history.rows,
)


def _runs(request: TableRequest) -> Iterator[Row]:
    """Yield runs of checks and of other nightly work, the newest first."""
    rows = model.Session.query(CheckRun).order_by(CheckRun.started_at.desc(), CheckRun.id)
    for row in rows.yield_per(BATCH):
        yield {
            "id": row.id,
            "kind": row.kind,
            "started_at": utc_text(row.started_at),
            "ended_at": utc_text(row.ended_at),
            "visited": row.visited,
            "error": row.error,
        }


RUNS = Table(
    "runs",
    N_("Runs"),
    N_("Scheduled and manual runs."),
    N_("There has been no run yet."),
    (
        Column("started_at", N_("Started"), ColumnKind.RUN),
        Column("kind", N_("Kind")),
        Column("ended_at", N_("Ended"), ColumnKind.MOMENT),
        Column("visited", N_("Resources checked"), ColumnKind.NUMBER),
        Column("error", N_("What went wrong")),
    ),
    ("id", "kind", "started_at", "ended_at", "visited", "error"),
    _runs,
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        *(STATUSES, HISTORY, DUE, CHANGES, DATA, BROKEN, MISMATCHES, UNCLEAR),
        *(FREQUENCIES, ORGANIZATIONS, SOURCES, HOSTS, RUNS, DATASETS),
    )
}
"""In the order of the dashboard."""

FOR_SYSADMINS = frozenset({RUNS.name})
"""Names of tables for sysadmins only, since their numbers include private datasets."""

OF_ORGANIZATION = frozenset(
    table.name
    for table in (
        *(STATUSES, HISTORY, DUE, CHANGES, DATA, BROKEN, MISMATCHES, UNCLEAR),
        *(FREQUENCIES, SOURCES, DATASETS),
    )
)
"""Names of tables that can be restricted to an organization."""

LINKS = (BROKEN, UNCLEAR, MISMATCHES)
"""The tables of links with a problem."""

SIBLINGS = (LINKS, (CHANGES, DATA))
"""Tables whose pages link to one another."""


def named(name: str) -> Table:
    """Return a table of the report.

    :raises tk.ValidationError: no table has this name; the text lists the names
    """
    if name not in TABLES:
        words = tk._("There is no table {name}: choose {names}")
        raise tk.ValidationError(
            {"table": [words.format(name=name, names=", ".join(sorted(TABLES)))]}
        )
    return TABLES[name]


def request_for(
    context: Mapping[str, Any], table: Table, data: Mapping[str, Any], now: datetime
) -> TableRequest:
    """Return a request for rows of a table from a user's parameters.

    :param data: ``organization`` (name or id), ``since`` (a date, or a run), ``status``, ``q`` (a
        text to search for), ``sort``
    :raises tk.ValidationError: a value is not allowed; the text says which ones are
    :raises tk.ObjectNotFound: the organization does not exist, or the user may not see it
    """
    since, run = _since(data.get("since"))
    return TableRequest(
        context=same_user(context),
        now=now,
        organization=_organization(context, table, data.get("organization")),
        since=since,
        run=run,
        status=_one_of("status", data.get("status"), (*counts.STATUSES, counts.NEEDS_UPDATE)),
        search=str(data.get("q") or "").strip()[:_LONGEST] or None,
        sort=_sort(table, data.get("sort")),
    )


def _organization(context: Mapping[str, Any], table: Table, given: object) -> str | None:
    if not given:
        return None
    if table.name not in OF_ORGANIZATION:
        words = tk._("The table {table} is of all organizations")
        raise tk.ValidationError({"organization": [words.format(table=table.name)]})
    return str(visibility.organization(context, str(given))["name"])


def _since(given: object) -> tuple[datetime | None, str | None]:
    """Return the earliest moment, and the id of the run if a run was given."""
    if given in (None, ""):
        return None, None
    text = str(given)
    run = model.Session.query(CheckRun).get(text)
    if text == "last":
        checks = model.Session.query(CheckRun).filter_by(kind="check")
        run = checks.order_by(CheckRun.started_at.desc()).first()
    if run is not None:
        return aware(run.started_at), run.id
    moment = parse_date(text)
    if moment is None:
        words = tk._(
            "{text} is neither a date such as 2026-01-31 nor the id of a run nor last, the last check"
        )
        raise tk.ValidationError({"since": [words.format(text=text[:80])]})
    return moment, None


def _sort(table: Table, given: object) -> str | None:
    if given in (None, ""):
        return None
    text = str(given)
    _one_of("sort", text.removeprefix("-"), sorted(table.sorts()))
    return text


def _one_of(key: str, given: object, allowed: Any) -> str | None:
    if given in (None, ""):
        return None
    if given not in allowed:
        words = tk._("must be one of {allowed}, not {given}")
        text = words.format(allowed=", ".join(allowed) or "-", given=str(given)[:80])
        raise tk.ValidationError({key: [text]})
    return str(given)
