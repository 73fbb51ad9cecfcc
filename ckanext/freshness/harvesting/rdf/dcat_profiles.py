"""Mapping by ckanext-dcat's profiles, for sources whose configuration names ``profiles``.

ckanext-dcat's result depends on the order of a graph's triples, and contains facts of the harvesting site
(its home page, a licence found by its URL alone). This module gives it a graph with a fixed order and
turns the result into a record. Only this mapping needs CKAN's configuration.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any

from rdflib import DCTERMS as DCT
from rdflib import FOAF, RDF, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ..legal_values import clean, clean_all
from ..record import Record
from . import geometry
from .graph_values import label, present_url, text_or_texts
from .mapping import MappingError
from .parsing import DCAT, RecordView, short
from .record_graph import record_graph

GROUP = "ckan.rdf.profiles"
"""The group of entry points for profiles of ckanext-dcat and other extensions."""

_WKT = URIRef("http://www.opengis.net/ont/geosparql#wktLiteral")
_MIB = 1024 * 1024
MOST_TEXT = 8 * _MIB
"""Characters in a record's literals. For each million, ckanext-dcat takes 4 seconds and 40 MB."""
MOST_RETRIED = 64 * 1024
"""Characters in a record that is parsed again, once for each of its properties, if a profile fails."""
MOST_OF_KIND = {DCAT.keyword: 256 * 1024, _WKT: _MIB}
"""Characters in a record's keywords and in its geometries, which take ten times as long."""
_NAMES = {DCAT.keyword: "keywords", _WKT: "geometries"}

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
    :raises MappingError: the graph does not describe the subject, or describes it at too great length.
    """
    check(profiles)
    view = RecordView(graph, language)
    if not view.properties(subject):
        raise MappingError(str(subject), "the record is not described in the server's answer")
    view.start_record(subject)
    from ckanext.dcat.processors import RDFParser  # not installed on every site

    parser = RDFParser(profiles=list(profiles), dataset_type="dataset")
    parser.g = _only(graph, subject, view)
    lengths = _lengths(graph, subject)
    too_long = [kind for kind, most in MOST_OF_KIND.items() if lengths[kind] > most]
    if too_long:
        for triple in [triple for triple in parser.g if _kind(triple) in too_long]:
            parser.g.remove(triple)
    parsed, refused = _parsed(parser, may_retry=lengths.total() <= MOST_RETRIED)
    names = {node: label(view, node) for node in graph.all_nodes() if isinstance(node, BNode)}
    canonical = _Canonical({str(node): name for node, name in names.items()})
    record = canonical.record(parsed)
    record.warnings = [
        f"more than {MOST_OF_KIND[kind]:,} characters of {_NAMES[kind]}, which are left out"
        for kind in too_long
    ]
    record.warnings += [*refused, *sorted(canonical.warnings)]
    record.fields["uri"] = "" if isinstance(subject, BNode) else str(subject)
    if not view.properties(subject).get(FOAF.homepage):
        record.fields.pop("homepage", None)
    licence = text_or_texts(view, view.objects(subject, (DCT.license,)), "license")
    if licence:
        record.fields["license"] = licence
    return record


class _SteadyGraph(Graph):
    """A graph with the same order of triples in each process, whatever Python's hash seed."""

    def triples(self, triple: Any) -> Iterator[Any]:  # type: ignore[override]
        """Return the matching triples in sorted order; blank nodes are sorted by their properties."""
        found = list(super().triples(triple))
        if len(found) > 1:
            found.sort(key=lambda t: tuple(self._key(node, 2) for node in t))
        yield from found

    def _key(self, node: Node, depth: int) -> tuple[Any, ...]:
        if isinstance(node, Literal):
            return (0, str(node), node.language or "", str(node.datatype or ""))
        if isinstance(node, URIRef):
            return (1, str(node))
        if not depth:
            return (2,)
        about = super().triples((node, None, None))
        return (2, *sorted((str(p), self._key(o, depth - 1)) for _, p, o in about))


def _only(graph: Graph, subject: Node, view: RecordView) -> Graph:
    """Return a copy in which the subject is the only dataset, without what its server adds to records."""
    copy = _SteadyGraph()
    for s, p, o in graph:
        if (p == RDF.type and o == DCAT.Dataset) or (
            p == DCT.conformsTo and view.is_own_profile(str(o))
        ):
            continue
        if isinstance(o, Literal) and o.datatype == _WKT and len(o) > geometry.LONGEST:
            continue
        if str(o) not in (f"{s}#accessRights", f"{s}#identifier"):
            copy.add((_present(s), p, _present(o)))
    copy.add((subject, RDF.type, DCAT.Dataset))
    return copy


def _present(node: Node) -> Node:
    return URIRef(present_url(str(node))) if isinstance(node, URIRef) else node


def _kind(triple: tuple[Node, Node, Node]) -> Node:
    """Return the datatype or predicate of a triple, as a key for :data:`MOST_OF_KIND`."""
    _, predicate, value = triple
    return _WKT if isinstance(value, Literal) and value.datatype == _WKT else predicate


def _lengths(graph: Graph, subject: Node) -> Counter[Node]:
    """Return how many characters a record's literals have, by their kinds.

    :raises MappingError: the record exceeds the limit of all its text.
    """
    lengths: Counter[Node] = Counter()
    # The graph may be a page with many records.
    for triple in record_graph(graph, subject, set(graph.objects(subject, DCAT.distribution))):
        if isinstance(triple[2], Literal):
            lengths[_kind(triple)] += len(triple[2])
    if lengths.total() > MOST_TEXT:
        raise MappingError(str(subject), f"the record has more than {MOST_TEXT:,} characters")
    return lengths


def _parsed(parser: Any, *, may_retry: bool) -> tuple[dict[str, Any], list[str]]:
    """Return what ckanext-dcat makes of a graph, and a warning if a profile stumbles over one property.

    Profiles fail at values such as an infinite number. They do not say at which, so each property is left out
    in turn.
    """
    try:
        return next(iter(parser.datasets())), []
    except Exception:
        if not may_retry:
            raise
        for predicate in sorted(set(parser.g.predicates()) - {RDF.type, DCAT.distribution}):
            triples = list(parser.g.triples((None, predicate, None)))
            parser.g.remove((None, predicate, None))
            with contextlib.suppress(Exception):
                words = f"{short(str(predicate))}: a profile fails at one of its values; left out"
                return next(iter(parser.datasets())), [words]
            for triple in triples:
                parser.g.add(triple)
        raise


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
