"""From the RDF of one dataset or catalog to a `Record`: no network, no clock, nothing of CKAN's.

The same triples give the same record, whatever their order, their prefixes and the names of their blank
nodes. What a FAIR Data Point adds to every record by itself (metrics, its own metadata dates, profiles)
is left out, so that it changes no hash.
"""

from __future__ import annotations

import json
from typing import Any

from rdflib import DCTERMS as DCT
from rdflib import RDF, Graph, Literal, URIRef
from rdflib.term import Node

from ..record import Record
from . import tables
from .formats import file_format
from .namespaces import DCAT, SPDX
from .values import View, describe, label, lexical

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
    `ckanext.freshness.harvesting.fdp.tables`.

    Raises MappingError if the subject has no type in the graph.
    """
    view = _view(graph, subject, language)
    record = _record(view, subject, tables.DATASET)
    resources = [_resource(view, node) for node in _distributions(view, subject)]
    record.resources = sorted(resources, key=_resource_order)
    record.warnings = sorted(set(view.warnings))
    return record


def map_catalog(graph: Graph, subject: Node, *, language: str | None = None) -> Record:
    """The record of a catalog, without the datasets in it.

    Raises MappingError if the subject has no type in the graph.
    """
    view = _view(graph, subject, language)
    record = _record(view, subject, tables.CATALOG)
    record.warnings = sorted(set(view.warnings))
    return record


def _view(graph: Graph, subject: Node, language: str | None) -> View:
    view = View(graph, language)
    if RDF.type not in view.of(subject):
        words = "is described without a type" if view.of(subject) else "is not described at all"
        raise MappingError(str(subject), f"the record {words} in the server's answer")
    view.look_at(subject)
    return view


def _record(view: View, subject: Node, table: tuple[Any, ...]) -> Record:
    fields = describe(view, subject, table)
    iri = lexical(subject)
    fields["uri"] = iri
    if "title" not in fields:
        fields["title"] = fields.get("identifier") or _last_segment(iri) or "Untitled"
        view.warn("title", f'the record has none; "{fields["title"]}" is used instead')
    keywords = view.of(subject).get(DCAT.keyword, [])
    tags = {lexical(node) if isinstance(node, Literal) else label(view, node) for node in keywords}
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


def _distributions(view: View, subject: Node) -> list[Node]:
    """The distributions that the graph describes; the others are a matter of a warning."""
    described = []
    for node in view.of(subject).get(DCAT.distribution, ()):
        if view.of(node):
            described.append(node)
        else:
            view.warn("distribution", f"{lexical(node)} is not described; left out")
    return described


def _resource(view: View, node: Node) -> dict[str, Any]:
    iri = lexical(node)
    view.look_at(node, f"distribution {iri}: " if iri else "distribution: ")
    resource = describe(view, node, tables.RESOURCE)
    resource["uri"] = iri
    resource["url"] = resource.get("download_url") or resource.get("access_url") or ""
    known = view.of(node)
    fmt = file_format(
        _format_names(view, known.get(DCT.format, [])),
        _format_names(view, known.get(DCAT.mediaType, [])),
    )
    if fmt.format:
        resource["format"] = fmt.format
    if fmt.mimetype:
        resource["mimetype"] = fmt.mimetype
    checksums = tables.checksums(view, known.get(SPDX.checksum, []), "checksum")
    if checksums:
        resource.update(checksums[0])
    return resource


def _format_names(view: View, nodes: list[Node]) -> list[str]:
    """Texts and IRIs first, then the names of nodes that have no IRI of their own."""
    words = sorted(lexical(node) for node in nodes)
    labels = sorted(label(view, node) for node in nodes if not isinstance(node, (Literal, URIRef)))
    return [name for name in [*words, *labels] if name]


def _resource_order(resource: dict[str, Any]) -> tuple[str, str, str]:
    """By name, since that is what people see; the rest makes the order the same each time."""
    name = str(resource.get("name", ""))
    return name.casefold(), str(resource["uri"]), json.dumps(resource, sort_keys=True)
