"""Workbooks for tests, as different programs write them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

Cells = Mapping[str, "str | float | bool"]

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


def parts(
    sheets: Mapping[str, Cells],
    *,
    inline: bool = False,
    prefix: str = "",
    places: bool = True,
    author: str = "Ada",
    state: str = "visible",
    style: str = "0",
    book_properties: str = "",
) -> dict[str, str | bytes]:
    """Return the parts of a workbook. Values are written with ``str``."""
    strings: list[str] = []
    p = f"{prefix}:" if prefix else ""
    xmlns = f"xmlns:{prefix}" if prefix else "xmlns"

    def cell(place: str, value: str | float | bool) -> str:
        r = f' r="{place}"' if places else ""
        if isinstance(value, bool):
            return f'<{p}c{r} s="{style}" t="b"><{p}v>{int(value)}</{p}v></{p}c>'
        if not isinstance(value, str):
            return f'<{p}c{r} s="{style}"><{p}v>{value}</{p}v></{p}c>'
        if value.startswith("="):
            formula, _, result = value[1:].partition("|")
            return f"<{p}c{r}><{p}f>{escape(formula)}</{p}f><{p}v>{result}</{p}v></{p}c>"
        if inline:
            text = f"<{p}t>{escape(value)}</{p}t>"
            return f'<{p}c{r} t="inlineStr"><{p}is>{text}</{p}is></{p}c>'
        strings.append(value)
        return f'<{p}c{r} t="s"><{p}v>{len(strings) - 1}</{p}v></{p}c>'

    def sheet(cells: Cells) -> str:
        rows: dict[str, list[str]] = {}
        for place, value in cells.items():
            rows.setdefault(place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), []).append(
                cell(place, value)
            )
        written = "".join(
            f'<{p}row r="{number}">{"".join(found)}</{p}row>' for number, found in rows.items()
        )
        return (
            f'<{p}worksheet {xmlns}="{_MAIN}"><{p}cols/>'
            f"<{p}sheetData>{written}</{p}sheetData><{p}f>outside</{p}f></{p}worksheet>"
        )

    found: dict[str, str | bytes] = {
        f"xl/worksheets/sheet{number}.xml": sheet(cells)
        for number, cells in enumerate(sheets.values(), 1)
    }
    listed = "".join(
        f'<{p}sheet name={quoteattr(name)} sheetId="{n}" state="{state}" rel:id="rId{n}"/>'
        for n, name in enumerate(sheets, 1)
    )
    relations = {
        f"rId{n}": ("worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(sheets) + 1)
    }
    if strings:
        items = "".join(f"<{p}si><{p}t>{escape(it)}</{p}t></{p}si>" for it in strings)
        found["xl/sharedStrings.xml"] = f'<{p}sst {xmlns}="{_MAIN}">{items}</{p}sst>'
        relations["rId99"] = ("sharedStrings", "/xl/sharedStrings.xml")
    found["xl/workbook.xml"] = (
        f'<?xml version="1.0"?><{p}workbook {xmlns}="{_MAIN}" xmlns:rel="{_OFFICE}">'
        f"{book_properties}<{p}sheets>{listed}</{p}sheets></{p}workbook>"
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


def workbook(sheets: Mapping[str, Cells], **how: str | bool) -> bytes:
    """Return a workbook of a simple writer."""
    return archive(parts(sheets, **how))  # type: ignore[arg-type]
