"""Tables of the report as pages, CSV and JSON. Pure.

Rows are plain dictionaries and are produced as they are read, so that a table of any length can be streamed.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Any, Generic, TypeVar

Row = Mapping[str, Any]
Asked = TypeVar("Asked")

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a cell that a spreadsheet takes for a formula (OWASP, CSV injection)."""

_PART = 200
"""Rows of CSV or JSON to send at a time."""


class ColumnKind(Enum):
    """The way in which a value is displayed."""

    TEXT = "text"
    PHRASE = "phrase"
    """A text of ours that is translated."""
    HOSTS = "hosts"
    NUMBER = "number"
    PERCENT = "percent"
    MOMENT = "moment"
    STATUS = "status"
    DATASET = "dataset"
    ORGANIZATION = "organization"
    EVIDENCE = "evidence"
    CAUSE = "cause"
    FREQUENCY = "frequency"
    UNDETERMINED = "undetermined"
    URL = "url"
    SOURCE = "source"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table on a page.

    :ivar key: the key of its value in a row
    :ivar title: marked for translation
    :ivar sortable: whether the table can be sorted by it
    """

    key: str
    title: str
    kind: ColumnKind = ColumnKind.TEXT
    sortable: bool = False


@dataclass(frozen=True, slots=True)
class Table(Generic[Asked]):
    """A table of the report.

    :ivar name: its name in URLs
    :ivar title: marked for translation
    :ivar meaning: a sentence about its contents, marked for translation
    :ivar empty: the sentence shown if there are no rows, marked for translation
    :ivar fields: the keys of a row in CSV and JSON
    :ivar rows: returns the rows of a request
    """

    name: str
    title: str
    meaning: str
    empty: str
    columns: tuple[Column, ...]
    fields: tuple[str, ...]
    rows: Callable[[Asked], Iterable[Row]]

    def sorts(self) -> frozenset[str]:
        """Return the keys by which the table can be sorted."""
        return frozenset(column.key for column in self.columns if column.sortable)


@dataclass(frozen=True, slots=True)
class TablePage:
    """A page of a table.

    :ivar number: counted from 1
    :ivar has_next: whether there is another page
    """

    rows: Sequence[Row]
    number: int
    has_next: bool


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
        if number % _PART == 0:
            yield _taken(text)
    yield _taken(text)


def as_json(rows: Iterable[Row], fields: Sequence[str]) -> Iterator[str]:
    """Yield a JSON list of objects in pieces."""
    parts = iter(rows)
    start = "["
    while part := list(islice(parts, _PART)):
        objects = ({key: row.get(key) for key in fields} for row in part)
        yield start + ",\n".join(json.dumps(one, ensure_ascii=False) for one in objects)
        start = ",\n"
    yield "[]\n" if start == "[" else "]\n"


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def _taken(text: io.StringIO) -> str:
    taken = text.getvalue()
    text.seek(0)
    text.truncate()
    return taken
