"""The shapes of files, and the differences of shapes."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import tempfile
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.checking.data_changes import difference
from ckanext.freshness.checking.formats import Shape, TableShape
from ckanext.freshness.checking.hasher import ContentSandbox
from ckanext.freshness.checking.shapes import tables_of
from ckanext.freshness.tests.checking.workbooks import workbook

TODAY = date(2026, 11, 29)
PLAIN = b"id,name\na1,x\na2,y\n"


def table(rows: int, *columns: str) -> Shape:
    return [TableShape(None, rows, list(columns))]


def features(number: int, *columns: str) -> Shape:
    return [TableShape(None, number, list(columns), of_features=True)]


IDS = table(2, "id", "name")

CSV: dict[str, tuple[bytes, Shape]] = {
    "plain": (PLAIN, IDS),
    "a header alone": (b"id,name\n", table(0, "id", "name")),
    "delimiters in quotes": (b'id,name\na1,"x,y"\na2,z\n', IDS),
    "lines in quotes": (b'id,name\na1,"x\ny\n\nz"\na2,"say ""\n"""\n', IDS),
    "a quote within a cell": (b'id,name\na1,5" pipe\na2,6" pipe\n', IDS),
    "a mark of the encoding": (b"\xef\xbb\xbf" + PLAIN, IDS),
    "UTF-16": (PLAIN.decode().encode("utf-16"), IDS),
    "UTF-8": ("id,größe\na1,ü\n".encode(), table(1, "id", "größe")),
    "Latin-1 in the header": ("id,größe\na1,ü\n".encode("latin-1"), []),
    "an unclosed quote": (b'id,name\na1,"x\na2,y\n', []),
    "text after a quote": (b'id,name\na1,"x"y\n', []),
    "no header": (b"1,2\n3,4\n", []),
    "a column twice": (b"id,id\na1,x\n", []),
    "no delimiter": (b"id\na1\na2\n", []),
    "a last record of another width": (b"id,name\na1,x,y", []),
    "a blank line far behind": (b"id,name\n" + b"a,b\n" * 99 + b"\na,b", table(100, "id", "name")),
    "records of different widths": (b"A title\nid,name\na1,x\n", []),
    "nothing": (b"", []),
    "a page": (b"<html>Not found, sorry\n</html>", []),
}


@pytest.mark.parametrize("name", CSV)
def test_delimited_text(name: str) -> None:
    data, expected = CSV[name]
    assert tables_of("csv", io.BytesIO(data), TODAY).shape == expected


@given(
    st.lists(st.lists(st.text("ab ,;\"'\n\r|ü0", max_size=6), min_size=2, max_size=2), max_size=30),
    st.sampled_from(",;\t|"),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_is_written_is_counted(
    rows: list[list[str]], delimiter: str, quoting: Any, line_end: str
) -> None:
    if quoting == csv.QUOTE_MINIMAL:
        # Python before 3.13 leaves a lone carriage return unquoted, which then ends a record.
        rows = [[value.replace("\r", "") for value in row] for row in rows]
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=line_end)
    writer.writerow(["the id", "the name"])
    writer.writerows(rows)
    data = text.getvalue().encode()
    found = tables_of("csv", io.BytesIO(data), TODAY).shape
    # Another delimiter may seem to fit as well. Then nothing is certain; wrong is never said.
    assert found in ([], table(len(rows), "the id", "the name"))


def test_a_large_text_is_read_in_the_sandbox() -> None:
    lines = b"".join(b'%d,"cell\nwith lines"\n' % number for number in range(20_000))

    async def read() -> Shape:
        with ContentSandbox() as sandbox, tempfile.SpooledTemporaryFile() as file:
            file.write(b"id,name\n" + lines)
            return (await sandbox.tables("csv", file, TODAY)).shape

    assert asyncio.run(read()) == table(20_000, "id", "name")


HOSTILE = {
    "a million columns": ("csv", b"a," * 1_000_000 + b"b\n1,2\n"),
    "one endless cell": ("csv", b'id,name\na1,"' + b"x" * 1_000_000),
    "deeply nested": ("json", b"[" * 100_000 + b"]" * 100_000),
    "a huge number": ("json", b'[{"a": ' + b"9" * 100_000 + b"}]"),
}


def test_hostile_files_have_no_shape_and_harm_nothing() -> None:
    async def read() -> list[Shape]:
        found = []
        with ContentSandbox(workers=1) as sandbox:
            for kind, data in (*HOSTILE.values(), ("csv", PLAIN)):
                with tempfile.SpooledTemporaryFile() as file:
                    file.write(data)
                    found.append((await sandbox.tables(kind, file, TODAY)).shape)
        return found

    assert asyncio.run(read()) == [[]] * len(HOSTILE) + [IDS]


POINTS = {"type": "FeatureCollection", "features": [{"properties": {"a": 1}}, {"properties": None}]}
JSON: dict[str, tuple[bytes, Shape]] = {
    "objects": (b'[{"a": 1, "b": 2}, {"a": 1, "c": [1]}]', table(2, "a", "b", "c")),
    "features": (json.dumps(POINTS).encode(), features(2, "a")),
    "no features": (b'{"type": "FeatureCollection", "features": []}', features(0)),
    "another object": (b'{"a": 1}', []),
    "no feature": (b'{"type": "FeatureCollection", "features": [1]}', []),
    "properties that are none": (
        b'{"type": "FeatureCollection", "features": [{"properties": [1]}]}',
        [],
    ),
    "objects on lines": (b'{"a": 1}\n\n{"b": 2}\n', table(2, "a", "b")),
    "broken": (b'[{"a": 1}', []),
    "a lone surrogate": (rb'[{"\ud800": 1}]', []),
    "too many columns": (json.dumps([{f"c{n}": 1 for n in range(201)}]).encode(), []),
}


@pytest.mark.parametrize("name", JSON)
def test_json(name: str) -> None:
    data, expected = JSON[name]
    assert tables_of("json", io.BytesIO(data), TODAY).shape == expected


def test_workbooks() -> None:
    file = workbook(
        {
            "Data": {"A1": "id", "B1": "name", "A2": "a", "B2": 1, "A9": "b"},
            "Notes": {"A1": "A title", "A2": "id", "B2": "name"},
            "Numbers": {"A1": 1, "B1": "name"},
            "Empty": {},
        }
    )
    assert tables_of("workbook", io.BytesIO(file), TODAY).shape == [
        TableShape("Data", 2, ["id", "name"]),
        *(TableShape(name, None, None) for name in ("Notes", "Numbers", "Empty")),
    ]
    assert tables_of("workbook", io.BytesIO(b"PK\x03\x04"), TODAY) == ([], [])


def sheets(**named: tuple[int | None, list[str]]) -> Shape:
    return [
        TableShape(name, rows, None if rows is None else columns)
        for name, (rows, columns) in named.items()
    ]


def one(before: int, after: int, **columns: Any) -> dict[str, Any]:
    return {"tables": [{"name": None, "rows": [before, after], **columns}]}


DIFFERENCES: dict[str, tuple[Shape, Shape, dict[str, Any] | None]] = {
    "rows": (table(1, "a", "b"), table(3, "a", "b"), one(1, 3)),
    "nothing": (table(1, "a", "b"), table(1, "a", "b"), one(1, 1)),
    "a column more": (table(1, "a", "b"), table(1, "a", "x", "b"), one(1, 1, added=["x"])),
    "a column less": (table(1, "a", "b", "c"), table(1, "a", "c"), one(1, 1, removed=["b"])),
    "renamed": (table(1, "a", "b"), table(1, "a", "x"), one(1, 1, renamed=[["b", "x"]])),
    "replaced elsewhere": (
        table(1, "a", "b", "c"),
        table(1, "b", "c", "x"),
        one(1, 1, added=["x"], removed=["a"]),
    ),
    "features in place of rows": (table(1, "a"), features(1, "a"), None),
    "nothing known before": ([], table(1, "a"), None),
    "another kind of file": (table(1, "a"), sheets(Data=(1, ["a"])), None),
    "the same name twice": ([TableShape("A", 1, ["a"])] * 2, sheets(A=(1, ["a"])), None),
    "too long": (
        table(1, *(f"{'a' * 90}{n}" for n in range(80))),
        table(1, *(f"{'b' * 90}{n}" for n in range(80))),
        None,
    ),
    "sheets": (
        sheets(Old=(1, ["a"]), Same=(2, ["b"]), More=(3, ["c"]), Unclear=(None, [])),
        sheets(Same=(2, ["b"]), More=(5, ["c"]), Unclear=(None, []), New=(1, ["a"])),
        {
            "tables": [{"name": "More", "rows": [3, 5]}],
            "added": ["New"],
            "removed": ["Old"],
        },
    ),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_differences(name: str) -> None:
    before, after, expected = DIFFERENCES[name]
    assert difference(before, after) == expected
