"""RDF documents of FAIR Data Points: what they list, and what they say of each record.

Real servers use one container IRI in all documents (``<B/dataset/>`` is in every catalog's answer), so
containers are read from each document by itself, before graphs are merged. A page may merge the
containers of several records into one. A container therefore says where records can be read, and never
which record they belong to.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields

from rdflib import Graph, Literal, Namespace, URIRef
from rdflib.namespace import DCTERMS, RDF
from rdflib.term import Node

from ...web.urls import display_url
from ..messages import HarvestMessage, MessageCode
from ..record import loose_spelling
from .rdf import DCAT, FDP_O, LDP, DocumentError, unlogged
from .record_graph import DATASET_TYPES, descriptions, digest_of, undescribed

log = logging.getLogger(__name__)

_FDP_NAMESPACES = (FDP_O, Namespace("http://rdf.biosemantics.org/ontologies/fdp-o#"))
_R3D = Namespace("http://www.re3data.org/schema/3-0#")
_ROOT_TYPES = frozenset(
    namespace[name]
    for namespace in _FDP_NAMESPACES
    for name in ("FAIRDataPoint", "FairDataPoint", "MetadataService")
) | {_R3D.Repository}
_ROOT_PREDICATES = (*(space.metadataCatalog for space in _FDP_NAMESPACES), _R3D.dataCatalog)
"""Predicates by which roots, and only roots, list catalogs."""
_CATALOG_PREDICATES = (*_ROOT_PREDICATES, DCAT.catalog)

_MOST_BYTES = 1200
"""Longest URL of a record. A guid has two URLs, and PostgreSQL's index on guids takes 2,704 bytes."""

_NEVER_IN_URLS = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ListedDataset:
    """A dataset as a document describes it: a page, or the dataset's own document."""

    subject: str
    """The dataset's URL in the document, which may differ from the listed one."""
    digest: str
    """Hash of the dataset's description, with the distributions that the document describes."""
    part_of: list[str] = field(default_factory=list)
    distributions: list[str] = field(default_factory=list)
    """Distributions that the dataset names and that have documents of their own."""
    contained: list[str] = field(default_factory=list)
    """Distributions that only a container in the document lists. They may belong to other datasets."""


@dataclass(frozen=True, slots=True)
class DocumentOutline:
    """Everything a crawl needs from a document; kept so that unchanged bytes are not parsed again."""

    subject: str | None = None
    """The root's or catalog's URL in the document, which may differ from the requested one."""
    is_catalog: bool = False
    catalogs: list[str] = field(default_factory=list)
    datasets: list[str] = field(default_factory=list)
    by_containers: bool = False
    """Only the container in the document names the datasets; pages have no such container."""
    refused: list[str] = field(default_factory=list)
    """Listed datasets whose URLs cannot be requested; control characters are percent-encoded."""
    refused_catalogs: list[str] = field(default_factory=list)
    """Listed catalogs of that kind."""
    members: dict[str, ListedDataset] = field(default_factory=dict)

    def as_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def shape(cls) -> str:
        """Return the names of all fields. It is part of the digest, so a new version reads outlines anew."""
        return " ".join(field.name for kind in (cls, ListedDataset) for field in fields(kind))

    @classmethod
    def from_json(cls, text: str) -> DocumentOutline:
        plain = json.loads(text)
        plain["members"] = {url: ListedDataset(**item) for url, item in plain["members"].items()}
        return cls(**plain)


@unlogged()
def outline_of_container(
    graph: Graph, url: str, *, is_root: bool, final_url: str = ""
) -> DocumentOutline:
    """Return what the document of a root or a catalog lists.

    :param is_root: the URL is the source's own, which may be that of a root or of a catalog.
    :param final_url: the URL that answered, after redirects.
    :raises DocumentError: the document does not describe the requested container.
    """
    catalogs = set(graph.subjects(RDF.type, DCAT.Catalog))
    roots = {node for kind in _ROOT_TYPES for node in graph.subjects(RDF.type, kind)}
    roots |= {node for predicate in _ROOT_PREDICATES for node in graph.subjects(predicate)}
    subject = (
        _named(roots | catalogs, url)
        or (is_root and len(roots) == 1 and _alias(roots))
        or _alias(catalogs, url, final_url)
    )
    if not subject:
        # Servers often redirect a lost catalog to the root. It must not count as an empty catalog.
        if is_root:
            words = "it describes neither a FAIR Data Point nor a dcat:Catalog"
            raise DocumentError(HarvestMessage(words, MessageCode.NO_SOURCE))
        words = "it describes no dcat:Catalog"
        raise DocumentError(HarvestMessage(words, MessageCode.NO_CATALOG))
    below = _listed(graph, subject, _CATALOG_PREDICATES)
    datasets = _listed(graph, subject, (DCAT.dataset,))
    return DocumentOutline(
        subject=str(subject),
        is_catalog=subject in catalogs and subject not in roots,
        catalogs=list(filter(_is_requestable, below)),
        datasets=list(filter(_is_requestable, datasets)),
        by_containers=bool(datasets) and (subject, DCAT.dataset, None) not in graph,
        refused=_refused(datasets),
        refused_catalogs=_refused(below),
    )


@unlogged()
def outline_of_page(graph: Graph) -> DocumentOutline:
    """Return the datasets of a page, by the URLs that the page uses."""
    return DocumentOutline(
        members={str(node): _member(graph, node) for node in sorted(_datasets(graph))}
    )


@unlogged()
def outline_of_dataset(graph: Graph, url: str, *, final_url: str = "") -> DocumentOutline:
    """Return the outline of a dataset's own document.

    :param final_url: the URL that answered, after redirects.
    :raises DocumentError: the document does not describe the dataset of this URL.
    """
    subjects = _datasets(graph)
    node = _named(subjects, url) or _alias(subjects, url, final_url)
    if node is None:
        if not subjects:
            words = "it describes no dcat:Dataset"
            raise DocumentError(HarvestMessage(words, MessageCode.NO_DATASET))
        several = len(subjects) > 1 and "several datasets, but not the requested one"
        other = several or f"{display_url(str(min(subjects)))} instead"
        words = f"it describes {other}"
        raise DocumentError(HarvestMessage(words, MessageCode.DESCRIBES_ANOTHER))
    return DocumentOutline(members={url: _member(graph, node)})


def distributions_of(graph: Graph, dataset: Node) -> list[str]:
    """Return the URLs of the distributions that a dataset's dcat:distribution names."""
    return list(filter(_is_requestable, _urls(graph.objects(dataset, DCAT.distribution))))


def distribution_of(graph: Graph, url: str, final_url: str) -> Node:
    """Return the distribution that its own document describes.

    :param final_url: the URL that answered, after redirects.
    :raises DocumentError: the document describes something else.
    """
    found = set(graph.subjects(RDF.type, DCAT.Distribution))
    node = _named(found, url) or _alias(found, url, final_url)
    if node is None:
        other = min(_iris(found), default=None)
        raise DocumentError(
            f"it describes {display_url(other)} instead"
            if other
            else "it describes no dcat:Distribution"
        )
    return node


def distributions_in(graph: Graph) -> list[tuple[Node, list[str]]]:
    """Return the distributions that a document describes, each with the URLs in its dct:isPartOf."""
    return [
        (node, _iris(graph.objects(node, DCTERMS.isPartOf)))
        for node in sorted(set(graph.subjects(RDF.type, DCAT.Distribution)), key=str)
    ]


def distributions_inside(graph: Graph, dataset: Node) -> list[tuple[Node, list[str]]]:
    """Return the dataset's distributions in its own document, as :func:`distributions_in` does."""
    claiming = set(graph.subjects(DCTERMS.isPartOf, dataset))
    named = set(graph.objects(dataset, DCAT.distribution))
    return [
        (node, _iris(graph.objects(node, DCTERMS.isPartOf)))
        for node in sorted(claiming | named, key=str)
        if (node, RDF.type, DCAT.Distribution) in graph
        or (node in named and not isinstance(node, Literal) and (node, None, None) in graph)
    ]


def _datasets(graph: Graph) -> set[URIRef]:
    """Return the datasets and series of datasets that a document describes."""
    nodes = {node for kind in DATASET_TYPES for node in graph.subjects(RDF.type, kind)}
    return {URIRef(iri) for iri in _iris(nodes)}


def _member(graph: Graph, node: URIRef) -> ListedDataset:
    named = _urls(graph.objects(node, DCAT.distribution))
    listed = _listed(graph, node, (DCAT.distribution,))
    inner = [distribution for distribution, _ in distributions_inside(graph, node)]
    return ListedDataset(
        subject=str(node),
        digest=digest_of(descriptions(graph, node, inner)),
        part_of=_iris(graph.objects(node, DCTERMS.isPartOf)),
        distributions=undescribed(filter(_is_requestable, named), [graph]),
        contained=undescribed(
            (url for url in listed if url not in named and _is_requestable(url)), [graph]
        ),
    )


def _named(candidates: Iterable[Node], url: str) -> URIRef | None:
    """Return the candidate that equals the URL, else one that is another spelling of it.

    The only candidate that is a fragment of the URL is accepted, too.
    """
    iris = _iris(candidates)
    plain = loose_spelling(url)
    same = [iri for iri in iris if iri == url] or [
        iri for iri in iris if loose_spelling(iri) == plain
    ]
    inside = [iri for iri in iris if loose_spelling(iri.partition("#")[0]) == plain]
    found = same or (inside if len(inside) == 1 else [])
    return URIRef(found[0]) if found else None


def _alias(candidates: Iterable[Node], *requested: str) -> URIRef | None:
    """Return the only candidate, if it can be a persistent URL of the requested record.

    Such a URL has the last path segment of the requested URL or of the URL that answered, and the
    fragment of the requested URL, if there is one. Any other candidate is another record, which the
    server sent by accident.

    :param requested: the requested URLs; without any, every URL is accepted.
    """
    iris = _iris(candidates)
    if len(iris) != 1:
        return None
    fragment = "".join(url.partition("#")[2] for url in requested[:1])
    segments = {_last_segment(url) for url in requested if url}
    fits = _last_segment(iris[0]) in segments and fragment in ("", iris[0].partition("#")[2])
    return URIRef(iris[0]) if fits or not requested else None


def _last_segment(url: str) -> str:
    """Return the last path segment of a URL, without its fragment."""
    return url.partition("#")[0].rstrip("/").rpartition("/")[2]


def _iris(nodes: Iterable[Node]) -> list[str]:
    """Return the requestable IRIs among some nodes, sorted."""
    found = {str(node) for node in nodes if isinstance(node, URIRef)}
    return sorted(filter(_is_requestable, found))


def _is_requestable(url: str) -> bool:
    return not _NEVER_IN_URLS.search(url) and len(url.encode()) <= _MOST_BYTES


def _refused(urls: Iterable[str]) -> list[str]:
    return [
        _NEVER_IN_URLS.sub(lambda match: f"%{ord(match[0]):02X}", url)
        for url in urls
        if not _is_requestable(url)
    ]


def _listed(graph: Graph, subject: Node, predicates: Iterable[URIRef]) -> list[str]:
    """Return what a record lists, by its own predicates or by a container in its document.

    URLs in literals count too: an extra entry costs a request, a missing one could delete a dataset.
    """
    wanted = tuple(predicates)
    found = {value for predicate in wanted for value in graph.objects(subject, predicate)}
    for container in graph.subjects(LDP.membershipResource, subject):
        if not set(wanted).isdisjoint(graph.objects(container, LDP.hasMemberRelation)):
            found |= set(graph.objects(container, LDP.contains))
    return _urls(found)


def _urls(nodes: Iterable[Node]) -> list[str]:
    """Return the IRIs among some nodes, and the literals that are URLs, sorted."""
    return sorted(
        {
            str(node)
            for node in nodes
            if isinstance(node, URIRef)
            or (isinstance(node, Literal) and str(node).startswith(("http://", "https://")))
        }
    )
