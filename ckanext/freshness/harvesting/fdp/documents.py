"""RDF documents of FAIR Data Points: what they list, and what they say of each record.

Real servers use one container IRI in all documents (``<B/dataset/>`` is in every catalog's answer), so
containers are read from each document by itself, before graphs are merged. A page may merge the
containers of several records into one. A container therefore says where records can be read, and never
which record they belong to.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from rdflib import BNode, Graph, Literal, Namespace, URIRef
from rdflib.namespace import DCTERMS, RDF
from rdflib.term import Node

from ...web.urls import display_url, loose_spelling
from ..listings import Page
from ..messages import HarvestMessage, MessageCode
from ..rdf.parsing import ADMS, DCAT, FDP_O, HEALTHDCATAP, LDP, DocumentError
from ..rdf.reader import MOST_BYTES, PageOutline, paging_of
from ..rdf.record_graph import DATASET_TYPES, descriptions, digest_of, undescribed

_FDP_NAMESPACES = (FDP_O, Namespace("http://rdf.biosemantics.org/ontologies/fdp-o#"))
_R3D = Namespace("http://www.re3data.org/schema/3-0#")
_ROOT_TYPES = frozenset(
    namespace[name]
    for namespace in _FDP_NAMESPACES
    for name in ("FAIRDataPoint", "FairDataPoint", "MetadataService")
) | {_R3D.Repository}
_ROOT_PREDICATES = (
    *(space[name] for space in _FDP_NAMESPACES for name in ("metadataCatalog", "servesMetadata")),
    _R3D.dataCatalog,
)
"""Predicates by which roots, and only roots, list catalogs."""
_CATALOG_PREDICATES = (*_ROOT_PREDICATES, DCAT.catalog)
_LIST_PREDICATES = (*_CATALOG_PREDICATES, DCAT.dataset)
_PART_PREDICATES = (DCTERMS.hasPart, DCAT.resource)
"""Predicates by which records list others of any type."""
SERIES_PREDICATES = (DCAT.inSeries, URIRef(f"{DCTERMS}inSeries"))
"""Health-RI's older configurations have the second one, which no vocabulary knows."""
_PARTS_OF_RECORDS = frozenset(
    {
        *(DCAT.distribution, DCAT.service, DCAT.accessService, DCTERMS.isPartOf),
        *(ADMS.sample, HEALTHDCATAP.analytics),
    }
)
"""Relations of containers whose members are parts of a record, and lead to no further datasets."""
_LEAVES = (DCAT.Dataset, DCAT.DatasetSeries, DCAT.Distribution, DCAT.DataService)
_GENERIC_TYPES = (str(LDP), str(DCAT) + "Resource")

_NEVER_IN_URLS = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_URL_AFTER_BLANK = re.compile(" https?://")
"""In an IRI that was a URL after a blank: it was read as a path relative to the document."""


@dataclass(frozen=True, slots=True)
class ListedDataset:
    """A dataset as a document describes it."""

    subject: str
    """The dataset's URL in the document, which may differ from the listed one."""
    digest: str
    """Hash of the dataset's description, with the distributions that the document describes."""
    part_of: list[str] = field(default_factory=list)
    distributions: list[str] = field(default_factory=list)
    """Distributions with documents of their own: those that the dataset names. If it names none, those that a
    container in the document lists, which may belong to other datasets."""
    names_distributions: bool = False
    """It names distributions itself."""
    series: list[str] = field(default_factory=list)
    """Series that the dataset is in."""
    parts: list[str] = field(default_factory=list)
    """Records of any other type that a container of the dataset lists."""
    is_catalog: bool = False
    """It is a dcat:Catalog as well, with a list of its own."""


@dataclass(frozen=True, slots=True)
class DocumentOutline(PageOutline):
    """Everything a crawl needs from a document; kept so that unchanged bytes are not parsed again."""

    subject: str | None = None
    """The container's URL in the document, which may differ from the requested one."""
    is_catalog: bool = False
    type_name: str = ""
    """The container's type, if it is neither a root nor a catalog."""
    catalogs: list[str] = field(default_factory=list)
    datasets: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    """Listed records of other types, or of a type that only their own document tells."""
    services: int = 0
    nameless: int = 0
    """Number of listed catalogs and datasets without a URL that can be requested."""
    states_list: bool = False
    """The document has a list of records, which may be empty."""
    member: ListedDataset | None = None
    """The dataset that the document describes, if it is that of a dataset."""

    @property
    def page(self) -> Page:
        """Return what the document lists: pages have so many members, of whatever kinds."""
        further = [*self.catalogs, *self.parts]
        length = len(self.datasets) + len(further) + self.nameless
        return Page(
            members=self.datasets,
            further=further,
            others=self.services,
            nameless=self.nameless,
            length=length + self.services,
            is_list=self.states_list or length > 0,
        )

    @classmethod
    def field_names(cls) -> str:
        """Return the names of all fields, with those of a dataset."""
        return " ".join(field.name for kind in (cls, ListedDataset) for field in fields(kind))

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> DocumentOutline:
        """Return the outline with these values of fields."""
        member = plain["member"]
        return cls(**{**plain, "member": ListedDataset(**member) if member else None})


def outline_of_container(
    graph: Graph, url: str, *, is_root: bool, is_part: bool = False, final_url: str = ""
) -> DocumentOutline:
    """Return what the document of a root, a catalog or any other record lists.

    :param is_root: the URL is the source's own, which may be that of a root, a catalog, or another record with
        a list.
    :param is_part: it may be the URL of a record of any type. If that is a dataset, the outline has only
        this member.
    :param final_url: the URL that answered, after redirects.
    :raises DocumentError: the document does not describe the requested record.
    """
    catalogs = set(graph.subjects(RDF.type, DCAT.Catalog))
    roots = {node for kind in _ROOT_TYPES for node in graph.subjects(RDF.type, kind)}
    roots |= {node for predicate in _ROOT_PREDICATES for node in graph.subjects(predicate)}
    subject = (
        _named(roots | catalogs, url)
        or (is_root and len(roots) == 1 and _alias(roots))
        or _alias(catalogs, url, final_url)
    )
    if not subject and is_part:
        described = _datasets(graph)
        dataset = _named(described, url) or _alias(described, url, final_url)
        if dataset:
            return DocumentOutline(subject=str(dataset), member=_member(graph, dataset))
    if not subject:
        # An administrator may put any type between catalog and dataset, and servers lose types.
        holders = _with_lists(graph) - roots
        subject = _named(holders, url) or _alias(holders, url, final_url)
    if not subject and is_part:
        subject = _named(set(graph.subjects(RDF.type)), url)
    if not subject:
        # Servers often redirect a lost catalog to the root. It must not count as an empty catalog.
        if is_root:
            raise DocumentError(HarvestMessage(MessageCode.NO_SOURCE))
        raise DocumentError(HarvestMessage(MessageCode.NO_DATASET, details="and no catalog"))
    is_catalog = subject in catalogs and subject not in roots
    nodes = _spellings(graph, subject)
    own = {str(node) for node in graph.objects(subject, DCAT.service)}
    below = _listed(graph, nodes, _CATALOG_PREDICATES)
    datasets = [url for url in _listed(graph, nodes, (DCAT.dataset,)) if url not in own]
    parts = set(_parts(graph, nodes)) - own - {*below, *datasets, str(subject)}
    paging = paging_of(graph)
    return DocumentOutline(
        subject=str(subject),
        is_catalog=is_catalog,
        type_name="" if is_catalog or subject in roots else _type_name(graph, subject),
        catalogs=below,
        datasets=datasets,
        parts=sorted(parts),
        services=len(own),
        nameless=_nameless(graph, nodes),
        states_list=any(one - _PARTS_OF_RECORDS for one, _ in _containers(graph, nodes)),
        **asdict(paging),
    )


def outline_of_dataset(graph: Graph, url: str, *, final_url: str = "") -> DocumentOutline:
    """Return the outline of a dataset's own document, without a member if that is a catalog's.

    :param final_url: the URL that answered, after redirects.
    :raises DocumentError: the document does not describe the dataset of this URL.
    """
    subjects = _datasets(graph)
    node = _named(subjects, url) or _alias(subjects, url, final_url)
    if node is None and (catalog := _named(graph.subjects(RDF.type, DCAT.Catalog), url)):
        return DocumentOutline(subject=str(catalog), is_catalog=True)
    if node is None:
        if not subjects:
            raise DocumentError(HarvestMessage(MessageCode.NO_DATASET))
        words = "several datasets" if len(subjects) > 1 else display_url(str(min(subjects)))
        raise DocumentError(HarvestMessage(MessageCode.DESCRIBES_ANOTHER, details=words))
    return DocumentOutline(member=_member(graph, node))


def distributions_of(graph: Graph, dataset: Node) -> list[str]:
    """Return the URLs of the distributions that a dataset's dcat:distribution names."""
    return _urls(graph.objects(dataset, DCAT.distribution))


def distributions_without_url(graph: Graph, dataset: Node) -> list[str]:
    """Return the texts and URLs in a dataset's dcat:distribution that cannot be requested."""
    nodes = graph.objects(dataset, DCAT.distribution)
    return sorted(
        str(node)
        for node in nodes
        if _is_text(node) or (isinstance(node, URIRef) and not _is_requestable(node))
    )


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


def distributions_inside(graph: Graph, dataset: Node) -> list[Node]:
    """Return the dataset's distributions that its own document describes."""
    claiming = set(graph.subjects(DCTERMS.isPartOf, dataset))
    named = set(graph.objects(dataset, DCAT.distribution))
    return [
        node
        for node in claiming | named
        if (node, RDF.type, DCAT.Distribution) in graph
        or (node in named and not isinstance(node, Literal) and (node, None, None) in graph)
    ]


def _datasets(graph: Graph) -> set[URIRef]:
    """Return the datasets and series of datasets that a document describes."""
    nodes = {node for kind in DATASET_TYPES for node in graph.subjects(RDF.type, kind)}
    return {URIRef(iri) for iri in _iris(nodes)}


def _member(graph: Graph, node: URIRef) -> ListedDataset:
    named = _urls(graph.objects(node, DCAT.distribution))
    listed = named or _listed(graph, {node}, (DCAT.distribution,))
    return ListedDataset(
        subject=str(node),
        digest=digest_of(descriptions(graph, node, distributions_inside(graph, node))),
        part_of=_iris(graph.objects(node, DCTERMS.isPartOf)),
        distributions=undescribed(listed, graph),
        names_distributions=bool(named),
        series=_listed(graph, {node}, SERIES_PREDICATES),
        parts=_contained(graph, {node}, SERIES_PREDICATES),
        is_catalog=(node, RDF.type, DCAT.Catalog) in graph
        and bool(_listed(graph, {node}, _LIST_PREDICATES)),
    )


def _with_lists(graph: Graph) -> set[Node]:
    """Return the records with a list of other records, except those that only have parts."""
    found = set(graph.subjects(DCAT.dataset)) | set(graph.objects(None, LDP.membershipResource))
    return found - {node for kind in _LEAVES for node in graph.subjects(RDF.type, kind)}


def _type_name(graph: Graph, node: Node) -> str:
    """Return the last part of a record's most special type, such as Biobank; "" if it has none."""
    names = [
        iri for iri in _iris(graph.objects(node, RDF.type)) if not iri.startswith(_GENERIC_TYPES)
    ]
    return names[0].replace("#", "/").rpartition("/")[2] if names else ""


def _parts(graph: Graph, nodes: Collection[Node]) -> list[str]:
    """Return the records of unknown types that a record lists, by its own statements or by a container."""
    named = {
        part for node in nodes for step in _PART_PREDICATES for part in graph.objects(node, step)
    }
    return sorted({*_urls(named), *_contained(graph, nodes, _LIST_PREDICATES)})


def _contained(graph: Graph, nodes: Iterable[Node], known: Iterable[URIRef]) -> list[str]:
    """Return the members of a record's containers whose relation is neither known nor one to its parts."""
    others = {*known, *_PARTS_OF_RECORDS}
    return _urls(
        member
        for relations, members in _containers(graph, nodes)
        if relations.isdisjoint(others)
        for member in members
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
    segments = {last_segment(url) for url in requested if url}
    fits = last_segment(iris[0]) in segments and fragment in ("", iris[0].partition("#")[2])
    return URIRef(iris[0]) if fits or not requested else None


def last_segment(url: str) -> str:
    """Return the last path segment of a URL, without its fragment."""
    return url.partition("#")[0].rstrip("/").rpartition("/")[2]


def _iris(nodes: Iterable[Node]) -> list[str]:
    """Return the requestable IRIs among some nodes, sorted."""
    found = {str(node) for node in nodes if isinstance(node, URIRef)}
    return sorted(filter(_is_requestable, found))


def _is_requestable(url: str) -> bool:
    return not _NEVER_IN_URLS.search(url) and len(url.encode()) <= MOST_BYTES


def _nameless(graph: Graph, nodes: Collection[Node]) -> int:
    """Return how many entries of a record's lists have no URL that can be requested."""
    blank = [
        node
        for holder in nodes
        for node in graph.objects(holder, DCAT.dataset)
        if isinstance(node, BNode) and not list(graph.items(node))
    ]
    listed = _nodes_listed(graph, nodes, _LIST_PREDICATES)
    return len(blank) + sum(_is_text(node) or not _is_requestable(_url_in(node)) for node in listed)


def _listed(graph: Graph, nodes: Collection[Node], predicates: Iterable[URIRef]) -> list[str]:
    """Return what a record lists, by its own predicates or by a container in its document.

    URLs in literals count too: an extra entry costs a request, a missing one could delete a dataset. So do the
    members of RDF collections, and what a catalog without a URL lists: it is in no other document.
    """
    return _urls(_nodes_listed(graph, nodes, tuple(predicates)))


def _nodes_listed(graph: Graph, nodes: Collection[Node], wanted: tuple[URIRef, ...]) -> set[Node]:
    """Return the nodes of a record's lists, whatever they are."""
    named = {
        node
        for step in wanted
        for holder, node in graph.subject_objects(step)
        if holder in nodes or (isinstance(holder, BNode) and step in _LIST_PREDICATES)
    }
    found = {member for node in named for member in (list(graph.items(node)) or [node])}
    for relations, members in _containers(graph, nodes):
        if not relations.isdisjoint(wanted):
            found |= members
    return found


def _spellings(graph: Graph, subject: Node) -> set[Node]:
    """Return a record, and the other spellings of its URL under which the document has lists.

    Behind a proxy, servers mix http and https, or URLs with and without a last slash.
    """
    lists = (*_LIST_PREDICATES, *_PART_PREDICATES)
    nodes = {node for predicate in lists for node in graph.subjects(predicate)}
    nodes |= set(graph.objects(None, LDP.membershipResource))
    plain = loose_spelling(str(subject))
    return {subject} | {
        node for node in nodes if isinstance(node, URIRef) and loose_spelling(node) == plain
    }


def _containers(graph: Graph, nodes: Iterable[Node]) -> list[tuple[set[Node], set[Node]]]:
    """Return the relations and the members of each LDP container of a record."""
    return [
        (set(graph.objects(one, LDP.hasMemberRelation)), set(graph.objects(one, LDP.contains)))
        for node in nodes
        for one in graph.subjects(LDP.membershipResource, node)
    ]


def _urls(nodes: Iterable[Node]) -> list[str]:
    """Return the IRIs among some nodes, and the literals that are URLs, if they can be requested, sorted."""
    return sorted({url for node in nodes if (url := _url_in(node)) and _is_requestable(url)})


def _url_in(node: Node) -> str:
    """Return an IRI, or the URL that a literal is, without blanks around it; "" for other nodes."""
    if isinstance(node, URIRef):
        return str(node)
    text = str(node).strip() if isinstance(node, Literal) else ""
    return text if text[:8].lower().startswith(("http://", "https://")) else ""


def _is_text(node: Node) -> bool:
    """Return whether a listed node is a text that is no URL, or an IRI that was made of a text."""
    if isinstance(node, URIRef):
        return _URL_AFTER_BLANK.search(node) is not None
    return isinstance(node, Literal) and not _url_in(node)
