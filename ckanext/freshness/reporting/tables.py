"""Tables as people and programs get them: a page of rows, CSV line by line, JSON.

Pure: rows are plain dictionaries, made as they are asked for, so that a table of any length streams.
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
"""What a spreadsheet takes for a formula at the beginning of a cell (OWASP, CSV injection)."""

_PART = 200
"""Rows of CSV or JSON that are sent at a time."""


class Kind(Enum):
    """How a value is shown to people."""

    TEXT = "text"
    PHRASE = "phrase"
    """Words of ours, to be translated."""
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
    """A column as people see it.

    :ivar key: of the row's value
    :ivar title: marked for translation
    :ivar sortable: whether rows may be asked for in its order
    """

    key: str
    title: str
    kind: Kind = Kind.TEXT
    sortable: bool = False


@dataclass(frozen=True, slots=True)
class Table(Generic[Asked]):
    """A table of the report.

    :ivar name: in URLs
    :ivar title: marked for translation
    :ivar meaning: what stands in it, in a sentence, marked for translation
    :ivar empty: what is said instead of no rows, marked for translation
    :ivar fields: the keys of a row, as CSV and JSON have them
    :ivar rows: made for what is asked
    """

    name: str
    title: str
    meaning: str
    empty: str
    columns: tuple[Column, ...]
    fields: tuple[str, ...]
    rows: Callable[[Asked], Iterable[Row]]

    def sorts(self) -> frozenset[str]:
        """The keys by which rows may be sorted."""
        return frozenset(column.key for column in self.columns if column.sortable)


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a table.

    :ivar number: from 1
    :ivar has_next: whether more come behind
    """

    rows: Sequence[Row]
    number: int
    has_next: bool


def page(rows: Iterable[Row], number: int, size: int) -> Page:
    """A page of what begins with it: of more rows than fit only whether there are any is kept."""
    found = list(islice(rows, size + 1))
    return Page(found[:size], number, len(found) > size)


def as_csv(rows: Iterable[Row], fields: Sequence[str]) -> Iterator[str]:
    """CSV (RFC 4180) in pieces: a line of keys, then the rows.

    What a spreadsheet would run as a formula gets an apostrophe before it.
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
    """A JSON list of objects, in pieces."""
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
