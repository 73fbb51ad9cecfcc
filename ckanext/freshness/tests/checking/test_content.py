"""Hashes of file contents: which differences change them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckanext.freshness.checking.content import DETECTORS, RawBytes, fingerprint
from ckanext.freshness.checking.detectors import ContainerLimits, Unreadable
from ckanext.freshness.tests.checking.workbooks import Cells, archive, parts, workbook

LIMITS = ContainerLimits()
TABLE: dict[str, Cells] = {
    "Data": {"A1": "name", "B1": "value", "A2": "Böb & <co>", "B2": 1.5, "C2": True}
}
BOTH: dict[str, Cells] = {**TABLE, "More": {"A1": "=SUM(B2:B9)|7", "AA3": "x"}}


def hashed(data: bytes, limits: ContainerLimits = LIMITS) -> str | None:
    return fingerprint(io.BytesIO(data), DETECTORS, limits)


def xlsx(data: bytes) -> str:
    found = hashed(data)
    assert found is not None and found.startswith("xlsx:")
    return found


def changed(**cells: str | float | bool) -> bytes:
    """The table with some cells written in another way."""
    return workbook({"Data": {**TABLE["Data"], **cells}})


def with_part(name: str, text: str | bytes) -> bytes:
    return archive({**parts(TABLE), name: text})


@pytest.mark.parametrize(
    "same",
    [
        pytest.param(archive(parts(BOTH), compression=zipfile.ZIP_STORED), id="compression"),
        pytest.param(archive(parts(BOTH), backwards=True), id="order of members"),
        pytest.param(archive(parts(BOTH), year=2024), id="dates of members"),
        pytest.param(workbook(BOTH, author="Grace"), id="document properties"),
        pytest.param(workbook(BOTH, inline=True), id="texts in their cells"),
        pytest.param(workbook(BOTH, prefix="x"), id="prefixes"),
        pytest.param(workbook(BOTH, inline=True, prefix="x"), id="prefixes and texts in cells"),
        pytest.param(workbook(BOTH, state="hidden"), id="hidden"),
        pytest.param(workbook(BOTH, style="7"), id="styles"),
        pytest.param(workbook(BOTH, book_properties='<workbookPr date1904="0"/>'), id="1900"),
        pytest.param(workbook({**BOTH, "Data": {**BOTH["Data"], "D9": ""}}), id="empty cells"),
        pytest.param(
            workbook({**BOTH, "Data": {**BOTH["Data"], "D9": ""}}, inline=True), id="empty texts"
        ),
        pytest.param(
            archive({**parts(BOTH), "xl/calcChain.xml": "<c/>", "xl/media/a.png": b"\x89PNG"}),
            id="other parts",
        ),
    ],
)
def test_a_workbook_written_otherwise_has_the_same_hash(same: bytes) -> None:
    assert same != workbook(BOTH)
    assert xlsx(same) == xlsx(workbook(BOTH))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(changed(B2=2.5), id="number"),
        pytest.param(changed(B2="1.5"), id="text instead of number"),
        pytest.param(changed(A2="Bob"), id="text"),
        pytest.param(changed(C2=False), id="boolean"),
        pytest.param(changed(C2=1), id="number instead of boolean"),
        pytest.param(changed(D2=0), id="one more cell"),
        pytest.param(changed(B2="=1+0.5|1.5"), id="formula of the same value"),
        pytest.param(workbook({"data": TABLE["Data"]}), id="name of a sheet"),
        pytest.param(workbook({**TABLE, "Empty": {}}), id="one more sheet"),
        pytest.param(workbook(TABLE, book_properties='<workbookPr date1904="1"/>'), id="1904"),
        pytest.param(
            workbook({"Data": {**TABLE["Data"], "C3": True, "C2": ""}}), id="place of a cell"
        ),
    ],
)
def test_a_workbook_that_changed_has_another_hash(other: bytes) -> None:
    assert xlsx(other) != xlsx(workbook(TABLE))


def test_values_are_taken_as_written() -> None:
    assert xlsx(changed(B2=1)) != xlsx(changed(B2=1.0))


def test_the_order_of_sheets_counts() -> None:
    turned = dict(reversed(BOTH.items()))
    assert xlsx(workbook(turned)) != xlsx(workbook(BOTH))


def test_the_result_of_a_formula_counts() -> None:
    assert xlsx(changed(B2="=A1|1")) != xlsx(changed(B2="=A1|2"))


def test_cells_without_a_place_follow_one_another() -> None:
    row: Cells = {f"{letters}1": letters for letters in ("A", "B", "C")}
    assert xlsx(workbook({"S": row}, places=False)) == xlsx(workbook({"S": row}))


@pytest.mark.parametrize(("before", "after"), [("Z", "AA"), ("AZ", "BA"), ("ZZ", "AAA")])
def test_the_column_after(before: str, after: str) -> None:
    def sheet(second: str) -> bytes:
        cells = f'<c r="{before}1"><v>1</v></c><c{second}><v>2</v></c>'
        return with_part(
            "xl/worksheets/sheet1.xml",
            f"<worksheet><sheetData><row>{cells}</row></sheetData></worksheet>",
        )

    assert xlsx(sheet("")) == xlsx(sheet(f' r="{after}1"'))


def test_runs_of_a_text_are_joined_and_readings_left_out() -> None:
    name: Cells = {"A1": "name"}
    rich = "<r><rPr><b/></rPr><t>na</t></r><r><t>me</t></r><rPh><t>reading</t></rPh>"
    cells = parts({"S": name})
    strings = str(cells["xl/sharedStrings.xml"])
    cells["xl/sharedStrings.xml"] = strings.replace("<t>name</t>", rich)
    assert rich in str(cells["xl/sharedStrings.xml"])
    assert xlsx(archive(cells)) == xlsx(workbook({"S": name}))
    inline = parts({"S": name}, inline=True)
    sheet = str(inline["xl/worksheets/sheet1.xml"])
    inline["xl/worksheets/sheet1.xml"] = sheet.replace("<t>name</t>", rich)
    assert xlsx(archive(inline)) == xlsx(workbook({"S": name}))


def test_utf_16_parts_are_read() -> None:
    cells = parts(TABLE)
    sheet = "xl/worksheets/sheet1.xml"
    cells[sheet] = ('<?xml version="1.0" encoding="UTF-16"?>' + str(cells[sheet])).encode("utf-16")
    assert xlsx(archive(cells)) == xlsx(workbook(TABLE))


def test_part_names_in_other_case_and_with_backslashes_are_found() -> None:
    renamed = {name.replace("xl/w", "XL\\W"): text for name, text in parts(TABLE).items()}
    assert "XL\\Workbook.xml" in renamed
    assert xlsx(archive(renamed)) == xlsx(workbook(TABLE))


RELATIONS = str(parts({})["_rels/.rels"])
FILES: dict[str, str | bytes] = {"a.csv": "a,b\n1,2\n", "folder/b.txt": "text"}


@pytest.mark.parametrize(
    "same",
    [
        pytest.param(archive(FILES, compression=zipfile.ZIP_STORED), id="compression"),
        pytest.param(archive(FILES, backwards=True, year=2025), id="order and dates"),
        pytest.param(archive({**FILES, "folder/": ""}), id="an entry for a folder"),
    ],
)
def test_an_archive_written_otherwise_has_the_same_hash(same: bytes) -> None:
    expected = hashed(archive(FILES))
    assert expected is not None and expected.startswith("zip:")
    assert same != archive(FILES) and hashed(same) == expected


@pytest.mark.parametrize(
    "other",
    [
        {**FILES, "a.csv": "a,b\n1,3\n"},
        {**FILES, "c.csv": ""},
        {"a.csv": FILES["a.csv"]},
        {"A.csv": FILES["a.csv"], "folder/b.txt": "text"},
        {"a.csv": "text", "folder/b.txt": FILES["a.csv"]},
    ],
)
def test_an_archive_that_changed_has_another_hash(other: dict[str, str | bytes]) -> None:
    assert hashed(archive(other)) != hashed(archive(FILES))


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(
            {
                "_rels/.rels": RELATIONS.replace("xl/workbook.xml", "word/document.xml"),
                "word/document.xml": "<w:document xmlns:w='u'/>",
            },
            id="docx",
        ),
        pytest.param(
            {
                "_rels/.rels": RELATIONS.replace("workbook.xml", "workbook.bin"),
                "xl/workbook.bin": b"\x83\x01",
            },
            id="xlsb",
        ),
        pytest.param({"_rels/.rels": "<Relationships/>"}, id="no main part"),
        pytest.param({"xl/workbook.xml": "<workbook/>"}, id="no relations"),
        pytest.param({}, id="empty"),
    ],
)
def test_archives_that_are_no_workbooks_are_archives(files: dict[str, str | bytes]) -> None:
    found = hashed(archive(files))
    assert found is not None and found.startswith("zip:")


def test_raw_bytes() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert RawBytes.digest(io.BytesIO(b""), LIMITS) == empty
    assert RawBytes.takes(b"")


def encrypted(data: bytes) -> bytes:
    """An archive with the flag for encryption on each member."""
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        head, *rest = data.split(signature)
        position = offset - len(signature)
        flagged = [it[:position] + bytes([it[position] | 1]) + it[position + 1 :] for it in rest]
        data = signature.join([head, *flagged])
    return data


BILLION = """<!DOCTYPE l [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;">]><worksheet>&b;</worksheet>"""
OUTSIDE = """<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]><worksheet>&a;</worksheet>"""
SHEET = "xl/worksheets/sheet1.xml"
STRINGS = "xl/sharedStrings.xml"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(lambda: workbook(TABLE)[:-30], "broken: ", id="truncated"),
        pytest.param(lambda: b"PK\x03\x04" + bytes(500), "broken: ", id="noise"),
        pytest.param(lambda: with_part(SHEET, BILLION), "document type", id="billion laughs"),
        pytest.param(lambda: with_part(SHEET, OUTSIDE), "document type", id="external entity"),
        pytest.param(lambda: with_part(SHEET, bytes(5_000_000)), "inflates", id="bomb"),
        pytest.param(lambda: with_part(SHEET, "<worksheet><sheetData>"), "broken: ", id="cut XML"),
        pytest.param(lambda: with_part(STRINGS, "<sst/>"), "no shared string 0", id="no string"),
        pytest.param(lambda: with_part(STRINGS, "<sst"), "broken: ", id="broken strings"),
        pytest.param(
            lambda: with_part(SHEET, b"<worksheet " + b"a" * 2_000_000), "a tag of more", id="tag"
        ),
        pytest.param(lambda: encrypted(workbook(TABLE)), "encrypted", id="encrypted workbook"),
        pytest.param(lambda: encrypted(archive(FILES)), "encrypted", id="encrypted archive"),
        pytest.param(
            lambda: archive(parts(TABLE), compression=zipfile.ZIP_LZMA), "compression", id="lzma"
        ),
    ],
)
def test_what_cannot_be_read_says_why(data: Callable[[], bytes], words: str) -> None:
    limits = ContainerLimits(max_ratio=5000 if words == "a tag of more" else 300)
    with pytest.raises(Unreadable, match=words):
        hashed(data(), limits)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (ContainerLimits(max_members=3), "more than 3 files"),
        (ContainerLimits(max_inflated=500), "more than 500 bytes"),
    ],
)
def test_limits(limits: ContainerLimits, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        hashed(workbook(TABLE), limits)


def test_as_many_members_as_allowed_are_read() -> None:
    book = workbook(TABLE)
    limits = ContainerLimits(max_members=len(parts(TABLE)))
    assert hashed(book, limits) == hashed(book, ContainerLimits())


def test_the_same_part_read_again_counts_again() -> None:
    book = parts(TABLE)
    sheet = '<sheet name="Data" sheetId="1" state="visible" rel:id="rId1"/>'
    book["xl/workbook.xml"] = str(book["xl/workbook.xml"]).replace(sheet, sheet * 100)
    with pytest.raises(Unreadable, match="more than 20000 bytes when inflated"):
        hashed(archive(book), ContainerLimits(max_inflated=20_000))


@settings(max_examples=150, deadline=None)
@given(
    cuts=st.lists(st.tuples(st.integers(0, 3000), st.binary(max_size=4)), max_size=4),
    stored=st.booleans(),
)
def test_damaged_files_are_hashed_or_unreadable(
    cuts: list[tuple[int, bytes]], stored: bool
) -> None:
    how = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    data = archive(parts(BOTH), compression=how)
    for position, instead in cuts:
        position %= len(data)
        data = data[:position] + instead + data[position + len(instead) :]
    try:
        found = hashed(data)
    except Unreadable as error:
        assert str(error)
    else:
        assert found is not None


@settings(max_examples=100, deadline=None)
@given(
    text=st.text(alphabet='<>/csvitr="A1 &;9-\n', max_size=80),
    part=st.sampled_from([SHEET, STRINGS]),
)
def test_any_xml_is_hashed_or_unreadable(text: str, part: str) -> None:
    whole = f"<worksheet><sheetData>{text}</sheetData></worksheet>"
    try:
        assert xlsx(with_part(part, whole))
    except Unreadable as error:
        assert str(error)
