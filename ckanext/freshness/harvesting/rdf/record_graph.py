"""The graph of one record: its statements and those of its distributions, from all documents."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from rdflib import BNode, Graph, Literal, URIRef
from rdflib.namespace import RDF
from rdflib.term import Node

from ..messages import HarvestMessage, MessageCode
from ..record import Record
from .mapping import MappingError
from .parsing import DCAT, DocumentError, unlogged

log = logging.getLogger(__name__)

DATASET_TYPES = (DCAT.Dataset, DCAT.DatasetSeries)
"""The types of records that become datasets."""

# rdflib makes a new term at each access to a namespace.
_DISTRIBUTION, _TYPE = DCAT.distribution, RDF.type
_RECORD_TYPES = frozenset({*DATASET_TYPES, DCAT.Catalog})
_DEEPEST = 20
"""Levels of nested blank nodes that are compared by their contents."""
Mapper = Callable[[Graph, Node], Record]
Statements = list[tuple[Node, Node]]
"""Predicates and objects of a node."""


@unlogged()
def mapped(mapper: Mapper, graph: Graph, subject: Node) -> Record:
    """Map a graph to a record; set ``dcat_type`` if it is a dcat:DatasetSeries.

    :raises DocumentError: the graph cannot be mapped.
    """
    try:
        record = mapper(graph, subject)
        if (subject, RDF.type, DCAT.DatasetSeries) in graph:
            record.fields["dcat_type"] = str(DCAT.DatasetSeries)
        return record
    except MappingError as error:
        raise DocumentError(error.words) from error
    except Exception as error:
        # Profiles of other extensions may raise anything. That is an error of one record, and the
        # crawl goes on.
        log.exception("The record %s could not be mapped", subject)
        words = (
            "the record cannot be mapped: an unexpected error of the mapping or of a profile, which the "
            "log of the gather consumer names"
        )
        raise DocumentError(HarvestMessage(words, MessageCode.UNEXPECTED)) from error


def record_graph(
    graph: Graph,
    subject: Node,
    members: Collection[Node],
    parts: Sequence[tuple[Graph, Collection[Node]]] = (),
) -> Graph:
    """Return a graph with one record and its distributions.

    Many records are read from one page at the same time, so the page's graph is not changed: otherwise
    the result would depend on the order. Blank nodes are renamed when documents are merged, because
    their names are local to a document (RDF 1.1 Semantics, section 4.1).

    :param graph: a page or the record's own document; not changed.
    :param members: the record's distributions in that document. The document's list is ignored.
    :param parts: documents of this record's distributions, each with the record's distributions in it.
        The first of them is changed: everything is added to it.
    """
    own = Graph(store="SimpleMemory")
    mine: set[Node] = set()
    for index, (part, its_members) in enumerate(parts):
        if index == 0:
            own = part
            mine.update(its_members)
            continue
        names: dict[Node, BNode] = {}
        mine.update(_renamed(node, names) for node in its_members)
        for triple in part:
            own.add(tuple(_renamed(node, names) for node in triple))  # type: ignore[arg-type]
    own.remove((subject, DCAT.distribution, None))
    names = {}
    mine.update(_renamed(node, names) for node in members)
    for node in mine:
        own.add((subject, DCAT.distribution, node))
    for node, statements in descriptions(graph, subject, members).items():
        for predicate, value in statements:
            own.add((_renamed(node, names), predicate, _renamed(value, names)))
    return own


@unlogged()
def undescribed(iris: Iterable[str], graphs: Collection[Graph]) -> list[str]:
    """Return the IRIs that no graph describes."""
    return [iri for iri in iris if not any((URIRef(iri), None, None) in graph for graph in graphs)]


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
            names[node] = _hash(_plain(descriptions[node], names))
        pending = [node for node in pending if node not in names]
    others = [
        (str(node), _plain(statements, names))
        for node, statements in descriptions.items()
        if statements and node not in names
    ]
    return _hash([sorted(names.values()), sorted(others)])


def _plain(statements: Statements, names: Mapping[Node, str]) -> list[tuple[str, ...]]:
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


def _renamed(node: Node, names: dict[Node, BNode]) -> Node:
    return names.setdefault(node, BNode()) if isinstance(node, BNode) else node
