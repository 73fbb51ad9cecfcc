"""Hashes of file contents: which differences change them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import time
import zipfile
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckanext.freshness.checking.content import Container, ContentLimits, Unreadable
from ckanext.freshness.tests.checking.workbooks import Cells, archive, parts, workbook

LIMITS = ContentLimits()
TABLE: dict[str, Cells] = {"Data": {"A1": "name", "B1": "value", "A2": "Böb", "B2": 1.5}}
FILES: dict[str, str | bytes] = {"a.csv": "a,b\n1,2\n", "folder/b.txt": "text"}
MIME = "application/vnd.oasis.opendocument.spreadsheet"


def hashed(data: bytes, limits: ContentLimits = LIMITS) -> str:
    assert Container.takes(data[:512])
    return Container.fingerprint(io.BytesIO(data), limits)


def dbase(day: date, value: bytes = b"x") -> bytes:
    """Return a dBase III table of one text, written on a day."""
    written = bytes([3, day.year - 1900, day.month, day.day])
    sizes = (1).to_bytes(4, "little") + (65).to_bytes(2, "little") + (2).to_bytes(2, "little")
    field = b"NAME".ljust(11, b"\0") + b"C" + bytes(4) + b"\1" + bytes(15)
    return written + sizes + bytes(20) + field + b"\r " + value + b"\x1a"


def tar(files: dict[str, str | bytes], *, mtime: int = 0) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as written:
        for name, text in files.items():
            data = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(data), mtime
            written.addfile(member, io.BytesIO(data))
    return out.getvalue()


def spreadsheet(cells: str = "<cell/>", **how: Any) -> bytes:
    """Return an OpenDocument file."""
    members = {"mimetype": MIME, "content.xml": cells, "meta.xml": f"<date>{how}</date>"}
    return archive(members, **how)


ROWS = "1,2\n" * 999
BIG = bytes(range(256)) * 2000
OLD, NEW = date(2024, 1, 31), date(2026, 11, 26)
LATER: dict[str, Any] = {"year": 2025}
SAME: dict[str, tuple[bytes, bytes]] = {
    "compression": (archive(FILES), archive(FILES, compression=zipfile.ZIP_STORED)),
    "order and dates": (archive(FILES), archive(FILES, backwards=True, **LATER)),
    "an entry for a folder": (archive(FILES), archive({**FILES, "folder/": ""})),
    "XLSX": (workbook(TABLE, author="Ada"), workbook(TABLE, author="Grace")),
    "ODS": (spreadsheet(), spreadsheet(**LATER)),
    "what desktops add": (
        archive({**FILES, ".DS_Store": "1", "__MACOSX/._a.csv": "1", "a.shp.xml": "1"}),
        archive({**FILES, ".DS_Store": "2", "folder/Thumbs.db": "2", "a.shp.xml": "2"}),
    ),
    "dates in names": (
        archive({"export_2026-11-26/a_20261126.csv": "1"}),
        archive({"export_2026-11-27/a_20261127T013000.csv": "1"}),
    ),
    "bzip2": (bz2.compress(BIG, 1), bz2.compress(BIG, 9)),
    "xz": (lzma.compress(BIG, preset=0), lzma.compress(BIG, preset=6)),
    "tar.bz2": (bz2.compress(tar(FILES, mtime=1)), bz2.compress(tar(FILES, mtime=2))),
    "tar.xz": (lzma.compress(tar(FILES, mtime=1)), lzma.compress(tar(FILES, mtime=2))),
    "the view of an ODS": (
        archive({"mimetype": MIME, "content.xml": "<c/>", "settings.xml": "1"}),
        archive({"mimetype": MIME, "content.xml": "<c/>", "Thumbnails/thumbnail.png": "2"}),
    ),
    "gzip": (gzip.compress(b"a,b\n", 1, mtime=1), gzip.compress(b"a,b\n", 9, mtime=2)),
    "members of gzip with zeros behind them": (
        gzip.compress(b"a,b\n1,2\n"),
        gzip.compress(b"a,b\n") + bytes(99) + gzip.compress(b"1,2\n") + bytes(200_000),
    ),
    "tar": (tar(FILES, mtime=1), tar(dict(reversed(FILES.items())), mtime=2)),
    "tar.gz": (gzip.compress(tar(FILES), mtime=1), gzip.compress(tar(FILES, mtime=9), mtime=2)),
    "dBase": (dbase(OLD), dbase(NEW)),
    "shapefile": tuple(  # type: ignore[dict-item]
        archive({"a.shp": b"shape", "a.dbf": dbase(day)}) for day in (OLD, NEW)
    ),
    "a text that says when it was made in ZIP": tuple(  # type: ignore[dict-item]
        archive({"a.csv": f"# Exported on 2026-11-{day}\na,b\n" + "1,2\n" * 99}) for day in (26, 27)
    ),
    "a text that says when it was made in gzip": tuple(  # type: ignore[dict-item]
        gzip.compress(f"<a><!-- made 2026-11-{day} --></a>".encode() + BIG, mtime=1)
        for day in (26, 27)
    ),
    "XLSX in ZIP": tuple(  # type: ignore[dict-item]
        archive({"a.xlsx": workbook(TABLE, author=author)}) for author in ("Ada", "Grace")
    ),
    "DOCX": tuple(  # type: ignore[dict-item]
        archive(
            {
                "[Content_Types].xml": "<Types/>",
                "_rels/.rels": "<Relationships/>",
                "word/document.xml": "<document/>",
                "docProps/core.xml": f"<modified>{year}</modified>",
            },
            year=year,
        )
        for year in (2020, 2025)
    ),
    "ZIP in ZIP": tuple(  # type: ignore[dict-item]
        archive({"a.zip": archive(FILES, year=year)}) for year in (2020, 2025)
    ),
    "gzip in ZIP": tuple(  # type: ignore[dict-item]
        archive({"a.csv.gz": gzip.compress(b"a,b\n", mtime=time)}) for time in (1, 2)
    ),
    "ZIP in ZIP in tar": tuple(  # type: ignore[dict-item]
        tar({"a.zip": archive({"b.zip": archive(FILES, year=year)})}) for year in (2020, 2025)
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_a_container_written_again_has_the_same_hash(name: str) -> None:
    one, other = SAME[name]
    assert one != other
    assert hashed(one) == hashed(other)
    assert hashed(one).startswith("members:")


LINK = "xl/worksheets/_rels/sheet1.xml.rels"
CHANGED: dict[str, tuple[bytes, bytes]] = {
    **{
        name: (archive(FILES), archive(other))
        for name, other in {
            "content": {**FILES, "a.csv": "a,b\n1,3\n"},
            "one more": {**FILES, "c.csv": ""},
            "one less": {"a.csv": FILES["a.csv"]},
            "name": {"A.csv": FILES["a.csv"], "folder/b.txt": "text"},
            "a number in a name": {"a_20261399.csv": FILES["a.csv"], "folder/b.txt": "text"},
            "contents exchanged": {"a.csv": "text", "folder/b.txt": FILES["a.csv"]},
            # Only documents have members about their writing. Here, this one describes columns.
            "meta.xml of a Darwin Core archive": {**FILES, "meta.xml": "<archive/>"},
        }.items()
    },
    "cell": (workbook(TABLE), workbook({"Data": {**TABLE["Data"], "B2": 2.5}})),
    "target of a hyperlink": (
        archive({**parts(TABLE), LINK: "<a/>"}),
        archive({**parts(TABLE), LINK: "<b/>"}),
    ),
    "ODS": (spreadsheet(), spreadsheet("<cell>1</cell>")),
    "bzip2": (bz2.compress(b"a"), bz2.compress(b"b")),
    "xz": (lzma.compress(b"a"), lzma.compress(b"b")),
    "gzip": (gzip.compress(b"a"), gzip.compress(b"b")),
    "tar": (tar({"a": "1"}), tar({"a": "2"})),
    "tar.gz": (gzip.compress(tar({"a": "1"})), gzip.compress(tar({"a": "2"}))),
    "dBase": (dbase(OLD), dbase(OLD, b"y")),
    "shapefile": (archive({"a.dbf": dbase(OLD)}), archive({"a.dbf": dbase(OLD, b"y")})),
    "below a day in ZIP": tuple(  # type: ignore[dict-item]
        archive({"a.csv": "# Exported on 2026-11-26\na,b\n" + ROWS + row + ROWS}) for row in "12"
    ),
    "ZIP in ZIP": (
        archive({"a.zip": archive({"b": "1"})}),
        archive({"a.zip": archive({"b": "2"})}),
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_container_that_changed_has_another_hash(name: str) -> None:
    one, other = CHANGED[name]
    assert hashed(one) != hashed(other)


@pytest.mark.parametrize(
    "data",
    [b"", b"PK", b"id,name\n" * 99, b"%PDF-1.7", b"\x03" * 99, bytes(600), b"\x89PNG\r\n\x1a\n"],
)
def test_other_files_are_no_containers(data: bytes) -> None:
    assert not Container.takes(data)


TEXT = gzip.compress(b"text", mtime=0)
SLOW = {
    "zeros behind a member": (gzip.compress(TEXT + bytes(20_000_000)), gzip.compress(TEXT)),
    **{
        f"20,000 members of {pack.__module__}": (pack(b"a") * 20_000, pack(b"a" * 20_000))
        for pack in (gzip.compress, bz2.compress, lzma.compress)
    },
}
"""Files that take long to open, each with another of the same content."""


@pytest.mark.parametrize("name", SLOW)
def test_files_that_take_long_are_opened_in_time(name: str) -> None:
    slow, quick = SLOW[name]
    begin = time.process_time()
    assert hashed(slow) == hashed(quick)
    assert time.process_time() - begin < 10


def test_a_member_without_contents_is_no_end() -> None:
    empty = gzip.compress(b"")
    assert hashed(empty + gzip.compress(b"text")) == hashed(gzip.compress(b"text"))
    assert hashed(TEXT + empty * 2 + gzip.compress(b"more")) == hashed(gzip.compress(b"textmore"))


def encrypted(data: bytes) -> bytes:
    """Return an archive with the flag for encryption on each member."""
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        head, *rest = data.split(signature)
        position = offset - len(signature)
        flagged = [it[:position] + bytes([it[position] | 1]) + it[position + 1 :] for it in rest]
        data = signature.join([head, *flagged])
    return data


def nested(depth: int) -> bytes:
    return gzip.compress(nested(depth - 1)) if depth else b"text"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(lambda: workbook(TABLE)[:-30], "broken: ", id="truncated"),
        pytest.param(lambda: b"PK\x03\x04" + bytes(500), "broken: ", id="noise"),
        pytest.param(lambda: gzip.compress(bytes(99))[:-9], "broken: ", id="truncated gzip"),
        pytest.param(lambda: tar(FILES)[:700], "broken: ", id="truncated tar"),
        pytest.param(lambda: encrypted(archive(FILES)), "encrypted", id="encrypted archive"),
        pytest.param(lambda: nested(6), "more than 4 containers in one another", id="nested"),
        pytest.param(
            lambda: gzip.compress(bytes(2_000_000)), "more than 1000000 bytes", id="gzip bomb"
        ),
        pytest.param(
            lambda: tar({str(n): "" for n in range(40)}), "more than 30 files", id="members"
        ),
    ],
)
def test_a_file_that_cannot_be_read_says_why(data: Callable[[], bytes], words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        hashed(data(), ContentLimits(max_members=30, max_read=1_000_000))


@pytest.mark.parametrize(
    "member",
    [workbook(TABLE)[:-30], encrypted(archive(FILES)), gzip.compress(bytes(2_000_000))],
    ids=["broken", "encrypted", "bomb"],
)
def test_a_member_that_cannot_be_read_is_compared_by_its_bytes(member: bytes) -> None:
    limits = ContentLimits(max_read=1_000_000)
    one, again, other = (
        hashed(archive({"a": member + more}, **how), limits)
        for more, how in ((b"", {}), (b"", LATER), (b"x", {}))
    )
    assert one == again != other


@settings(max_examples=150, deadline=None)
@given(
    cuts=st.lists(st.tuples(st.integers(0, 3000), st.binary(max_size=4)), max_size=4),
    kind=st.sampled_from(list(SAME)),
)
def test_damaged_files_are_hashed_or_unreadable(cuts: list[tuple[int, bytes]], kind: str) -> None:
    data = SAME[kind][0]
    for position, instead in cuts:
        position %= len(data)
        data = data[:position] + instead + data[position + len(instead) :]
    try:
        assert Container.fingerprint(io.BytesIO(data), LIMITS)
    except Unreadable as error:
        assert str(error)
