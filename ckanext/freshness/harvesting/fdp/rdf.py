"""RDF documents from bytes to graph: parsed in a process of the sandbox."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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

from ...sandbox.errors import Exceeded, Unopened
from ...sandbox.processes import MIB, ProcessLimits, Sandbox
from ..legal_values import brief
from .triples import MEDIA_TYPES, Term

ADMS = Namespace("http://www.w3.org/ns/adms#")
DCAT = Namespace("http://www.w3.org/ns/dcat#")
"""With the terms of DCAT 3, which rdflib's closed list lacks."""
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
"""schema.org itself says https since 2020; documents have both."""
SIO = Namespace("http://semanticscience.org/resource/")
SPDX = Namespace("http://spdx.org/rdf/terms#")
VCARD = Namespace("http://www.w3.org/2006/vcard/ns#")

HOME_PAGE = URIRef(str(FOAF) + "homePage")
"""How the reference implementation writes ``foaf:homepage``."""

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
"""The prefixes under which people know these vocabularies."""

ACCEPT = "text/turtle, application/rdf+xml;q=0.8, application/ld+json;q=0.7"

LIMITS = ProcessLimits(seconds=25, cpu_seconds=20, memory=512 * MIB, answer=128 * MIB)
"""The limits of one document."""

MOST_EXCEEDED = 10
"""Documents of one crawl that may exceed these limits; the others are then refused unparsed."""

_BIG = 256 * 1024
"""Bytes above which a graph is built in a thread, so that the clocks of other requests go on."""


def short(iri: str) -> str:
    """Return an IRI with its prefix, or in angle brackets if it is of another vocabulary."""
    for prefix, space in PREFIXES.items():
        if iri.startswith(str(space)):
            return f"{prefix}:{iri[len(str(space)) :]}"
    return f"<{iri}>"


class DocumentError(Exception):
    """A document that answered, but cannot be understood. The text says why, without the URL."""


def media_type(content_type: str | None) -> str:
    """Return the media type of a Content-Type header, without parameters; empty if there is none."""
    return (content_type or "").partition(";")[0].strip().lower()


class RdfParser:
    """Parses the documents of one crawl, in one process. Belongs to one event loop; close it."""

    def __init__(self, limits: ProcessLimits = LIMITS) -> None:
        self._sandbox = Sandbox("ckanext.freshness.harvesting.fdp.triples:read", limits)
        self._exceeded = 0

    def close(self) -> None:
        """End the process."""
        self._sandbox.close()

    async def parse(self, body: bytes, content_type: str | None, url: str) -> Graph:
        """Return the triples of a document.

        :param content_type: as the server sent it; decides the parser
        :param url: base of relative IRIs
        :raises DocumentError: the document is empty, of another content type, malformed, or takes more
            time or memory than a document may
        """
        kind = media_type(content_type)
        asked = request(body, kind, url)
        if self._exceeded >= MOST_EXCEEDED:
            raise DocumentError(
                f"the {kind} was not parsed: {MOST_EXCEEDED} documents of this source have taken "
                "more time or memory than a document may"
            )
        try:
            answer = await self._sandbox.run(asked)
            del asked  # holds another copy of the document
        except Exceeded as error:
            self._exceeded += 1
            raise DocumentError(f"the {kind} {error}") from error
        except Unopened as error:
            raise DocumentError(f"the {kind} {brief(error)}") from error
        if len(answer) > _BIG:
            return await asyncio.to_thread(graph_of, answer)
        return graph_of(answer)


def request(body: bytes, kind: str, url: str) -> bytes:
    """Return what :func:`.triples.read` takes.

    :param kind: the document's media type
    :raises DocumentError: this is no RDF
    """
    if not body.strip():
        raise DocumentError("the answer is empty")
    if kind not in MEDIA_TYPES:
        raise DocumentError(
            f"the answer is {kind or 'of no content type'}, not RDF (text/turtle, "
            "application/rdf+xml or application/ld+json)"
        )
    return json.dumps({"media_type": kind, "base": url}).encode() + b"\n" + body


def graph_of(answer: bytes) -> Graph:
    """Return the graph of an answer of :func:`.triples.read`.

    No literal is converted to a Python value: some values would take gigabytes.
    """
    plain, indices = json.loads(answer)
    terms = [_term(value) for value in plain]
    del plain  # a large catalog's terms would be in memory twice
    # The default store also keeps indices by context, which nobody needs here.
    graph = Graph(store="SimpleMemory")
    add = graph.store.add
    numbers = iter(indices)
    for subject, predicate, value in zip(numbers, numbers, numbers, strict=True):
        add((terms[subject], terms[predicate], terms[value]), graph)
    return graph


def _term(value: Term) -> Node:
    if isinstance(value, str):
        # URIRef's own check of the characters only warns.
        return str.__new__(URIRef, value)
    if value is None:
        return BNode()  # labels belong to the document, and documents are merged
    literal = Literal(value[0], lang=value[1] if len(value) > 1 else None)
    if len(value) == 3:
        literal.__setstate__((None, {"language": None, "datatype": URIRef(value[2])}))
    return literal


_LOGGER = "rdflib.term"


class _OtherThreads(logging.Filter):
    """Lets only pass what other threads have logged, which may work on something else."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        return record.thread != self._thread


@contextmanager
def unlogged() -> Iterator[None]:
    """A block, or as a decorator a function, in which this thread's odd terms are not logged."""
    logger, quiet = logging.getLogger(_LOGGER), _OtherThreads()
    logger.addFilter(quiet)
    try:
        yield
    finally:
        logger.removeFilter(quiet)
