"""RDF documents of FAIR Data Points: bytes to graph, and what a document says of its members.

Real servers share one container IRI among all documents (``<B/dataset/>`` stands in every catalog's
answer), so containers are read document by document, before anything is merged, and are told apart by
``ldp:membershipResource``.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from xml.sax import SAXException

from rdflib import Graph, URIRef
from rdflib.exceptions import ParserError
from rdflib.namespace import DCAT, DCTERMS, RDF
from rdflib.plugins.parsers.notation3 import BadSyntax
from rdflib.term import Node

from .mapping import MappingError, Record

log = logging.getLogger(__name__)

FORMATS = {
    "text/turtle": "turtle",
    "application/x-turtle": "turtle",
    "text/n3": "n3",
    "application/n-triples": "nt",
    "application/rdf+xml": "xml",
    "application/ld+json": "json-ld",
}
"""Content types that are read, and the parser for each."""

ACCEPT = "text/turtle, application/rdf+xml;q=0.8, application/ld+json;q=0.7"

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

Mapper = Callable[[Graph, Node], Record]


class DocumentError(Exception):
    """A document that answered, but cannot be understood. The text says why, without the URL."""


@dataclass(slots=True)
class Member:
    """What a document says of one dataset in it."""

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
    members: dict[str, Member] = field(default_factory=dict)
    malformed: dict[str, str] = field(default_factory=dict)
    """Datasets in it that cannot be mapped, and why."""

    def as_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Outline:
        plain = json.loads(text)
        plain["members"] = {url: Member(**one) for url, one in plain["members"].items()}
        return cls(**plain)


def parse(body: bytes, content_type: str | None, url: str) -> Graph:
    """The triples of a document.

    :param content_type: as the server sent it; decides the parser.
    :param url: base of relative IRIs.
    :raises DocumentError: empty, another content type, or not well-formed.
    """
    if not body.strip():
        raise DocumentError("the answer is empty")
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind not in FORMATS:
        raise DocumentError(
            f"the answer is {kind or 'of no content type'}, not RDF (text/turtle, "
            "application/rdf+xml or application/ld+json)"
        )
    if FORMATS[kind] == "json-ld":
        _refuse_remote_contexts(body)
    graph = Graph()
    try:
        graph.parse(data=body, format=FORMATS[kind], publicID=url)
    except BadSyntax as error:
        # str() of a BadSyntax quotes the whole document; its message alone is for people.
        raise DocumentError(
            f"the {kind} is malformed near line {error.lines + 1}: {error._why}"
        ) from error
    except (ParserError, SAXException, ValueError, TypeError, LookupError, AssertionError) as error:
        words = " ".join(str(error).split())[:200] or type(error).__name__
        raise DocumentError(f"the {kind} is malformed: {words}") from error
    except RecursionError as error:
        raise DocumentError(f"the {kind} is nested too deeply to be read") from error
    return graph


def _refuse_remote_contexts(body: bytes) -> None:
    """rdflib would load a remote context itself, past every limit and address guard."""
    try:
        pending = [json.loads(body)]
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"the JSON-LD is malformed: {error}") from error
    while pending:
        one = pending.pop()
        if isinstance(one, list):
            pending.extend(one)
        elif isinstance(one, dict):
            contexts = one.get("@context", [])
            for context in contexts if isinstance(contexts, list) else [contexts]:
                if isinstance(context, str) or (isinstance(context, dict) and "@import" in context):
                    raise DocumentError("the JSON-LD names a remote @context, which is not loaded")
            pending.extend(one.values())


def outline_of_container(graph: Graph, url: str) -> Outline:
    """What the document of a root or a catalog lists.

    :raises DocumentError: it describes neither a FAIR Data Point nor a dcat:Catalog.
    """
    catalogs = set(graph.subjects(RDF.type, DCAT.Catalog))
    roots = {node for kind in _ROOT_TYPES for node in graph.subjects(RDF.type, kind)}
    roots |= {
        node for predicate in _CATALOG_PREDICATES[:3] for node in graph.subjects(predicate, None)
    }
    subject = _named(roots | catalogs, url) or _only(roots) or _only(catalogs)
    if subject is None:
        raise DocumentError("it describes neither a FAIR Data Point nor a dcat:Catalog")
    return Outline(
        subject=str(subject),
        is_catalog=subject in catalogs and subject not in roots,
        catalogs=_listed(graph, subject, _CATALOG_PREDICATES),
        datasets=_listed(graph, subject, (DCAT.dataset,)),
    )


def outline_of_datasets(
    graph: Graph, url: str, listed: Iterable[str], mapper: Mapper, *, is_page: bool
) -> Outline:
    """What a page of datasets, or one dataset's own document, says of each.

    :param listed: the URLs that the catalogs list: datasets that are only mentioned are no members.
    :raises DocumentError: a single record's document without a dcat:Dataset.
    """
    subjects = {node for node in graph.subjects(RDF.type, DCAT.Dataset) if isinstance(node, URIRef)}
    if is_page:
        wanted = set(listed)
        members: dict[str, Node] = {
            str(node): node
            for node in subjects
            if str(node) in wanted or (node, DCTERMS.isPartOf, None) in graph
        }
    else:
        members = {url: dataset_in(graph, url)}
    outline = Outline()
    for member_url, node in sorted(members.items()):
        try:
            digest = mapper(graph, node).digest()
        except MappingError as error:
            outline.malformed[member_url] = error.words
            continue
        outline.members[member_url] = Member(
            digest=digest,
            part_of=sorted(str(one) for one in graph.objects(node, DCTERMS.isPartOf)),
            distributions=[
                one
                for one in _listed(graph, node, (DCAT.distribution,))
                if (URIRef(one), None, None) not in graph
            ],
        )
    return outline


def dataset_in(graph: Graph, url: str) -> Node:
    """The node of the dataset that was asked for as ``url``.

    :raises DocumentError: there is none.
    """
    subjects = {node for node in graph.subjects(RDF.type, DCAT.Dataset) if isinstance(node, URIRef)}
    node = _named(subjects, url) or _only(subjects)
    if node is None:
        raise DocumentError("it describes no dcat:Dataset")
    return node


def _named(candidates: Iterable[Node], url: str) -> URIRef | None:
    """The candidate that is ``url``, or differs from it by a trailing slash only."""
    nodes = sorted(node for node in candidates if isinstance(node, URIRef))
    exact = next((node for node in nodes if str(node) == url), None)
    return exact or next((node for node in nodes if str(node).rstrip("/") == url.rstrip("/")), None)


def _only(candidates: Iterable[Node]) -> URIRef | None:
    """The one candidate: servers use a persistent URL that may differ from the requested one."""
    nodes = [node for node in candidates if isinstance(node, URIRef)]
    return nodes[0] if len(nodes) == 1 else None


def _listed(graph: Graph, subject: Node, predicates: Iterable[URIRef]) -> list[str]:
    """What a record lists, by its own predicates and by the containers embedded in its document.

    The union, since listing too much costs a request and listing too little could delete.
    """
    wanted = tuple(predicates)
    found = {one for predicate in wanted for one in graph.objects(subject, predicate)}
    for container in graph.subjects(_MEMBERSHIP_RESOURCE, subject):
        if graph.value(container, _HAS_MEMBER_RELATION) in wanted:
            found |= set(graph.objects(container, _CONTAINS))
    return sorted(str(one) for one in found if isinstance(one, URIRef))
