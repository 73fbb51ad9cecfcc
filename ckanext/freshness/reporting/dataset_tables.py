"""Rows of the report's tables in which each row is a visible dataset, or a thing that belongs to one.

The database selects, sorts, searches and counts the rows, and streams them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..checking.selection import IS_BROKEN
from ..ckan_adapter.core import model
from ..dates import utc
from ..model.datasets import IS_SUGGESTED
from ..model.runs import CHECKED_LINKS, DECLARED
from ..web.urls import display_url
from . import visibility
from .counts import NEED_UPDATE, NEEDS_UPDATE
from .tables import BATCH, MOST_COUNTED, Row, TableRequest, sort_of, with_iso_dates

SOON = timedelta(days=7)
"""The period of the list of datasets that become due."""


def _no_values(request: TableRequest) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class DatasetTable:
    """The SQL of a table of datasets, or of things that belong to datasets.

    :ivar columns: SQL of its columns beside those of the dataset ``p`` and its organization ``g``
    :ivar source: SQL of the tables from which its rows come, joined with ``p``
    :ivar where: SQL of the condition of the list itself
    :ivar sorts: SQL to sort by, by column, beside those of the dataset
    :ivar order: its own order, written like :attr:`TableRequest.sort`
    :ivar tie_breaker: SQL of the key of a row, which orders rows of equal rank
    :ivar always: columns that have a value in each row; an index can give their descending order, too
    :ivar searched: SQL of the texts that are searched beside the dataset's title and name
    :ivar dates: columns that are datetimes
    :ivar values: returns the values of further placeholders
    """

    columns: str
    source: str
    where: str
    sorts: Mapping[str, str]
    order: str
    tie_breaker: str
    always: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    values: Callable[[TableRequest], dict[str, Any]] = _no_values

    def rows(self, request: TableRequest) -> Iterator[Row]:
        """Yield the requested rows, streamed in one transaction of a separate connection."""
        condition, values = self._condition(request)
        order = f"ORDER BY {self._order(request)}"
        if request.limit is not None or request.offset:
            # So that the database reads and sorts no more columns than it needs to find the page.
            condition = f"""{self.tie_breaker} IN (SELECT {self.tie_breaker} {self.source} {_ORGANIZATION}
WHERE {condition} {order} LIMIT :limit OFFSET :offset)"""
            values |= {"limit": request.limit, "offset": request.offset}
        statement = f"""SELECT {_OF_PACKAGE}, {self.columns} {self.source} {_ORGANIZATION}
WHERE {condition} {order}"""
        with model.Session.get_bind().connect() as connection:
            streamed = connection.execution_options(stream_results=True, max_row_buffer=BATCH)
            for row in streamed.execute(sa.text(statement), values).mappings():
                yield self._row(row)

    def count(self, request: TableRequest) -> int:
        """Return the number of all rows."""
        return sum(self.counts(request, "NULL").values())

    def count_some(self, request: TableRequest, most: int = MOST_COUNTED) -> int:
        """Return the number of rows like :meth:`count`, but at most one more than ``most``."""
        condition, values = self._condition(request)
        statement = f"""SELECT count(*) FROM (
    SELECT {self.source} {_ORGANIZATION} WHERE {condition} LIMIT :most
) counted"""
        values["most"] = most + 1
        return int(model.Session.execute(sa.text(statement), values).scalar_one())

    def counts(self, request: TableRequest, by: str) -> dict[str, int]:
        """Return the numbers of rows by the value of an SQL expression."""
        condition, values = self._condition(request)
        statement = f"""SELECT {by} AS part, count(*) AS number {self.source} {_ORGANIZATION}
WHERE {condition} GROUP BY 1"""
        found = model.Session.execute(sa.text(statement), values)
        return {row.part: row.number for row in found}

    def _condition(self, request: TableRequest) -> tuple[str, dict[str, Any]]:
        """Return the condition of a request and its values."""
        visible, values = visibility.condition(request.context)
        parts = ["p.state = 'active'", "p.type = ANY(:types)", f"({visible})", f"({self.where})"]
        values = {
            "types": sorted(settings.aging().dataset_types),
            **self.values(request),
            **values,
        }
        if request.organization is not None:
            parts.append("p.owner_org = :organization")
            values["organization"] = visibility.organization_id(request.organization)
        if request.dataset is not None:
            parts.append("p.id = :dataset")
            values["dataset"] = request.dataset
        if request.search:
            texts = ("p.title", "p.name", *self.searched)
            parts.append(f"({' OR '.join(f'{text} ILIKE :search' for text in texts)})")
            values["search"] = f"%{_escaped(request.search)}%"
        return " AND ".join(parts), values

    def _order(self, request: TableRequest) -> str:
        key, backwards = sort_of(request, self.order)
        sorts = {**_SORTS, **self.sorts}
        if key not in sorts:
            raise ValueError(f"{key} is not one of {', '.join(sorts)}")
        direction = "DESC" if backwards else "ASC"
        nulls = "" if key in self.always else "NULLS LAST"
        return f"{sorts[key]} {direction} {nulls}, {self.tie_breaker} {direction}"

    def _row(self, row: Mapping[str, Any]) -> Row:
        shown = with_iso_dates(row, *self.dates)
        if shown.get("url") is not None:
            # Never show users and passwords in URLs.
            shown["url"] = display_url(shown["url"])
        return shown


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


_TITLE = "coalesce(nullif(p.title, ''), p.name)"
_ORGANIZATION_TITLE = "coalesce(nullif(g.title, ''), g.name)"
_OF_PACKAGE = f"""p.id, p.id AS package_id, p.name, {_TITLE} AS title, p.type, p.owner_org,
    g.name AS organization, {_ORGANIZATION_TITLE} AS organization_title"""
_ORGANIZATION = 'LEFT JOIN "group" g ON g.id = p.owner_org'
_SORTS = {"title": f"lower({_TITLE})", "organization": f"lower({_ORGANIZATION_TITLE})"}


def _by_name(*keys: str, of: str) -> dict[str, str]:
    return {key: f"{of}.{key}" for key in keys}


# Datasets.

_STATUS = "array_position(ARRAY['delinquent', 'overdue', 'due', 'unavailable', 'fresh'], {})"
"""SQL that orders statuses, the most urgent first."""

_of_datasets = partial(
    DatasetTable,
    columns="""p.private, f.status, f.last_modified, f.evidence, f.frequency_days, f.due, f.overdue,
    f.delinquent, f.undetermined""",
    source="FROM package p LEFT JOIN freshness_dataset f ON f.package_id = p.id",
    sorts={
        "status": _STATUS.format("f.status"),
        **_by_name("last_modified", "evidence", "frequency_days", "due", of="f"),
    },
    tie_breaker="p.id",
    dates=("last_modified", "due", "overdue", "delinquent"),
)


def _statuses(request: TableRequest) -> dict[str, Any]:
    if request.status is None:
        return {"statuses": None}
    one = (request.status,)
    return {"statuses": list(NEED_UPDATE if request.status == NEEDS_UPDATE else one)}


def _soon(request: TableRequest) -> dict[str, Any]:
    return {"now": utc(request.now), "until": utc(request.now + SOON)}


DATASETS = _of_datasets(
    where="CAST(:statuses AS text[]) IS NULL OR f.status = ANY(:statuses)",
    order="title",
    values=_statuses,
)
"""All datasets, or those with a status."""


def by_status(request: TableRequest) -> dict[str, int]:
    """Return the numbers of all datasets by status, whatever status the request names."""
    return DATASETS.counts(replace(request, status=None), "f.status")


DUE = _of_datasets(where="f.due BETWEEN :now AND :until", order="due", values=_soon)
"""Datasets that become due within a week, the earliest first."""


FREQUENCIES = DatasetTable(
    columns="""s.declared_days, s.suggested_days, s.days, s.lowest_days, s.highest_days, s.at_least, s.changes,
    s.basis, round(CAST(s.factor AS numeric), 1) AS factor""",
    source="""FROM freshness_suggestion s JOIN package p ON p.id = s.package_id
    JOIN freshness_dataset f ON f.package_id = p.id""",
    where=IS_SUGGESTED,
    sorts={
        "factor": "s.factor",
        **_by_name("declared_days", "suggested_days", "days", of="s"),
    },
    order="-factor",
    tie_breaker="p.id",
    always=("factor", "declared_days", "suggested_days", "days"),
)
"""Datasets whose declared update frequency does not fit their data, those that differ most first."""


# Changes of statuses.


def _since(request: TableRequest) -> dict[str, Any]:
    since = request.since or request.now - timedelta(days=1)
    return {"since": utc(since), "until": utc(request.now)}


def _period(request: TableRequest) -> dict[str, Any]:
    return {**_since(request), "run": request.run}


CHANGES = DatasetTable(
    columns="o.id, o.from_status, o.to_status, o.changed_at, o.evidence, o.cause",
    source="FROM freshness_transition o JOIN package p ON p.id = o.package_id",
    # A dataset's first status is no change.
    where="""o.from_status IS NOT NULL AND o.from_status <> o.to_status
    AND (o.changed_at >= :since OR o.run_id = :run) AND o.changed_at <= :until""",
    sorts={
        "from_status": _STATUS.format("o.from_status"),
        "to_status": _STATUS.format("o.to_status"),
        **_by_name("changed_at", "cause", "evidence", of="o"),
    },
    order="-changed_at",
    tie_breaker="o.id",
    always=("changed_at",),
    dates=("changed_at",),
    values=_period,
)
"""Status changes with their cause, the newest first."""


# Changes of data.

DATA = DatasetTable(
    columns="""o.id AS change_id, o.resource_id, coalesce(r.name, '') AS resource, r.url, o.seen_at,
    o.evidence, o.changed_after, o.changed_before, o.stated_at, o.hash_before, o.hash_after,
    o.size_before, o.size_after, o.media_type_before, o.media_type_after, o.summary""",
    source="""FROM freshness_change o JOIN package p ON p.id = o.package_id
    LEFT JOIN resource r ON r.id = o.resource_id""",
    where="o.seen_at >= :since AND o.seen_at <= :until",
    sorts={
        "resource": "lower(r.name)",
        "what": "o.evidence",
        **_by_name("seen_at", "position", of="o"),
    },
    order="-seen_at",
    tie_breaker="o.id",
    always=("seen_at",),
    searched=("r.name",),
    dates=("seen_at", "changed_after", "changed_before", "stated_at"),
    values=_since,
)
"""Changes of data, the newest first."""


# Links.

_OF_RESOURCE = """c.resource_id, coalesce(r.name, '') AS resource, r.format, c.url, c.host, c.tried_at,
    c.attempts -> 0 ->> 'outcome' AS outcome, c.attempts -> 0 -> 'status' AS status,
    c.attempts -> 0 ->> 'reason' AS reason, c.attempts -> 0 ->> 'words' AS words"""
_of_links = partial(
    DatasetTable,
    source=f"FROM {CHECKED_LINKS}",
    tie_breaker="c.resource_id",
    searched=("r.name", "c.host"),
)
_LINK_SORTS = {
    "resource": "lower(r.name)",
    "words": "c.attempts -> 0 ->> 'words'",
    **_by_name("host", "tried_at", of="c"),
}


def _of_broken(request: TableRequest) -> dict[str, Any]:
    return settings.checks().broken_values


def _adhoc(request: TableRequest) -> dict[str, Any]:
    return {"adhoc": sorted(settings.adhoc_hosts())}


_NEWEST_BROKEN = f"""
SELECT c.resource_id, c.package_id, c.failing_since, c.failures FROM freshness_check c
WHERE c.failing_since IS NOT NULL AND CASE WHEN {IS_BROKEN} THEN true END"""
"""SQL: the broken links, whether in use or not. Two partial indexes have all that it reads, in order
of ``failing_since`` and of ``failures``.

PostgreSQL expects few links to meet the condition, and would then read all failing ones with their large rows.
CASE hides the condition from its estimates.
"""


def broken_links(packages: str = "package") -> str:
    """Return SQL for the broken links ``n`` in use, checks ``c``, resources ``r``, packages ``p``.

    :param packages: the table of the packages
    """
    return f"""({_NEWEST_BROKEN}) n
JOIN {packages} p ON p.id = n.package_id
JOIN freshness_check c ON c.resource_id = n.resource_id
JOIN resource r ON r.id = n.resource_id AND r.state = 'active' AND CASE WHEN r.url = c.url THEN true END"""


BROKEN = DatasetTable(
    columns=f"{_OF_RESOURCE}, c.failing_since, c.failures, c.succeeded_at",
    source=f"FROM {broken_links()}",
    where="true",
    sorts={**_LINK_SORTS, "failing_since": "n.failing_since", "failures": "n.failures"},
    order="failing_since",
    tie_breaker="n.resource_id",
    searched=("r.name", "c.host"),
    always=("failing_since", "failures"),
    dates=("failing_since", "succeeded_at", "tried_at"),
    values=_of_broken,
)
"""Resources whose URL failed several times, spread over time; the longest failing first."""

LATELY = timedelta(days=7)
"""A link that broke within this time is newly broken."""


def _newly_broken(request: TableRequest) -> dict[str, Any]:
    return {**_of_broken(request), "since": utc(request.now - LATELY)}


NEWLY_BROKEN = replace(BROKEN, where="n.failing_since >= :since", values=_newly_broken)
"""Those of them that work no longer since :data:`LATELY`."""

CHECKED = _of_links(
    columns=_OF_RESOURCE,
    where="c.tried_at IS NOT NULL",
    sorts=_LINK_SORTS,
    order="host",
    dates=("tried_at",),
)
"""Resources whose link was checked at least once."""

_UNDETERMINED = "CASE WHEN c.host = ANY(:adhoc) THEN 'adhoc' ELSE c.undetermined END"
UNCLEAR = _of_links(
    columns=f"{_OF_RESOURCE}, {_UNDETERMINED} AS undetermined",
    where="c.undetermined IS NOT NULL OR c.host = ANY(:adhoc)",
    sorts={**_LINK_SORTS, "undetermined": _UNDETERMINED},
    order="host",
    dates=("tried_at",),
    values=_adhoc,
)
"""Resources that could not be checked, or whose changes cannot be detected."""

MISMATCHES = _of_links(
    columns=f"{_OF_RESOURCE}, c.promised, c.found",
    # PostgreSQL expects few formats to be equal, and would then read all resources. CASE hides them from it.
    where=f"c.found IS NOT NULL AND CASE WHEN c.promised = {DECLARED} THEN true END",
    sorts={**_LINK_SORTS, **_by_name("promised", "found", of="c")},
    order="host",
    dates=("tried_at",),
)
"""Resources whose file is of another kind than their format says."""
