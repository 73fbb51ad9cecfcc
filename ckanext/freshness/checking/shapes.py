"""The shape of a file, which is the rows and columns of its tables; and the difference of two shapes.

A shape says what is certain, and is empty otherwise: a table needs a header, and a file must be well-formed.
A shape is stored as JSON, so that it is small: :data:`MOST_COLUMNS` and :data:`MOST_BYTES` at most.

Pure. Large texts are read in the sandbox, as are workbooks (:mod:`.workbooks`).
"""

from __future__ import annotations

import codecs
import csv
import encodings.utf_8_sig
import encodings.utf_16
import encodings.utf_32  # noqa: F401 (the codecs would be imported while a file is open)
import io
import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple

from .content import MIB
from .formats import TABLES

MOST_COLUMNS = 200
MOST_BYTES = 8192
"""Of a shape, and of a difference, as JSON."""

SMALL = 64 * 1024
"""Delimited text up to this size is read in the caller's process: handing it over would take longer."""

_MOST_JSON = 16 * MIB
"""Bytes of JSON. A parsed document takes many times as much memory."""

_SAMPLE = 8192
"""Characters of delimited text that decide the delimiter."""
_SAMPLE_RECORDS = 20
_DELIMITERS = ",;\t|"


class TableShape(NamedTuple):
    """A table of a file.

    Fields: the name of its sheet (None if the file has one table without a name), the number of its rows
    without the header, and the names of its columns; both None if it has no clear header; and whether its rows
    are the features of a GeoJSON file.
    """

    name: str | None
    rows: int | None
    columns: Sequence[str] | None
    of_features: bool = False


Shape = Sequence[TableShape]
"""The tables of a file in their order; empty if nothing is certain."""


@lru_cache(maxsize=1024)
def kind_of_text(formats: tuple[str, ...]) -> str | None:
    """Return how to read the shape of a text: ``csv``, ``json``, or None if it has none.

    :param formats: that the catalogue promises, see :class:`.formats.PromisedFormat`
    """
    found = {
        "csv" if name in TABLES else "json"
        for name in formats
        if name in TABLES or name in ("json", "geojson")
    }
    return found.pop() if len(found) == 1 else None


def open_text(request: bytes, file: BinaryIO) -> bytes:
    """Return the shape of a text as JSON, in a process of the sandbox.

    :param request: how to read it, see :func:`kind_of_text`
    """
    return json.dumps(of_text(request.decode(), file)).encode()


def of_text(kind: str, file: BinaryIO) -> Shape:
    """Return the shape of a text; empty if nothing is certain.

    :param kind: see :func:`kind_of_text`
    """
    try:
        return bounded([_of_json(file) if kind == "json" else _of_csv(file)])
    except (Uncertain, csv.Error, ValueError):
        return []


def of_small_csv(data: bytes) -> Shape:
    """Return the shape of delimited text of at most :data:`SMALL` bytes; empty if nothing is certain."""
    try:
        return bounded([_of_small_csv(data)])
    except (Uncertain, csv.Error, ValueError):
        return []


def from_json(stored: Sequence[Sequence[Any]]) -> Shape:
    """Return a shape that was stored as JSON."""
    return [TableShape(*table) for table in stored]


class Uncertain(Exception):
    """Raised if a shape is not certain."""


def bounded(shape: list[TableShape]) -> Shape:
    """Return a shape that can be stored.

    :raises Uncertain: it is too large, or has characters that cannot be stored
    """
    text = json.dumps(shape, ensure_ascii=False)
    # Lone surrogates raise a ValueError. JSON escapes NUL.
    if len(text.encode()) > MOST_BYTES or "\\u0000" in text:
        raise Uncertain
    if any(len(table.columns or ()) > MOST_COLUMNS for table in shape):
        raise Uncertain
    return shape


# Delimited text.


def _of_csv(file: BinaryIO) -> TableShape:
    first = file.read(len(codecs.BOM_UTF8))
    file.seek(0)
    # Illegal bytes matter only in the header: those of other encodings are no delimiters.
    with io.TextIOWrapper(file, _encoding(first), "surrogateescape", newline="") as text:
        sample = text.read(_SAMPLE)
        is_whole = len(sample) < _SAMPLE
        delimiter, header = _header(
            sample, lambda delimiter: _sample_records(sample, delimiter, is_whole=is_whole)
        )
        text.seek(0)
        records = sum(1 for record in csv.reader(text, delimiter=delimiter, strict=True) if record)
    return TableShape(None, records - 1, header)


def _of_small_csv(data: bytes) -> TableShape:
    """Return the same as :func:`_of_csv`, in a tenth of the time if there are no quotes and no blank lines."""
    if b'"' in data or b"\r" in data or _encoding(data[:3]) != "utf-8":
        return _of_csv(io.BytesIO(data))
    first = data[:_SAMPLE].split(b"\n", _SAMPLE_RECORDS)
    if not first[-1] or len(first) > _SAMPLE_RECORDS or len(data) > _SAMPLE:
        # After the last line end, or not the whole line.
        first.pop()
    if b"" in first:
        return _of_csv(io.BytesIO(data))
    sample = b"\n".join(first).decode("utf-8", "surrogateescape")
    _, header = _header(
        sample, lambda delimiter: [line.split(delimiter) for line in sample.split("\n")]
    )
    if b"\n\n" in data:
        return _of_csv(io.BytesIO(data))
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    return TableShape(None, lines - 1, header)


def _encoding(first: bytes) -> str:
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig" if first.startswith(codecs.BOM_UTF8) else "utf-8"


def _header(sample: str, records_by: Callable[[str], list[list[str]]]) -> tuple[str, list[str]]:
    """Return the delimiter and the names of the columns.

    The delimiter is the one that makes the most columns, as many in each of the first records.

    :param records_by: returns the first records by a delimiter; none if the text is malformed then
    :raises Uncertain: no delimiter does, or the first record is no header
    """
    if "\0" in sample:
        raise Uncertain
    best: list[list[str]] = []
    chosen = ""
    for delimiter in _DELIMITERS:
        if delimiter in sample:
            records = records_by(delimiter)
            widths = {len(record) for record in records}
            if len(widths) == 1 and (not best or widths.pop() > len(best[0])):
                best, chosen = records, delimiter
    if not best or len(best[0]) < 2 or not names_columns(best[0]):
        raise Uncertain
    return chosen, best[0]


def _sample_records(sample: str, delimiter: str, *, is_whole: bool) -> list[list[str]]:
    """Return the first records of a text that are complete in the sample; none if it is malformed."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, strict=True)
    records: list[list[str]] = []
    try:
        for record in reader:
            if record:
                records.append(record)
            if len(records) > _SAMPLE_RECORDS:
                break
    except csv.Error:
        # The sample ends within quotes.
        return [] if is_whole else records[:_SAMPLE_RECORDS]
    if not is_whole and len(records) <= _SAMPLE_RECORDS:
        records = records[:-1]
    return records[:_SAMPLE_RECORDS]


def names_columns(cells: Sequence[str]) -> bool:
    """Decide whether a record is a header: its cells differ, and none is a number."""
    return any(cells) and len(set(cells)) == len(cells) and not any(map(_is_number, cells))


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


# JSON and GeoJSON.


def _of_json(file: BinaryIO) -> TableShape:
    """Return the shape of a list of objects, or of the features of a GeoJSON file.

    :raises Uncertain: the document is neither, or too large
    """
    data = file.read(_MOST_JSON + 1)
    if len(data) > _MOST_JSON:
        raise Uncertain
    document = json.loads(data)
    of_features = isinstance(document, dict) and document.get("type") == "FeatureCollection"
    if of_features:
        features = document.get("features")
        if not isinstance(features, list):
            raise Uncertain
        rows = [
            feature.get("properties") or {} if isinstance(feature, dict) else None
            for feature in features
        ]
    elif isinstance(document, list) and document:
        rows = document
    else:
        raise Uncertain
    columns: dict[str, None] = {}
    for row in rows:
        if not isinstance(row, dict):
            raise Uncertain
        columns |= dict.fromkeys(row)
        if len(columns) > MOST_COLUMNS:
            raise Uncertain
    return TableShape(None, len(rows), list(columns), of_features)


# The difference.


def difference(before: Shape, after: Shape) -> dict[str, Any] | None:
    """Return the differences between two shapes, as JSON; None if they are uncertain, or if there are none.

    A column is renamed in place if both tables have equally many columns and only its name differs. Moved
    columns are no change.

    :returns: ``tables``: those that are in both and differ, each with ``name``, ``rows`` (before and after),
        as far as there are any ``added``, ``removed`` and ``renamed`` columns, and ``features``, true, if the
        rows are features; of a file with one table without a name also if they do not differ. ``added`` and
        ``removed``: sheets, if there are any
    """
    if not before or not after:
        return None
    old = {table.name: table for table in before}
    new = {table.name: table for table in after}
    if len(old) < len(before) or len(new) < len(after) or (None in old) is not (None in new):
        return None
    tables = [found for name in new if name in old and (found := _of_table(old[name], new[name]))]
    sheets = _without_empty(
        added=[name for name in new if name not in old],
        removed=[name for name in old if name not in new],
    )
    found = {"tables": tables, **sheets}
    is_small = len(json.dumps(found, ensure_ascii=False).encode()) <= MOST_BYTES
    return found if is_small and (tables or sheets) else None


def _of_table(before: TableShape, after: TableShape) -> dict[str, Any] | None:
    if before.rows is None or after.rows is None or before.of_features is not after.of_features:
        return None
    old, new = before.columns or (), after.columns or ()
    pairs = list(zip(old, new, strict=True)) if len(old) == len(new) else []
    renamed = [[one, other] for one, other in pairs if one not in new and other not in old]
    gone, come = ({pair[place] for pair in renamed} for place in (0, 1))
    columns = _without_empty(
        added=[name for name in new if name not in old and name not in come],
        removed=[name for name in old if name not in new and name not in gone],
        renamed=renamed,
    )
    if before.name is not None and before.rows == after.rows and not columns:
        return None
    found = {"name": before.name, "rows": [before.rows, after.rows], **columns}
    return {**found, "features": True} if after.of_features else found


def _without_empty(**lists: list[Any]) -> dict[str, list[Any]]:
    return {name: values for name, values in lists.items() if values}
