"""Mapping of the RDF of a dataset or catalog to a record. It uses no network, no clock and no CKAN.

The same triples give the same record, in any order, with any prefixes and names of blank nodes. What a
FAIR Data Point adds to every record (metrics, dates of its metadata, profiles) is left out, so that it
changes no hash. Properties without a field are listed in the record's ``unmapped``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rdflib import DCTERMS as DCT
from rdflib import RDF, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ..legal_values import one_line, split_keywords
from ..messages import HarvestMessage, MessageCode
from ..record import Record, resource_order
from . import mapping_tables
from .graph_values import describe, label, lexical
from .parsing import DCAT, LDP, SPDX, DocumentError, short
from .record_graph import RecordView, is_made_by_server

log = logging.getLogger(__name__)

Mapper = Callable[[Graph, Node], Record]

_OWN_RECORDS = frozenset({DCAT.Dataset, DCAT.Catalog, DCAT.DatasetSeries, DCAT.Distribution})
_RECORD_TYPES = _OWN_RECORDS | {
    DCAT.Resource,
    *(LDP[kind] for kind in ("DirectContainer", "BasicContainer", "Container")),
    *(LDP[kind] for kind in ("Resource", "RDFSource")),
}
_DISTRIBUTION = "dcat:distribution/"

_MEDIA_TYPE_IRI = re.compile(
    r"https?://(?:(?:www\.)?iana\.org/assignments/media-types|inspire\.ec\.europa\.eu/media-types"
    r"|purl\.org/net/mediatypes|w3id\.org/mediatype|www\.w3\.org/ns/iana/media-types)"
    r"/(?P<type>[^/]+/[^/#]+)/?(?:#.*)?",
    re.IGNORECASE,
)
_MEDIA_TYPE = re.compile(r"(?P<type>[\w.+-]+/[\w.+-]+)(?:\s*;.*)?", re.ASCII)
_FILE_TYPE_IRI = re.compile(
    r"https?://publications\.europa\.eu/resource/authority/file-type/(?P<code>\w+)/?", re.IGNORECASE
)

# (CKAN's name, media type, other names: codes of the EU's file-type list, extensions). CKAN's own list
# (ckan/config/resource_formats.json) is applied when a package is saved.
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
    ("SHP", "", ("esri shapefile", "application/vnd.shp", "application/x-shapefile")),
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


def mapped(mapper: Mapper, graph: Graph, subject: Node) -> Record:
    """Map a graph to a record; set ``dcat_type`` if it is a dcat:DatasetSeries.

    :raises DocumentError: the graph cannot be mapped.
    """
    try:
        record = mapper(graph, subject)
        if (subject, RDF.type, DCAT.DatasetSeries) in graph:
            record.fields["dcat_type"] = str(DCAT.DatasetSeries)
        return record
    except DocumentError:
        raise
    except Exception as error:
        # Profiles of other extensions may raise anything. That is an error of one record, and the
        # crawl goes on.
        log.exception("The record %s could not be mapped", subject)
        words = (
            "the record cannot be mapped: an unexpected error of the mapping or of a profile, which the "
            "log of the gather consumer names"
        )
        raise DocumentError(HarvestMessage(words, MessageCode.UNEXPECTED)) from error


def map_dataset(graph: Graph, subject: Node, *, language: str | None = None) -> Record:
    """Map a dataset and its distributions, whose documents are merged in the graph.

    The module ``mapping_tables`` has the keys and predicates.

    :param language: the language tag of preferred texts.
    :raises DocumentError: the subject has no type in the graph.
    """
    view = _view(graph, subject, language)
    record = _record(view, subject, mapping_tables.DATASET)
    resources = [_resource(view, node) for node in _distributions(view, subject)]
    # Stores that merge a document into an earlier one double its blank nodes.
    found = {resource_order(resource): resource for resource in resources}
    record.resources = [found[key] for key in sorted(found)]
    return _finished(record, view, subject)


def map_catalog(graph: Graph, subject: Node, *, language: str | None = None) -> Record:
    """Map a catalog, without its datasets.

    :raises DocumentError: the subject has no type in the graph.
    """
    view = _view(graph, subject, language)
    return _finished(_record(view, subject, mapping_tables.CATALOG), view, subject)


def _finished(record: Record, view: RecordView, subject: Node) -> Record:
    record.warnings = sorted(set(view.warnings))
    view.start_record(subject)
    record.unmapped = _unmapped(view, subject)
    return record


def _unmapped(view: RecordView, subject: Node) -> dict[str, str]:
    """Return the properties without a field, of a record and of the nodes it leads to, with an example."""
    found: dict[str, str] = {}
    visited, pending = {subject}, [(subject, "")]
    while pending:
        node, path = pending.pop()
        is_record = path in ("", _DISTRIBUTION)
        for predicate, objects in view.properties(node).items():
            if predicate in mapping_tables.SERVER_NOISE:
                continue
            step = path + short(str(predicate))
            unread = view.unread(node, predicate)
            for value in unread:
                if _is_structure(node, predicate, value, is_record=is_record):
                    continue
                example = lexical(value) or label(view, value)
                if value not in visited and isinstance(value, BNode):
                    # Its own properties say more than that there is a description.
                    visited.add(value)
                    pending.append((value, f"{step}/"))
                    if not example and view.properties(value).keys() - {RDF.type}:
                        continue
                example = example or "a description"
                found[step] = min(found.get(step, example), example)
            for value in objects:
                if isinstance(value, Literal) or value in unread or value in visited:
                    continue
                visited.add(value)
                if view.properties(value) and not _is_described_elsewhere(view, value, predicate):
                    pending.append((value, f"{step}/"))
    return {step: one_line(found[step])[:200] for step in sorted(found)}


def _is_structure(node: Node, predicate: Node, value: Node, *, is_record: bool) -> bool:
    """Return whether a triple only gives a node's type or links records."""
    if predicate == RDF.type:
        return value in _RECORD_TYPES or not is_record
    return predicate in mapping_tables.STRUCTURE or is_made_by_server(node, value)


def _is_described_elsewhere(view: RecordView, node: Node, predicate: Node) -> bool:
    """Return whether a node is described as another record, or as one of the server's profiles."""
    if predicate in mapping_tables.DISTRIBUTIONS:
        return False
    types = view.properties(node).get(RDF.type, ())
    return not _OWN_RECORDS.isdisjoint(types) or view.is_own_profile(str(node))


def _view(graph: Graph, subject: Node, language: str | None) -> RecordView:
    view = RecordView(graph, language)
    if RDF.type not in view.properties(subject):
        words = (
            "is described without a type" if view.properties(subject) else "is not described at all"
        )
        raise DocumentError(f"the record {words} in the server's answer")
    view.start_record(subject)
    return view


def _record(view: RecordView, subject: Node, table: tuple[Any, ...]) -> Record:
    fields = describe(view, subject, table)
    iri = lexical(subject)
    fields["uri"] = iri
    if "title" not in fields:
        view.warn(
            "title", "the record has none; its identifier or the end of its URL is used instead"
        )
    tags: set[str] = set()
    translated: dict[str, set[str]] = {}
    unused = []
    for node in view.properties(subject).get(DCAT.keyword, []):
        if isinstance(node, Literal):
            found = split_keywords(lexical(node))
            translated.setdefault((node.language or "").lower(), set()).update(found)
        else:
            found = list(filter(None, [label(view, node)]))
        tags.update(found)
        if not found:
            unused.append(node)
    view.mark_read(subject, (DCAT.keyword,), unused)
    by_language = {language: sorted(words) for language, words in translated.items() if words}
    if any(by_language):
        fields["tags_translated"] = by_language
    return Record(fields=fields, tags=sorted(tags))


def _distributions(view: RecordView, subject: Node) -> list[Node]:
    """Return the distributions that the graph describes; warn about the others."""
    described = []
    view.mark_read(subject, (DCAT.distribution,))
    for node in view.properties(subject).get(DCAT.distribution, ()):
        if view.properties(node):
            described.append(node)
        else:
            view.warn("distribution", f"{lexical(node)} is not described; left out")
    return described


def _resource(view: RecordView, node: Node) -> dict[str, Any]:
    iri = lexical(node)
    view.start_record(node, f"distribution {iri}: " if iri else "distribution: ")
    resource = describe(view, node, mapping_tables.RESOURCE)
    resource["uri"] = iri
    resource["url"] = resource.get("download_url") or resource.get("access_url") or ""
    _add_format(resource, view, node)
    nodes = view.properties(node).get(SPDX.checksum, [])
    checksums = mapping_tables.checksums(view, nodes, "checksum")
    if checksums:
        view.mark_read(node, (SPDX.checksum,))
        resource.update(checksums[0])
        for other in checksums[1:]:
            view.warn("hash", f'"{other.get("hash", "")[:80]}" is left out: there is room for one')
    return resource


def _add_format(resource: dict[str, Any], view: RecordView, node: Node) -> None:
    """Add format and media type to a resource; warn about further formats."""
    names = {
        predicate: _format_names(view, node, predicate)
        for predicate in (DCT.format, DCAT["format"], DCAT.mediaType)
    }
    formats = names[DCT.format] + names[DCAT["format"]]
    found = file_format(formats, names[DCAT.mediaType])
    if found.format:
        resource["format"] = found.format
    if found.mimetype:
        resource["mimetype"] = found.mimetype
    for name in sorted({*formats, *names[DCAT.mediaType]}):
        alone = file_format([name], [])
        is_same_type = alone.mimetype is not None and alone.mimetype == found.mimetype
        if alone.format != found.format and not is_same_type:
            view.warn("format", f'"{name[:80]}" is left out beside {found.format}')


def _format_names(view: RecordView, node: Node, predicate: URIRef) -> list[str]:
    """Return the formats that a distribution names: texts and IRIs first, then names of blank nodes."""
    nodes = view.properties(node).get(predicate, [])
    names = {
        value: label(view, value) if isinstance(value, BNode) else lexical(value) for value in nodes
    }
    view.mark_read(node, (predicate,), [value for value in nodes if not names[value]])
    named = sorted((isinstance(value, BNode), name) for value, name in names.items() if name)
    return [name for _, name in named]


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A distribution's format and media type, as CKAN's resource fields have them."""

    format: str | None
    mimetype: str | None


def file_format(formats: Iterable[str], media_types: Iterable[str]) -> FileFormat:
    """Return the format of a distribution from its ``dct:format`` and ``dcat:mediaType``.

    Publishers confuse the two properties, so a value's form decides what it is. A stated name wins over
    the name that follows from the media type, and a stated media type over the one of the name.

    :param formats: texts or IRIs, like ``media_types``.
    """
    texts = [*formats, *media_types]
    names = [_name(text) for text in texts if _media_type(text) is None]
    mimetype = next(filter(None, map(_media_type, texts)), None)
    if names:
        label, known_type = _BY_NAME.get(names[0].casefold(), (names[0], ""))
        return FileFormat(label, mimetype or known_type or None)
    if mimetype is None:
        return FileFormat(None, None)
    return FileFormat(_BY_NAME.get(mimetype, (mimetype, ""))[0], mimetype)


def _media_type(text: str) -> str | None:
    """Return the media type that a text or IRI names; None if it is no media type."""
    iri = _MEDIA_TYPE_IRI.fullmatch(text)
    plain = _MEDIA_TYPE.fullmatch(iri["type"] if iri else text)
    if plain is None:
        return None
    media_type = plain["type"].lower()
    # "RDF/XML" is a name, though it has the form of a media type.
    return None if media_type == "rdf/xml" else media_type


def _name(text: str) -> str:
    """Return the code in an IRI of the EU's file-type list, or the text without an extension's dot."""
    code = _FILE_TYPE_IRI.fullmatch(text)
    return code["code"] if code else text.removeprefix(".")
