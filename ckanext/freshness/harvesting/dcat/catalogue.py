"""What one document of a catalogue says: its datasets with their identities, and further catalogs.

Identities are those of ckanext-dcat: a dataset's IRI; if it is a blank node, its ``dct:identifier``, or else
the IRI of a distribution. A document describes its datasets with their distributions. The IRIs of distributions
and services are not requested: they are often the files.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from rdflib import DCTERMS, RDF, Graph, Literal, URIRef
from rdflib.term import Node

from ..messages import HarvestMessage, MessageCode
from ..rdf.paging import PageOutline, paging_of
from ..rdf.parsing import DCAT, DocumentError
from ..rdf.record_graph import DATASET_TYPES, descriptions, digest_of

_MOST_BYTES = 1200
"""Longest identity. A guid has the source's URL, too, and PostgreSQL's index on guids takes 2,704 bytes."""


@dataclass(frozen=True, slots=True)
class CatalogueOutline(PageOutline):
    """A document of a catalogue."""

    records: dict[str, str] = field(default_factory=dict)
    """By identity, the datasets that the document describes, each with a hash of its description."""
    contested: list[str] = field(default_factory=list)
    """Identities that several blank nodes have, so that they identify none of them."""
    undescribed: list[str] = field(default_factory=list)
    """Datasets that a catalog lists and that the document does not describe."""
    catalogs: list[str] = field(default_factory=list)
    """Catalogs that the document names and does not describe: they have documents of their own."""
    unidentified: int = 0
    """Number of datasets without an identity."""

    @property
    def identities(self) -> Sequence[str]:
        """Return the identities of the described datasets."""
        return [*self.records, *self.contested]

    @property
    def further(self) -> Sequence[str]:
        """Return what is listed, and described elsewhere."""
        return [*self.undescribed, *self.catalogs]

    @property
    def nameless(self) -> int:
        """Return the number of datasets without an identity."""
        return self.unidentified


def outline_of_catalogue(graph: Graph) -> CatalogueOutline:
    """Return what a document of a catalogue lists.

    :raises DocumentError: it describes neither a dataset nor a catalog.
    """
    found = nodes_by_identity(graph)
    catalogs = set(graph.subjects(RDF.type, DCAT.Catalog))
    paging = paging_of(graph)
    if not found and not catalogs and paging.total is None:
        words = "it describes no dcat:Catalog and no dcat:Dataset"
        raise DocumentError(HarvestMessage(words, MessageCode.NO_CATALOG))
    listed = {*graph.objects(None, DCAT.dataset)}
    below = {*graph.objects(None, DCAT.catalog)} - catalogs
    unidentified = found.pop("", [])
    return CatalogueOutline(
        next_pages=paging.next_pages,
        last_pages=paging.last_pages,
        total=paging.total,
        records={
            identity: _digest(graph, node)
            for identity, (node, *others) in found.items()
            if not others
        },
        contested=sorted(identity for identity, nodes in found.items() if len(nodes) > 1),
        undescribed=sorted(str(one) for one in listed if is_only_named(graph, one)),
        catalogs=sorted(str(one) for one in below if is_only_named(graph, one)),
        unidentified=len(unidentified) + sum(isinstance(one, Literal) for one in listed),
    )


def nodes_by_identity(graph: Graph) -> dict[str, list[Node]]:
    """Return the datasets that a document describes, by identity; "" has those without one."""
    nodes = {node for kind in DATASET_TYPES for node in graph.subjects(RDF.type, kind)}
    nodes |= {one for one in graph.objects(None, DCAT.dataset) if (one, None, None) in graph}
    # Some catalogues are datasets, too.
    nodes -= {node for node in nodes if (node, DCAT.dataset, None) in graph}
    found: dict[str, list[Node]] = {}
    for node in nodes:
        found.setdefault(_identity(graph, node), []).append(node)
    return dict(sorted(found.items()))


def _digest(graph: Graph, dataset: Node) -> str:
    """Return a hash of a dataset with its distributions, including those that are only named."""
    digest = digest_of(descriptions(graph, dataset, distributions_of(graph, dataset)))
    return " ".join([digest, *sorted(named_distributions(graph, dataset))])


def _identity(graph: Graph, node: Node) -> str:
    candidates: list[str] = []
    if isinstance(node, URIRef):
        candidates = [str(node)]
    else:
        stated = sorted(str(one).strip() for one in graph.objects(node, DCTERMS.identifier))
        distributions = graph.objects(node, DCAT.distribution)
        candidates = stated + sorted(str(one) for one in distributions if isinstance(one, URIRef))
    return next(filter(_is_usable, candidates), "")


def _is_usable(identity: str) -> bool:
    return bool(identity) and identity.isprintable() and len(identity.encode()) <= _MOST_BYTES


def is_only_named(graph: Graph, node: Node) -> bool:
    """Return whether a document names an IRI without describing it."""
    return isinstance(node, URIRef) and (node, None, None) not in graph


def distributions_of(graph: Graph, dataset: Node) -> set[Node]:
    """Return the nodes of a dataset's distributions."""
    return {
        one for one in graph.objects(dataset, DCAT.distribution) if not isinstance(one, Literal)
    }


def named_distributions(graph: Graph, dataset: Node) -> set[str]:
    """Return the IRIs of the distributions that a dataset names and that the document does not describe."""
    return {str(one) for one in distributions_of(graph, dataset) if is_only_named(graph, one)}


def graph_of(graph: Graph, dataset: Node) -> Graph:
    """Return a graph of one dataset with its distributions and all nodes they lead to."""
    members: Collection[Node] = distributions_of(graph, dataset)
    own = Graph(store="SimpleMemory")
    for node, statements in descriptions(graph, dataset, members).items():
        for predicate, value in statements:
            own.add((node, predicate, value))
    for member in members:
        own.add((dataset, DCAT.distribution, member))
    return own
