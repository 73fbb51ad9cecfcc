"""Tables as pages, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.reporting.tables import as_csv, as_json

ROWS = st.lists(st.fixed_dictionaries({"a": st.text(), "b": st.one_of(st.none(), st.integers())}))


@given(ROWS)
def test_csv_can_be_read_back(rows: list[dict[str, Any]]) -> None:
    text = "".join(as_csv(rows, ("a", "b")))
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read[0] == ["a", "b"]
    for row, (a, b) in zip(rows, read[1:], strict=True):
        assert a.removeprefix("'") == row["a"].removeprefix("'") or a == row["a"]
        assert b == ("" if row["b"] is None else str(row["b"]))


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_cell_is_a_formula(cell: str) -> None:
    text = "".join(as_csv([{"a": cell}], ("a",)))
    (found,) = list(csv.reader(io.StringIO(text, newline="")))[1]
    assert found == f"'{cell}"


def test_files_stream() -> None:
    """The first piece is sent long before the last row is produced."""
    made = 0

    def many() -> Iterator[dict[str, int]]:
        nonlocal made
        for made in range(1, 10_001):
            yield {"a": made}

    for write in (as_csv, as_json):
        made = 0
        pieces = write(many(), ("a",))
        next(pieces)
        assert made < 1000
        assert len(list(pieces)) > 10
        assert made == 10_000
