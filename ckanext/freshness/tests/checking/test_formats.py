"""What was promised against what the first bytes show."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.checking.formats import EXCLUDES, MEDIA_TYPES, Kind, kind, verdict

PAGE = b"<!DOCTYPE html><html><head><title>Log in</title></head></html>"
XHTML = b'<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"/>'
JSON = b'{"error": "not found"}'
XML = b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'
CSV = b"id,name\n1,Ada\n"
ZIP = b"PK\x03\x04" + bytes(40)
OLE = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(40)
PDF = b"%PDF-1.7\n"
PNG = b"\x89PNG\r\n\x1a\n"
# Without a time, which would be part of the ids of tests.
GZIPPED = gzip.compress(PAGE, mtime=0)
TABLE = b'<html xmlns:x="urn:schemas-microsoft-com:office:excel"><table><tr><td>1'


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (PAGE, Kind.HTML),
        (PAGE.upper(), Kind.HTML),
        (b"\xef\xbb\xbf \r\n\t" + PAGE, Kind.HTML),
        (b"<!-- a -->\n<!-- b --> " + PAGE, Kind.HTML),
        (b"<!-- " + b"never closed " * 400, Kind.UNKNOWN),
        (b"<?php oops ?>" + PAGE, Kind.HTML),
        (b"\n\n<html lang='en'>", Kind.HTML),
        (b"<head>", Kind.HTML),
        (b"<body class='x'>", Kind.HTML),
        (PAGE.decode().encode("utf-16"), Kind.HTML),
        (PAGE.decode().encode("utf-16-le"), Kind.HTML),
        (PAGE.decode().encode("utf-16-be"), Kind.HTML),
        (GZIPPED, Kind.GZIPPED_HTML),
        (gzip.compress(PAGE * 500, mtime=0)[:60], Kind.GZIPPED_HTML),
        (gzip.compress(CSV, mtime=0), Kind.UNKNOWN),
        (b"\x1f\x8b\x08broken", Kind.UNKNOWN),
        (XHTML, Kind.XHTML),
        (b"<header>", Kind.UNKNOWN),
        (b"<htmlish>", Kind.UNKNOWN),
        (b"a,b\n<html>,2", Kind.UNKNOWN),
        (JSON, Kind.JSON),
        (b' [ { "a" : 1 } ]', Kind.JSON),
        (b'{"a\\"b": 1}', Kind.JSON),
        (b"[1, 2]", Kind.UNKNOWN),
        (b'{"a","b"}', Kind.UNKNOWN),
        (XML, Kind.XML),
        (b'<kml xmlns="http://www.opengis.net/kml/2.2">', Kind.XML),
        (b"<p>text</p>", Kind.UNKNOWN),
        (PDF, Kind.PDF),
        (PNG, Kind.IMAGE),
        (ZIP, Kind.UNKNOWN),
        (OLE, Kind.UNKNOWN),
        (CSV, Kind.UNKNOWN),
        (b"", Kind.UNKNOWN),
        (bytes(100), Kind.UNKNOWN),
    ],
)
def test_kinds(first: bytes, expected: Kind) -> None:
    assert kind(first) is expected


@pytest.mark.parametrize(
    ("declared", "wrong", "fine"),
    [
        ("CSV", (PAGE, XHTML, JSON, XML, PDF, PNG, GZIPPED, b""), (CSV, ZIP, OLE)),
        (".csv", (PAGE,), (CSV,)),
        ("TSV", (PAGE, JSON), (CSV,)),
        ("text/csv; charset=utf-8", (PAGE, JSON), (CSV,)),
        ("http://publications.europa.eu/resource/authority/file-type/CSV", (PAGE,), (CSV,)),
        ("https://www.iana.org/assignments/media-types/text/csv", (PAGE,), (CSV,)),
        ("CSV.zip", (PAGE, JSON, XML), (ZIP, CSV)),
        ("zipped CSV", (PAGE, JSON), (ZIP, CSV)),
        ("XLSX", (PAGE, JSON, XML, PDF), (ZIP, OLE, CSV)),
        ("XLS", (JSON, PDF), (OLE, ZIP, TABLE, PAGE, XML, CSV)),
        ("application/vnd.ms-excel", (JSON,), (OLE, PAGE)),
        ("ZIP", (PAGE, JSON, XML, PDF), (ZIP, CSV)),
        ("SHP", (PAGE, JSON), (ZIP,)),
        ("zipped shapefiles", (PAGE, JSON), (ZIP,)),
        ("KMZ", (PAGE, JSON), (ZIP, XML)),
        ("KML", (PAGE, JSON), (XML, XHTML, ZIP)),
        ("XML", (PAGE, JSON, PDF), (XML, XHTML)),
        ("JSON", (PAGE, XHTML, XML, PDF), (JSON, CSV, ZIP)),
        ("GeoJSON", (PAGE, XML), (JSON, ZIP)),
        ("Geo JSON", (PAGE,), (JSON,)),
        ("JSON, CSV", (PAGE,), (JSON, CSV)),
        ("XLS, ZIP", (JSON,), (PAGE, ZIP, OLE)),
        ("CSV, API", (), (PAGE, JSON, CSV)),
        ("Parquet", (PAGE, JSON), (b"PAR1", ZIP)),
        ("PDF", (PAGE, JSON, PNG), (PDF, ZIP)),
        ("GZ", (PAGE,), (GZIPPED, gzip.compress(CSV, mtime=0))),
        ("TXT", (PAGE, PDF), (CSV, JSON, XML)),
        ("PNG", (PAGE, PDF), (PNG,)),
        ("HTML", (), (PAGE, XHTML, JSON, PDF)),
        ("Web page", (), (PAGE, JSON)),
        ("API", (), (PAGE, JSON, XML)),
        ("text/html", (), (PAGE, JSON)),
        ("application/octet-stream", (), (PAGE, JSON)),
        ("zipped", (), (PAGE, ZIP)),
        ("", (b"",), (PAGE, JSON)),
    ],
)
def test_verdicts(declared: str, wrong: tuple[bytes, ...], fine: tuple[bytes, ...]) -> None:
    assert [it for it in wrong if verdict(declared, None, it) is None] == []
    assert [it for it in fine if verdict(declared, None, it) is not None] == []


@pytest.mark.parametrize(
    ("declared", "media_type", "is_wrong"),
    [
        (None, "text/csv", True),
        ("", "text/csv", True),
        ("CSV", "text/csv", True),
        ("CSV", "application/octet-stream", True),
        ("CSV", "text/html", False),
        ("CSV", "application/vnd.ms-excel", False),
        ("API", "text/csv", False),
        ("HTML", "text/csv", False),
        (None, None, False),
    ],
)
def test_both_must_exclude_a_page(
    declared: str | None, media_type: str | None, is_wrong: bool
) -> None:
    assert (verdict(declared, media_type, PAGE) is not None) is is_wrong


def test_a_mismatch_says_what_came_instead_of_what() -> None:
    assert str(verdict("CSV", None, PAGE)) == "an HTML page came where CSV was promised"
    assert str(verdict(None, "text/csv", b"")) == "an empty file came where text/csv was promised"
    assert str(verdict(None, None, b"")) == "an empty file came where data was promised"


def test_nothing_excludes_what_it_is() -> None:
    own = {"pdf": Kind.PDF, "json": Kind.JSON, "xml": Kind.XML, "png": Kind.IMAGE}
    assert [name for name, what in own.items() if what in EXCLUDES[name]] == []
    assert all(Kind.UNKNOWN not in kinds for kinds in EXCLUDES.values())
    assert {it for it in MEDIA_TYPES.values() if it not in EXCLUDES} == {"html"}


NAMES = st.one_of(st.none(), st.text(), st.sampled_from([*EXCLUDES, *MEDIA_TYPES]))
BEGINNINGS = st.sampled_from(
    [b"", b"<?", b"<!--", b"\xff\xfe", b"\xfe\xff", b"<\0", b"\x1f\x8b\x08"]
)


@given(NAMES, NAMES, BEGINNINGS, st.binary())
def test_any_bytes_and_any_names_have_a_verdict(
    declared: str | None, media_type: str | None, beginning: bytes, rest: bytes
) -> None:
    found = verdict(declared, media_type, beginning + rest)
    assert found is None or str(found)
