"""RDF: vocabularies, and the parser of documents."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from rdflib import BNode, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from ...sandbox import Exceeded, Unopened
from ...sandbox.processes import MIB, ProcessLimits, Sandbox
from ..legal_values import brief
from ..messages import HarvestMessage, Message, MessageCode, too_large

if TYPE_CHECKING:
    from .triples import Term

# rdflib logs a warning with a traceback for each literal that does not fit its datatype, and for each IRI with
# a blank. A source may have thousands, and an operator cannot correct them. Those that matter become an error
# of the record, or a field that stays a text.
logging.getLogger("rdflib.term").setLevel(logging.ERROR)

ADMS = Namespace("http://www.w3.org/ns/adms#")
DCAT = Namespace("http://www.w3.org/ns/dcat#")
"""rdflib's own list lacks the terms of DCAT 3."""
FDP_O = Namespace("https://w3id.org/fdp/fdp-o#")
HEALTHDCATAP = Namespace("http://healthdataportal.eu/ns/health#")
LDP = Namespace("http://www.w3.org/ns/ldp#")
LOCN = Namespace("http://www.w3.org/ns/locn#")
VCARD = Namespace("http://www.w3.org/2006/vcard/ns#")

OUR_PROFILE = "freshness"
"""The name of our profile of ckanext-dcat, the last in a chain that does not name it at another place."""

_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([^\s"';,]+)""", re.IGNORECASE)

ACCEPT = "text/turtle, application/rdf+xml;q=0.8, application/ld+json;q=0.7"

_READ = "ckanext.freshness.harvesting.rdf.triples:read"
"""The function that reads a document in the sandbox."""


USUAL = ProcessLimits(seconds=25, cpu_seconds=20, memory=512 * MIB, answer=128 * MIB)
"""The limits for documents about single records, and lists of their URLs."""
LARGE = ProcessLimits(seconds=180, cpu_seconds=150, memory=2048 * MIB, answer=512 * MIB)
"""For documents with a whole catalogue."""
LARGE_SIZE = 6
"""How many times the triples and the text of a usual document a large one may have (:mod:`.triples`): 10,000
datasets have some 200,000 triples, and may have a million."""

MOST_EXCEEDED = 10
"""After so many documents of a crawl exceeded the limits, further documents are refused unparsed."""

_BIG = 256 * 1024
"""Longer answers are turned into a graph in a thread, so that other requests do not time out."""


_EU_CODE = re.compile(
    r"https?://publications\.europa\.eu/(?:mdr/)?(?:resource/)?authority/(?P<code>[\w-]+/.+)",
    re.IGNORECASE,
)


def present_url(text: str) -> str:
    """Return the present URL of a code of the EU's authority tables; any other text is returned unchanged.

    Catalogues still have the URLs of the former Metadata Registry (mdr).
    """
    code = _EU_CODE.fullmatch(text)
    return f"http://publications.europa.eu/resource/authority/{code['code']}" if code else text


class DocumentError(Exception):
    """A document that cannot be understood.

    :ivar reason: why, without the URL
    """

    def __init__(self, reason: Message) -> None:
        super().__init__(str(reason))
        self.reason = reason


def unopened(kind: str, error: Unopened) -> DocumentError:
    """Return the error of a document that the sandbox could not open.

    :param kind: its media type
    """
    if error.facts is None:
        return DocumentError(f"the {kind} {brief(error)}")
    words = f"{kind}: {brief(error)}" if str(error) else kind
    return DocumentError(
        HarvestMessage(MessageCode.named(error.facts["code"]), error.facts["values"], words)
    )


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

    :ivar warnings: by URL, where a document that could be read breaks the rules of its format
    """

    def __init__(self, limits: ProcessLimits = USUAL, size: int = 1) -> None:
        """
        :param limits: of the process, for each document.
        :param size: multiplies the most triples and the most text of a usual document.
        """
        self._sandbox = Sandbox(limits)
        self._size = size
        self._exceeded = 0
        self.warnings: dict[str, str] = {}

    def close(self) -> None:
        """End the process."""
        self._sandbox.close()

    async def parse(self, body: bytes, content_type: str | None, url: str) -> Graph:
        """Return the triples of a document.

        :param content_type: the Content-Type header
        :param url: base of relative IRIs
        :raises DocumentError: the document is empty, not RDF, malformed, or exceeds the limits
        """
        kind = media_type(content_type) or "answer"
        if self._exceeded >= MOST_EXCEEDED:
            raise DocumentError(
                f"the {kind} was not parsed: {MOST_EXCEEDED} documents of this source have taken "
                "more time or memory than a document may"
            )
        try:
            answer = await self._sandbox.run(_READ, request(body, content_type, url, self._size))
        except Exceeded as error:
            self._exceeded += 1
            details = f"the {kind} {error}"
            raise DocumentError(replace(too_large(len(body)), details=details)) from error
        except Unopened as error:
            raise unopened(kind, error) from error
        if len(answer) > _BIG:
            graph, warning = await asyncio.to_thread(graph_of, answer)
        else:
            graph, warning = graph_of(answer)
        if warning:
            self.warnings[url] = brief(warning)
        return graph


def request(body: bytes, content_type: str | None, url: str, size: int = 1) -> bytes:
    """Return the argument of :func:`.triples.read`."""
    options = {
        "media_type": media_type(content_type),
        "charset": charset(content_type),
        "base": url,
        "size": size,
    }
    return json.dumps(options).encode() + b"\n" + body


def graph_of(answer: bytes) -> tuple[Graph, str]:
    """Return the graph and the warning of an answer of :func:`.triples.read`.

    Literals are not converted to Python values: some would take gigabytes.
    """
    plain, indices, warning = json.loads(answer)
    terms = [_term(value) for value in plain]
    del plain  # a large catalog's terms would be in memory twice
    # The default store also keeps indices by context, which are not needed here.
    graph = Graph(store="SimpleMemory")
    add = graph.store.add
    numbers = iter(indices)
    for subject, predicate, value in zip(numbers, numbers, numbers, strict=True):
        add((terms[subject], terms[predicate], terms[value]), graph)
    return graph, warning


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
