"""What one document of a catalogue says: its datasets with their identities, and further catalogs.

Identities are those of ckanext-dcat: a dataset's IRI; if it is a blank node, its ``dct:identifier``, or else
the IRI of a distribution. A document describes its datasets with their distributions. The IRIs of distributions
and services are not requested: they are often the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from rdflib import DCTERMS, RDF, BNode, Graph, Literal, URIRef
from rdflib.term import Node
from typing_extensions import Self

from ..listings import Page
from ..messages import HarvestMessage, MessageCode
from ..rdf.parsing import DCAT, DocumentError
from ..rdf.reader import MOST_BYTES, PageOutline, paging_of
from ..rdf.record_graph import DATASET_TYPES, descriptions, digest_of, undescribed


class Description(NamedTuple):
    """A dataset as a document describes it, in short."""

    digest: str
    """A hash of all statements."""
    size: int
    """Number of statements: the more of several descriptions counts."""
    is_blank: bool
    """The dataset is a blank node, so that another one with this identity is another dataset."""
    is_listed: bool
    """A catalog lists it, or the document has no such list. If not, another dataset may only mention it."""
    others: Sequence[str]
    """Further names of the dataset, each of which may have been its identity before."""


@dataclass(frozen=True, slots=True)
class CatalogueOutline(PageOutline):
    """A document of a catalogue."""

    records: dict[str, Description] = field(default_factory=dict)
    """The datasets that the document describes, by identity."""
    contested: list[str] = field(default_factory=list)
    """Identities that several different nodes have, so that they identify none of them."""
    shared: dict[str, list[str]] = field(default_factory=dict)
    """Titles in one language of a node that has several: RDF merges datasets with the same IRI."""
    undescribed: list[str] = field(default_factory=list)
    """Datasets that the document lists, or names with their type, and does not describe."""
    catalogs: list[str] = field(default_factory=list)
    """Catalogs that a catalog names."""
    filled: list[str] = field(default_factory=list)
    """Catalogs whose datasets the document lists. All others have documents of their own."""
    unidentified: int = 0
    """Number of datasets without an identity."""

    @property
    def page(self) -> Page:
        """Return what the document lists. Other datasets may only mention some that it describes."""
        listed = [*(one for one in self.records if self.records[one].is_listed), *self.contested]
        mentioned = (one for one in self.records if not self.records[one].is_listed)
        further = [*mentioned, *self.undescribed, *self.catalogs]
        length = len(listed) + self.unidentified + len(self.undescribed)
        is_list = bool(listed or further or self.unidentified)
        return Page(
            members=listed,
            further=further,
            nameless=self.unidentified,
            length=length,
            is_list=is_list,
        )

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Return the outline with these values of fields."""
        records = {identity: Description(*one) for identity, one in plain["records"].items()}
        # Most datasets have no other names: they share one empty tuple.
        few = {name: one._replace(others=()) for name, one in records.items() if not one.others}
        return cls(**{**plain, "records": records | few})


def outline_of_catalogue(graph: Graph) -> CatalogueOutline:
    """Return what a document of a catalogue lists.

    :raises DocumentError: it describes neither a dataset nor a catalog.
    """
    found = nodes_by_identity(graph)
    listed = {*graph.objects(None, DCAT.dataset)}
    named = {one for one in listed | _typed(graph) if not _is_described(graph, one)}
    catalogs = set(graph.subjects(RDF.type, DCAT.Catalog))
    paging = paging_of(graph)
    if not (found or named or catalogs or paging.totals):
        raise DocumentError(HarvestMessage(MessageCode.NO_DATASET, details="and no catalog"))
    unidentified = found.pop("", [])
    # A URL after a blank becomes a path with that blank: nobody knows which dataset is meant.
    undescribed = [iri for iri in _iris(named) if _is_usable(iri) and " " not in iri]
    records: dict[str, Description] = {}
    contested = []
    for identity, nodes in found.items():
        described = (
            _description(graph, node, is_listed=node in listed or not listed) for node in nodes
        )
        # Copies of one description are one dataset, which is listed if one of them is.
        different = {one.digest: one for one in sorted(described, key=attrgetter("is_listed"))}
        if len(different) == 1:
            (records[identity],) = different.values()
        else:
            contested.append(identity)
    return CatalogueOutline(
        **asdict(paging),
        records=records,
        contested=contested,
        shared={
            identity: titles
            for identity in records
            if (titles := _titles(graph, found[identity][0]))
        },
        undescribed=undescribed,
        catalogs=_iris(graph.objects(None, DCAT.catalog)),
        filled=_iris(graph.subjects(DCAT.dataset)),
        unidentified=len(unidentified) + len(named) - len(undescribed),
    )


def _titles(graph: Graph, dataset: Node) -> list[str]:
    """Return the titles of a dataset that has several in one language; none otherwise."""
    by_language: dict[str | None, set[str]] = {}
    for title in graph.objects(dataset, DCTERMS.title):
        by_language.setdefault(getattr(title, "language", None), set()).add(str(title))
    return next((sorted(titles) for titles in by_language.values() if len(titles) > 1), [])


def nodes_by_identity(graph: Graph) -> dict[str, list[Node]]:
    """Return the datasets that a document describes, by identity; "" has those without one."""
    nodes = {one for one in _typed(graph) if _is_described(graph, one)}
    nodes |= {one for one in graph.objects(None, DCAT.dataset) if _is_described(graph, one)}
    # Some catalogues are datasets, too.
    nodes -= {node for node in nodes if (node, DCAT.dataset, None) in graph}
    found: dict[str, list[Node]] = {}
    for node in nodes:
        found.setdefault(next(iter(_names(graph, node)), ""), []).append(node)
    return dict(sorted(found.items()))


def _typed(graph: Graph) -> set[Node]:
    return {node for kind in DATASET_TYPES for node in graph.subjects(RDF.type, kind)}


def _is_described(graph: Graph, node: Node) -> bool:
    """Return whether a document says more of a node than its type."""
    return any(predicate != RDF.type for predicate in graph.predicates(node))


def _iris(nodes: Iterable[Node]) -> list[str]:
    return sorted({str(node) for node in nodes if isinstance(node, URIRef)})


def _description(graph: Graph, dataset: Node, *, is_listed: bool) -> Description:
    """Describe a dataset with its distributions, including those that are only named."""
    found = descriptions(graph, dataset, distributions_of(graph, dataset))
    return Description(
        " ".join([digest_of(found), *sorted(named_distributions(graph, dataset))]),
        sum(map(len, found.values())),
        not isinstance(dataset, URIRef),
        is_listed,
        _names(graph, dataset)[1:],
    )


def _names(graph: Graph, node: Node) -> list[str]:
    """Return the names of a dataset; the first is its identity."""
    stated = sorted(
        str(one).strip()
        for one in graph.objects(node, DCTERMS.identifier)
        if not isinstance(one, BNode)  # its name is another one in each job
    )
    if isinstance(node, URIRef):
        names = [str(node), *stated] if _is_usable(node) else []
    else:
        names = stated + _iris(graph.objects(node, DCAT.distribution))
    return list(dict.fromkeys(filter(_is_usable, names)))


def _is_usable(identity: str) -> bool:
    return bool(identity) and identity.isprintable() and len(identity.encode()) <= MOST_BYTES


def distributions_of(graph: Graph, dataset: Node) -> set[Node]:
    """Return the nodes of a dataset's distributions."""
    return {
        one for one in graph.objects(dataset, DCAT.distribution) if not isinstance(one, Literal)
    }


def named_distributions(graph: Graph, dataset: Node) -> set[str]:
    """Return the IRIs of the distributions that a dataset names and that the document does not describe."""
    return {*undescribed(_iris(distributions_of(graph, dataset)), graph)}
