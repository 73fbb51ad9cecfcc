"""Tables of the report: their columns, requests for their rows, and rows as pages, CSV and JSON. Pure.

Rows are plain dictionaries and are produced as they are read, so that a table of any length can be streamed.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from itertools import islice
from typing import Any

from ..dates import utc_text

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


class ColumnKind(Enum):
    """The way in which a value is displayed."""

    TEXT = "text"
    PHRASE = "phrase"
    """A text of this extension, which pages translate."""
    HOSTS = "hosts"
    NUMBER = "number"
    PERCENT = "percent"
    DAY = "day"
    MOMENT = "moment"
    LASTING = "lasting"
    """A moment, shown as the time since then."""
    STATUS = "status"
    DATASET = "dataset"
    ORGANIZATION = "organization"
    EVIDENCE = "evidence"
    CAUSE = "cause"
    FREQUENCY = "frequency"
    OBSERVED = "observed"
    """How often data really change."""
    UNDETERMINED = "undetermined"
    RESOURCE = "resource"
    PROBLEM = "problem"
    """Why a check failed."""
    SOURCE = "source"
    SOURCE_TYPE = "source_type"
    JOB = "job"
    """The last job of a source, shown as its state."""
    RUN = "run"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table on a page.

    :ivar key: the key of its value in a row
    :ivar title: marked for translation
    """

    key: str
    title: str
    kind: ColumnKind = ColumnKind.TEXT


@dataclass(frozen=True, slots=True)
class TableRequest:
    """A request for rows of a table.

    :ivar now: the current time, aware
    :ivar organization: the name of an organization, to list only its datasets; None for all
    :ivar dataset: the id of a dataset, to list only what belongs to it; only :mod:`.dataset_tables` does so
    :ivar since: the earliest change to list, aware; None for a day before ``now``
    :ivar run: the id of a run whose changes are listed in addition
    :ivar status: a status, to list only datasets that have it now
    :ivar search: a text, to list only rows that contain it
    :ivar sort: the key of a column, after a minus for descending order; None for the table's own order
    :ivar offset: the number of rows to skip
    :ivar limit: the largest number of rows to read; None for all
    """

    context: Context
    now: datetime
    organization: str | None = None
    dataset: str | None = None
    since: datetime | None = None
    run: str | None = None
    status: str | None = None
    search: str | None = None
    sort: str | None = None
    offset: int = 0
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the report.

    :ivar name: its name in URLs
    :ivar title: marked for translation
    :ivar meaning: a sentence about its contents, marked for translation
    :ivar empty: the sentence shown if there are no rows, marked for translation
    :ivar fields: the keys of a row in CSV and JSON
    :ivar rows: returns the rows of a request
    :ivar count: returns the number of all rows of a request; a number greater than :data:`MOST_COUNTED` may
        stand for more rows. If it is given, ``rows`` itself sorts, searches, and skips to the offset
    """

    name: str
    title: str
    meaning: str
    empty: str
    columns: tuple[Column, ...]
    fields: tuple[str, ...]
    rows: Callable[[TableRequest], Iterable[Row]]
    count: Callable[[TableRequest], int] | None = None

    def sorts(self) -> frozenset[str]:
        """Return the keys by which the table can be sorted."""
        return frozenset(column.key for column in self.columns)

    def read(self, request: TableRequest) -> Iterator[Row]:
        """Yield the rows from the request's offset up to its limit."""
        if self.count is not None:
            return iter(self.rows(request))
        found = matching(self, self.rows(request), request)
        end = None if request.limit is None else request.offset + request.limit
        return islice(found, request.offset, end)

    def page(self, request: TableRequest, number: int, size: int) -> TablePage:
        """Return a page, with the number of all rows.

        :param number: counted from 1; a page behind the last one has no rows
        """
        start = (number - 1) * size
        if self.count is not None:
            found = list(self.rows(replace(request, offset=start, limit=size + 1)))
            return TablePage(found[:size], number, len(found) > size, self.count(request))
        every = matching(self, self.rows(request), request)
        found = every[start : start + size]
        return TablePage(found, number, len(every) > start + size, len(every))


@dataclass(frozen=True, slots=True)
class TablePage:
    """A page of a table.

    :ivar number: counted from 1
    :ivar has_next: whether there is another page
    :ivar total: the number of rows of all pages, as :attr:`Table.count` returns it; None if it was not counted
    """

    rows: Sequence[Row]
    number: int
    has_next: bool
    total: int | None = None


def sort_of(request: TableRequest, default: str) -> tuple[str, bool]:
    """Return the key to sort by, and whether the order is descending.

    :param default: the table's own order, written like :attr:`TableRequest.sort`
    """
    order = request.sort or default
    return order.removeprefix("-"), order.startswith("-")


def with_iso_dates(row: Row, *keys: str) -> dict[str, Any]:
    """Return a copy of a row in which the datetimes under these keys are ISO 8601 texts."""
    return {**row, **{key: utc_text(row[key]) for key in keys}}


def matching(table: Table, rows: Iterable[Row], request: TableRequest) -> list[Row]:
    """Return those rows of a table that contain the text to search for, in the requested order."""
    found = list(rows)
    if request.search:
        text = request.search.casefold()
        texts = [column.key for column in table.columns if column.kind in _SEARCHED]
        found = [row for row in found if any(text in str(row[key]).casefold() for key in texts)]
    if not request.sort:
        return found
    key, backwards = sort_of(request, "")
    known = [row for row in found if row[key] is not None]
    known.sort(key=lambda row: _order(row[key]), reverse=backwards)
    return known + [row for row in found if row[key] is None]


def _order(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


_SEARCHED = (ColumnKind.TEXT, ColumnKind.HOSTS, ColumnKind.ORGANIZATION, ColumnKind.SOURCE)
"""Kinds of columns in whose values a text is searched for."""


def page(rows: Iterable[Row], number: int, size: int) -> TablePage:
    """Return the first `size` rows as a page, and whether there are more."""
    found = list(islice(rows, size + 1))
    return TablePage(found[:size], number, len(found) > size)


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
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return value


def _drain(text: io.StringIO) -> str:
    drained = text.getvalue()
    text.seek(0)
    text.truncate()
    return drained
