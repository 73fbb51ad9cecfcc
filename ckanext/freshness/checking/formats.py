"""Whether bytes are what was promised: a table of what certainly is not.

A page that says "please log in" with status 200 is no new version of a table, and nothing at all is no new
version of anything. Only what is certain counts: the first bytes must show a kind of file that the declared
format excludes. Whatever has no telling first bytes, and each format that is not in the tables ("API", "Web
page"), is taken as it comes.

Where catalogues are lax, so is the table: a ZIP, a gzip file or a workbook under "CSV" is a container of
what was promised; "XLS" may be OLE, a zipped workbook, Excel's XML or, as many exporters write it, an
HTML table, so that a page under "XLS" passes; "SHP" and "KMZ" are zips, and "KMZ" may be bare KML.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from enum import Enum

FIRST_BYTES = 4096
"""So much of a file's beginning is looked at."""


class Kind(Enum):
    """What the first bytes show; the value says it in a sentence."""

    HTML = "an HTML page"
    XHTML = "an XHTML page"
    """A page that begins with an XML declaration, and so is XML too."""
    GZIPPED_HTML = "a compressed HTML page"
    JSON = "JSON"
    XML = "XML"
    PDF = "a PDF"
    IMAGE = "a picture"
    NOTHING = "an empty file"
    UNKNOWN = "something else"
    """Nothing that would exclude any format."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What came is certainly not what was promised.

    :ivar promised: the format, as declared
    """

    promised: str
    found: Kind

    def __str__(self) -> str:
        return f"{self.found.value} came where {self.promised} was promised"


_PAGES = frozenset({Kind.HTML, Kind.XHTML, Kind.GZIPPED_HTML})
_DOCUMENTS = frozenset({Kind.PDF, Kind.IMAGE})
_BINARY = _PAGES | _DOCUMENTS | {Kind.JSON, Kind.XML}
_JSON = _PAGES | _DOCUMENTS | {Kind.XML}
_XML = frozenset({Kind.HTML, Kind.GZIPPED_HTML, Kind.JSON}) | _DOCUMENTS

EXCLUDES: dict[str, frozenset[Kind]] = {
    **dict.fromkeys(("csv", "tsv", "tab", "psv"), _BINARY),
    **dict.fromkeys(("txt", "text", "plaintext"), _PAGES | _DOCUMENTS),
    **dict.fromkeys(("json", "geojson", "topojson", "jsonld", "jsonl", "ndjson"), _JSON),
    **dict.fromkeys(("xml", "kml", "gml", "gpx", "rss", "atom", "rdfxml", "iatixml", "svg"), _XML),
    **dict.fromkeys(("ttl", "turtle", "ntriples", "nquads"), _PAGES | _DOCUMENTS),
    **dict.fromkeys(("xlsx", "xlsm", "xlsb", "ods", "docx", "odt", "pptx"), _BINARY),
    **dict.fromkeys(("xls", "excel"), _DOCUMENTS | {Kind.JSON}),
    **dict.fromkeys(("zip", "gtfs", "7z", "rar", "geodatabase", "gdb"), _BINARY),
    **dict.fromkeys(("shp", "shapefile", "shapefiles", "esrishapefile"), _BINARY),
    "kmz": _BINARY - {Kind.XML},
    **dict.fromkeys(("gz", "gzip", "tgz", "targz"), _BINARY - {Kind.GZIPPED_HTML}),
    **dict.fromkeys(("parquet", "geoparquet", "geopackage", "gpkg", "sqlite"), _BINARY),
    **dict.fromkeys(("avro", "arrow", "feather", "netcdf", "hdf5", "grib"), _BINARY),
    "pdf": _BINARY - {Kind.PDF},
    **dict.fromkeys(
        ("png", "jpg", "jpeg", "gif", "tif", "tiff", "geotiff"), _BINARY - {Kind.IMAGE}
    ),
}
"""Which kinds a declared format certainly is not; formats in lower case, letters and digits alone."""

MEDIA_TYPES: dict[str, str] = {
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "text/plain": "txt",
    "application/json": "json",
    "application/geo+json": "geojson",
    "application/ld+json": "jsonld",
    "application/xml": "xml",
    "text/xml": "xml",
    "application/rdf+xml": "rdfxml",
    "application/gml+xml": "gml",
    "application/vnd.google-earth.kml+xml": "kml",
    "application/vnd.google-earth.kmz": "kmz",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/zip": "zip",
    "application/x-zip-compressed": "zip",
    "application/gzip": "gz",
    "application/pdf": "pdf",
    "application/geopackage+sqlite3": "geopackage",
    "application/vnd.apache.parquet": "parquet",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/tiff": "tiff",
    "text/html": "html",
    "application/xhtml+xml": "html",
}
"""The format that a media type stands for; others, ``application/octet-stream`` say, tell nothing."""

_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"%PDF-", Kind.PDF),
    (b"\x89PNG\r\n\x1a\n", Kind.IMAGE),
    (b"GIF87a", Kind.IMAGE),
    (b"GIF89a", Kind.IMAGE),
    (b"\xff\xd8\xff", Kind.IMAGE),
)
_MAGIC_STARTS = frozenset(magic[:1] for magic, _ in _MAGIC)
_BLANK = b" \t\r\n"
_GZIP = b"\x1f\x8b\x08"
_ENCODINGS: tuple[tuple[bytes, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_PAGE = re.compile(r"<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE)
_ROOT_WITH_NAMESPACE = re.compile(r"<[A-Za-z_][^<>]{0,1000}?\sxmlns[:=]")
_TELLING = frozenset("<{[")
"""What text begins with whose kind can be told, and that is not XML by its declaration."""
_JSON_START = re.compile(r'(?:\[\s*)?\{\s*"(?:[^"\\]|\\.){0,1000}"\s*:')


def verdict(declared_format: str | None, media_type: str | None, first: bytes) -> Mismatch | None:
    """Whether a file that begins with ``first`` is certainly not what was promised.

    Both are what the *catalogue* declares, never what the answer's headers say of themselves: an error
    page is honestly ``text/html``. Where both are declared and known, both must exclude what came.

    :param declared_format: the resource's format: a name in any writing, a media type, an IRI of either
    :param media_type: the resource's media type
    """
    promised = (declared_format or "").strip() or (media_type or "").strip()
    if not first:
        return Mismatch(promised[:100] or "data", Kind.NOTHING)
    if not promised:
        return None
    found = kind(first)
    if found is Kind.UNKNOWN:
        return None
    excluded = _excluded(promised)
    by_type = _known_media_type(media_type or "")
    if by_type:
        excluded &= EXCLUDES.get(by_type, frozenset())
    return Mismatch(promised[:100], found) if found in excluded else None


def kind(first: bytes) -> Kind:
    """What the first bytes certainly show."""
    first = first[:FIRST_BYTES]
    if first[:1] in _MAGIC_STARTS:
        for magic, what in _MAGIC:
            if first.startswith(magic):
                return what
    if first.startswith(_GZIP):
        inside = _kind_of_text(_text(_gunzip(first)))
        return Kind.GZIPPED_HTML if inside in (Kind.HTML, Kind.XHTML) else Kind.UNKNOWN
    start = first.lstrip(_BLANK)
    # As a table begins: neither a tag, a brace nor a mark of an encoding.
    if start[:1].isalnum():
        return Kind.UNKNOWN
    return _kind_of_text(_text(start))


def _kind_of_text(text: str) -> Kind:
    declared = False
    while True:
        text = text.lstrip("\ufeff\0 \t\r\n\f\v")
        if text[:1] not in _TELLING and not declared:
            return Kind.UNKNOWN
        if text.startswith("<?"):
            declared = declared or text.startswith("<?xml")
            close = "?>"
        elif text.startswith("<!--"):
            close = "-->"
        else:
            break
        text = text.partition(close)[2]
    if _PAGE.match(text):
        return Kind.XHTML if declared else Kind.HTML
    if declared or _ROOT_WITH_NAMESPACE.match(text):
        return Kind.XML
    return Kind.JSON if _JSON_START.match(text) else Kind.UNKNOWN


def _text(first: bytes) -> str:
    start = first.lstrip(_BLANK)
    for beginning, encoding in _ENCODINGS:
        if start.startswith(beginning):
            return start.decode(encoding, "replace")
    return start.decode("latin-1")


def _gunzip(first: bytes) -> bytes:
    """What a compressed file begins with; it is cut off, so an end is not expected."""
    try:
        return zlib.decompressobj(wbits=31).decompress(first, FIRST_BYTES)
    except zlib.error:
        return b""


def _excluded(declared: str) -> frozenset[Kind]:
    """The kinds that a declared format is not; of "CSV, JSON" those that neither is."""
    known = _known_media_type(declared)
    if known:
        return EXCLUDES.get(known, frozenset())
    name = declared.lower()
    if "://" in name:
        name = name.rstrip("/#").rpartition("/")[2].rpartition("#")[2]
    words = re.findall(r"[a-z0-9]+", name)
    whole = EXCLUDES.get("".join(words))
    if whole is not None:
        return whole
    kinds = [EXCLUDES.get(word, frozenset()) for word in words if word not in _FILLERS]
    return frozenset.intersection(*kinds) if kinds else frozenset()


_FILLERS = frozenset({"zipped", "compressed", "file", "files", "format"})
"""Words that promise nothing of their own: a zip under any format passes anyway."""


def _known_media_type(declared: str) -> str | None:
    name = declared.partition(";")[0].strip().lower()
    if "://" in name:
        name = name.rpartition("/media-types/")[2]
    return MEDIA_TYPES.get(name)
