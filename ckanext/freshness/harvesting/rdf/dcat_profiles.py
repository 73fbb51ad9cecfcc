"""Mapping by ckanext-dcat's profiles, for sources whose configuration names ``profiles``.

ckanext-dcat's result depends on the order of a graph's triples, and contains facts of the harvesting site
(its home page, a licence found by its URL alone). This module gives it a graph with a fixed order and
turns the result into a record. Only this mapping needs CKAN's configuration.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any

from rdflib import DCTERMS as DCT
from rdflib import FOAF, RDF, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ..legal_values import clean, clean_all
from ..record import Record
from .graph_values import LONGEST_GEOMETRY, label, present_url, text_or_texts
from .parsing import DCAT, DocumentError
from .record_graph import RecordView, record_graph

GROUP = "ckan.rdf.profiles"
"""The group of entry points for profiles of ckanext-dcat and other extensions."""

_WKT = URIRef("http://www.opengis.net/ont/geosparql#wktLiteral")
MOST_TEXT = 8 * 1024 * 1024
"""Characters in a record's literals. For each million, ckanext-dcat takes 4 seconds and 40 MB."""
_SLOW = 10
"""How many characters each one of keywords and geometries counts for, which take that much longer."""

_INTERNAL = frozenset({"distribution_ref", "access_service_ref"})
_EMPTY: tuple[Any, ...] = (None, "", [], {})


def available() -> list[str]:
    """Return the names of the installed profiles."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def check(profiles: Sequence[str]) -> None:
    """Check that all profiles are installed.

    :raises ValueError: the message names the key and the allowed values.
    """
    names = available()
    if not names:
        raise ValueError(
            "profiles: these are parsers of ckanext-dcat, which is not installed; install it, or "
            'leave "profiles" out to use the mapping that comes with the harvester'
        )
    unknown = sorted(set(profiles) - set(names))
    if unknown:
        raise ValueError(f"profiles: unknown: {', '.join(unknown)}; known: {', '.join(names)}")


def map_with_profiles(
    graph: Graph,
    subject: Node,
    profiles: Sequence[str],
    *,
    language: str | None = None,
) -> Record:
    """Map a dataset by ckanext-dcat's profiles.

    :raises ValueError: a profile is not installed.
    :raises DocumentError: the graph does not describe the subject, or describes it at too great length.
    """
    check(profiles)
    view = RecordView(graph, language)
    if not view.properties(subject):
        raise DocumentError("the record is not described in the server's answer")
    view.start_record(subject)
    from ckanext.dcat.processors import RDFParser  # not installed on every site

    parser = RDFParser(profiles=list(profiles), dataset_type="dataset")
    parser.g = _only(graph, subject, view)
    _check_length(graph, subject)
    parsed = next(iter(parser.datasets()))
    names = {node: label(view, node) for node in graph.all_nodes() if isinstance(node, BNode)}
    canonical = _Canonical({str(node): name for node, name in names.items()})
    record = canonical.record(parsed)
    record.warnings = sorted(canonical.warnings)
    record.fields["uri"] = "" if isinstance(subject, BNode) else str(subject)
    if not view.properties(subject).get(FOAF.homepage):
        record.fields.pop("homepage", None)
    licence = text_or_texts(view, view.objects(subject, (DCT.license,)), "license")
    if licence:
        record.fields["license"] = licence
    return record


def _only(graph: Graph, subject: Node, view: RecordView) -> Graph:
    """Return a copy in which the subject is the only dataset, without what its server adds to records.

    Its triples are in the same order in each process, whatever Python's hash seed.
    """
    kept = []
    for s, p, o in graph:
        if (p == RDF.type and o == DCAT.Dataset) or (
            p == DCT.conformsTo and view.is_own_profile(str(o))
        ):
            continue
        if isinstance(o, Literal) and o.datatype == _WKT and len(o) > LONGEST_GEOMETRY:
            continue
        if str(o) not in (f"{s}#accessRights", f"{s}#identifier"):
            kept.append((_present(s), p, _present(o)))
    copy = Graph(store="SimpleMemory")  # it keeps the order
    for triple in sorted(kept, key=lambda triple: [_order(graph, node, 2) for node in triple]):
        copy.add(triple)
    copy.add((subject, RDF.type, DCAT.Dataset))
    return copy


def _order(graph: Graph, node: Node, depth: int) -> tuple[Any, ...]:
    """Return a sort key of a node; blank nodes are sorted by their properties."""
    if isinstance(node, Literal):
        return (0, str(node), node.language or "", str(node.datatype or ""))
    if isinstance(node, URIRef):
        return (1, str(node))
    if not depth:
        return (2,)
    about = graph.predicate_objects(node)
    return (2, *sorted((str(p), _order(graph, o, depth - 1)) for p, o in about))


def _present(node: Node) -> Node:
    return URIRef(present_url(str(node))) if isinstance(node, URIRef) else node


def _check_length(graph: Graph, subject: Node) -> None:
    """Refuse a record that would take too long.

    :raises DocumentError: its literals exceed the limit.
    """
    length = 0
    # The graph may be a page with many records.
    for _, predicate, value in record_graph(
        graph, subject, set(graph.objects(subject, DCAT.distribution))
    ):
        is_geometry = isinstance(value, Literal) and value.datatype == _WKT
        if isinstance(value, Literal) and not (is_geometry and len(value) > LONGEST_GEOMETRY):
            is_slow = is_geometry or predicate == DCAT.keyword
            length += len(value) * (_SLOW if is_slow else 1)
    if length > MOST_TEXT:
        raise DocumentError(f"the record has more than {MOST_TEXT:,} characters")


class _Canonical:
    """The conversion of ckanext-dcat's values to those of a record.

    Where ckanext-dcat expects a text and finds a blank node, it gives the node's name, which is another one in
    each job. The record gets the label of the node in its place.

    :ivar warnings: keys whose values were left out, because their nodes have no label
    """

    def __init__(self, labels: Mapping[str, str]) -> None:
        """
        :param labels: the labels of blank nodes, by the nodes' names; "" for those without.
        """
        self._labels = labels
        self.warnings: set[str] = set()

    def record(self, parsed: dict[str, Any]) -> Record:
        fields = {extra["key"]: extra["value"] for extra in parsed.get("extras", [])}
        fields.update(
            {
                key: value
                for key, value in parsed.items()
                if key not in ("extras", "tags", "resources")
            }
        )
        # ckanext-dcat finds it only by a distribution's exact licence URL; our layout accepts more spellings.
        fields.pop("license_id", None)
        resources = [self.value(resource, "resource") for resource in parsed.get("resources", [])]
        resources.sort(
            key=lambda r: (str(r.get("name", "")).casefold(), json.dumps(r, sort_keys=True))
        )
        tags = {self._named(tag["name"], "tags") for tag in parsed.get("tags", [])}
        return Record(self.value(fields, ""), resources, sorted(filter(None, tags)))

    def value(self, value: Any, path: str) -> Any:
        """Return a value with JSON texts parsed and lists sorted, without empty and internal values."""
        if isinstance(value, str):
            value = _opened(value)
        if isinstance(value, dict):
            items = {
                str(key): self.value(item, f"{path}.{key}".lstrip("."))
                for key, item in value.items()
                if key not in _INTERNAL
            }
            return clean_all({key: item for key, item in items.items() if item not in _EMPTY})
        if isinstance(value, list):
            items_of_list = [self.value(item, path) for item in value]
            kept = [item for item in items_of_list if item is not None]
            return sorted(kept, key=lambda item: json.dumps(item, sort_keys=True))
        return self._named(value, path) if isinstance(value, str) else value

    def _named(self, text: str, path: str) -> str | None:
        """Return a text, or the label in place of a blank node's name; None if the node has no label."""
        if text in self._labels and not self._labels[text]:
            self.warnings.add(f"{path}: a description without a name is left out")
        return clean(self._labels.get(text, text)) or None


def _opened(value: str) -> Any:
    """Parse a JSON list that ckanext-dcat wrote as text; return any other text, as GeoJSON, unchanged."""
    if not value.startswith("["):
        return value
    try:
        items = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return items if all(isinstance(item, (str, dict)) for item in items) else value
