"""Promised formats and files: tables of formats, media types and bytes."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.checking.error_texts import SHORT
from ckanext.freshness.checking.formats import (
    FIRST_BYTES,
    FITS,
    MEDIA_TYPES,
    SentAs,
    is_no_evidence,
    outline,
    promise,
    verdict,
)
from ckanext.freshness.tests.checking.workbooks import workbook
from ckanext.freshness.web.errors import Meaning


def archive(name: str, data: bytes = b"data", *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as written:
        # Without a time, which would be part of the ids of tests.
        written.writestr(zipfile.ZipInfo(name), data, method)
    return file.getvalue()


PAGE = b"<!DOCTYPE html><html><head><title>Log in</title></head></html>"
XHTML = b'<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"/>'
WALL = b"<script>window.challenge = 1</script><noscript>Enable JavaScript</noscript>"
WARNING = b"<br />\n<b>Warning</b>: mysql_connect(): Connection refused in <b>/var/www</b><br />"
ERROR = b"Error: the database is not available"
TRACE = b"Traceback (most recent call last):\n  File x, line 1\nValueError: no, not this"
BARE_XML = b"<Error><Code>NoSuchKey</Code><Message>No such key, sorry</Message></Error>\n"
JSON = b'{"error": "not found"}'
ROW = b'{"a": 1}'
XML = b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'
KML = b'<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"/>'
RSS = b'<rss version="2.0"><channel/></rss>'
CSV = b"id,name\n1,Ada\n"
TSV = b"id\tname\n1\tAda\n"
COLUMN = b"country\nMali\nNiger\n"
HEADER = b"id,name\n"
ZIP = archive("data.csv")
KMZ = archive("doc.kml")
XLSX = workbook({"Data": {"A1": 1.0}})
ODS = archive(
    "mimetype", b"application/vnd.oasis.opendocument.spreadsheet", method=zipfile.ZIP_STORED
)
XLS = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(40)
PDF = b"%PDF-1.7\n"
LATE_PDF = b"\xef\xbb\xbf\r\n%PDF-1.7\n" + b"text " * SHORT
PNG = b"\x89PNG\r\n\x1a\n"
EMPTY_ZIP = b"PK\x05\x06" + bytes(18)
EMPTY_GZIP = gzip.compress(b"", mtime=0)
GZIPPED = gzip.compress(CSV, mtime=0)
SHAPE = bytes.fromhex("0000270a") + bytes(40)
HTML_SHEET = b'<html xmlns:x="urn:schemas-microsoft-com:office:excel"><table><tr><td>1'
XML_SHEET = (
    b'<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>'
    b'<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"/>'
)


def long(data: bytes) -> bytes:
    """The same file, too large for an error text."""
    return data + b" " * (SHORT - len(data))


PAGES = (
    *(
        PAGE,
        PAGE.upper(),
        PAGE.decode().encode("utf-16"),
        b"<!-- a -->\n " + PAGE,
        XHTML,
        WALL,
        WARNING,
    ),
    *(gzip.compress(PAGE, mtime=0), b"<body class='x'>"),
    *(b"<ul><li>Gone</li></ul>.", b"<a href='/'>Moved</a> here", b"<i>Not found</i> here"),
)
EMPTY = (b"\xff\xfe", b"\xfe\xff\0\n", bytes(100), EMPTY_ZIP, EMPTY_GZIP)
ZEROS = bytes(2 * SHORT)
TEXTS = (ERROR, TRACE, b"404", b"null", b"<p>Error</p>", b"<img src=x>Gone")
"""Files that are errors under every format that is no text."""

TOKEN = b'{"error":{"code":499,"message":"Token Required","details":[]}}'
REPORT = b"""<?xml version="1.0"?>
<ows:ExceptionReport xmlns:ows="http://www.opengis.net/ows/1.1" version="2.0.0">
<ows:Exception exceptionCode="NoApplicableCode"/></ows:ExceptionReport>"""
OLD_REPORT = b'<?xml version="1.0"?><ServiceExceptionReport version="1.2.0"/>'

SOAP_FAULT = (
    b'<?xml version="1.0"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/">'
    b"<s:Body><s:Fault><faultcode>s:Server</faultcode></s:Fault></s:Body></s:Envelope>"
)
FEATURES = b'{"type": "FeatureCollection", "features": []}'
ESRI = b'{"displayFieldName": "", "geometryType": "esriGeometryPoint", "features": []}'
ERROR_OBJECTS = (
    b'{"message": "Not Found"}',
    b'{"help": "x", "success": false, "error": {"__type": "Not Found Error"}}',
    b'{"type": "about:blank", "title": "Gone", "status": 500, "detail": "x"}',
    b'{"error": "invalid_token", "error_description": "expired"}',
    b'{"errors": [{"message": "x"}], "data": null}',
    b'[{"error": "not found"}]',
    *(
        text.encode()
        for text in (
            '{"erreur": "Ressource introuvable", "code": 404}',
            '{"fehlercode": 500, "fehlermeldung": "Interner Fehler"}',
            '{"total": 0, "results": [], "error": "db down"}',
            '{"success": false, "data": null}',
            '{"resultCode": "99", "resultMsg": "UNKNOWN"}',
            '{"fault": {"faultstring": "Invalid ApiKey", "detail": {"errorcode": "x"}}}',
            "{}",
            '"error"',
        )
    ),
)
OBJECTS = (
    b"{}",
    b'{"error": null, "data": []}',
    b'{"errors": [{"message": "x"}], "data": {"a": 1}}',
    b'{"status": "success", "data": {"message": "x"}}',
    b'{"code": 0, "message": "success", "data": [1]}',
    b'{"message": "", "data": []}',
    b'{"descripcion": "exito", "estado": 200, "datos": "https://a.example/x"}',
    b'{"fehler": [{"a": 1}], "anzahl": 1}',
)
ROWS = (
    b'[{"title": "Road closed", "detail": "until May"}]',
    b'[{"error": "a"}, {"error": "b"}]',
)
"""Lists of data."""
ERROR_DOCUMENTS = (
    b'<?xml version="1.0"?><OAI-PMH xmlns="x"><responseDate>2026</responseDate><request>x</request>'
    b'<error code="badVerb">x</error></OAI-PMH>',
    b'<Error xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Code>NoSuchKey</Code></Error>',
    b"<erreur>Ressource introuvable</erreur>",
    b'<?xml version="1.0"?><response><status>error</status></response>',
    b"<problem xmlns='urn:ietf:rfc:7807'><title>x</title></problem>",
)
SCRIPTS = (b"<?php\n$a = 1;\n", b"<?php\n" + b"$a = 1;\n" * 999)
DOCUMENTS = (
    b"<ErrorCodes><Code>1</Code></ErrorCodes>",
    b'<Faults xmlns="x"><Code>1</Code></Faults>',
    b'<?xml version="1.0"?><?php-like x?><a/>',
)
WRAPPED = (
    b'callback({"a": 1});',
    b"// comment\n[1, 2]",
    b')]}\',\n{"a": 1}',
    b'var roads = {"a": 1};',
)
FLAT_ODS = b'<?xml version="1.0"?><office:document xmlns:office="urn:oasis:names"/>'
MSO_SHEET = b"<html><style>td {mso-number-format: 0}</style><table><tr><td>1</table></html>"

UNKNOWN = (
    *("RDF", "DOC", "DBF", "MS Excel", "Comma Separated Values", "E", "OGC GeoPackage"),
    "http://publications.europa.eu/resource/authority/file-type/RDF_TURTLE",
)
PAGES_OF_SITES = (
    *("HTML", "Web Application", "PHP", "API", "Esri REST", "ArcGIS GeoServices REST API", "WMS"),
    *("Link", "Markdown", "Webseite", "HTML5", "N/A", "Power BI", "file listing", "Google Sheets"),
    "http://publications.europa.eu/resource/authority/file-type/HTML",
)

# formats; errors; mismatches; what fits
TABLE: list[tuple[str, Sequence[bytes], Sequence[bytes], Sequence[bytes]]] = [
    *(
        (
            name,
            (*PAGES, JSON, XML, BARE_XML, b"", b"\n", *EMPTY, ZEROS),
            (ZIP, XLSX, XLS, ODS, GZIPPED, PDF, PNG, long(JSON), long(XML)),
            (CSV, TSV, COLUMN, HEADER, b"[1", SHAPE, b"<i>,<u>\n1,2\n"),
        )
        for name in ("CSV", ".csv", "TSV", "text/csv; charset=utf-8", "application/csv")
    ),
    *(
        (
            name,
            (*PAGES, XML, ERROR, TRACE, b"null"),
            (CSV, ZIP, GZIPPED, PDF, long(XML)),
            (b"[]", b"[1, 2]", b'{"type": "x"}', b"404", b'"text"', SHAPE),
        )
        for name in ("JSON", "GeoJSON", "Geo JSON", "application/geo+json")
    ),
    *(
        (
            name,
            (*PAGES, *TEXTS[:-1], JSON),
            (CSV, ZIP, KMZ, GZIPPED, PDF, long(JSON)),
            (KML, RSS, XML_SHEET, b"<nav><ol><i/></ol></nav>"),
        )
        for name in ("XML", "KML", "RSS", "application/xml")
    ),
    ("XLS", (*PAGES, *TEXTS, JSON, XML), (XLSX, ODS, ZIP, CSV, HTML_SHEET, XML_SHEET), (XLS,)),
    ("Excel", (*PAGES, *TEXTS, JSON, XML), (ODS, CSV, HTML_SHEET), (XLS, XLSX)),
    ("XLSX", (*PAGES, *TEXTS, JSON, XML), (XLS, ODS, CSV, PDF, HTML_SHEET), (XLSX, ZIP)),
    ("ODS", (*PAGES, *TEXTS, JSON, XML), (XLS, XLSX, CSV, PDF, HTML_SHEET), (ODS, ZIP)),
    *(
        (
            name,
            (*PAGES, *TEXTS, *EMPTY, ZEROS, JSON, XML),
            (CSV, XLS, XLSX, PDF, GZIPPED, long(XML)),
            (ZIP, KMZ),
        )
        for name in ("ZIP", "SHP", "application/zip")
    ),
    ("PDF", (*PAGES, *TEXTS, JSON, HTML_SHEET), (PNG, ZIP, CSV), (PDF, LATE_PDF)),
    ("KMZ", (*PAGES, ERROR, JSON), (PDF, CSV), (KMZ, KML)),
    ("Parquet", (*PAGES, ERROR, JSON), (ZIP, CSV), (b"PAR1\x15\0",)),
    ("GZ", (PAGE, ERROR, EMPTY_GZIP), (ZIP, CSV), (GZIPPED, gzip.compress(PAGE, mtime=0))),
    ("TXT", (*PAGES, b""), (PDF, ZIP), (CSV, JSON, XML, ERROR)),
    # Each of several formats will do.
    ("CSV.zip", (PAGE, JSON), (PDF, XLS), (ZIP, CSV)),
    ("JSON, CSV", (PAGE, XML), (PDF,), (b'{"a": 1}', CSV)),
    ("XLS, ZIP", (PAGE, ERROR), (XLSX,), (XLS, ZIP)),
    # Formats that say nothing certain
    ("CSV, API", (b"",), (), (PAGE, JSON, CSV)),
    ("HTML", (b"",), (), (PAGE, XHTML, JSON, PDF, ERROR)),
    ("API", (b"",), (), (PAGE, JSON, XML, ERROR)),
    ("application/octet-stream", (b"",), (), (PAGE, JSON)),
    ("http://publications.europa.eu/resource/authority/file-type/CSV", (PAGE,), (ZIP,), (CSV,)),
    ("", (b"", *EMPTY), (), (PAGE, JSON, ERROR, TRACE)),
    # What servers say in JSON and XML
    (
        "GeoJSON",
        (TOKEN, b"{}"),
        (),
        (ESRI, FEATURES, b'{"type": "Point", "error": 0}'),
    ),
    ("JSON", (), (), (*OBJECTS, *ROWS, *WRAPPED)),
    *((name, (), (), (JSON, *OBJECTS)) for name in ("Esri REST", "API", "", "HTML")),
    ("TXT", (), (), (TOKEN, XML)),
    ("GML", (), (), (b'<gml:FeatureCollection xmlns:gml="x"/>',)),
    ("WFS", (), (), (PAGE, b'<WFS_Capabilities xmlns="x"/>')),
    # The bare address of a map service answers so, and works.
    ("WMS", (), (), (PAGE, REPORT, OLD_REPORT, b"<ServiceExceptionReport/>")),
    ("XML", SCRIPTS, (), DOCUMENTS),
    ("SHP", (JSON,), (FEATURES,), ()),
    ("ODS", (XML,), (FLAT_ODS,), ()),
    ("XLS", (PAGE,), (MSO_SHEET, b"<table><tr><td>1"), ()),
    # Its end is not among the bytes that were read.
    ("CSV", (), (b'<?xml version="1.0"?><a>' + b"<b/>" * SHORT,), ()),
    # Formats that the table lacks: a web page is no such file.
    *((name, (PAGE, XHTML, WALL, b""), (), (CSV, ROW, KML, ZIP, HTML_SHEET)) for name in UNKNOWN),
    *((name, (b"",), (), (PAGE, XHTML, CSV, JSON, ERROR, TRACE)) for name in PAGES_OF_SITES),
]


def judged(
    declared: str | None, media_type: str | None, data: bytes, last: bytes | None = None
) -> bool | str | None:
    """Return whether the file is an error; None if it fits, "perhaps" if nobody can tell.

    :param last: the last good file
    """
    known = None if last is None else outline(last[:FIRST_BYTES], len(last))
    promised = promise(declared, media_type)
    found = verdict(promised, data[:FIRST_BYTES], len(data), last=known, sent_as=SentAs())
    if found is None:
        return None
    return "perhaps" if found.meaning is Meaning.CANNOT_TELL else found.meaning is Meaning.FAILED


@pytest.mark.parametrize(("declared", "errors", "mismatches", "fine"), TABLE)
def test_verdicts(
    declared: str, errors: Sequence[bytes], mismatches: Sequence[bytes], fine: Sequence[bytes]
) -> None:
    assert [one for one in errors if judged(declared, None, one) is not True] == []
    assert [one for one in mismatches if judged(declared, None, one) is not False] == []
    assert [one for one in fine if judged(declared, None, one) is not None] == []


@pytest.mark.parametrize(
    ("declared", "media_type", "data", "is_error"),
    [
        (None, "text/csv", PAGE, True),
        ("", "text/csv", PAGE, True),
        ("CSV", "text/csv", PAGE, True),
        ("CSV", "application/octet-stream", PAGE, True),
        ("CSV", "application/zip", PAGE, True),
        ("CSV", "text/html", PAGE, None),
        ("API", "text/csv", PAGE, None),
        ("HTML", "text/csv", PAGE, None),
        (None, None, PAGE, None),
        ("CSV", "application/zip", ZIP, None),
        ("CSV", "text/csv", ZIP, False),
        # How Windows calls CSV
        ("CSV", "application/vnd.ms-excel", XLS, None),
        ("CSV", "application/vnd.ms-excel", CSV, None),
        ("JSON", "text/plain", ERROR, None),
    ],
)
def test_format_and_media_type(
    declared: str | None, media_type: str | None, data: bytes, is_error: bool | None
) -> None:
    assert judged(declared, media_type, data) is is_error


@pytest.mark.parametrize(
    ("declared", "data", "is_error"),
    [
        ("CSV", CSV, None),
        ("CSV", COLUMN, None),
        ("CSV", HEADER, None),
        ("CSV", ERROR, True),
        ("CSV", ERROR.decode().encode("utf-16"), True),
        ("CSV", "Désolé, le fichier est introuvable.".encode(), True),
        ("CSV", b"country\n", True),
        ("CSV", ERROR * 200, True),
        # Known by its first bytes
        ("CSV", PDF, False),
        ("CSV, API", ERROR, True),
        ("TXT", ERROR, None),
    ],
)
def test_a_single_line_where_there_was_a_table(
    declared: str, data: bytes, is_error: bool | None
) -> None:
    if declared == "CSV" and data != PDF:
        assert judged(declared, None, data) is not True, "at first nobody knows"
    assert judged(declared, None, data, CSV) is is_error


ERROR_TEXTS = {
    "Python": TRACE,
    "Java": b"java.sql.SQLException: Io, closed\n\tat oracle.jdbc.Driver.connect(Driver.java:1)\n",
    ".NET, with a code": b"System.Data.SqlException (0x80131904): Time out\r\n   at A.B()\r\n",
    "Node": b"TypeError: x is undefined\n    at Object.<anonymous> (/srv/app.js:1:7)\n",
    "Go": b"panic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n",
    "PostgreSQL": b'ERROR:  relation "wells" does not exist\nLINE 1: SELECT a, b FROM wells\n',
    "Oracle": b"ERROR at line 1:\nORA-00942: table or view does not exist\n",
    "SQL*Plus": b"SP2-0640: Not connected\nSP2-0641: a, b\n",
    "PDO": b"SQLSTATE[HY000] [2002] Connection refused\nin a, b\n",
    "PHP's warning": b"\nWarning: mysqli_connect(): (HY000/2002): no in /a.php on line 3\n",
    "Envoy": b"upstream connect error or disconnect/reset before headers, sorry. reset reason: failure",
    "Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a, sorry\nsize 12345\n",
}


# Texts that report an error, by what came before

GOOD_OBJECTS = (
    b'{"count": 1, "rows": [{"a": 1}]}',
    b'{"help": "x", "success": true, "result": {"records": [{"a": 1}]}}',
    b'{"code": 0, "message": "success", "data": [1]}',
    b'{"status": "success", "data": {"posts": [1]}}',
    b'{"data": [{"type": "x"}], "jsonapi": {"version": "1.0"}}',
    b'{"estado": 200, "descripcion": "exito", "datos": "https://a.example/x"}',
    b'[{"a": 1}, {"a": 2}]',
)
GOOD_DOCUMENTS = (
    *(KML, RSS, b"<a><b/></a>"),
    b'<s:Envelope xmlns:s="x"><s:Body><a/></s:Body></s:Envelope>',
    b'<OAI-PMH xmlns="x"><ListRecords/></OAI-PMH>',
)
IN_PLACE: list[tuple[str, Sequence[bytes], Sequence[bytes]]] = [
    ("JSON", GOOD_OBJECTS, (TOKEN, JSON, *ERROR_OBJECTS)),
    *((name, (b'{"layers": []}', PAGE), (TOKEN,)) for name in ("Esri REST", "API", "")),
    ("XML", GOOD_DOCUMENTS, (REPORT, OLD_REPORT, XML, BARE_XML, SOAP_FAULT, *ERROR_DOCUMENTS)),
    ("GML", (b'<gml:FeatureCollection xmlns:gml="x"/>',), (REPORT, OLD_REPORT, XML)),
    ("WFS", (b'<WFS_Capabilities xmlns="x"/>',), (REPORT, OLD_REPORT)),
    (
        "CSV",
        (CSV, COLUMN, b"1,2\n3,4\n", b"# Wells\nid;name\n1;Ada\n"),
        tuple(ERROR_TEXTS.values()),
    ),
    ("Turtle", (b"@prefix a: <b> .\na:b a:c a:d .\n",), tuple(ERROR_TEXTS.values())),
    ("RDF", (b'<rdf:RDF xmlns:rdf="x"/>',), tuple(ERROR_TEXTS.values())),
    ("DOC", (XLS,), tuple(ERROR_TEXTS.values())),
]
"""Formats, good files, and texts that come in their place."""


def large(good: bytes) -> bytes:
    """Return a file with the same names that is ten times as large as any error text."""
    return good + (b" " if good[:1] in b"{[<" else good.splitlines(keepends=True)[-1]) * 20_000


@pytest.mark.parametrize(
    ("declared", "goods", "texts"), IN_PLACE, ids=[declared for declared, _, _ in IN_PLACE]
)
def test_an_error_text_is_one_by_what_came_before(
    declared: str, goods: Sequence[bytes], texts: Sequence[bytes]
) -> None:
    for text in texts:
        assert judged(declared, None, text) is not True, "at first nobody can tell"
        for good in goods:
            assert judged(declared, None, text, good), (good, text)
            assert judged(declared, None, text, large(good)) is True, (good, text)
            # Below data, it is a part of them.
            if declared == "CSV":
                assert judged(declared, None, good + text, good) is None


@pytest.mark.parametrize("text", ERROR_TEXTS.values(), ids=ERROR_TEXTS)
def test_texts_of_programs_are_doubted_at_first(text: bytes) -> None:
    for declared in ("CSV", "TSV", "Turtle", "RDF"):
        assert judged(declared, None, text) == "perhaps"
    for declared in ("JSON", "XLSX", "PDF"):
        assert judged(declared, None, text) is True


RECORD = b"Ada,1\n"


@pytest.mark.parametrize(
    ("declared", "last", "data", "is_error"),
    [
        # One record of data
        ("JSON", None, b'{"message": "Good service on all lines"}', "perhaps"),
        ("JSON", None, b'{"codigo": 12, "descripcion": "Madrid"}', None),
        ("JSON", None, b'{"exceptions": [{"date": "2026-12-25"}]}', "perhaps"),
        ("JSON", b'{"message": "Good", "lines": [1]}', b'{"message": "x", "lines": [2]}', None),
        # Files that are being prepared
        ("JSON", None, b'{"status": "processing"}', "perhaps"),
        ("CSV", CSV, b'{"status": "Pending", "progress": 12}', "perhaps"),
        # ckan/ckanext-xloader#39
        (
            "JSON",
            None,
            b'{"processingTime":"8 s","status":"Processing","generating":{}}',
            "perhaps",
        ),
        # inaturalist/inaturalist#716
        ("CSV", CSV, b"This file takes a little while to generate. It is ready at x.csv", True),
        # Errors as a record, or as two lines
        ("CSV", CSV, b"error,message\n500,db down\n", "perhaps"),
        ("CSV", CSV, "Datenbankfehler\nBitte später versuchen\n".encode(), "perhaps"),
        ("", CSV, ERROR, True),
        ("HTML", long(PAGE), TRACE, True),
        # A line in any words, where any file may come
        *((name, large(CSV), b"Wartungsarbeiten\n", "perhaps") for name in ("", "Other", "TXT")),
        ("", PDF * 2000, b"Not Found", "perhaps"),
        ("TXT", b"A line.\n" * 9000, b"FATAL: Connection refused\n", "perhaps"),
        ("TXT", b"A line.\n" * 2, b"FATAL: Connection refused\n", None),
        ("TXT", b"A line.\n" * 9000, b"A line.\n" * 3, None),
        ("TXT", None, b"Not Found", None),
        ("", large(CSV), CSV, None),
        ("HTML", long(PAGE), PAGE, None),
        # Names that are no errors, or that change with the data
        ("JSON", b'{"error_rate": 0.1, "mean": 3}', b'{"error_rate": 0.2, "mean": 4}', None),
        ("JSON", b'{"defaults": {"a": 1}}', b'{"defaults": {"a": 2}}', None),
        ("JSON", b'{"count": 3, "errors": []}', b'{"count": 2, "errors": []}', None),
        ("JSON", large(b'{"a": 1}\n{"a": 2}'), b'{"b": 1}\n{"c": 2}', None),
        ("API", PAGE, b'{"message": "Welcome", "version": "1.2"}', "perhaps"),
        ("API", PAGE, b'{"message": "Welcome", "error": "db down"}', True),
        ("GeoJSON API", None, b'{"title": "Wells", "links": []}', None),
        ("GeoJSON", None, b'{"title": "Wells", "links": []}', True),
        # Longer texts that speak of errors
        ("Turtle", None, b"# Errors are listed below\n" + b"a:b a:c a:d .\n" * 999, None),
        # Errors in any words
        (
            "JSON",
            large(b'{"total": 500, "results": []}'),
            b'{"total":0,"results":[],"error":"x"}',
            True,
        ),
        ("JSON", large(b'{"total": 500, "results": []}'), b'{"palvelu": "ei vastaa"}', True),
        ("JSON", b'{"total": 1, "results": []}', b'{"palvelu": "ei vastaa"}', "perhaps"),
        ("XML", large(b"<a><b/></a>"), "<virhe>ei löydy</virhe>".encode(), True),
        ("CSV", large(CSV), b"error,message\n500,db down\n", True),
        ("CSV", large(b"name,count\n" + RECORD), TRACE + b"\n  at x" * 1500, True),
        # Data that became few, or have another structure
        ("CSV", large(CSV), CSV, None),
        ("CSV", large(CSV), b"id,name\n", None),
        ("CSV", large(CSV), b"code,title\n1,a\n2,b\n", None),
        ("CSV", large(RECORD), b"Grace,2\n", None),
        (
            "JSON",
            large(b'{"total": 1, "next": "x", "results": []}'),
            b'{"total":0,"results":[]}',
            None,
        ),
        ("JSON", large(b'[{"a": 1}]'), b"[]", None),
        ("JSON", large(b'{"rows": [1]}'), b'{"rows": [], "message": "No rows today"}', "perhaps"),
        ("JSON", large(b'{"rows": [1]}'), b'{"rows": [], "error": "db down"}', True),
        ("JSON", large(b'{"rows": [1]}'), b'{"rows": [], "status": 500, "message": "Gone"}', True),
        ("JSON", large(b'{"rows": [1]}'), b'{"rows": [], "error": "none"}', None),
        ("XML", large(b"<a><errors>0</errors></a>"), b"<a><errors>0</errors></a>", None),
        ("XML", large(b"<a><b/></a>"), b"<a><errors>db down</errors></a>", True),
        ("CSV", b"name\nAda\nGrace\n", b"name\n", None),
        ("CSV", large(CSV), b"\xa0\n\xa0", True),
        ("JSON", large(b'{"rows": [1]}'), b'{"message": "API rate limit exceeded"}', "perhaps"),
        ("CSV", CSV, b'{"error": "Too Many Requests", "retry": 5}', "perhaps"),
        ("CSV", b"name\nAda\nGrace\n", b"gone\n", True),
        ("JSON", large(b'[{"a": 1}]'), b'[{"b": 1}, {"b": 2}]', None),
        ("GeoJSON", large(FEATURES), FEATURES, None),
        ("XML", b"<a><b/></a>", b"<a><c/></a>", None),
        ("Turtle", large(b"@prefix a: <b> .\na:b a:c a:d .\n"), b"@prefix x: <y> .\n", None),
    ],
)
def test_files_and_what_came_before(
    declared: str, last: bytes | None, data: bytes, is_error: bool | str | None
) -> None:
    assert judged(declared, None, data, last) == is_error


@pytest.mark.parametrize(
    "data",
    [
        b"Error,Meaning\nORA-00942,no table\n",
        b"error;count\nTypeError: x;3\n    at home;4\n",
        b"java.lang.Exception,1\njava.lang.Error,2\n",
        b"Warning: 3 values are estimates\nid,name\n1,Ada\n",
        b"Warning: 1 in 3 on line 4\nid,name\n1,Ada\n",
        b"ERROR\n1\n2\n",
        b"Msg,Level,State\n1,2,3\n",
    ],
)
def test_tables_about_errors_are_data(data: bytes) -> None:
    assert judged("CSV", None, data) is None
    assert judged("CSV", None, data, CSV) is not True


TABLE_PAGE = (
    b"<html><head><meta charset=utf-8></head><body>%b<TABLE><tr><td>1</table></body></html>"
)
XLS_URL = "http://a.example/export/a.XLS?b=c"


@pytest.mark.parametrize(
    ("sent_as", "url", "more", "is_error"),
    [
        ("application/vnd.ms-excel", "", b"", False),
        ("application/octet-stream", "", b"<form>", False),
        ("text/html", XLS_URL, b"", False),
        ("text/html", "http://a.example/a.xls.html", b"", True),
        (None, "", b"", True),
        # Pages of errors and of logins, to which dead links lead
        ("text/html", XLS_URL, b"<script src=a></script>", True),
        ("application/octet-stream", XLS_URL, b"<input type='password'>", True),
    ],
)
def test_a_page_with_a_table_may_be_a_workbook(
    sent_as: str | None, url: str, more: bytes, is_error: bool
) -> None:
    for declared in ("XLS", "Excel", "XLSX"):
        found = verdict(
            promise(declared, None),
            TABLE_PAGE % more,
            900,
            last=None,
            sent_as=SentAs(sent_as, url),
        )
        assert found is not None and (found.meaning is Meaning.FAILED) is is_error
    page = verdict(promise("CSV", None), TABLE_PAGE, 900, last=None, sent_as=SentAs(sent_as, url))
    assert page is not None and page.meaning is Meaning.FAILED


DECLARED = '<?xml version="1.0"?>'


@pytest.mark.parametrize("format_", ["HTML", "", "CSV"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<!DOCTYPE html><html><title>Data</title></html>", True),
        (f"{DECLARED}<html xmlns='http://www.w3.org/1999/xhtml'></html>", True),
        ("<div class=a>Data</div>", True),
        (f"{DECLARED}<WMS_Capabilities version='1.3.0'/>", True),
        (f"{DECLARED}<wfs:WFS_Capabilities xmlns:wfs='x'>", True),
        (f"{DECLARED}<Capabilities xmlns='http://www.opengis.net/wmts/1.0'>", True),
        (f"{DECLARED}<definitions xmlns='http://schemas.xmlsoap.org/wsdl/'>", True),
        (f"{DECLARED}<edmx:Edmx Version='4.0' xmlns:edmx='x'>", True),
        (f"{DECLARED}<service xml:base='x' xmlns='http://www.w3.org/2007/app'>", True),
        (f"{DECLARED}<application xmlns='http://wadl.dev.java.net/2009/02'>", True),
        (f"{DECLARED}<OAI-PMH xmlns='x'><Identify><repositoryName>", True),
        ('{"openapi": "3.0.1", "info": {}}', True),
        ('{"currentVersion": 10.91, "layers": []}', True),
        ('{"title": "a", "links": [{"rel":"service-desc","href":"x"}]}', True),
        ('{"@odata.context":"https://x.org/$metadata","value":[]}', True),
        # Data
        ("id,name\n1,Ada\n", False),
        ('{"@odata.context":"https://x.org/$metadata#Products","value":[]}', False),
        ('{"type": "FeatureCollection", "links": [{"rel":"next"}]}', False),
        ('{"name": "a", "currentVersion": "1.2.0"}', False),
        (f"{DECLARED}<wfs:FeatureCollection xmlns:wfs='x'>", False),
        (f"{DECLARED}<OAI-PMH xmlns='x'><ListRecords><record>", False),
        (
            f"{DECLARED}<feed xmlns='http://www.w3.org/2005/Atom' xmlns:app='http://www.w3.org/2007/app'>",
            False,
        ),
        ("<table><tr><td>1</td></tr></table>", False),
        ("A text about html and Capabilities.", False),
    ],
)
def test_pages_and_descriptions_of_services(format_: str, text: str, expected: bool) -> None:
    """Under the format of a file, these are data, or an error."""
    found = is_no_evidence(promise(format_, None), text.encode(), SentAs(url="http://x.org/"))
    assert found is (expected and format_ != "CSV")


@pytest.mark.parametrize(
    ("format_", "text", "sent_as", "url"),
    [
        ("Markdown", "<h1>Data</h1>", None, "http://x.org/README.md"),
        ("", "<html><table><tr>", "application/vnd.ms-excel", "http://x.org/"),
        ("", "<html><table><tr>", "text/html", "http://x.org/a.xls"),
    ],
)
def test_texts_and_workbooks_with_tags_are_no_pages(
    format_: str, text: str, sent_as: str | None, url: str
) -> None:
    assert not is_no_evidence(promise(format_, None), text.encode(), SentAs(sent_as, url))


@pytest.mark.parametrize(("was_coded", "fits"), [(True, True), (False, False)])
def test_a_gzip_file_may_come_as_a_compressed_transfer(was_coded: bool, fits: bool) -> None:
    found = verdict(
        promise("GZ", None), CSV, len(CSV), last=None, sent_as=SentAs(was_coded=was_coded)
    )
    assert (found is None) is fits


@pytest.mark.parametrize(("size", "is_error"), [(SHORT - 1, True), (SHORT, False)])
def test_how_short_an_error_text_is(size: int, is_error: bool) -> None:
    assert judged("XLSX", None, b"e" * size) is is_error


NAMES = st.one_of(st.none(), st.text(), st.sampled_from([*FITS, *MEDIA_TYPES]))
BEGINNINGS = st.sampled_from(
    [b"", b"<?", b"<!--", b"\xff\xfe", b"\xfe\xff", b"<\0", b"\x1f\x8b\x08", b"PK\x03\x04"]
)


@given(NAMES, NAMES, BEGINNINGS, st.binary(), st.booleans())
def test_any_bytes_and_any_names_have_a_verdict(
    declared: str | None, media_type: str | None, beginning: bytes, rest: bytes, is_known: bool
) -> None:
    data = beginning + rest
    last = outline(rest, 20 * len(rest)) if is_known else None
    found = verdict(promise(declared, media_type), data, len(data), last=last, sent_as=SentAs())
    assert found is None or str(found)
