"""RDF documents of FAIR Data Points: what a document says of its members.

Real servers share one container IRI among all documents (``<B/dataset/>`` stands in every catalog's
answer), so containers are read document by document, before anything is merged, and are told apart by
``ldp:membershipResource``.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields

from rdflib import BNode, Graph, Literal, URIRef
from rdflib.namespace import DCAT, DCTERMS, RDF
from rdflib.term import Node

from ...web.urls import display_url
from ..legal import brief
from .mapping import MappingError, Record
from .odd_terms import unlogged
from .parsing import DocumentError

log = logging.getLogger(__name__)

_FDP_O = ("https://w3id.org/fdp/fdp-o#", "http://rdf.biosemantics.org/ontologies/fdp-o#")
_LDP = "http://www.w3.org/ns/ldp#"
_CONTAINS = URIRef(_LDP + "contains")
_MEMBERSHIP_RESOURCE = URIRef(_LDP + "membershipResource")
_HAS_MEMBER_RELATION = URIRef(_LDP + "hasMemberRelation")
_R3D_CATALOG = URIRef("http://www.re3data.org/schema/3-0#dataCatalog")
_CATALOG_PREDICATES = (
    *(URIRef(base + "metadataCatalog") for base in _FDP_O),
    _R3D_CATALOG,
    DCAT.catalog,
)
_ROOT_TYPES = frozenset(
    URIRef(base + name)
    for base in _FDP_O
    for name in ("FAIRDataPoint", "FairDataPoint", "MetadataService")
) | {URIRef("http://www.re3data.org/schema/3-0#Repository")}

_MOST_BYTES = 1200
"""Longest URL of a record. Two of them make a guid, and an entry of PostgreSQL's index on guids has
2,704 bytes at most."""

_NEVER_IN_URLS = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")

Mapper = Callable[[Graph, Node], Record]


@dataclass(slots=True)
class Member:
    """What a document says of one dataset in it."""

    subject: str
    """The dataset's URL in the document; it may differ from the one under which it is listed."""
    digest: str
    """Hash of the dataset's own fields, distributions left out."""
    part_of: list[str] = field(default_factory=list)
    distributions: list[str] = field(default_factory=list)
    """Distributions that are named but not described here: each has a document of its own."""


@dataclass(slots=True)
class Outline:
    """All that a crawl needs of a document whose bytes are as they were: kept in place of parsing again."""

    subject: str | None = None
    """The root's or catalog's own URL in the document; it may differ from the one that was asked for."""
    is_catalog: bool = False
    catalogs: list[str] = field(default_factory=list)
    datasets: list[str] = field(default_factory=list)
    by_containers: bool = False
    """Its datasets are named by the container in its document alone, which pages do not have."""
    refused: list[str] = field(default_factory=list)
    """Datasets that it lists and nobody can ask for, without control characters."""
    refused_catalogs: list[str] = field(default_factory=list)
    """Catalogs of that kind."""
    members: dict[str, Member] = field(default_factory=dict)
    malformed: dict[str, str] = field(default_factory=dict)
    """Datasets in a page that cannot be mapped, and why."""

    def as_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def shape(cls) -> str:
        """Names of all that an outline holds: outlines of another shape are of another version."""
        return " ".join(one.name for kind in (cls, Member) for one in fields(kind))

    @classmethod
    def from_json(cls, text: str) -> Outline:
        plain = json.loads(text)
        plain["members"] = {url: Member(**one) for url, one in plain["members"].items()}
        return cls(**plain)


@unlogged()
def outline_of_container(graph: Graph, url: str, *, is_root: bool, final_url: str = "") -> Outline:
    """What the document of a root or a catalog lists.

    :param final_url: what answered, where that is another URL.
    :param is_root: it was asked for as the source itself, which may be a root or a catalog.
    :raises DocumentError: it does not describe what was asked for.
    """
    catalogs = set(graph.subjects(RDF.type, DCAT.Catalog))
    roots = {node for kind in _ROOT_TYPES for node in graph.subjects(RDF.type, kind)}
    roots |= {node for one in _CATALOG_PREDICATES[:3] for node in graph.subjects(one, None)}
    subject = (
        _named(roots | catalogs, url)
        or (is_root and len(roots) == 1 and _alias(roots))
        or _alias(catalogs, url, final_url)
    )
    if not subject:
        # A catalog's URL that leads to the root, as links that are gone often do, is no empty catalog.
        expected = "neither a FAIR Data Point nor a dcat:Catalog" if is_root else "no dcat:Catalog"
        raise DocumentError(f"it describes {expected}")
    below = _listed(graph, subject, _CATALOG_PREDICATES)
    datasets = _listed(graph, subject, (DCAT.dataset,))
    return Outline(
        subject=str(subject),
        is_catalog=subject in catalogs and subject not in roots,
        catalogs=list(filter(_can_be_asked_for, below)),
        datasets=list(filter(_can_be_asked_for, datasets)),
        by_containers=bool(datasets) and (subject, DCAT.dataset, None) not in graph,
        refused=_refused(datasets),
        refused_catalogs=_refused(below),
    )


@unlogged()
def outline_of_page(
    graph: Graph, listed_as: Callable[[str], str | None], mapper: Mapper
) -> Outline:
    """What a page of datasets says of each.

    :param listed_as: the URL under which the catalogs list what a document calls so: datasets that
        are only mentioned are no members.
    """
    outline = Outline()
    for node in sorted(_datasets(graph)):
        url = listed_as(str(node))
        if url is None and (node, DCTERMS.isPartOf, None) in graph:
            url = str(node)
        if url is None or url in outline.members:
            continue
        try:
            outline.members[url] = _member(graph, node, mapper)
        except DocumentError as error:
            outline.malformed[url] = str(error)
    return outline


@unlogged()
def outline_of_dataset(graph: Graph, url: str, mapper: Mapper, *, final_url: str = "") -> Outline:
    """What a dataset's own document says of it.

    :param final_url: what answered, where that is another URL.
    :raises DocumentError: it does not describe the dataset that was asked for as ``url``.
    """
    subjects = _datasets(graph)
    node = _named(subjects, url) or _alias(subjects, url, final_url)
    if node is None:
        several = len(subjects) > 1 and "several datasets, but not the one asked for"
        other = bool(subjects) and f"{display_url(str(min(subjects)))} instead"
        raise DocumentError(f"it describes {several or other or 'no dcat:Dataset'}")
    return Outline(members={url: _member(graph, node, mapper)})


@unlogged()
def mapped(mapper: Mapper, graph: Graph, subject: Node) -> Record:
    """The record that a graph holds.

    :raises DocumentError: it cannot be mapped.
    """
    try:
        return mapper(graph, subject)
    except MappingError as error:
        raise DocumentError(error.words) from error
    except Exception as error:
        # Profiles of other extensions are code that nobody here has seen: what they choke on is
        # one record's error, not the end of the crawl.
        log.exception("The record %s could not be mapped", subject)
        kind = type(error).__name__
        raise DocumentError(f"the record cannot be mapped ({kind}): {brief(error)}") from error


def record_graph(graph: Graph, subject: Node, parts: Sequence[Graph]) -> Graph:
    """A record and its distributions in a graph of their own.

    A page holds many records that are read at the same time: adding one's distributions to its graph
    would make what the others become depend on the order in which they are read. The names of blank
    nodes mean something within one document only, so they are changed when documents are merged
    (RDF 1.1 Semantics, section 4.1).

    :param graph: a page, or the record's own document; it stays as it is.
    :param parts: documents of the distributions, which belong to this record alone: all is added to
        the first.
    """
    own = parts[0] if parts else Graph()
    for part in parts[1:]:
        names: dict[Node, BNode] = {}
        for triple in part:
            own.add(tuple(_renamed(node, names) for node in triple))  # type: ignore[arg-type]
    # Whether the record names them, or only the container in its own document.
    for node in list(own.subjects(RDF.type, DCAT.Distribution)):
        own.add((subject, DCAT.distribution, node))
    names = {}
    pending, met = [subject], {subject}
    while pending:
        node = pending.pop()
        for predicate, value in graph.predicate_objects(node):
            own.add((_renamed(node, names), predicate, _renamed(value, names)))
            if not isinstance(value, Literal) and value not in met:
                met.add(value)
                if not _is_other_record(graph, value):
                    pending.append(value)
    return own


@unlogged()
def undescribed(iris: Iterable[str], graphs: Collection[Graph]) -> list[str]:
    """Those of some IRIs of which no graph says anything."""
    return [iri for iri in iris if not any((URIRef(iri), None, None) in graph for graph in graphs)]


def _is_other_record(graph: Graph, node: Node) -> bool:
    return any(kind in (DCAT.Dataset, DCAT.Catalog) for kind in graph.objects(node, RDF.type))


def _renamed(node: Node, names: dict[Node, BNode]) -> Node:
    return names.setdefault(node, BNode()) if isinstance(node, BNode) else node


def _datasets(graph: Graph) -> set[URIRef]:
    return {URIRef(one) for one in _iris(graph.subjects(RDF.type, DCAT.Dataset))}


def _member(graph: Graph, node: URIRef, mapper: Mapper) -> Member:
    distributions = _listed(graph, node, (DCAT.distribution,))
    return Member(
        subject=str(node),
        digest=mapped(mapper, graph, node).digest(),
        part_of=_iris(graph.objects(node, DCTERMS.isPartOf)),
        distributions=undescribed(filter(_can_be_asked_for, distributions), [graph]),
    )


def _named(candidates: Iterable[Node], url: str) -> URIRef | None:
    """The candidate that is ``url``, or differs from it by a trailing slash only."""
    iris = _iris(candidates)
    exact = next((iri for iri in iris if iri == url), None)
    named = exact or next((iri for iri in iris if iri.rstrip("/") == url.rstrip("/")), None)
    return None if named is None else URIRef(named)


def _alias(candidates: Iterable[Node], *asked: str) -> URIRef | None:
    """The one candidate, if it can be another name of what was asked for.

    Servers use a persistent URL that may differ from the requested one: another base with the same
    last part, or what a redirect led to. Anything else is another record, sent by accident, and must
    not be taken for this one.

    :param asked: the URLs that were asked for; none if any name will do.
    """
    iris = _iris(candidates)
    if len(iris) != 1:
        return None
    ends = {_end(url) for url in asked if url}
    return URIRef(iris[0]) if not asked or _end(iris[0]) in ends else None


def _end(url: str) -> str:
    return url.rstrip("/").rpartition("/")[2]


def _iris(nodes: Iterable[Node]) -> list[str]:
    """The IRIs among some nodes, sorted, without those that are nobody's URL."""
    found = {str(node) for node in nodes if isinstance(node, URIRef)}
    return sorted(filter(_can_be_asked_for, found))


def _can_be_asked_for(url: str) -> bool:
    return not _NEVER_IN_URLS.search(url) and len(url.encode()) <= _MOST_BYTES


def _refused(urls: Iterable[str]) -> list[str]:
    return [
        _NEVER_IN_URLS.sub(lambda one: f"%{ord(one[0]):02X}", url)
        for url in urls
        if not _can_be_asked_for(url)
    ]


def _listed(graph: Graph, subject: Node, predicates: Iterable[URIRef]) -> list[str]:
    """What a record lists, by its own predicates and by the containers embedded in its document.

    The union, and literals too where they hold a URL, since listing too much costs a request and
    listing too little could delete.
    """
    wanted = tuple(predicates)
    found = {one for predicate in wanted for one in graph.objects(subject, predicate)}
    for container in graph.subjects(_MEMBERSHIP_RESOURCE, subject):
        if graph.value(container, _HAS_MEMBER_RELATION) in wanted:
            found |= set(graph.objects(container, _CONTAINS))
    return sorted(
        {
            str(one)
            for one in found
            if isinstance(one, URIRef)
            or (isinstance(one, Literal) and str(one).startswith(("http://", "https://")))
        }
    )
