"""The fate of each triple of a recorded FAIR Data Point.

A triple is mapped if a field of its predicate holds its value. The marks of the mapping do not count.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rdflib import DCTERMS, RDF, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ckanext.freshness.dates import iso_date
from ckanext.freshness.harvesting.legal_values import split_keywords
from ckanext.freshness.harvesting.rdf import graph_values, mapping_tables
from ckanext.freshness.harvesting.rdf.graph_values import MappingRow, Nested
from ckanext.freshness.harvesting.rdf.mapping import file_format, map_catalog, map_dataset
from ckanext.freshness.harvesting.rdf.parsing import DCAT, LDP, SPDX, short
from ckanext.freshness.harvesting.record import Record
from ckanext.freshness.tests.harvesting.fdp.parsed import parse
from ckanext.freshness.tests.servers.replay import (
    FDP_EDITED,
    FDP_LOST_TYPE,
    FDP_RECORDING,
    FDP_RICH,
    FDP_TYPES,
    FDP_VERSION_2,
    load_recording,
)

BASE = "https://fdp.example.org"
RECORDINGS = {
    "recording": FDP_RECORDING,
    "edited": FDP_EDITED,
    "rich": FDP_RICH,
    "types": FDP_TYPES,
    "lost type": FDP_LOST_TYPE,
    "version 2": FDP_VERSION_2,
}

MAPPED, REPORTED, STRUCTURE, NOISE, LOST = "mapped", "reported", "structure", "noise", "lost"

Triple = tuple[Node, Node, Node]

_SERVER_NODES = {
    "#identifier": "the server's own number of its metadata, the record's URL",
    "#accessRights": "the same sentence for every record to which nobody gave access rights",
}
_PROFILES = (f"{BASE}/profile/", f"{BASE}/fdp-api/profiles/")
_OF_THE_SERVER = "the FAIR Data Point's description of itself: a harvest source has its own"
_METRICS = mapping_tables.SERVER_NOISE[URIRef("http://semanticscience.org/resource/SIO_000628")]
_PROFILE = "the profile, on the server itself, that its forms were checked against"
_CONTAINER = mapping_tables.STRUCTURE[LDP.contains]
_LEADING = (*mapping_tables.DISTRIBUTIONS, DCAT.accessService, DCAT.service)


class Recording:
    """A recording with its parsed documents and the fate of each triple."""

    def __init__(self, path: Path) -> None:
        plain = _here(load_recording(path))
        self.listed: dict[str, Any] = {k: v for k, v in plain.items() if k != "responses"}
        self.documents: dict[str, Graph] = {}
        self.pages: dict[str, Graph] = {}
        for url, answer in plain["responses"].items():
            if answer["status"] != 200 or "/profile/" in url:
                continue
            kind = self.pages if "/page/" in url else self.documents
            kind[url] = parse(answer["body"].encode(), "text/turtle", url)
        for url in list(filter(self._is_of_another_kind, self.documents)):
            del self.documents[url]
        self.records: dict[str, Record] = {}
        self.fates: dict[Triple, tuple[str, str]] = {}
        self._map_all()

    def _is_of_another_kind(self, url: str) -> bool:
        """Return whether a document describes a record that is not harvested, such as a biobank."""
        types = set(self.documents[url].objects(URIRef(url), RDF.type))
        is_listed = any(url in urls for urls in self.listed.values())
        return bool(types) and not is_listed and url.rstrip("/") != BASE

    def _is_recorded(self, url: str) -> bool:
        """Return whether there is a document of a record. If only a page describes it, take it from there."""
        for page in self.pages.values():
            if url not in self.documents and (URIRef(url), None, None) in page:
                self.documents[url] = _part(page, URIRef(url))
        return url in self.documents

    def _map_all(self) -> None:
        for url in (*self.listed["datasets"], *self.listed.get("series", ())):
            graph = self._merged(url)
            self.records[url] = record = map_dataset(graph, URIRef(url))
            self._follow(graph, URIRef(url), mapping_tables.DATASET, record)
        for url in self.listed["catalogs"]:
            graph = self._merged(url)
            self.records[url] = record = map_catalog(graph, URIRef(url))
            self._follow(graph, URIRef(url), mapping_tables.CATALOG, record)
        for url, graph in self.documents.items():
            for triple in graph:
                if triple not in self.fates:
                    self.fates[triple] = self._rest(graph, url, triple)

    def _merged(self, url: str) -> Graph:
        """Merge a record's document with those of its distributions and services, as the crawl does."""
        graph = Graph()
        pending, met = [url], set()
        while pending:
            one = pending.pop()
            if one in met or not self._is_recorded(one):
                continue
            met.add(one)
            graph += self.documents[one]
            for predicate in _LEADING:
                pending += map(str, self.documents[one].objects(URIRef(one), predicate))
        return graph

    def _follow(
        self, graph: Graph, subject: Node, table: Iterable[MappingRow], record: Record
    ) -> None:
        """Note the fate of each triple of a record."""
        walk = _Walk(graph, subject, record)
        for triple in walk.node(subject, table, [record.fields], ""):
            self._tell(*triple)

    def _tell(self, triple: Triple, fate: str, why: str) -> None:
        # A node that several records describe may be mapped in one and mentioned in another.
        ranks = (MAPPED, REPORTED, STRUCTURE, NOISE, LOST)
        before = self.fates.get(triple)
        if before is None or ranks.index(fate) < ranks.index(before[0]):
            self.fates[triple] = fate, why

    def _rest(self, graph: Graph, url: str, triple: Triple) -> tuple[str, str]:
        """Return the fate of a triple that no record leads to."""
        subject, predicate, _ = triple
        if (subject, RDF.type, LDP.DirectContainer) in graph:
            return STRUCTURE, _CONTAINER
        if url.rstrip("/") == BASE:
            return NOISE, _OF_THE_SERVER
        for end, reason in _SERVER_NODES.items():
            if str(subject).endswith(end):
                return NOISE, reason
        if "/metrics/" in str(subject):
            return NOISE, _METRICS
        if "/profile/" in str(subject):
            return NOISE, _PROFILE
        return LOST, short(str(predicate))

    def repeated_in_pages(self) -> Iterator[tuple[str, Triple]]:
        """Return the triples of pages that no record's own document has."""
        known = {_named(triple) for graph in self.documents.values() for triple in graph}
        for url, graph in self.pages.items():
            for triple in graph:
                if (triple[0], RDF.type, LDP.DirectContainer) not in graph and (
                    _named(triple) not in known
                ):
                    yield url, triple


def _part(page: Graph, record: Node) -> Graph:
    """Return a page's description of one record, without the other records."""
    part, pending = Graph(), [record]
    while pending:
        node = pending.pop()
        for triple in page.triples((node, None, None)):
            value = triple[2]
            own = isinstance(value, BNode) or str(value).startswith((f"{record}#", f"{record}/"))
            if own and (value, None, None) not in part:
                pending.append(value)
            part.add(triple)
    return part


class _Walk:
    """A walk through the graph of one record, by the tables."""

    def __init__(self, graph: Graph, subject: Node, record: Record) -> None:
        self.graph = graph
        self.subject = subject
        self.record = record
        self.warnings = "\n".join(record.warnings)

    def node(
        self, node: Node, table: Iterable[MappingRow], values: list[dict[str, Any]], path: str
    ) -> Iterator[tuple[Triple, str, str]]:
        """Return the fate of each triple of a node and of the nodes below it.

        :param values: the mapped values of the node, or of each node that it may be.
        """
        for _, predicate, value in self.graph.triples((node, None, None)):
            step = path + short(str(predicate))
            triple = (node, predicate, value)
            fate, why = self._fate(triple, table, values, step)
            yield triple, fate, why
            if fate in (MAPPED, REPORTED) and not isinstance(value, Literal):
                yield from self._below(value, predicate, table, values, f"{step}/")

    def _fate(
        self, triple: Triple, table: Iterable[MappingRow], values: list[dict[str, Any]], step: str
    ) -> tuple[str, str]:
        node, predicate, value = triple
        if predicate in mapping_tables.SERVER_NOISE:
            return NOISE, mapping_tables.SERVER_NOISE[predicate]
        for end, reason in _SERVER_NODES.items():
            if str(value) == f"{node}{end}":
                return NOISE, reason
        if predicate == DCTERMS.conformsTo and str(value).startswith(_PROFILES):
            return NOISE, _PROFILE
        if predicate == DCAT.distribution:
            is_there = any(one["uri"] == str(value) for one in self.record.resources)
            return (MAPPED, "") if is_there else self._reported(value, step)
        if self._holds(triple, table, values):
            return MAPPED, ""
        if predicate in mapping_tables.STRUCTURE:
            return STRUCTURE, mapping_tables.STRUCTURE[predicate]
        return self._reported(value, step)

    def _reported(self, value: Node, step: str) -> tuple[str, str]:
        words = self.graph.objects(value) if isinstance(value, BNode) else [value]
        is_named = any(str(one)[:80] in self.warnings for one in words)
        unmapped = self.record.unmapped
        # The label of a node is the example of what leads to it; a node without one has its properties named.
        is_example = unmapped.get(step.rpartition("/")[0]) == str(value)
        is_above = isinstance(value, BNode) and any(key.startswith(f"{step}/") for key in unmapped)
        is_reported = step in unmapped or is_named or is_example or is_above
        return (REPORTED if is_reported else LOST), step

    def _holds(
        self, triple: Triple, table: Iterable[MappingRow], values: list[dict[str, Any]]
    ) -> bool:
        """Return whether a field of the predicate has the value."""
        _, predicate, value = triple
        if predicate == DCAT.keyword:
            held: list[Any] = [self.record.tags, *(one.get("keyword") for one in values)]
        elif predicate in (DCTERMS.format, DCAT["format"], DCAT.mediaType):
            held = [one.get(key) for one in values for key in ("format", "mimetype")]
        elif predicate == SPDX.checksum:
            held = [one.get("hash") for one in values]
        else:
            keys = [row.key for row in table if predicate in _heads(row)]
            held = [one.get(f"{key}{end}") for one in values for key in keys for end in _ENDS]
        leaves = set(_leaves(held))
        if predicate == DCAT.keyword and (words := split_keywords(str(value))):
            return leaves.issuperset(words)
        if isinstance(value, BNode):
            below = self.graph.objects(value)
            return any(leaves & _forms(one) for one in below if not isinstance(one, BNode)) or any(
                leaves & _forms(one) for deeper in below for one in self.graph.objects(deeper)
            )
        return bool(leaves & _forms(value))

    def _below(
        self,
        node: Node,
        predicate: Node,
        table: Iterable[MappingRow],
        values: list[dict[str, Any]],
        path: str,
    ) -> Iterator[tuple[Triple, str, str]]:
        """Return the triples of a node that another node's triple leads to."""
        if predicate == DCAT.distribution:
            found = [one for one in self.record.resources if one["uri"] == str(node)]
            yield from self.node(node, mapping_tables.RESOURCE, found, path)
            return
        if predicate == SPDX.checksum:
            yield from self.node(node, mapping_tables.CHECKSUM, values, path)
            return
        if (node, RDF.type, DCAT.Dataset) in self.graph:
            return
        rows = [row for row in table if predicate in _heads(row)]
        held = [one.get(row.key) for one in values for row in rows]
        items = [item for value in held if isinstance(value, list) for item in value]
        nested = [row.read.table for row in rows if isinstance(row.read, Nested)]
        if nested:
            yield from self.node(
                node, nested[0], [one for one in items if isinstance(one, dict)], path
            )
            return
        leaves = set(_leaves(held))
        for _, inner, value in self.graph.triples((node, None, None)):
            triple = (node, inner, value)
            step = path + short(str(inner))
            if leaves & _forms(value):
                yield triple, MAPPED, ""
            elif inner in mapping_tables.STRUCTURE:
                yield triple, STRUCTURE, mapping_tables.STRUCTURE[inner]
            else:
                yield triple, *self._reported(value, step)
                if isinstance(value, BNode):
                    yield from self._below(value, inner, (), [], f"{step}/")


_ENDS = ("", "_translated")


def _heads(row: MappingRow) -> set[Node]:
    return {step[0] if isinstance(step, tuple) else step for step in row.predicates}


def _leaves(value: Any) -> Iterator[str]:
    """Return every text in plain data."""
    if isinstance(value, dict):
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    elif value is not None:
        yield str(value)


def _forms(node: Node) -> set[str]:
    """Return the texts that a value can have in a field."""
    text = str(node).strip()
    forms = {text, " ".join(text.split()), text.removeprefix("mailto:"), text.removeprefix("tel:")}
    found = file_format([text], [])
    forms |= {one for one in (iso_date(text), found.format, found.mimetype) if one}
    if isinstance(node, Literal):
        forms.add(graph_values.geojson(text) or text)
        if text[:1].isdigit():
            forms |= set(text.split("/"))  # a period in one text
            with contextlib.suppress(ValueError):
                forms.add(f"{float(text):.0f}")  # a whole number that is written as a decimal
    return forms


def _named(triple: Triple) -> tuple[str, ...]:
    return tuple("" if isinstance(node, BNode) else str(node) for node in triple)


def _here(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("{base}", BASE)
    if isinstance(value, list):
        return [_here(one) for one in value]
    if isinstance(value, dict):
        return {_here(key): _here(one) for key, one in value.items()}
    return value
