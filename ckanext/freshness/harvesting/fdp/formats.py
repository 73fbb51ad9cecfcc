"""File formats: from media types and file-type IRIs to the names that CKAN knows.

CKAN's own list (``ckan/config/resource_formats.json``) still has the last word when a package is saved:
what is not in the tables here passes through it as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_MEDIA_TYPE_IRI = re.compile(
    r"https?://(?:(?:www\.)?iana\.org/assignments/media-types|purl\.org/net/mediatypes)/(?P<type>.+)",
    re.IGNORECASE,
)
_MEDIA_TYPE = re.compile(r"(?P<type>[\w.+-]+/[\w.+-]+)(?:\s*;.*)?", re.ASCII)
_FILE_TYPE_IRI = re.compile(
    r"https?://publications\.europa\.eu/resource/authority/file-type/(?P<code>\w+)", re.IGNORECASE
)

# (CKAN's name, media type, other names: codes of the EU's file-type list, extensions).
_FORMATS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Atom Feed", "application/atom+xml", ("atom",)),
    ("BIN", "application/octet-stream", ()),
    ("CSV", "text/csv", ()),
    ("dBase", "application/x-dbf", ("dbf",)),
    ("DOC", "application/msword", ()),
    ("DOCX", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ()),
    ("GeoJSON", "application/geo+json", ("application/vnd.geo+json",)),
    ("GML", "application/gml+xml", ()),
    ("GPKG", "application/geopackage+sqlite3", ()),
    ("GZ", "application/gzip", ("gzip", "application/x-gzip")),
    ("HTML", "text/html", ("htm", "html_simpl", "xhtml", "html5", "application/xhtml+xml")),
    ("ICS", "text/calendar", ()),
    ("JPEG", "image/jpeg", ("jpg",)),
    ("JSON", "application/json", ()),
    ("JSON-LD", "application/ld+json", ("json_ld", "jsonld")),
    ("KML", "application/vnd.google-earth.kml+xml", ()),
    ("KMZ", "application/vnd.google-earth.kmz+xml", ("application/vnd.google-earth.kmz",)),
    ("MDB", "application/x-msaccess", ()),
    ("N3", "text/n3", ("application/x-n3", "rdf_n3")),
    ("NetCDF", "application/netcdf", ("application/x-netcdf", "nc")),
    ("N-Triples", "application/n-triples", ("rdf_n_triples", "nt")),
    ("ODS", "application/vnd.oasis.opendocument.spreadsheet", ()),
    ("ODT", "application/vnd.oasis.opendocument.text", ()),
    ("OWL", "application/owl+xml", ()),
    ("Parquet", "application/vnd.apache.parquet", ()),
    ("PDF", "application/pdf", ("pdfa1a", "pdfa1b", "pdfa2a", "pdfa2b", "pdfa3", "pdfx")),
    ("PNG", "image/png", ()),
    ("PPT", "application/vnd.ms-powerpoint", ()),
    ("PPTX", "application/vnd.openxmlformats-officedocument.presentationml.presentation", ()),
    ("RDF", "application/rdf+xml", ("rdf_xml", "rdf/xml")),
    ("RSS", "application/rss+xml", ()),
    ("SHP", "", ("esri shapefile",)),
    ("SPARQL", "application/sparql-results+xml", ("sparqlq",)),
    ("SVG", "image/svg+xml", ()),
    ("TAR", "application/x-tar", ()),
    ("TIFF", "image/tiff", ("tif",)),
    ("TSV", "text/tab-separated-values", ("text/tsv",)),
    ("TTL", "text/turtle", ("rdf_turtle", "turtle", "application/x-turtle")),
    ("TXT", "text/plain", ()),
    ("WFS", "", ("wfs_srvc",)),
    ("WMS", "", ("wms_srvc",)),
    ("WMTS", "", ("wmts_srvc",)),
    ("XLS", "application/vnd.ms-excel", ("application/msexcel",)),
    ("XLSX", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ()),
    ("XML", "application/xml", ("text/xml",)),
    ("ZIP", "application/zip", ("application/x-zip-compressed",)),
)
_BY_NAME = {
    name.casefold(): (label, media_type)
    for label, media_type, others in _FORMATS
    for name in (label, media_type, *others)
    if name
}


@dataclass(frozen=True, slots=True)
class FileFormat:
    """What a distribution's bytes are, as CKAN's resource fields have it."""

    format: str | None
    mimetype: str | None


def file_format(formats: Iterable[str], media_types: Iterable[str]) -> FileFormat:
    """Name and media type of what ``dct:format`` and ``dcat:mediaType`` say, as texts or IRIs.

    Publishers mix the two up, so each is recognised by how it looks. A name that is said wins over one
    that follows from the media type, and the other way round.
    """
    names: list[str] = []
    types: list[str] = []
    for text in [*formats, *media_types]:
        media_type = _media_type(text)
        (names if media_type is None else types).append(media_type or _name(text))
    mimetype = types[0] if types else None
    if names:
        label, known_type = _BY_NAME.get(names[0].casefold(), (names[0], ""))
        return FileFormat(label, mimetype or known_type or None)
    if mimetype is None:
        return FileFormat(None, None)
    return FileFormat(_BY_NAME.get(mimetype, (mimetype, ""))[0], mimetype)


def _media_type(text: str) -> str | None:
    """The media type that a text or IRI names; None where it is no media type."""
    iri = _MEDIA_TYPE_IRI.fullmatch(text)
    plain = _MEDIA_TYPE.fullmatch(iri["type"] if iri else text)
    if plain is None:
        return None
    media_type = plain["type"].lower()
    # "RDF/XML" looks like a media type and is a name.
    return None if media_type == "rdf/xml" else media_type


def _name(text: str) -> str:
    """The short name in an IRI of the EU's file-type list, or the text without the dot of an extension."""
    code = _FILE_TYPE_IRI.fullmatch(text)
    return code["code"] if code else text.removeprefix(".")
