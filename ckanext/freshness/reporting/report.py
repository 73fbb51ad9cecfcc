"""The tables of the report by name, for pages, files, the action and the command alike."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..aging.messages import N_
from . import lists, streamed_lists
from .tables import Column, ColumnKind, Row, Table, TableRequest

_DATASET = Column("title", N_("Dataset"), ColumnKind.DATASET)
_SORTED_DATASET = Column("title", N_("Dataset"), ColumnKind.DATASET, sortable=True)
_ORGANIZATION = Column("organization", N_("Organization"), ColumnKind.ORGANIZATION)
_RESOURCE = (
    _DATASET,
    Column("resource", N_("Resource")),
    Column("url", N_("URL"), ColumnKind.URL),
    _ORGANIZATION,
)
_PERCENT = Column("percent", N_("Percent"), ColumnKind.PERCENT)
_STATUSES = (
    Column("fresh", N_("Fresh"), ColumnKind.NUMBER, sortable=True),
    Column("due", N_("Due"), ColumnKind.NUMBER, sortable=True),
    Column("overdue", N_("Overdue"), ColumnKind.NUMBER, sortable=True),
    Column("delinquent", N_("Delinquent"), ColumnKind.NUMBER, sortable=True),
    Column("unavailable", N_("Unavailable"), ColumnKind.NUMBER, sortable=True),
)
_STATUS_FIELDS = tuple(column.key for column in _STATUSES)
_OF_PACKAGE = ("name", "title", "organization")
_OF_RESOURCE = (*_OF_PACKAGE, "resource_id", "resource", "url", "host")
_DATES = ("last_modified", "evidence", "frequency_days", "due", "overdue", "delinquent")

STATUSES = Table(
    "statuses",
    N_("Now"),
    N_("How many datasets are how fresh at this moment."),
    N_("There are no datasets."),
    (
        Column("status", N_("Status"), ColumnKind.STATUS),
        Column("datasets", N_("Datasets"), ColumnKind.NUMBER),
        _PERCENT,
    ),
    ("status", "datasets", "percent"),
    lists.statuses,
)
DATASETS = Table(
    "datasets",
    N_("Datasets"),
    N_("Each dataset with its status, and why it has it."),
    N_("There are no such datasets."),
    (
        _SORTED_DATASET,
        _ORGANIZATION,
        Column("status", N_("Status"), ColumnKind.STATUS),
        Column("last_modified", N_("Last modified"), ColumnKind.MOMENT),
        Column("evidence", N_("Why this date is believed"), ColumnKind.EVIDENCE),
        Column("frequency_days", N_("Update frequency"), ColumnKind.FREQUENCY),
        Column("due", N_("Due"), ColumnKind.MOMENT, sortable=True),
    ),
    (*_OF_PACKAGE, "status", *_DATES, "undetermined"),
    lists.datasets,
)
DUE = Table(
    "due",
    N_("Due in the next 7 days"),
    N_("Datasets that are fresh, and will not be in a week unless they are updated."),
    N_("Nothing becomes due in the next 7 days."),
    (
        _SORTED_DATASET,
        _ORGANIZATION,
        Column("due", N_("Due"), ColumnKind.MOMENT, sortable=True),
        Column("frequency_days", N_("Update frequency"), ColumnKind.FREQUENCY),
    ),
    (*_OF_PACKAGE, *_DATES),
    lists.due_soon,
)
CHANGES = Table(
    "changes",
    N_("What changed"),
    N_("Datasets whose status changed since yesterday, or since the day that was asked for."),
    N_("No status has changed."),
    (
        Column("changed_at", N_("When"), ColumnKind.MOMENT, sortable=True),
        _DATASET,
        _ORGANIZATION,
        Column("from_status", N_("From"), ColumnKind.STATUS),
        Column("to_status", N_("To"), ColumnKind.STATUS),
        Column("cause", N_("Why"), ColumnKind.CAUSE),
        Column("evidence", N_("Evidence"), ColumnKind.EVIDENCE),
    ),
    (*_OF_PACKAGE, "from_status", "to_status", "changed_at", "cause", "evidence"),
    streamed_lists.changes,
)
BROKEN = Table(
    "broken",
    N_("Broken links"),
    N_("Resources whose URL has failed several times, spread over time."),
    N_("No link is broken."),
    (
        *_RESOURCE,
        Column("failing_since", N_("Fails since"), ColumnKind.MOMENT, sortable=True),
        Column("failures", N_("Visits that failed"), ColumnKind.NUMBER, sortable=True),
        Column("words", N_("What it answered")),
    ),
    (
        *(*_OF_RESOURCE, "failing_since", "failures", "succeeded_at", "tried_at"),
        *("status", "words"),
    ),
    streamed_lists.broken,
)
UNCLEAR = Table(
    "unclear",
    N_("Cannot tell"),
    N_("Resources of which nobody can tell whether they changed, or whether they are there."),
    N_("There are no such resources."),
    (
        *_RESOURCE,
        Column("undetermined", N_("Why"), ColumnKind.UNDETERMINED),
        Column("tried_at", N_("Last visit"), ColumnKind.MOMENT, sortable=True),
    ),
    (*_OF_RESOURCE, "undetermined", "tried_at", "status", "words"),
    streamed_lists.unclear,
)
MISMATCHES = Table(
    "mismatches",
    N_("Wrong formats"),
    N_("Resources whose file is of another kind than their format says."),
    N_("Every file that was checked is what its format says."),
    (
        *_RESOURCE,
        Column("promised", N_("Format")),
        Column("found", N_("The file is"), ColumnKind.PHRASE),
        Column("tried_at", N_("Last visit"), ColumnKind.MOMENT, sortable=True),
    ),
    (*_OF_RESOURCE, "promised", "found", "tried_at", "status", "words"),
    streamed_lists.mismatches,
)
ORGANIZATIONS = Table(
    "organizations",
    N_("Organizations"),
    N_("How fresh the datasets of each organization are."),
    N_("No organization has datasets."),
    (
        Column("title", N_("Organization"), ColumnKind.ORGANIZATION, sortable=True),
        Column("datasets", N_("Datasets"), ColumnKind.NUMBER, sortable=True),
        Column("fresh_percent", N_("Fresh"), ColumnKind.PERCENT, sortable=True),
        *_STATUSES[1:],
    ),
    ("name", "title", "datasets", "fresh_percent", *_STATUS_FIELDS),
    lists.organizations,
)
SOURCES = Table(
    "sources",
    N_("Harvest sources"),
    N_("Sources of datasets, with what their last job met."),
    N_("There are no harvest sources."),
    (
        Column("title", N_("Source"), ColumnKind.SOURCE, sortable=True),
        Column("type", N_("Type")),
        Column("datasets", N_("Datasets"), ColumnKind.NUMBER, sortable=True),
        Column("status", N_("Last job")),
        Column("finished", N_("Finished"), ColumnKind.MOMENT, sortable=True),
        Column("errors", N_("Errors"), ColumnKind.NUMBER, sortable=True),
    ),
    ("name", "title", "type", "active", "datasets", "status", "created", "finished", "errors"),
    lists.sources,
)
HOSTS = Table(
    "hosts",
    N_("Where files are hosted"),
    N_("Hosts of the resources of public datasets, as the last nightly report counted them."),
    N_("Nothing has been counted yet."),
    (
        Column("name", N_("Host"), ColumnKind.HOSTS),
        Column("resources", N_("Resources"), ColumnKind.NUMBER),
        _PERCENT,
    ),
    ("name", "resources", "percent"),
    lists.hosted,
)
HISTORY = Table(
    "history",
    N_("Over time"),
    N_("How fresh the public datasets were on each day."),
    N_("Nothing has been counted yet: the nightly report does it."),
    (
        Column("day", N_("Day")),
        Column("datasets", N_("Datasets"), ColumnKind.NUMBER),
        Column("fresh_percent", N_("Fresh"), ColumnKind.PERCENT),
        *_STATUSES,
    ),
    ("day", "datasets", "fresh_percent", *_STATUS_FIELDS),
    lists.days,
)
RUNS = Table(
    "runs",
    N_("Runs"),
    N_("What was done at night, and on demand."),
    N_("There has been no run yet."),
    (
        Column("started_at", N_("Started"), ColumnKind.RUN),
        Column("kind", N_("Kind")),
        Column("ended_at", N_("Ended"), ColumnKind.MOMENT),
        Column("visited", N_("Resources visited"), ColumnKind.NUMBER),
        Column("error", N_("What went wrong")),
    ),
    ("id", "kind", "started_at", "ended_at", "visited", "error"),
    lists.runs,
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        *(STATUSES, HISTORY, DUE, CHANGES, BROKEN, MISMATCHES, UNCLEAR),
        *(ORGANIZATIONS, SOURCES, HOSTS, RUNS, DATASETS),
    )
}
"""In the order of the dashboard."""

FOR_SYSADMINS = frozenset({RUNS.name})
"""Names of tables for sysadmins only, since their numbers include private datasets."""

OF_ORGANIZATION = frozenset(
    table.name
    for table in (
        *(STATUSES, HISTORY, DUE, CHANGES, BROKEN, MISMATCHES, UNCLEAR),
        *(SOURCES, DATASETS),
    )
)
"""Names of tables that can be restricted to an organization."""

_SKIPPING = frozenset({DATASETS.name, DUE.name})
"""Names of tables whose search itself skips the rows before the offset."""


def rows(table: Table, request: TableRequest) -> Iterator[Row]:
    """Return the rows of a table from the request's offset up to its limit, produced as they are read."""
    found = iter(table.rows(request))
    skipped = 0 if table.name in _SKIPPING else request.offset
    return islice(found, skipped, None if request.limit is None else skipped + request.limit)
