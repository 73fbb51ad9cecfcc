"""Workbooks for tests, as different programs write them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from datetime import date
from xml.sax.saxutils import escape, quoteattr

Cells = Mapping[str, "str | float | bool | date"]

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def archive(
    members: Mapping[str, str | bytes],
    *,
    compression: int = zipfile.ZIP_DEFLATED,
    year: int = 2020,
    backwards: bool = False,
) -> bytes:
    """Return a ZIP archive; the arguments are choices of its writer."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name in sorted(members, reverse=backwards):
            info = zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0))
            info.compress_type = compression
            file.writestr(info, members[name])
    return out.getvalue()


def parts(sheets: Mapping[str, Cells], *, author: str = "Ada") -> dict[str, str | bytes]:
    """Return the parts of a workbook. Values are written with ``str``."""
    strings: list[str] = []

    def cell(place: str, value: str | float | bool | date) -> str:
        if isinstance(value, date):
            return f'<c r="{place}" s="1"><v>{(value - date(1899, 12, 30)).days}</v></c>'
        if isinstance(value, bool):
            return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
        if not isinstance(value, str):
            return f'<c r="{place}"><v>{value}</v></c>'
        strings.append(value)
        return f'<c r="{place}" t="s"><v>{len(strings) - 1}</v></c>'

    def sheet(cells: Cells) -> str:
        rows: dict[str, list[str]] = {}
        for place, value in cells.items():
            number = place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
            rows.setdefault(number, []).append(cell(place, value))
        written = "".join(
            f'<row r="{number}">{"".join(found)}</row>' for number, found in rows.items()
        )
        return f'<worksheet xmlns="{_MAIN}"><sheetData>{written}</sheetData></worksheet>'

    found: dict[str, str | bytes] = {
        f"xl/worksheets/sheet{number}.xml": sheet(cells)
        for number, cells in enumerate(sheets.values(), 1)
    }
    listed = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{n}" rel:id="rId{n}"/>'
        for n, name in enumerate(sheets, 1)
    )
    relations = {
        f"rId{n}": ("worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(sheets) + 1)
    }
    if strings:
        items = "".join(f"<si><t>{escape(it)}</t></si>" for it in strings)
        found["xl/sharedStrings.xml"] = f'<sst xmlns="{_MAIN}">{items}</sst>'
        relations["rId99"] = ("sharedStrings", "/xl/sharedStrings.xml")
    formats = '<xf numFmtId="0"/><xf numFmtId="14"/>'
    found["xl/styles.xml"] = (
        f'<styleSheet xmlns="{_MAIN}"><cellXfs>{formats}</cellXfs></styleSheet>'
    )
    relations["rId98"] = ("styles", "styles.xml")
    found["xl/workbook.xml"] = (
        f'<?xml version="1.0"?><workbook xmlns="{_MAIN}" xmlns:rel="{_OFFICE}">'
        f"<sheets>{listed}</sheets></workbook>"
    )
    found["xl/_rels/workbook.xml.rels"] = _relations(relations)
    found["_rels/.rels"] = _relations({"rId1": ("officeDocument", "xl/workbook.xml")})
    found["docProps/core.xml"] = f"<creator>{author}</creator>"
    return found


def _relations(relations: Mapping[str, tuple[str, str]]) -> str:
    lines = "".join(
        f'<Relationship Id="{key}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for key, (kind, target) in relations.items()
    )
    return f"<Relationships>{lines}</Relationships>"


def workbook(sheets: Mapping[str, Cells], *, author: str = "Ada") -> bytes:
    """Return a workbook of a simple writer."""
    return archive(parts(sheets, author=author))
