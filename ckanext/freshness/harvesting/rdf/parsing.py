"""RDF: vocabularies, the view of a graph from one record, the parser of documents, and rdflib's log."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rdflib import (
    DCTERMS,
    FOAF,
    OWL,
    PROV,
    RDF,
    RDFS,
    SKOS,
    TIME,
    BNode,
    Graph,
    Literal,
    Namespace,
    URIRef,
)
from rdflib.term import Node

from ...sandbox import Exceeded, Unopened
from ...sandbox.processes import MIB, ProcessLimits, Sandbox
from ..legal_values import brief
from ..messages import HarvestMessage, MessageCode, with_code
from .document_text import as_utf8, kind_by_content

if TYPE_CHECKING:
    from .triples import Term

ADMS = Namespace("http://www.w3.org/ns/adms#")
DCAT = Namespace("http://www.w3.org/ns/dcat#")
"""rdflib's own list lacks the terms of DCAT 3."""
DCATAP = Namespace("http://data.europa.eu/r5r/")
DPV = Namespace("https://w3id.org/dpv#")
DQV = Namespace("http://www.w3.org/ns/dqv#")
FDP_O = Namespace("https://w3id.org/fdp/fdp-o#")
HEALTHDCATAP = Namespace("http://healthdataportal.eu/ns/health#")
LDP = Namespace("http://www.w3.org/ns/ldp#")
LOCN = Namespace("http://www.w3.org/ns/locn#")
OA = Namespace("http://www.w3.org/ns/oa#")
ODRL = Namespace("http://www.w3.org/ns/odrl/2/")
SCHEMA = Namespace("http://schema.org/")
SCHEMAS = Namespace("https://schema.org/")
"""schema.org recommends https since 2020; documents use both."""
SIO = Namespace("http://semanticscience.org/resource/")
SPDX = Namespace("http://spdx.org/rdf/terms#")
VCARD = Namespace("http://www.w3.org/2006/vcard/ns#")

MEDIA_TYPES = frozenset(
    {
        "text/turtle",
        "application/x-turtle",
        "text/n3",
        "application/n-triples",
        "application/n-quads",
        "application/trig",
        "application/rdf+xml",
        "application/ld+json",
    }
)
"""The content types that decide the parser. With any other one, the document's beginning decides."""

_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([^\s"';,]+)""", re.IGNORECASE)

HOME_PAGE = URIRef(str(FOAF) + "homePage")
"""The reference implementation's spelling of ``foaf:homepage``."""

PREFIXES = {
    "adms": ADMS,
    "dcat": DCAT,
    "dcatap": DCATAP,
    "dct": DCTERMS,
    "dpv": DPV,
    "dqv": DQV,
    "fdp-o": FDP_O,
    "foaf": FOAF,
    "healthdcatap": HEALTHDCATAP,
    "locn": LOCN,
    "oa": OA,
    "odrl": ODRL,
    "owl": OWL,
    "prov": PROV,
    "rdf": RDF,
    "rdfs": RDFS,
    "schema": SCHEMA,
    "schemas": SCHEMAS,
    "sio": SIO,
    "skos": SKOS,
    "spdx": SPDX,
    "time": TIME,
    "vcard": VCARD,
}
"""The usual prefixes of these vocabularies."""

_MADE_BY_SERVER = ("#identifier", "#accessRights")
"""Ends of the IRIs that the reference implementation adds to every record."""
_PROFILE = re.compile("/profile/|/fdp-api/profiles/")
Path = tuple[URIRef, ...]
"""Predicates that lead from one node to another."""

ACCEPT = "text/turtle, application/rdf+xml;q=0.8, application/ld+json;q=0.7"

_READ = "ckanext.freshness.harvesting.rdf.triples:read"
"""The function that reads a document in the sandbox."""

LIMITS = ProcessLimits(seconds=25, cpu_seconds=20, memory=512 * MIB, answer=128 * MIB)
"""Limits of time and memory for one document."""

MOST_EXCEEDED = 10
"""After so many documents of a crawl exceeded the limits, further documents are refused unparsed."""

_BIG = 256 * 1024
"""Longer answers are turned into a graph in a thread, so that other requests do not time out."""


def short(iri: str) -> str:
    """Return an IRI with its usual prefix, or in angle brackets if there is none."""
    for prefix, space in PREFIXES.items():
        if iri.startswith(str(space)):
            return f"{prefix}:{iri[len(str(space)) :]}"
    return f"<{iri}>"


class RecordView:
    """A graph, with notes on what the mapping of one record has read.

    :ivar language: the preferred language of texts
    :ivar unused: objects that the current reader could not use
    :ivar warnings: values that were left out, in words for the source's editor
    """

    def __init__(self, graph: Graph, language: str | None) -> None:
        self._nodes: dict[Node, dict[Node, list[Node]]] = {}
        for node, predicate, value in graph:
            self._nodes.setdefault(node, {}).setdefault(predicate, []).append(value)
        self._read: set[tuple[Node, Node, Node | None]] = set()
        self._record = ""
        self._where = ""
        self.language = (language or "").lower()
        self.unused: set[Node] = set()
        self.warnings: list[str] = []

    def properties(self, node: Node) -> Mapping[Node, list[Node]]:
        """Return a node's objects by predicate; empty if the graph does not describe the node."""
        return self._nodes.get(node, {})

    def warn(self, key: str, words: str) -> None:
        """Add a warning about a key of the current record."""
        self.warnings.append(f"{self._where}{key}: {words}")

    def start_record(self, record: Node, where: str = "") -> None:
        """Begin to read a record or distribution; its warnings begin with ``where``."""
        self._where = where
        self._record = str(record)

    def is_own_profile(self, iri: str) -> bool:
        """Return whether an IRI is a profile (SHACL shapes) on the record's own server."""
        server, *profile = _PROFILE.split(iri, maxsplit=1)
        return bool(profile) and self._record.startswith(f"{server}/")

    def objects(self, node: Node, path: Path) -> list[Node]:
        """Return the nodes that a path leads to, without those that the server adds to every record."""
        nodes = [
            found
            for found in self.properties(node).get(path[0], ())
            if not is_made_by_server(node, found)
        ]
        rest = path[1:]
        return [found for start in nodes for found in self.objects(start, rest)] if rest else nodes

    # Which triples have been read

    def mark_read(self, node: Node, path: Path, unused: Collection[Node] = ()) -> bool:
        """Mark the triples of a path as read, except those with an object in ``unused``.

        :returns: whether any triple was marked.
        """
        predicate, rest = path[0], path[1:]
        values = self.properties(node).get(predicate, ())
        if rest:
            unused = [value for value in values if not self.mark_read(value, rest, unused)]
        if not unused:
            self._read.add((node, predicate, None))
            return bool(values)
        read = {(node, predicate, value) for value in values if value not in unused}
        self._read |= read
        return bool(read)

    def unread(self, node: Node, predicate: Node) -> list[Node]:
        """Return the objects of a node and a predicate whose triples are not marked as read."""
        if (node, predicate, None) in self._read:
            return []
        return [
            value
            for value in self.properties(node)[predicate]
            if (node, predicate, value) not in self._read
        ]


def is_made_by_server(node: Node, value: Node) -> bool:
    """Return whether an object is one that the reference implementation adds to every record."""
    return (
        isinstance(value, URIRef)
        and value.endswith(_MADE_BY_SERVER)
        and value.rpartition("#")[0] == str(node)
    )


class DocumentError(Exception):
    """A document that cannot be understood.

    :ivar reason: why, without the URL
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def media_type(content_type: str | None) -> str:
    """Return the media type of a Content-Type header, without parameters; empty if there is none."""
    return (content_type or "").partition(";")[0].strip().lower()


def charset(content_type: str | None) -> str:
    """Return the charset of a Content-Type header in lower case; empty if there is none."""
    found = _CHARSET.search(content_type or "")
    return found[1].lower() if found else ""


class RdfParser:
    """A parser of the documents of one crawl, in a process of the sandbox.

    Use it in one event loop, and close it.
    """

    def __init__(self, limits: ProcessLimits = LIMITS) -> None:
        self._sandbox = Sandbox(limits)
        self._exceeded = 0

    def close(self) -> None:
        """End the process."""
        self._sandbox.close()

    async def parse(self, body: bytes, content_type: str | None, url: str) -> Graph:
        """Return the triples of a document.

        :param content_type: the Content-Type header
        :param url: base of relative IRIs
        :raises DocumentError: the document is empty, not RDF, malformed, or exceeds the limits
        """
        kind = kind_of(body, content_type)
        message = request(body, kind, charset(content_type), url)
        if self._exceeded >= MOST_EXCEEDED:
            raise DocumentError(
                f"the {kind} was not parsed: {MOST_EXCEEDED} documents of this source have taken "
                "more time or memory than a document may"
            )
        try:
            answer = await self._sandbox.run(_READ, message)
            del message  # holds another copy of the document
        except Exceeded as error:
            self._exceeded += 1
            raise DocumentError(f"the {kind} {error}") from error
        except Unopened as error:
            raise DocumentError(with_code(f"the {kind} {brief(error)}", error.facts)) from error
        if len(answer) > _BIG:
            return await asyncio.to_thread(graph_of, answer)
        return graph_of(answer)


def kind_of(body: bytes, content_type: str | None) -> str:
    """Return the media type that decides the parser of a document.

    :param content_type: the Content-Type header
    :raises DocumentError: the document is empty or not RDF
    """
    if not body.strip():
        raise DocumentError(HarvestMessage("the answer is empty", MessageCode.EMPTY))
    kind = media_type(content_type)
    # Servers send RDF as text/plain, text/xml, application/octet-stream and many other types.
    found = kind if kind in MEDIA_TYPES else kind_by_content(body)
    if found is None:
        words = (
            f"the answer is {kind or 'of no content type'}, not RDF (text/turtle, "
            "application/rdf+xml or application/ld+json)"
        )
        raise DocumentError(HarvestMessage(words, MessageCode.NOT_METADATA))
    return found


def utf8_of(body: bytes, content_type: str | None) -> bytes:
    """Return a document that could be parsed in UTF-8. Under the same Content-Type it is still read well."""
    is_xml = kind_of(body, content_type) == "application/rdf+xml"
    return as_utf8(body, charset(content_type), is_xml=is_xml)


def request(body: bytes, kind: str, charset: str, url: str) -> bytes:
    """Return the argument of :func:`.triples.read`.

    :param kind: the media type that decides the parser
    :param charset: of the Content-Type header; may be empty
    """
    options = {"media_type": kind, "charset": charset, "base": url}
    return json.dumps(options).encode() + b"\n" + body


def graph_of(answer: bytes) -> Graph:
    """Return the graph of an answer of :func:`.triples.read`.

    Literals are not converted to Python values: some would take gigabytes.
    """
    plain, indices = json.loads(answer)
    terms = [_term(value) for value in plain]
    del plain  # a large catalog's terms would be in memory twice
    # The default store also keeps indices by context, which are not needed here.
    graph = Graph(store="SimpleMemory")
    add = graph.store.add
    numbers = iter(indices)
    for subject, predicate, value in zip(numbers, numbers, numbers, strict=True):
        add((terms[subject], terms[predicate], terms[value]), graph)
    return graph


def _term(value: Term) -> Node:
    if isinstance(value, str):
        # URIRef() checks the characters, but only logs a warning.
        return str.__new__(URIRef, value)
    if value is None:
        return BNode()  # labels belong to the document, and documents are merged
    literal = Literal(value[0], lang=value[1] if len(value) > 1 else None)
    if len(value) == 3:
        literal.__setstate__((None, {"language": None, "datatype": URIRef(value[2])}))
    return literal


class _OtherThreads(logging.Filter):
    """A filter that drops what the thread that made it logs."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        return record.thread != self._thread


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep rdflib from logging malformed literals and IRIs in this thread.

    rdflib logs a warning with a traceback for each literal that does not fit its datatype, and for each
    IRI with a blank. A source may have thousands, and an operator cannot correct them. Those that matter
    become an error of the record, or a field that stays a text.
    """
    logger, quiet = logging.getLogger("rdflib.term"), _OtherThreads()
    logger.addFilter(quiet)
    try:
        yield
    finally:
        logger.removeFilter(quiet)
