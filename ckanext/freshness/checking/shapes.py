"""The shape of a file: its tables with their columns, and the columns of dates among these.

A shape says what is certain, and is empty otherwise: a table needs a header, and a file must be well-formed.
It is stored as JSON, so that it is small: :data:`MOST_COLUMNS` and :data:`MOST_BYTES` at most.

Pure, but not safe by itself, as :mod:`.content`.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import BinaryIO, NamedTuple

from python_calamine import CalamineError, CalamineWorkbook

from .content import MIB  # with the encodings, which cannot be imported while a file is open
from .formats import Shape, TableShape
from .observations import MOST_COLUMNS, DateColumn, TableReader, periods_of_json_stat

_CHUNK = 64 * 1024
MOST_BYTES = 8192
"""Of a shape, as JSON."""

_MOST_JSON = 16 * MIB
"""Bytes of JSON. A parsed document takes many times as much memory."""

SMALL = 64 * 1024
"""Delimited text up to this size is read in this process: handing it over would take longer."""
_SAMPLE = 8192
"""Characters of delimited text that decide the delimiter."""
_SAMPLE_RECORDS = 20
_DELIMITERS = ",;\t|"
_MOST_TITLES = 20
"""Rows above the header of a sheet, at most."""


class Tables(NamedTuple):
    """The shape of a file's tables, and their columns of dates. Both are empty if nothing is certain."""

    shape: Shape
    dates: Sequence[DateColumn]


def open_tables(request: bytes, file: BinaryIO) -> bytes:
    """Return what is read of a file's tables as JSON, in a process of the sandbox.

    :param request: how to read it, and the day: the arguments of :func:`tables_of` with a blank between them
    """
    how, _, today = request.decode().partition(" ")
    return json.dumps(tables_of(how, file, date.fromisoformat(today))).encode()


def tables_of(how: str, file: BinaryIO, today: date) -> Tables:
    """Return the shape of a file, and its columns of dates.

    :param how: ``workbook`` (XLSX, XLSM, XLSB, ODS), or see :func:`.formats.kind_of_text`
    """
    try:
        read = [(shape, list(dates)) for shape, dates in _READERS[how](file, today)]
        dates = [column for _, columns in read for column in columns]
        return Tables(_bounded([shape for shape, _ in read if shape is not None]), dates)
    except (_Uncertain, CalamineError, csv.Error, OSError, ValueError):
        return Tables([], [])


class _Uncertain(Exception):
    """Raised if a shape is not certain."""


def _bounded(shape: list[TableShape]) -> Shape:
    """Return a shape that can be stored.

    :raises _Uncertain: it is too large, or has characters that cannot be stored
    """
    text = json.dumps(shape, ensure_ascii=False)
    # Lone surrogates raise a ValueError. JSON escapes NUL.
    if len(text.encode()) > MOST_BYTES or "\\u0000" in text:
        raise _Uncertain
    if any(len(table.columns or ()) > MOST_COLUMNS for table in shape):
        raise _Uncertain
    return shape


_Table = tuple[TableShape | None, Iterable[DateColumn]]
"""A table without a shape has dates alone."""


def _of_csv(file: BinaryIO, today: date) -> Iterator[_Table]:
    first = file.read(len(codecs.BOM_UTF8))
    encoding = "utf-8-sig" if first.startswith(codecs.BOM_UTF8) else "utf-8"
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    file.seek(0)
    # Illegal bytes matter only in the header: those of other encodings are no delimiters.
    with io.TextIOWrapper(file, encoding, "surrogateescape") as text:
        sample = text.read(_SAMPLE)
        delimiter, header = _header(sample, is_whole=len(sample) < _SAMPLE)
        file.seek(0)
        chunks = iter(partial(file.read, _CHUNK), b"")
        lines = sum(chunk.count(b"\n") + chunk.count(b"\r") for chunk in chunks)
        text.seek(0)
        rows = filter(None, csv.reader(text, delimiter=delimiter, strict=True))
        next(rows)
        # Cells beyond the table's width take room.
        cut = map(itemgetter(slice(len(header))), rows)
        yield _table(None, header, cut, lines + 1, today)


def _table(
    sheet: str | None, names: list[str], rows: Iterable[Sequence[object]], most: int, today: date
) -> tuple[TableShape, Iterator[DateColumn]]:
    reader = TableReader(sheet, names, most, today)
    return TableShape(sheet, reader.add(rows), names), reader.columns()


def _header(sample: str, *, is_whole: bool) -> tuple[str, list[str]]:
    """Return the delimiter and the names of the columns.

    The delimiter is the one that makes the most columns, as many in each of the first records.

    :raises _Uncertain: no delimiter does, or the first record is no header
    """
    if "\0" in sample:
        raise _Uncertain
    best: list[list[str]] = []
    chosen = ""
    for delimiter in _DELIMITERS:
        if delimiter in sample:
            records = _sample_records(sample, delimiter, is_whole=is_whole)
            widths = {len(record) for record in records}
            if len(widths) == 1 and (not best or widths.pop() > len(best[0])):
                best, chosen = records, delimiter
    if not best or len(best[0]) < 2 or not _names_columns(best[0]):
        raise _Uncertain
    return chosen, best[0]


def _sample_records(sample: str, delimiter: str, *, is_whole: bool) -> list[list[str]]:
    """Return the first records of a text that are complete in the sample; none if it is malformed."""
    reader = csv.reader(io.StringIO(sample), delimiter=delimiter, strict=True)
    records: list[list[str]] = []
    try:
        records.extend(islice(filter(None, reader), _SAMPLE_RECORDS + 1))
    except csv.Error:
        # The sample ends within quotes.
        return [] if is_whole else records[:_SAMPLE_RECORDS]
    if not is_whole and len(records) <= _SAMPLE_RECORDS:
        records = records[:-1]
    return records[:_SAMPLE_RECORDS]


def _names_columns(cells: Sequence[str]) -> bool:
    """Decide whether a record is a header: its cells differ, and none is a number."""
    return any(cells) and len(set(cells)) == len(cells) and not any(map(_is_number, cells))


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _of_json(file: BinaryIO, today: date) -> Iterator[_Table]:
    """Read a list of objects, objects on lines, the features of a GeoJSON file, or the periods of JSON-stat.

    :raises _Uncertain: the document is none of these, or too large
    """
    data = file.read(_MOST_JSON + 1)
    if len(data) > _MOST_JSON:
        raise _Uncertain
    try:
        rows = document = json.loads(data)
    except ValueError:
        rows = document = [json.loads(line) for line in data.splitlines() if line.strip()]
    of_features = isinstance(document, dict) and document.get("type") == "FeatureCollection"
    if of_features and isinstance(features := document.get("features"), list):
        rows = [
            feature.get("properties") or {} if isinstance(feature, dict) else None
            for feature in features
        ]
    elif isinstance(document, dict):
        for name, periods in periods_of_json_stat(document):
            _, dates = _table(None, [name], [[period] for period in periods], len(periods), today)
            yield None, dates
        return
    if not isinstance(rows, list) or not (rows or of_features):
        raise _Uncertain
    columns: dict[str, None] = {}
    for row in rows:
        if not isinstance(row, dict) or len(columns) > MOST_COLUMNS:
            raise _Uncertain
        columns |= dict.fromkeys(row)
    names = list(columns)
    cells = (list(map(row.get, names)) for row in rows)
    shape, dates = _table(None, names, cells, len(rows), today)
    yield shape._replace(of_features=of_features), dates


def _of_workbook(file: BinaryIO, today: date) -> Iterator[_Table]:
    book = CalamineWorkbook.from_filelike(file)
    for name in book.sheet_names:
        cells = book.get_sheet_by_name(name).to_python()
        rows = [row for row in cells if any(cell != "" for cell in row)]
        header = next(
            (number for number, row in enumerate(rows[:_MOST_TITLES]) if _is_header(row)), None
        )
        if header is None:
            yield TableShape(name, None, None), ()
            continue
        names = [str(cell) for cell in rows[header]]
        shape, dates = _table(name, names, rows[header + 1 :], len(rows), today)
        yield TableShape(name, None, None) if header else shape, dates


def _is_header(row: Sequence[object]) -> bool:
    names = [cell for cell in row if isinstance(cell, str) and cell]
    return len(names) == len(row) and _names_columns(names)


_READERS = {"csv": _of_csv, "json": _of_json, "workbook": _of_workbook}
