"""Decides whether a file is of the format that the catalogue promises.

:func:`verdict` has four answers:

- The file fits, or its kind is not certain.
- **Error**: an error text in place of the data. It is a web page under any format but those of pages, a short
  text (less than :data:`.error_texts.SHORT` bytes) under a format that is no text, or a text that reports an
  error by what came before (:mod:`.error_texts`).
- **Uncertain**: perhaps such a text.
- **Mismatch**: data of another kind than promised, such as XLSX under XLS or a zipped CSV. The data count; the
  catalogue is wrong.

Only certain signs count, in the first bytes of the file. Files without such signs are accepted. Under formats
that are not in :data:`FITS`, only pages and error texts are errors.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from ..translation import N_
from ..web.errors import Meaning
from .error_texts import SHORT, TABLES, ShortText, meaning_of_text
from .outlines import Outline, Text, is_table

FIRST_BYTES = 16 * 1024
"""Bytes from the beginning of a file that decide its kind; fewer if the file is smaller."""


class FileKind(Enum):
    """The kind of file that the first bytes show; the value says it in a sentence."""

    HTML = N_("an HTML page")
    GZIPPED_HTML = N_("a compressed HTML page")
    SCRIPT = N_("the source text of a PHP script")
    """Of a page, from a server that does not run it. Browsers do not show it."""
    SHEET = N_("a workbook saved as HTML or XML")
    JSON = N_("JSON")
    JSON_LIKE = N_("text that begins like JSON")
    """CSV files and sentences may begin so, too."""
    XML = N_("XML")
    MARKUP = N_("text with tags")
    """Possibly XML without a declaration or a namespace."""
    TABLE = N_("delimited text")
    TEXT = N_("plain text")
    PDF = N_("a PDF")
    IMAGE = N_("an image")
    ZIP = N_("a ZIP archive")
    OFFICE = N_("an Office file (XLSX, DOCX, PPTX)")
    OPEN_DOCUMENT = N_("an OpenDocument file (ODS, ODT)")
    OLD_OFFICE = N_("an old Office file (XLS, DOC, PPT)")
    GZIP = N_("a gzip file")
    ARCHIVE = N_("a 7z or RAR archive")
    NOTHING = N_("an empty file")
    ERROR = N_("an error message")
    UNKNOWN = "something else"
    """Fits every format."""


@dataclass(frozen=True, slots=True)
class FormatMismatch:
    """A file that is not of the promised format.

    :ivar promised: the format, as declared
    :ivar meaning: ``FAILED`` if the file holds no data, ``CANNOT_TELL`` if it perhaps holds none, ``WORKS`` if
        it holds data of another kind
    :ivar in_time: what the file means if nobody can tell, and it still comes after weeks
    """

    promised: str
    found: FileKind
    meaning: Meaning
    in_time: Meaning = Meaning.CANNOT_TELL

    @property
    def is_page(self) -> bool:
        """Whether a page came that browsers show."""
        return self.found is FileKind.HTML

    def __str__(self) -> str:
        return f"{self.found.value} came where {self.promised} was promised"


_WEB_PAGES = frozenset({FileKind.HTML, FileKind.SCRIPT})
_PAGES = _WEB_PAGES | {FileKind.GZIPPED_HTML, FileKind.SHEET}
_PROSE = frozenset(
    {FileKind.TEXT, FileKind.JSON, FileKind.JSON_LIKE, FileKind.XML, FileKind.MARKUP}
)
"""Kinds that are errors if the text is short and does not fit. Delimited text is always data."""

_PLAIN = frozenset({FileKind.TEXT, FileKind.TABLE, FileKind.JSON_LIKE, FileKind.MARKUP})
_LINES = _PLAIN | {FileKind.JSON, FileKind.XML}
_JSON = frozenset({FileKind.JSON, FileKind.JSON_LIKE})
_DESCRIBING = frozenset({FileKind.JSON, FileKind.XML, FileKind.MARKUP})
_XML = frozenset({FileKind.XML, FileKind.MARKUP, FileKind.SHEET})
_ZIP = frozenset({FileKind.ZIP})
_OFFICE = frozenset({FileKind.OFFICE, FileKind.ZIP})
_OPEN_DOCUMENT = frozenset({FileKind.OPEN_DOCUMENT, FileKind.ZIP})
_IMAGE = frozenset({FileKind.IMAGE})
_NONE: frozenset[FileKind] = frozenset()

_GZIPS = ("gz", "gzip", "tgz", "targz")
_INSIDE_GZIP = frozenset({FileKind.TABLE, FileKind.JSON, FileKind.XML})
"""Kinds that are certainly data: a server may send a gzip file as a compressed transfer of these."""

_WORKBOOKS = frozenset({"xls", "excel", "xlsx", "xlsm", "xlsb", "ods"})
"""Formats under which exporters write HTML or XML tables; Excel opens these."""

_FORMATS: tuple[tuple[tuple[str, ...], tuple[str, ...], frozenset[FileKind]], ...] = (
    (("csv",), ("text/csv",), _PLAIN),
    (("tsv", "tab"), ("text/tab-separated-values",), _PLAIN),
    (("psv",), (), _PLAIN),
    (("txt", "text", "plaintext"), ("text/plain",), _PLAIN | _JSON | _XML),
    (("ttl", "turtle", "ntriples", "nquads"), (), _PLAIN | _JSON | _XML),
    (("json", "jsonl", "ndjson", "topojson"), ("application/json",), _JSON),
    (("geojson",), ("application/geo+json",), _JSON),
    (("jsonld",), ("application/ld+json",), _JSON),
    (("xml", "gpx", "rss", "atom", "iatixml", "svg"), ("application/xml", "text/xml"), _XML),
    (("rdfxml",), ("application/rdf+xml",), _XML),
    (("gml",), ("application/gml+xml",), _XML),
    (("kml",), ("application/vnd.google-earth.kml+xml",), _XML),
    (("kmz",), ("application/vnd.google-earth.kmz",), _ZIP | _XML),
    (("xls",), ("application/vnd.ms-excel",), frozenset({FileKind.OLD_OFFICE})),
    (("excel",), (), _OFFICE | {FileKind.OLD_OFFICE}),
    (
        ("xlsx", "xlsm", "xlsb"),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",),
        _OFFICE,
    ),
    (
        ("docx", "pptx"),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document",),
        _OFFICE,
    ),
    (("ods", "odt"), ("application/vnd.oasis.opendocument.spreadsheet",), _OPEN_DOCUMENT),
    (("zip", "gtfs"), ("application/zip", "application/x-zip-compressed"), _ZIP),
    (("shp", "shapefile", "shapefiles", "esrishapefile"), (), _ZIP),
    (("gdb", "geodatabase"), (), frozenset({FileKind.ZIP, FileKind.GZIP, FileKind.ARCHIVE})),
    (("7z", "rar"), (), frozenset({FileKind.ARCHIVE})),
    (_GZIPS, ("application/gzip",), frozenset({FileKind.GZIP, FileKind.GZIPPED_HTML})),
    (("geopackage", "gpkg", "sqlite"), ("application/geopackage+sqlite3",), _NONE),
    (("parquet", "geoparquet"), ("application/vnd.apache.parquet",), _NONE),
    (("avro", "arrow", "feather", "netcdf", "hdf5", "grib"), (), _NONE),
    (("pdf",), ("application/pdf",), frozenset({FileKind.PDF})),
    (("png", "gif"), ("image/png",), _IMAGE),
    (("jpeg", "jpg"), ("image/jpeg",), _IMAGE),
    (("tiff", "tif", "geotiff"), ("image/tiff",), _IMAGE),
)
"""Names of formats (lower case letters and digits), their media types, and the kinds of files that fit them
beside :attr:`FileKind.UNKNOWN`.

Parquet and similar formats have first bytes of their own, which are :attr:`FileKind.UNKNOWN` here. Other media
types, such as ``application/octet-stream``, promise nothing.
"""

_MARKDOWN = frozenset({"md", "markdown"})
"""Text that may begin with tags."""
_PAGE_WORDS = frozenset(
    {
        *("html", "htm", "xhtml", "mhtml", "shtml", "php", "asp", "aspx", "jsp", "cfm", "web"),
        *("webpage", "website", "webapp", "webapplication", "application", "app", "page", "site"),
        *("portal", "dashboard", "viewer", "visualization", "visualisation", "interactive", "tool"),
        *("storymap", "story", "webmap", "map", "link", "url", "hyperlink", "www", "http", "https"),
        *("blog", "wiki", "forum", "video", "youtube", "online", "homepage", "landingpage"),
        *("rdfa", "webseite", "internetseite", "portale", "sito", "sitio", "pagina", "seite"),
        *("html5", "geoportal", "documentation", "dokumentation", "tableau", "powerbi", "bi"),
        *("shiny", "qgis", "search", "database", "git", "github", "gitlab", "repository"),
        *("ckan", "directory", "folder", "listing", "ftp", "google", "gsheet", "googlesheet"),
        "googlesheets",
    }
)
"""Words of formats that are web pages and applications."""

_TAKE_PAGES = _PAGE_WORDS | frozenset(
    {
        *_MARKDOWN,
        # Interfaces, many of which have a page
        *("api", "rest", "restful", "service", "services", "webservice", "webservices", "soap"),
        *("odata", "sparql", "graphql", "openapi", "swagger", "oai", "wms", "wmts", "wfs", "wcs"),
        *("csw", "sos", "wps", "tms", "ogcapi", "geoservice", "geoservices", "arcgis", "mapserver"),
        *("featureserver", "imageserver"),
    }
)
"""Words of formats under which a web page may be what is meant."""

_NAME_NOTHING = frozenset(
    {
        *("other", "unknown", "unspecified", "undefined", "none", "na", "null", "various"),
        *("misc", "n", "a", "miscellaneous", "multiple", "mixed", "any", "data", "dataset"),
        *("autre", "sonstiges", "andere", "otro", "altro", "octet", "stream", "binary", "bin"),
    }
)
"""Words that name no format."""

FITS = {name: kinds for names, _, kinds in _FORMATS for name in names}
"""The kinds that fit each format."""

MEDIA_TYPES = {type_: names[0] for names, types, _ in _FORMATS for type_ in types} | dict.fromkeys(
    ("text/html", "application/xhtml+xml"), "html"
)
"""Formats by media type. HTML is none of :data:`FITS`: everything fits it."""

_LINKED_DATA = {
    "jsonld": "application/ld+json",
    **dict.fromkeys(("ttl", "turtle", "trig"), "text/turtle"),
    **dict.fromkeys(("n3", "nt", "ntriples", "nquads"), "application/n-triples, text/turtle"),
    **dict.fromkeys(("rdf", "rdfxml", "owl", "skos"), "application/rdf+xml, text/turtle"),
}
"""The media types to ask for, by words of formats. Their servers have a page at the same URL, for browsers."""

OF_BROWSERS = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
"""The Accept header with which browsers open a page. Some servers have no page for others."""

_NO_MEMBERS = b"PK\x05\x06"
"""First bytes of a ZIP archive without members."""
_MAGIC: tuple[tuple[bytes, FileKind], ...] = (
    (b"\x89PNG\r\n\x1a\n", FileKind.IMAGE),
    (b"GIF87a", FileKind.IMAGE),
    (b"GIF89a", FileKind.IMAGE),
    (b"\xff\xd8\xff", FileKind.IMAGE),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileKind.OLD_OFFICE),
    (b"7z\xbc\xaf\x27\x1c", FileKind.ARCHIVE),
    (b"Rar!\x1a\x07", FileKind.ARCHIVE),
    (b"PK\x03\x04", FileKind.ZIP),
    (_NO_MEMBERS, FileKind.ZIP),
)
_MAGICS = tuple(magic for magic, _ in _MAGIC)
_PLAIN_STARTS = bytes(range(0x21, 0x7F)).translate(None, b"<{[%")
"""First bytes that neither markup, JSON nor a PDF has."""
_ZIP_NAME_AT = 30
"""Offset of the first member's name in a ZIP archive."""
_OFFICE_NAMES = (b"[Content_Types].xml", b"_rels/.rels", b"docProps/", b"xl/", b"word/", b"ppt/")
_OPEN_DOCUMENT_NAME = b"mimetypeapplication/vnd.oasis.opendocument."
_BLANK = b" \t\r\n"
_BEFORE = "\ufeff\0 \t\r\n\f\v"
"""Characters that may stand before the first one of a text."""
_GZIP = b"\x1f\x8b\x08"
_ENCODINGS: tuple[tuple[bytes, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_NOT_IN_TEXT = bytes({*range(32)} - {*b"\t\n\v\f\r\x1b"})
_SHOWS_BINARY = 1024
"""How many characters are searched for those that no text has."""
_PAGE = re.compile(r"<(?:!doctype\s*html|html|head|body)[\s>]", re.IGNORECASE)
_FRAGMENT = re.compile(
    r"<(?:title|meta|link|script|noscript|style|center|div|span|form|iframe|img|font|pre|h[1-6]|hr|p|br|b"
    r"|strong|frameset)[\s/>]",
    re.IGNORECASE,
)
"""First tags of pages without a head: error pages of firewalls, and PHP's warnings."""
_PART = re.compile(
    r"<(?:ul|ol|nav|i|u|em|small|blockquote|input|base\s+href|a\s+href)[\s/>=]",
    re.IGNORECASE,
)
"""First tags of other parts of pages, which XML and tables may begin with, too."""
_TABLE = re.compile(r"<table[\s>]", re.IGNORECASE)
_PASSWORD = re.compile(rb"type\s*=\s*[\"']?password")
_WORKBOOK_URL = re.compile(r"\.(?:xls[xmb]?|ods)(?:[?#]|\Z)", re.IGNORECASE)
_SHEET_SIGNS = (
    "urn:schemas-microsoft-com:office:excel",
    "urn:schemas-microsoft-com:office:spreadsheet",
    "mso-number-format",
    "<office:document ",
)
"""Signs of workbooks that are saved as HTML, as XML, or as flat OpenDocument files."""
_ROOT_WITH_NAMESPACE = re.compile(r"<[A-Za-z_][^<>]{0,1000}?\sxmlns[:=]")
_START_TAG = re.compile(r"<([A-Za-z_][\w:.-]*)(?:\s[^<>]{0,1000})?>")
_JSON_START = re.compile(r'(?:\[\s*)?\{\s*"(?:[^"\\]|\\.){0,1000}"\s*:')
_WRAPPED_JSON = re.compile(
    r"(?:\s*(?://[^\n]{0,500}\n|/\*(?:[^*]|\*(?!/)){0,500}\*/|\)\]\}',?\s"
    r"|[A-Za-z_$][\w$. ]{0,100}[(=]))+\s*[\[{]",
    re.DOTALL,
)
"""JSON behind comments, in the call of a function (JSONP) or a variable, or behind a prefix against other
sites."""
_DESCRIPTION = re.compile(
    rb"<(?:\w{1,20}:)?(?:(?:\w{1,20}_)?Capabilities|Edmx|TileMap(?:Service)?|Identify|OpenSearchDescription"
    rb"|service\s[^>]{0,300}www\.w3\.org/2007/app)[\s>\"']"
    rb"|schemas\.xmlsoap\.org/wsdl|wadl\.dev\.java\.net|ns/sparql-service-description"
    rb"|\"(?:openapi|swagger|tilejson)\"\s?:|\"currentVersion\"\s?:\s?1\d(?:\.\d{1,3})?\s?,"
    rb"|\"rel\"\s?:\s?\"(?:service-desc|conformance)\"|/\$metadata\""
)
"""Signs of descriptions of services: of OGC, SOAP, REST, OData, SPARQL, OAI-PMH, ArcGIS and maps in tiles."""
_DESCRIBED = 4096
"""Bytes in which these signs stand."""
_FEATURES = re.compile(r'"type"\s*:\s*"(?:Feature(?:Collection)?|Topology)"')
"""GeoJSON: data, however short they are."""
_JSON_VALUE = re.compile(r"(?:true|false|null|-?[0-9][0-9.eE+-]{0,30})\s*\Z")


@dataclass(frozen=True, slots=True)
class PromisedFormat:
    """The format that the catalogue declares.

    :ivar name: as declared, cut to 100 characters; empty if none is declared
    :ivar formats: the formats of :data:`FITS`, each of which is accepted; empty if one of them is unknown
    :ivar words: all words of the declared formats, known or not
    :ivar accept: the Accept header to ask with; None for any type
    :ivar second_accept: the one to ask with once more if the first brings nothing
    """

    name: str
    formats: tuple[str, ...]
    words: frozenset[str] = frozenset()
    accept: str | None = None
    second_accept: str | None = None

    @property
    def is_linked_data(self) -> bool:
        """Whether a page may have come in place of data that are there for whom asks for their type."""
        return not _LINKED_DATA.keys().isdisjoint(self.words)

    @property
    def takes_pages(self) -> bool:
        """Whether a web page may be what is meant: the format says so, or there is none."""
        return self.words <= _NAME_NOTHING or not _TAKE_PAGES.isdisjoint(self.words)


@lru_cache(maxsize=1024)
def promise(declared_format: str | None, media_type: str | None) -> PromisedFormat:
    """Return the format that a resource promises.

    Both arguments are the *catalogue's* words, never the answer's headers: an error page is honestly
    ``text/html``. If both are declared and known, a file may fit either.

    :param declared_format: a name in any spelling, a media type, or an IRI of either
    """
    declared = (declared_format or "").strip() or (media_type or "").strip()
    formats = _formats(declared)
    by_type = _known_media_type(media_type or "")
    if formats and by_type and by_type not in formats:
        formats.append(by_type)
    is_known = all(name in FITS for name in formats)
    words = frozenset(formats)
    return PromisedFormat(
        declared[:100], tuple(formats) if is_known else (), words, *_accepts(words)
    )


def _accepts(words: frozenset[str]) -> tuple[str | None, str | None]:
    """Return the two Accept headers to ask with for a format of these words."""
    # Without a format, a server that has both is asked for its data.
    if not words <= _NAME_NOTHING and words <= _PAGE_WORDS | _NAME_NOTHING:
        return OF_BROWSERS, "*/*"
    types = [types for word, types in _LINKED_DATA.items() if word in words]
    return None, ", ".join((*types, "*/*;q=0.1")) if types else OF_BROWSERS


class SentAs(NamedTuple):
    """What an answer says of its file.

    :ivar media_type: by the server. With the URL, it only tells a workbook that is saved as a page from other
        pages.
    :ivar url: that answered
    :ivar was_coded: whether the file came with a Content-Encoding, which is decoded here
    """

    media_type: str | None = None
    url: str = ""
    was_coded: bool = False


def verdict(
    promised: PromisedFormat,
    first: bytes,
    size: int,
    *,
    last: Outline | None,
    sent_as: SentAs,
) -> FormatMismatch | None:
    """Return how a file differs from the promised format; None if it may fit.

    :param first: the first :data:`FIRST_BYTES` bytes of the file
    :param size: of the file, in bytes
    :param last: the outline of the last good file; None if there was none
    """
    is_short = size < SHORT
    # Under an unknown format, large files may begin with zeros.
    if (is_short or (promised.formats and not first.strip(b"\0"))) and _is_empty(first):
        return FormatMismatch(promised.name or "data", FileKind.NOTHING, Meaning.FAILED)
    text = _text(first).strip(_BEFORE) if size <= FIRST_BYTES else ""
    file = ShortText(text, size)
    if is_short and not promised.takes_pages and file.says_later():
        return FormatMismatch(promised.name, FileKind.ERROR, Meaning.CANNOT_TELL, Meaning.FAILED)
    found = _by_format(promised, first, size, sent_as)
    is_certain = found and (found.meaning is Meaning.FAILED or found.found not in _LINES)
    if not text or _is_binary(text) or is_certain:
        return found
    meaning = meaning_of_text(file, promised.words, last, takes_pages=promised.takes_pages)
    if meaning.now is Meaning.WORKS:
        return found
    return FormatMismatch(promised.name or "data", FileKind.ERROR, *meaning)


def _by_format(
    promised: PromisedFormat, first: bytes, size: int, sent_as: SentAs
) -> FormatMismatch | None:
    """Return how the kind of a file differs from the promised format; None if it may fit."""
    formats = promised.formats
    if not formats:
        is_wrong = not promised.takes_pages and _may_be_page(first) and kind(first) in _WEB_PAGES
        return FormatMismatch(promised.name, kind(first), Meaning.FAILED) if is_wrong else None
    if _is_plain(first) and all(FITS[name] >= _PLAIN for name in formats):
        return None
    found = kind(first)
    if found is FileKind.UNKNOWN:
        return None
    if sent_as.was_coded and found in _INSIDE_GZIP and any(name in _GZIPS for name in formats):
        return None
    if found in _WEB_PAGES and _is_sheet(first.lower(), sent_as):
        found = FileKind.SHEET
    is_short = size < SHORT and not (found is FileKind.JSON and _FEATURES.search(_text(first)))
    judged = [_judge(name, found, is_short) for name in formats]
    if None in judged:
        return None
    return FormatMismatch(promised.name, found, Meaning.FAILED if all(judged) else Meaning.WORKS)


def is_page(first: bytes) -> bool:
    """Return whether a file is a page that browsers show."""
    return _may_be_page(first) and kind(first) is FileKind.HTML


def is_no_evidence(promised: PromisedFormat, first: bytes, sent_as: SentAs) -> bool:
    """Decide whether a file is a web page or the description of a service, where these may be meant.

    Their changes say nothing of the data. See :func:`verdict` for the parameters.
    """
    if not promised.takes_pages:
        return False
    found = kind(first)
    if found in _WEB_PAGES:
        is_text = not _MARKDOWN.isdisjoint(promised.words)
        return not (is_text or _is_sheet(first.lower(), sent_as))
    is_description = found in _DESCRIBING and _DESCRIPTION.search(first[:_DESCRIBED]) is not None
    return is_description or found is FileKind.GZIPPED_HTML


def _is_sheet(page: bytes, sent_as: SentAs) -> bool:
    """Return whether a web page is a workbook that was saved as HTML: browsers save it, and Excel opens it.

    :param page: in small letters
    """
    if b"<table" not in page or _PASSWORD.search(page):
        return False
    if MEDIA_TYPES.get(sent_as.media_type or "text/html") != "html":
        return True
    # Many pages of errors have tables, but also scripts and forms.
    names_workbook = _WORKBOOK_URL.search(sent_as.url) is not None
    return names_workbook and b"<script" not in page and b"<form" not in page


def _may_be_page(first: bytes) -> bool:
    """Return whether a file may begin with a tag, which is quickly seen."""
    return b"<" in first[:FIRST_BYTES] and not first.startswith(_MAGICS)


def _is_plain(first: bytes) -> bool:
    """Return whether a file begins as only texts do, which is quickly seen of most tables."""
    return first[:1] in _PLAIN_STARTS and not first.startswith(_MAGICS)


def _judge(name: str, found: FileKind, is_short: bool) -> bool | None:
    """Decide whether a file is an error under a known format; return None if it fits."""
    if found in FITS[name]:
        return None
    if found is FileKind.SHEET and name in _WORKBOOKS:
        return False
    return found in _PAGES or (is_short and found in _PROSE)


def outline(first: bytes, size: int) -> Outline:
    """Return the outline of a good file."""
    text = _text(first).strip(_BEFORE)
    return Text("" if _is_binary(text) else text).outline(size)


def _is_empty(first: bytes) -> bool:
    """Return whether a short file is blank, or an empty archive."""
    if first.startswith(_GZIP):
        inside, is_whole = _gunzip(first)
        return is_whole and not inside
    return first.startswith(_NO_MEMBERS) or not _text(first).strip(_BEFORE)


def kind(first: bytes) -> FileKind:
    """Return the kind of file that the first bytes show with certainty."""
    first = first[:FIRST_BYTES]
    for magic, found in _MAGIC:
        if first.startswith(magic):
            return _kind_of_zip(first) if found is FileKind.ZIP else found
    if first.startswith(_GZIP):
        inside = _kind_of_text(_text(_gunzip(first)[0]))
        return FileKind.GZIPPED_HTML if inside in _PAGES else FileKind.GZIP
    return _kind_of_text(_text(first))


def _kind_of_zip(first: bytes) -> FileKind:
    """Return the kind of a ZIP archive: documents are recognised by the name of their first member."""
    if first.startswith(_OPEN_DOCUMENT_NAME, _ZIP_NAME_AT):
        return FileKind.OPEN_DOCUMENT
    return FileKind.OFFICE if first.startswith(_OFFICE_NAMES, _ZIP_NAME_AT) else FileKind.ZIP


def _kind_of_text(text: str) -> FileKind:
    text = text.lstrip(_BEFORE)
    if text[:1] == "<":
        return _kind_of_markup(text)
    if _JSON_START.match(text):
        return FileKind.JSON
    # Not in _MAGIC, because a PDF may begin with other characters.
    if text.startswith("%PDF-"):
        return FileKind.PDF
    if not text or _is_binary(text):
        return FileKind.UNKNOWN
    if text[0] in "{[" or _JSON_VALUE.match(text) or _WRAPPED_JSON.match(text):
        return FileKind.JSON_LIKE
    if is_table(text):
        return FileKind.TABLE
    return FileKind.JSON_LIKE if text[0] == '"' else FileKind.TEXT


def _kind_of_markup(text: str) -> FileKind:
    if text.startswith("<?php"):
        return FileKind.SCRIPT
    declared = False
    while text.startswith(("<?", "<!--")):
        declared = declared or text.startswith("<?xml")
        close = "?>" if text[1] == "?" else "-->"
        text = text.partition(close)[2].lstrip(_BEFORE)
    if _TABLE.match(text) or any(sign in text for sign in _SHEET_SIGNS):
        return FileKind.SHEET
    if _PAGE.match(text):
        return FileKind.HTML
    if declared or _ROOT_WITH_NAMESPACE.match(text):
        return FileKind.XML
    if _FRAGMENT.match(text):
        return FileKind.HTML
    if text[:1] == "<":
        if _is_binary(text):
            return FileKind.UNKNOWN
        if _is_element(text):
            return FileKind.XML
        is_part = _PART.match(text) is not None and not is_table(text)
        return FileKind.HTML if is_part else FileKind.MARKUP
    return _kind_of_text(text)


def _is_binary(text: str) -> bool:
    # A regular expression takes five times as long.
    coded = text[:_SHOWS_BINARY].encode("utf-8", "surrogatepass")
    return len(coded.translate(None, _NOT_IN_TEXT)) < len(coded)


def _is_element(text: str) -> bool:
    """Return whether a text begins with a tag and ends with the same tag closed."""
    tag = _START_TAG.match(text)
    return tag is not None and text.rstrip().endswith(f"</{tag[1]}>")


def _text(first: bytes) -> str:
    start = first.lstrip(_BLANK)
    for beginning, encoding in _ENCODINGS:
        if start.startswith(beginning):
            return start.decode(encoding, "replace")
    return start.decode("latin-1")


def _gunzip(first: bytes) -> tuple[bytes, bool]:
    """Return the beginning of a compressed file's content, and whether it is complete."""
    stream = zlib.decompressobj(wbits=31)
    try:
        inside = stream.decompress(first, FIRST_BYTES)
    except zlib.error:
        return b"", False
    return inside, stream.eof and not stream.unused_data


def _formats(declared: str) -> list[str]:
    known = _known_media_type(declared)
    if known:
        return [known]
    name = declared.lower()
    if "://" in name:
        name = name.rstrip("/#").rpartition("/")[2].rpartition("#")[2]
    name = name.removeprefix("application/")
    words = re.findall(r"[a-z0-9]+", name)
    whole = "".join(words)
    if whole in FITS:
        return [whole]
    return [_PACKED.get(word, word) for word in words if word not in _FILLERS]


_FILLERS = frozenset({"file", "files", "format"})
"""Words that are not part of a format's name."""

_PACKED = {"zipped": "zip", "compressed": "zip"}


def _known_media_type(declared: str) -> str | None:
    name = declared.partition(";")[0].strip().lower()
    if "://" in name:
        name = name.rpartition("/media-types/")[2]
    return MEDIA_TYPES.get(name)


# Tables


class TableShape(NamedTuple):
    """A table of a file.

    Fields: the name of its sheet (None if the file has one table without a name), the number of its rows
    without the header, and the names of its columns; both None if it has no clear header; and whether its rows
    are the features of a GeoJSON file.
    """

    name: str | None
    rows: int | None
    columns: Sequence[str] | None
    of_features: bool = False


Shape = Sequence[TableShape]
"""The tables of a file in their order; empty if nothing is certain."""


def kind_of_text(formats: tuple[str, ...]) -> str | None:
    """Return how to read the shape of a text: ``csv``, ``json``, or None if it has none.

    :param formats: that the catalogue promises, see :class:`PromisedFormat`
    """
    found = {
        "csv" if name in TABLES else "json"
        for name in formats
        if name in TABLES or name in ("json", "geojson")
    }
    return found.pop() if len(found) == 1 else None
