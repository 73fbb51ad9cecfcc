"""From the RDF of one dataset or catalog to a `Record`: no network, no clock, nothing of CKAN's.

The same triples give the same record, whatever their order, their prefixes and the names of their blank
nodes. What a FAIR Data Point adds to every record by itself (metrics, its own metadata dates, profiles)
is left out, so that it changes no hash. Properties for which there is no field are named in the record's
``unmapped``.
"""

from __future__ import annotations

from typing import Any

from rdflib import DCTERMS as DCT
from rdflib import RDF, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ..legal_values import one_line
from ..record import Record, resource_order
from . import mapping_tables
from .formats import file_format
from .graph_values import RecordView, describe, is_made_by_server, label, lexical
from .namespaces import DCAT, SPDX, short

_OTHERS = frozenset({DCAT.Dataset, DCAT.Catalog, DCAT.DatasetSeries, DCAT.Distribution})
_RECORD_TYPES = _OTHERS | {DCAT.Resource}
_DISTRIBUTION = "dcat:distribution/"

__all__ = ["MappingError", "Record", "map_catalog", "map_dataset"]


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
