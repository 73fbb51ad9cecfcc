"""Reads the shapes of workbooks (XLSX, XLSM, XLSB, ODS). Only processes of the sandbox import this module."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO

from python_calamine import CalamineError, CalamineWorkbook

from . import shapes
from .shapes import Shape, TableShape


def open_workbook(request: bytes, file: BinaryIO) -> bytes:
    """Return the shape of a workbook as JSON."""
    return json.dumps(of_workbook(file)).encode()


def of_workbook(file: BinaryIO) -> Shape:
    """Return the shape of a workbook; empty if nothing is certain."""
    try:
        return shapes.bounded(list(_sheets(CalamineWorkbook.from_filelike(file))))
    except (shapes.Uncertain, CalamineError, OSError, ValueError):
        return []


def _sheets(book: CalamineWorkbook) -> Iterator[TableShape]:
    for name in book.sheet_names:
        cells = book.get_sheet_by_name(name).to_python()
        rows = [row for row in cells if any(cell != "" for cell in row)]
        header = rows[0] if rows else []
        names = [cell for cell in header if isinstance(cell, str) and cell]
        if len(names) == len(header) and shapes.names_columns(names):
            yield TableShape(name, len(rows) - 1, names)
        else:
            yield TableShape(name, None, None)
