"""The graph of one record with its distributions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from rdflib import DCTERMS, FOAF, RDF, RDFS, SKOS, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ...web.urls import loose_spelling
from .parsing import DCAT, VCARD

DATASET_TYPES = (DCAT.Dataset, DCAT.DatasetSeries)
"""The types of records that become datasets."""

# rdflib makes a new term at each access to a namespace.
_DISTRIBUTION, _TYPE = DCAT.distribution, RDF.type
_RECORD_TYPES = frozenset({*DATASET_TYPES, DCAT.Catalog})
_DEEPEST = 20
"""Levels of nested blank nodes that are compared by their contents."""
_LABELS = (
    *(RDFS.label, SKOS.prefLabel, DCTERMS.title, FOAF.name, VCARD.fn),
    *(DCTERMS.description, SKOS.notation, RDF.value, DCTERMS.identifier),
)
"""Properties that name a node without an IRI, the best first."""
_MADE_BY_SERVER = ("#identifier", "#accessRights")
"""Ends of the IRIs that the reference implementation adds to every record."""
_PROFILE = re.compile("/profile/|/fdp-api/profiles/")
Statements = list[tuple[Node, Node]]
"""Predicates and objects of a node."""


def is_profile_of_server(record: str, iri: str) -> bool:
    """Return whether an IRI is a profile (SHACL shapes) on a record's own server."""
    server, *profile = _PROFILE.split(iri, maxsplit=1)
    return bool(profile) and record.startswith(f"{server}/")


def describes(graph: Graph, url: str) -> bool:
    """Return whether a document states anything of a URL, in any spelling of it.

    Lists do not count. Where a server answers each request with its catalogue, relative IRIs make every URL a
    catalogue.
    """
    spelled = loose_spelling(url)
    return any(
        loose_spelling(str(node)) == spelled and (node, DCAT.dataset, None) not in graph
        for node in set(graph.subjects())
    )


def is_made_by_server(node: Node, value: Node) -> bool:
    """Return whether an object is one that the reference implementation adds to every record."""
    return (
        isinstance(value, URIRef)
        and value.endswith(_MADE_BY_SERVER)
        and value.rpartition("#")[0] == str(node)
    )


def label_of(graph: Graph, node: Node) -> str:
    """Return the text or the IRI by which a graph names a node; "" if there is none."""
    labels = (one for label in _LABELS for one in graph.objects(node, label))
    return next((str(one) for one in labels if not isinstance(one, BNode)), "")


def record_graph(
    graph: Graph,
    subject: Node,
    members: Iterable[Node],
    parts: Iterable[tuple[Graph, Iterable[Node]]],
) -> Graph:
    """Return a graph with one record and its distributions, which several documents describe.

    No two documents have the same blank node (:func:`.parsing.graph_of`).

    :param graph: the record's own document; not changed.
    :param members: the record's distributions in that document. The document's list is ignored.
    :param parts: documents of this record's distributions, each with the record's distributions in it.
    """
    own, mine = Graph(store="SimpleMemory"), {*members}
    for part, its_members in parts:
        own += part
        mine.update(its_members)
    own.remove((subject, DCAT.distribution, None))
    for node, statements in descriptions(graph, subject, members).items():
        for predicate, value in statements:
            own.add((node, predicate, value))
    for node in mine:
        own.add((subject, DCAT.distribution, node))
    return own


def undescribed(iris: Iterable[str], graph: Graph) -> list[str]:
    """Return the IRIs that a document names, and does not describe."""
    return [iri for iri in iris if (URIRef(iri), None, None) not in graph]


def descriptions(graph: Graph, subject: Node, members: Iterable[Node]) -> dict[Node, Statements]:
    """Return the statements about a record, about distributions, and about all nodes they lead to.

    Other records are left out, and so is the record's dcat:distribution.
    """
    own = [subject, *members]
    found: dict[Node, Statements] = {}
    pending = list(own)
    while pending:
        node = pending.pop()
        if node in found:
            continue
        statements = list(graph.predicate_objects(node))
        if node == subject:
            statements = [(step, value) for step, value in statements if step != _DISTRIBUTION]
        elif node not in own and any(
            step == _TYPE and value in _RECORD_TYPES for step, value in statements
        ):
            continue
        found[node] = statements
        pending += [value for _, value in statements if not isinstance(value, Literal)]
    return found


def digest_of(descriptions: Mapping[Node, Statements]) -> str:
    """Return a hash of statements about nodes that does not depend on the names of blank nodes.

    A blank node is hashed by its statements. If it is nested too deep, or leads back to itself, it is
    hashed by its name, which differs each time. The record is then read anew in each job.
    """
    names: dict[Node, str] = {}
    pending = [node for node in descriptions if isinstance(node, BNode)]
    for _ in range(_DEEPEST):
        ready = [
            node
            for node in pending
            if all(value in names for _, value in descriptions[node] if isinstance(value, BNode))
        ]
        if not ready:
            break
        for node in ready:
            names[node] = _hash(_texts(descriptions[node], names))
        pending = [node for node in pending if node not in names]
    others = [
        (str(node), _texts(statements, names))
        for node, statements in descriptions.items()
        if statements and node not in names
    ]
    return _hash([sorted(names.values()), sorted(others)])


def _texts(statements: Statements, names: Mapping[Node, str]) -> list[tuple[str, ...]]:
    """Return a node's statements as sorted tuples of texts.

    A literal gives four texts, a blank node three, an IRI two, so that no two kinds can be equal.
    """
    found: list[tuple[str, ...]] = []
    for predicate, value in statements:
        if isinstance(value, Literal):
            found.append(
                (str(predicate), str(value), value.language or "", str(value.datatype or ""))
            )
        elif isinstance(value, BNode):
            found.append((str(predicate), names.get(value, str(value)), ""))
        else:
            found.append((str(predicate), str(value)))
    return sorted(found)


def _hash(texts: list[Any]) -> str:
    return sha256(repr(texts).encode()).hexdigest()
