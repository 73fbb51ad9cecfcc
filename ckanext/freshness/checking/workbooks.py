"""The detector of Excel workbooks.

openpyxl would take four times as long, since it builds objects for cells that are only hashed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from .detectors import ContainerLimits, Detector, NotThis, Unreadable, open_archive
from .office_files import OfficeParts, local_name


class Xlsx(Detector):
    """An Excel workbook, by its cells.

    These count: the names and order of the sheets; the place, kind (text, number, boolean, error, date), value
    and formula of each cell that is not empty; and whether dates count from 1904.

    These do not: the container, styles, widths, dates of saving, hidden or not, charts, pictures, comments,
    defined names, whether a text is shared or stands in its cell, and fonts within a text.

    Values are taken as written: ``1`` and ``1.0`` differ, and a date is the number that is stored. If cells
    share a formula, its text counts in the cell that has it, and the values in all.
    """

    name = "xlsx"
    magic = (b"PK\x03\x04",)

    @classmethod
    def digest(cls, file: BinaryIO, limits: ContainerLimits) -> str:
        book = open_workbook(file, limits)
        sha256 = hashlib.sha256(b"1904" if book.from_1904 else b"1900")
        for name, part in book.sheets:
            sha256.update(f"\x1d{name}\x1e".encode())
            if part is not None:
                book.read(part, lambda row: sha256.update(row.encode()))
        return sha256.hexdigest()


@dataclass(frozen=True, slots=True)
class Workbook:
    """An open workbook.

    :ivar sheets: the names of the sheets, with the part that has its cells; None for a chart sheet
    :ivar strings: the texts that cells share
    """

    parts: OfficeParts
    from_1904: bool
    sheets: list[tuple[str, str | None]]
    strings: list[str]

    def read(self, part: str, give: Callable[[str], object]) -> None:
        """Read the cells of a sheet.

        :param give: takes each row as a text: of each cell that is not empty a group separator, then its place,
            kind, value and formula with unit separators between them
        """
        sheet = _Sheet(self.strings, give)
        self.parts.parse(part, sheet.start, sheet.end, sheet.data)


def open_workbook(file: BinaryIO, limits: ContainerLimits) -> Workbook:
    """Open a workbook.

    :raises NotThis: the file is no Excel workbook
    :raises Unreadable: the workbook cannot be read
    """
    parts = OfficeParts(open_archive(file, limits), limits)
    if "_rels/.rels" not in parts.members:
        raise NotThis
    book = _Book()
    main = parts.related("", "officeDocument")[:1]
    # Binary workbooks are archives, too.
    if not main or not main[0].target.endswith(".xml"):
        raise NotThis
    parts.parse(main[0].target, book.start)
    strings = _Strings()
    for relation in parts.related(main[0].target, "sharedStrings"):
        parts.parse(relation.target, strings.start, strings.end, strings.data)
    sheets = {sheet.id: sheet.target for sheet in parts.related(main[0].target, "worksheet")}
    named = [(name, sheets.get(relation_id)) for name, relation_id in book.sheets]
    return Workbook(parts, book.from_1904, named, strings.found)


class _Book:
    """Reads the workbook's own part.

    :raises NotThis: the file is a text or a presentation
    """

    def __init__(self) -> None:
        self.begun = False
        self.sheets: list[tuple[str, str]] = []
        self.from_1904 = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = local_name(tag)
        if not self.begun and name != "workbook":
            raise NotThis
        self.begun = True
        if name == "sheet":
            ids = [value for key, value in attributes.items() if key.endswith(":id")]
            self.sheets.append((attributes.get("name", ""), ids[0] if ids else ""))
        elif name == "workbookPr":
            self.from_1904 = attributes.get("date1904") in ("1", "true")


class _Strings:
    """Reads the shared strings: joins the runs of each, without phonetic hints."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.runs: list[str] = []
        self.text: list[str] | None = None
        self.phonetic = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = local_name(tag)
        if name == "si":
            self.runs = []
        elif name == "rPh":
            self.phonetic = True
        elif name == "t" and not self.phonetic:
            self.text = []

    def data(self, data: str) -> None:
        if self.text is not None:
            self.text.append(data)

    def end(self, tag: str) -> None:
        name = local_name(tag)
        if name == "rPh":
            self.phonetic = False
        if self.text is not None:
            self.runs.append("".join(self.text))
            self.text = None
        if name == "si":
            self.found.append("".join(self.runs))


class _Sheet:
    """Reads the cells of a sheet and passes them on row by row.

    A sheet has as many events as a file has lines. Therefore whole tags are compared, with the prefix of the
    first tag, and a cell's place is only computed if it is not written.
    """

    def __init__(self, strings: list[str], give: Callable[[str], object]) -> None:
        self.strings = strings
        self.give = give
        self.inside = self.phonetic = False
        self.row = self.place = self.kind = self.value = self.formula = self.text = ""
        self.cells: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self.inside:
            if local_name(tag) == "sheetData":
                self.inside = True
                prefix = tag.removesuffix("sheetData")
                self.c, self.v, self.f, self.t = (prefix + name for name in "cvft")
                self.r, self.rph, self.data_end = (
                    prefix + it for it in ("row", "rPh", "sheetData")
                )
        elif tag == self.c:
            self.place = attributes.get("r") or self.next_place()
            self.kind = attributes.get("t", "n")
            self.value = self.formula = self.text = ""
        elif tag == self.r:
            self.row = attributes.get("r") or str(int(self.row or 0) + 1)
            self.place = ""
        else:
            self.text = ""
            self.phonetic = self.phonetic or tag == self.rph

    def next_place(self) -> str:
        """Return the place after the last cell, for a cell that does not name its own."""
        number = 0
        for letter in self.place.rstrip("0123456789"):
            number = number * 26 + ord(letter) - 64
        letters = ""
        number += 1
        while number > 0:
            number, rest = divmod(number - 1, 26)
            letters = chr(65 + rest) + letters
        return letters + self.row

    def data(self, data: str) -> None:
        self.text += data

    def end(self, tag: str) -> None:
        if not self.inside:
            return
        if tag == self.v:
            self.value += self.text
        elif tag == self.c:
            if self.value or self.formula:
                self.cell()
        elif tag == self.f:
            self.formula = self.text
        elif tag == self.t:
            if not self.phonetic:
                self.value += self.text
        elif tag == self.rph:
            self.phonetic = False
        elif tag in (self.r, self.data_end):
            self.give("".join(self.cells))
            self.cells.clear()
            self.inside = tag == self.r

    def cell(self) -> None:
        kind, value = self.kind, self.value
        if kind == "s":
            index = int(value)
            if not 0 <= index < len(self.strings):
                raise Unreadable(f"broken: no shared string {index}")
            value = self.strings[index]
            if not value and not self.formula:
                return
        elif kind in ("n", "b"):
            value = value.strip()
        # XML has no control characters, so these separate the values unambiguously.
        kind = _TEXT_KINDS.get(kind, kind)
        self.cells.append(f"\x1d{self.place}\x1f{kind}\x1f{value}\x1f{self.formula}")


_TEXT_KINDS = {"s": "text", "inlineStr": "text", "str": "text"}
"""Kinds of text: the writer chooses whether it is shared, in its cell, or a formula's result."""
