"""From the RDF of one dataset or catalog to a `Record`: no network, no clock, nothing of CKAN's.

The same triples give the same record, whatever their order, their prefixes and the names of their blank
nodes. What a FAIR Data Point adds to every record by itself (metrics, its own metadata dates, profiles)
is left out, so that it changes no hash. Properties for which there is no field are named in the record's
``unmapped``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rdflib import DCTERMS as DCT
from rdflib import RDF, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ..legal_values import one_line
from ..record import Record, resource_order
from . import mapping_tables
from .graph_values import RecordView, describe, is_made_by_server, label, lexical
from .rdf import DCAT, SPDX, short

_OTHERS = frozenset({DCAT.Dataset, DCAT.Catalog, DCAT.DatasetSeries, DCAT.Distribution})
_RECORD_TYPES = _OTHERS | {DCAT.Resource}
_DISTRIBUTION = "dcat:distribution/"

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


class MappingError(Exception):
    """The graph says nothing of the record that was looked for."""

    def __init__(self, url: str, words: str) -> None:
        super().__init__(f"{url}: {words}")
        self.url = url
        self.words = words


def map_dataset(graph: Graph, subject: Node, *, language: str | None = None) -> Record:
    """The record of a dataset and its distributions, whose documents the graph holds merged.

    `language` is a language tag: texts in it are preferred. Keys and predicates are in
    `ckanext.freshness.harvesting.fdp.mapping_tables`.

    Raises MappingError if the subject has no type in the graph.
    """
    view = _view(graph, subject, language)
    record = _record(view, subject, mapping_tables.DATASET)
    resources = [_resource(view, node) for node in _distributions(view, subject)]
    record.resources = sorted(resources, key=resource_order)
    return _finished(record, view, subject)


def map_catalog(graph: Graph, subject: Node, *, language: str | None = None) -> Record:
    """The record of a catalog, without the datasets in it.

    Raises MappingError if the subject has no type in the graph.
    """
    view = _view(graph, subject, language)
    return _finished(_record(view, subject, mapping_tables.CATALOG), view, subject)


def _finished(record: Record, view: RecordView, subject: Node) -> Record:
    record.warnings = sorted(set(view.warnings))
    view.look_at(subject)
    record.unmapped = _unmapped(view, subject)
    return record


def _unmapped(view: RecordView, subject: Node) -> dict[str, str]:
    """The properties of a record and of what it describes that no field has, each with an example."""
    found: dict[str, str] = {}
    met, pending = {subject}, [(subject, "")]
    while pending:
        node, path = pending.pop()
        is_record = path in ("", _DISTRIBUTION)
        for predicate, objects in view.of(node).items():
            if predicate in mapping_tables.SERVER_NOISE:
                continue
            unread = view.unread(node, predicate)
            for value in unread:
                if not _is_structure(node, predicate, value, is_record=is_record):
                    step = path + short(str(predicate))
                    example = lexical(value) or label(view, value) or "a description"
                    found[step] = min(found.get(step, example), example)
            for value in objects:
                if isinstance(value, Literal) or value in unread or value in met:
                    continue
                met.add(value)
                if view.of(value) and not _is_described_elsewhere(view, value, predicate):
                    pending.append((value, f"{path}{short(str(predicate))}/"))
    return {step: one_line(found[step])[:200] for step in sorted(found)}


def _is_structure(node: Node, predicate: Node, value: Node, *, is_record: bool) -> bool:
    """Whether a triple only says what a node is, or how records hang together."""
    if predicate == RDF.type:
        return value in _RECORD_TYPES or not is_record
    return predicate in mapping_tables.STRUCTURE or is_made_by_server(node, value)


def _is_described_elsewhere(view: RecordView, node: Node, predicate: Node) -> bool:
    """Whether what a graph says of a node belongs to another record, or to the server."""
    if predicate == DCAT.distribution:
        return False
    types = view.of(node).get(RDF.type, ())
    return not _OTHERS.isdisjoint(types) or view.is_own_profile(str(node))


def _view(graph: Graph, subject: Node, language: str | None) -> RecordView:
    view = RecordView(graph, language)
    if RDF.type not in view.of(subject):
        words = "is described without a type" if view.of(subject) else "is not described at all"
        raise MappingError(str(subject), f"the record {words} in the server's answer")
    view.look_at(subject)
    return view


def _record(view: RecordView, subject: Node, table: tuple[Any, ...]) -> Record:
    fields = describe(view, subject, table)
    iri = lexical(subject)
    fields["uri"] = iri
    if "title" not in fields:
        fields["title"] = fields.get("identifier") or _last_segment(iri) or "Untitled"
        view.warn("title", f'the record has none; "{fields["title"]}" is used instead')
    keywords = view.of(subject).get(DCAT.keyword, [])
    words = {
        node: lexical(node) if isinstance(node, Literal) else label(view, node) for node in keywords
    }
    view.mark(subject, (DCAT.keyword,), [node for node in keywords if not words[node]])
    tags = set(words.values())
    translated = _tags_by_language(keywords)
    if any(translated):
        fields["tags_translated"] = translated
    return Record(fields=fields, tags=sorted(tags - {""}))


def _tags_by_language(keywords: list[Node]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for node in keywords:
        if isinstance(node, Literal) and (words := lexical(node)):
            found.setdefault((node.language or "").lower(), set()).add(words)
    return {language: sorted(words) for language, words in found.items()}


def _last_segment(iri: str) -> str:
    return iri.rstrip("/#").replace("#", "/").rpartition("/")[2]


def _distributions(view: RecordView, subject: Node) -> list[Node]:
    """The distributions that the graph describes; the others are a matter of a warning."""
    described = []
    view.mark(subject, (DCAT.distribution,))
    for node in view.of(subject).get(DCAT.distribution, ()):
        if view.of(node):
            described.append(node)
        else:
            view.warn("distribution", f"{lexical(node)} is not described; left out")
    return described


def _resource(view: RecordView, node: Node) -> dict[str, Any]:
    iri = lexical(node)
    view.look_at(node, f"distribution {iri}: " if iri else "distribution: ")
    resource = describe(view, node, mapping_tables.RESOURCE)
    resource["uri"] = iri
    resource["url"] = resource.get("download_url") or resource.get("access_url") or ""
    _add_format(resource, view, node)
    nodes = view.of(node).get(SPDX.checksum, [])
    checksums = mapping_tables.checksums(view, nodes, "checksum")
    if checksums:
        view.mark(node, (SPDX.checksum,))
        resource.update(checksums[0])
        for other in checksums[1:]:
            view.warn("hash", f'"{other.get("hash", "")[:80]}" is left out: there is room for one')
    return resource


def _add_format(resource: dict[str, Any], view: RecordView, node: Node) -> None:
    """Add format and media type, and warn of others that the distribution names."""
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
        if alone.format != found.format and alone.mimetype != found.mimetype:
            view.warn("format", f'"{name[:80]}" is left out beside {found.format}')


def _format_names(view: RecordView, node: Node, predicate: URIRef) -> list[str]:
    """Texts and IRIs first, then the names of nodes that have no IRI of their own."""
    nodes = view.of(node).get(predicate, [])
    words = {
        one: lexical(one) if isinstance(one, (Literal, URIRef)) else label(view, one)
        for one in nodes
    }
    view.mark(node, (predicate,), [one for one in nodes if not words[one]])
    named = [one for one in nodes if words[one]]
    return [
        words[one] for one in sorted(named, key=lambda one: (isinstance(one, BNode), words[one]))
    ]


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
