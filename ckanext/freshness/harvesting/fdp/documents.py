"""RDF documents of FAIR Data Points: what a document says of its members.

Real servers share one container IRI among all documents (``<B/dataset/>`` stands in every catalog's
answer), so containers are read document by document, before anything is merged. A page may merge the
containers of several records into one: a container says where records can be read, never whose they are.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from typing import Any

from rdflib import BNode, Graph, Literal, URIRef
from rdflib.namespace import DCTERMS, RDF
from rdflib.term import Node

from ...web.urls import display_url
from ..record import Record
from ..url_spelling import loose_spelling
from .mapping import MappingError
from .rdf import DCAT, DocumentError, unlogged

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

DATASET_TYPES = (DCAT.Dataset, DCAT.DatasetSeries)
"""The types of records that become datasets."""

_MOST_BYTES = 1200
"""Longest URL of a record. Two of them make a guid, and an entry of PostgreSQL's index on guids has
2,704 bytes at most."""

_NEVER_IN_URLS = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")

_DISTRIBUTION = DCAT.distribution
_RECORD_TYPES = frozenset({*DATASET_TYPES, DCAT.Catalog})

_DEEPEST = 20
"""Blank nodes within blank nodes whose names do not count."""

Mapper = Callable[[Graph, Node], Record]
Said = list[tuple[Node, Node]]
"""Predicates and objects of a node."""


@dataclass(slots=True)
class ListedDataset:
    """What a document says of one dataset in it."""

    subject: str
    """The dataset's URL in the document; it may differ from the one under which it is listed."""
    digest: str
    """Hash of all that the document says of the dataset: also of the distributions that it describes."""
    part_of: list[str] = field(default_factory=list)
    distributions: list[str] = field(default_factory=list)
    """Distributions that it names and that are not described here: each has a document of its own."""
    contained: list[str] = field(default_factory=list)
    """Further distributions that only a container lists for it. They may be other datasets'."""


@dataclass(slots=True)
class DocumentOutline:
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
    members: dict[str, ListedDataset] = field(default_factory=dict)

    def as_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def shape(cls) -> str:
        """Names of all that an outline holds: outlines of another shape are of another version."""
        return " ".join(one.name for kind in (cls, ListedDataset) for one in fields(kind))

    @classmethod
    def from_json(cls, text: str) -> DocumentOutline:
        plain = json.loads(text)
        plain["members"] = {url: ListedDataset(**one) for url, one in plain["members"].items()}
        return cls(**plain)


@unlogged()
def outline_of_container(
    graph: Graph, url: str, *, is_root: bool, final_url: str = ""
) -> DocumentOutline:
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
    return DocumentOutline(
        subject=str(subject),
        is_catalog=subject in catalogs and subject not in roots,
        catalogs=list(filter(_can_be_asked_for, below)),
        datasets=list(filter(_can_be_asked_for, datasets)),
        by_containers=bool(datasets) and (subject, DCAT.dataset, None) not in graph,
        refused=_refused(datasets),
        refused_catalogs=_refused(below),
    )


@unlogged()
def outline_of_page(graph: Graph) -> DocumentOutline:
    """Return what a page of datasets says of each, under the URLs that the page uses."""
    return DocumentOutline(
        members={str(node): _member(graph, node) for node in sorted(_datasets(graph))}
    )


@unlogged()
def outline_of_dataset(graph: Graph, url: str, *, final_url: str = "") -> DocumentOutline:
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
    return DocumentOutline(members={url: _member(graph, node)})


@unlogged()
def mapped(mapper: Mapper, graph: Graph, subject: Node) -> Record:
    """The record that a graph holds. That of a series says that it is one.

    :raises DocumentError: it cannot be mapped.
    """
    try:
        record = mapper(graph, subject)
        if (subject, RDF.type, DCAT.DatasetSeries) in graph:
            record.fields["dcat_type"] = str(DCAT.DatasetSeries)
        return record
    except MappingError as error:
        raise DocumentError(error.words) from error
    except Exception as error:
        # Profiles of other extensions are code that nobody here has seen: what they choke on is
        # one record's error, not the end of the crawl.
        log.exception("The record %s could not be mapped", subject)
        raise DocumentError(
            "the record cannot be mapped: an unexpected error of the mapping or of a profile, which the "
            "log of the gather consumer names"
        ) from error


def distributions_of(graph: Graph, dataset: Node) -> list[str]:
    """Return the URLs of the distributions that a dataset's dcat:distribution names."""
    return list(filter(_can_be_asked_for, _urls(graph.objects(dataset, DCAT.distribution))))


def distribution_of(graph: Graph, url: str, final_url: str) -> Node:
    """Return the distribution that the document of one describes.

    :param url: what was asked for.
    :param final_url: what answered.
    :raises DocumentError: it describes something else.
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
    """Return the distributions that a document describes, each with what its dct:isPartOf names."""
    return [
        (node, _iris(graph.objects(node, DCTERMS.isPartOf)))
        for node in sorted(set(graph.subjects(RDF.type, DCAT.Distribution)), key=str)
    ]


def distributions_inside(graph: Graph, dataset: Node) -> list[tuple[Node, list[str]]]:
    """Return the distributions that a dataset's own document describes for it, as above."""
    claiming = set(graph.subjects(DCTERMS.isPartOf, dataset))
    named = set(graph.objects(dataset, DCAT.distribution))
    return [
        (node, _iris(graph.objects(node, DCTERMS.isPartOf)))
        for node in sorted(claiming | named, key=str)
        if (node, RDF.type, DCAT.Distribution) in graph
        or (node in named and not isinstance(node, Literal) and (node, None, None) in graph)
    ]


def record_graph(
    graph: Graph,
    subject: Node,
    members: Collection[Node],
    parts: Sequence[tuple[Graph, Collection[Node]]] = (),
) -> Graph:
    """Return a record and its distributions in a graph of their own.

    A page holds many records that are read at the same time: adding one's distributions to its graph
    would make what the others become depend on the order in which they are read. The names of blank
    nodes mean something within one document only, so they are changed when documents are merged
    (RDF 1.1 Semantics, section 4.1).

    :param graph: a page, or the record's own document; it stays as it is.
    :param members: the record's distributions in that document. It gets no others of those that the
        document lists.
    :param parts: documents of distributions, which belong to this record alone, each with the record's
        distributions in it: all is added to the first.
    """
    own = Graph()
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
    for node, said in _said_of(graph, subject, members).items():
        for predicate, value in said:
            own.add((_renamed(node, names), predicate, _renamed(value, names)))
    return own


@unlogged()
def undescribed(iris: Iterable[str], graphs: Collection[Graph]) -> list[str]:
    """Those of some IRIs of which no graph says anything."""
    return [iri for iri in iris if not any((URIRef(iri), None, None) in graph for graph in graphs)]


def _said_of(graph: Graph, subject: Node, members: Iterable[Node]) -> dict[Node, Said]:
    """Return what a document says of a record, of some distributions, and of all that these lead to.

    Other records are left out, and so is the list of the record's distributions.
    """
    own = [subject, *members]
    found: dict[Node, Said] = {}
    pending = list(own)
    while pending:
        node = pending.pop()
        if node in found:
            continue
        said = list(graph.predicate_objects(node))
        if node == subject:
            said = [one for one in said if one[0] != _DISTRIBUTION]
        elif said and node not in own and _is_other_record(graph, node):
            continue
        found[node] = said
        pending += [value for _, value in said if not isinstance(value, Literal)]
    return found


def _is_other_record(graph: Graph, node: Node) -> bool:
    return not _RECORD_TYPES.isdisjoint(graph.objects(node, RDF.type))


def _digest(descriptions: Mapping[Node, Said]) -> str:
    """Return a hash of what is said of some nodes, the same whatever blank nodes are called.

    A blank node counts by what is said of it. If it is nested too deep, or leads back to itself, it counts
    by its name, which is another one each time: the hash is then never as last time.
    """
    names: dict[Node, str] = {}
    pending = [node for node in descriptions if isinstance(node, BNode)]
    for _ in range(_DEEPEST):
        ready = [node for node in pending if _is_named(descriptions[node], names)]
        if not ready:
            break
        for node in ready:
            names[node] = _hash(_plain(descriptions[node], names))
        pending = [node for node in pending if node not in names]
    others = [
        (str(node), _plain(said, names))
        for node, said in descriptions.items()
        if said and node not in names
    ]
    return _hash([sorted(names.values()), sorted(others)])


def _is_named(said: Said, names: Mapping[Node, str]) -> bool:
    return all(value in names for _, value in said if isinstance(value, BNode))


def _plain(said: Said, names: Mapping[Node, str]) -> list[tuple[str, ...]]:
    """Return what is said of a node as sorted texts.

    Four stand for a literal, three for a blank node, two for an IRI: none can be taken for another kind.
    """
    found: list[tuple[str, ...]] = []
    for predicate, value in said:
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


def _datasets(graph: Graph) -> set[URIRef]:
    """The datasets that a document describes; a series of datasets is one too."""
    nodes = {node for kind in DATASET_TYPES for node in graph.subjects(RDF.type, kind)}
    return {URIRef(one) for one in _iris(nodes)}


def _member(graph: Graph, node: URIRef) -> ListedDataset:
    named = _urls(graph.objects(node, DCAT.distribution))
    listed = _listed(graph, node, (DCAT.distribution,))
    inner = [one for one, _ in distributions_inside(graph, node)]
    return ListedDataset(
        subject=str(node),
        digest=_digest(_said_of(graph, node, inner)),
        part_of=_iris(graph.objects(node, DCTERMS.isPartOf)),
        distributions=undescribed(filter(_can_be_asked_for, named), [graph]),
        contained=undescribed(
            (one for one in listed if one not in named and _can_be_asked_for(one)), [graph]
        ),
    )


def _named(candidates: Iterable[Node], url: str) -> URIRef | None:
    """The candidate that is ``url``, or only another spelling of it."""
    iris = _iris(candidates)
    exact = next((iri for iri in iris if iri == url), None)
    plain = loose_spelling(url)
    named = exact or next((iri for iri in iris if loose_spelling(iri) == plain), None)
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
        if not set(wanted).isdisjoint(graph.objects(container, _HAS_MEMBER_RELATION)):
            found |= set(graph.objects(container, _CONTAINS))
    return _urls(found)


def _urls(nodes: Iterable[Node]) -> list[str]:
    """The IRIs among some nodes, and the literals that hold a URL, sorted."""
    return sorted(
        {
            str(one)
            for one in nodes
            if isinstance(one, URIRef)
            or (isinstance(one, Literal) and str(one).startswith(("http://", "https://")))
        }
    )
