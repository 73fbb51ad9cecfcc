"""Tables of the report: their columns, requests for their rows, and rows as pages, CSV and JSON.

Rows are plain dictionaries and are produced as they are read, so that a table of any length can be streamed.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..ckan_adapter.core import model
from ..dates import utc, utc_text
from ..translation import N_
from ..web.urls import display_link
from . import visibility

Context = Mapping[str, Any]
"""The context of an action: the user for whom rows are read."""
Row = Mapping[str, Any]

BATCH = 500
"""Rows to read from the database or Solr at a time."""

MOST_COUNTED = 1_000
"""Rows that are counted for a table's page. To count tens of thousands of links takes seconds."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a cell that a spreadsheet takes for a formula (OWASP, CSV injection)."""

_CHUNK = 200
"""Rows of CSV or JSON to send at a time."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    :ivar key: the key of its value in a row, and its name in CSV and JSON
    :ivar title: marked for translation; a column without a title is only in files
    :ivar kind: how pages show a value, as the macro ``cell`` of ``freshness/rows.html`` knows it
    :ivar sort: the key of the value to sort by, if it is another
    """

    key: str
    title: str = ""
    kind: str = ""
    sort: str = ""


DATASET = (
    *(Column("name"), Column("title", N_("Dataset"), "dataset"), Column("dataset_url")),
    *(Column("organization_title"), Column("maintainer_email")),
)
ORGANIZATION = Column("organization", N_("Organization"), "organization", "organization_title")
RESOURCE = (Column("resource_id"), Column("resource", N_("Resource"), "resource"), Column("url"))


@dataclass(frozen=True, slots=True)
class TableRequest:
    """A request for rows of a table.

    :ivar now: the current time, aware
    :ivar organization: the id of an organization, to list only its datasets; None for all
    :ivar dataset: the id of a dataset, to list only what belongs to it; only a :class:`DatasetTable` does so
    :ivar within: the ids of organizations, to list only what belongs to their datasets, likewise. The user may
        change these datasets and sees each of them: no search is needed to know it
    :ivar since: the earliest change to list, aware; None for a day before ``now``
    :ivar run: the id of a run whose changes are listed in addition
    :ivar status: one of the table's filters, to list only these rows
    :ivar search: a text, to list only rows that contain it
    :ivar sort: the key of a column, after a minus for descending order; None for the table's own order
    :ivar offset: the number of rows to skip
    :ivar limit: the largest number of rows to read; None for all
    """

    context: Context
    now: datetime
    organization: str | None = None
    dataset: str | None = None
    within: Sequence[str] | None = None
    since: datetime | None = None
    run: str | None = None
    status: str | None = None
    search: str | None = None
    sort: str | None = None
    offset: int = 0
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class TablePage:
    """A page of a table.

    :ivar number: counted from 1
    :ivar has_next: whether there is another page
    :ivar total: the number of rows of all pages; None if it was not counted
    :ivar is_more: whether there are more rows than ``total``
    """

    rows: Sequence[Row]
    number: int
    has_next: bool
    total: int | None = None
    is_more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of the report.

    :ivar name: its name in URLs
    :ivar title: marked for translation
    :ivar meaning: a sentence about its contents, marked for translation
    :ivar empty: the sentence shown if there are no rows, marked for translation
    :ivar rows: returns all rows of a request in the table's own order
    :ivar tab: the tab of its page
    :ivar filter: the parameter that lists only a part of its rows
    :ivar filters: what this parameter may name
    """

    name: str
    title: str = ""
    meaning: str = ""
    empty: str = ""
    columns: tuple[Column, ...] = ()
    rows: Callable[[TableRequest], Iterable[Row]] = lambda request: ()
    tab: str = "overview"
    filter: str = "status"
    filters: tuple[str, ...] = ()

    @property
    def shown(self) -> list[Column]:
        """The columns of its page."""
        return [column for column in self.columns if column.title]

    @property
    def fields(self) -> list[str]:
        """The keys of a row in CSV and JSON."""
        return [column.key for column in self.columns]

    def read(self, request: TableRequest) -> Iterator[Row]:
        """Yield the rows from the request's offset up to its limit."""
        end = None if request.limit is None else request.offset + request.limit
        return islice(self._found(request), request.offset, end)

    def records(self, rows: Iterable[Row]) -> list[dict[str, Any]]:
        """Return rows with the keys of CSV and JSON only."""
        return [{key: row.get(key) for key in self.fields} for row in rows]

    def page(self, request: TableRequest, number: int, size: int) -> TablePage:
        """Return a page, with the number of all rows.

        :param number: counted from 1; a page behind the last one has no rows
        """
        found = list(self._found(request))
        start = (number - 1) * size
        rows = found[start : start + size]
        return TablePage(rows, number, len(found) > start + size, len(found))

    def _found(self, request: TableRequest) -> Iterator[Row]:
        """Yield the rows that contain the text to search for, in the requested order."""
        found: Iterable[Row] = self.rows(request)
        if request.search:
            text = request.search.casefold()
            keys = [column.key for column in self.shown if column.kind in _SEARCHED]
            found = [row for row in found if any(text in str(row[key]).casefold() for key in keys)]
        if request.sort:
            key = request.sort.removeprefix("-")
            rows = list(found)
            known = [row for row in rows if row[key] is not None]
            known.sort(key=lambda row: _order(row[key]), reverse=request.sort.startswith("-"))
            found = known + [row for row in rows if row[key] is None]
        return iter(found)


_SEARCHED = ("", "organization", "source")
"""Kinds of columns in whose values a text is searched for."""


def _order(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetTable(Table):
    """A table in which each row is a visible dataset, or a thing that belongs to one, read by SQL.

    The database selects, sorts, searches and counts the rows, and streams them.

    :ivar select: SQL of the columns beside those of the dataset ``p`` and its organization ``g``
    :ivar source: SQL of the tables from which its rows come, joined with ``p``, or a function that returns it
    :ivar where: SQL of the condition of the list itself
    :ivar order: its own order, written like :attr:`TableRequest.sort`
    :ivar key: the column that identifies a row, and orders rows of equal rank
    :ivar always: columns that have a value in each row; an index can give their descending order, too
    :ivar searched: columns that are searched
    :ivar values: returns the values of further placeholders
    :ivar complete: adds values to a row that the database does not have
    :ivar parts: tables that read the rows of a filter faster, by the filter
    :ivar grouped: a column whose values are filters
    :ivar is_counted_whole: count all rows, not only the first :data:`MOST_COUNTED`
    """

    select: str
    source: str | Callable[[], str]
    where: str = "true"
    order: str
    key: str = "package_id"
    always: tuple[str, ...] = ()
    searched: tuple[str, ...] = ("title", "name")
    values: Callable[[TableRequest], dict[str, Any]] = lambda request: {}
    complete: Callable[[Row], Row] = lambda row: row
    parts: Mapping[str, DatasetTable] = field(default_factory=dict)
    grouped: str = ""
    is_counted_whole: bool = False

    def read(self, request: TableRequest) -> Iterator[Row]:
        """Yield the requested rows, streamed in one transaction of a separate connection."""
        if shorter := self.parts.get(request.status or ""):
            yield from shorter.read(request)
            return
        rows, values = self.sql(request)
        order = f"ORDER BY {self._order(request)}"
        if request.limit is not None or request.offset:
            # So that the database reads and sorts no more columns than it needs to find the page.
            part = f"SELECT {self.key} {rows} {order} LIMIT :limit OFFSET :offset"
            rows, values = (
                f"{rows} AND {self.key} IN ({part})",
                {
                    **values,
                    "limit": request.limit,
                    "offset": request.offset,
                },
            )
        site = settings.site_url()
        with model.Session.get_bind().connect() as connection:
            streamed = connection.execution_options(stream_results=True, max_row_buffer=BATCH)
            for row in streamed.execute(sa.text(f"SELECT * {rows} {order}"), values).mappings():
                shown = {**_shown(row), "dataset_url": f"{site}/dataset/{row['name']}"}
                yield self.complete(shown)

    def page(self, request: TableRequest, number: int, size: int) -> TablePage:
        """Return a page as :meth:`Table.page` does, without counting more rows than it must."""
        asked = replace(request, offset=(number - 1) * size, limit=size + 1)
        found = list(self.read(asked))
        total, is_more = self.count(request, None if self.is_counted_whole else MOST_COUNTED)
        return TablePage(found[:size], number, len(found) > size, total, is_more)

    def count(self, request: TableRequest, most: int | None = MOST_COUNTED) -> tuple[int, bool]:
        """Return the number of rows, at most ``most``, and whether there are more."""
        if shorter := self.parts.get(request.status or ""):
            return shorter.count(request, most)
        rows, values = self.sql(request)
        statement = f"SELECT count(*) FROM (SELECT {rows} LIMIT :most) counted"
        found = model.Session.execute(
            sa.text(statement), {**values, "most": None if most is None else most + 1}
        ).scalar_one()
        is_more = most is not None and found > most
        return (most, True) if is_more and most is not None else (int(found), False)

    def counts(self, request: TableRequest, most: int | None = None) -> dict[str, int] | None:
        """Return the numbers of rows by the value of :attr:`grouped`; None if there are more than ``most``."""
        rows, values = self.sql(request)
        listed = f"SELECT {self.grouped} AS part {rows} LIMIT :most"
        found = model.Session.execute(
            sa.text(f"SELECT part, count(*) AS number FROM ({listed}) listed GROUP BY 1"),
            {**values, "most": None if most is None else most + 1},
        )
        numbers = {row.part: row.number for row in found}
        return None if most is not None and sum(numbers.values()) > most else numbers

    def sql(self, request: TableRequest) -> tuple[str, dict[str, Any]]:
        """Return SQL, beginning with FROM, for the rows of a request in any order, and its values."""
        if request.within is None:
            visible, values = visibility.condition(request.context)
        else:
            visible, values = "p.owner_org = ANY(:within)", {"within": list(request.within)}
        values = {
            "types": sorted(settings.dataset_types()),
            "moment": utc(request.now),
            "today": request.now.date().isoformat(),
            "edited": sorted(visibility.edited_organizations(request.context)),
            "is_everything_edited": visibility.sees_all(request.context),
            **self.values(request),
            **values,
        }
        conditions = [
            "p.state = 'active'",
            "p.type = ANY(:types)",
            f"({visible})",
            f"({self.where})",
        ]
        if request.organization is not None:
            conditions.append("p.owner_org = :organization")
            values["organization"] = request.organization
        if request.dataset is not None:
            conditions.append("p.id = :dataset")
            values["dataset"] = request.dataset
        found = "true"
        if request.search:
            found = f"({' OR '.join(f'{key} ILIKE :search' for key in self.searched)})"
            values["search"] = f"%{_escaped(request.search)}%"
        source = self.source if isinstance(self.source, str) else self.source()
        return (
            f"""FROM (
    SELECT {_OF_PACKAGE}, {self.select} {source} LEFT JOIN "group" g ON g.id = p.owner_org
    WHERE {" AND ".join(conditions)}
) found WHERE {found}""",
            values,
        )

    def _order(self, request: TableRequest) -> str:
        order = request.sort or self.order
        key, direction = order.removeprefix("-"), "DESC" if order.startswith("-") else "ASC"
        column = next((one for one in self.columns if one.key == key), Column(key))
        by = column.sort or key
        if column.kind == "status":
            by = f"array_position(ARRAY[{_BY_URGENCY}], {by})"
        elif column.kind in _IN_LETTERS:
            by = f"lower({by})"
        nulls = "" if key in self.always else "NULLS LAST"
        return f"{by} {direction} {nulls}, {self.key} {direction}"


_OF_PACKAGE = """p.id AS package_id, p.name, coalesce(nullif(p.title, ''), p.name) AS title, p.type,
    p.owner_org, g.name AS organization, coalesce(nullif(g.title, ''), g.name) AS organization_title,
    CASE WHEN :is_everything_edited OR p.owner_org = ANY(:edited)
        THEN nullif(p.maintainer_email, '') END AS maintainer_email"""
_BY_URGENCY = "'no_working_link', 'delinquent', 'overdue', 'due', 'unavailable', 'fresh'"
_IN_LETTERS = ("dataset", "organization", "resource")
"""Kinds of columns that are sorted without regard to capital letters."""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _shown(row: Row) -> Row:
    """Return a row with its moments as text, and without users and passwords in its URL."""
    shown = with_texts(row)
    if shown.get("url") is not None:
        shown["url"] = display_link(shown["url"])
    return shown


def with_texts(row: Row) -> dict[str, Any]:
    """Return a copy of a row in which datetimes are texts of ISO 8601."""
    return {
        key: utc_text(value) if isinstance(value, datetime) else value for key, value in row.items()
    }


def as_csv(rows: Iterable[Row], fields: Sequence[str]) -> Iterator[str]:
    """Yield CSV (RFC 4180) in pieces: a header line, then the rows.

    Cells that a spreadsheet would run as a formula get a leading apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(fields)
    for number, row in enumerate(rows, 1):
        writer.writerow([_cell(row.get(key)) for key in fields])
        if number % _CHUNK == 0:
            yield _drain(text)
    yield _drain(text)


def as_json(rows: Iterable[Row], fields: Sequence[str]) -> Iterator[str]:
    """Yield a JSON list of objects in pieces."""
    rest = iter(rows)
    start = "["
    while chunk := list(islice(rest, _CHUNK)):
        objects = ({key: row.get(key) for key in fields} for row in chunk)
        yield start + ",\n".join(json.dumps(item, ensure_ascii=False) for item in objects)
        start = ",\n"
    yield "[]\n" if start == "[" else "]\n"


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    if isinstance(value, bool | dict | list):
        return json.dumps(value, ensure_ascii=False)
    return value


def _drain(text: io.StringIO) -> str:
    drained = text.getvalue()
    text.seek(0)
    text.truncate()
    return drained
