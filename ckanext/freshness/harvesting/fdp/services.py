"""Data services, samples and analytics: parts of records that documents of their own describe."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterable, Mapping

from rdflib import DCTERMS, RDF, Graph, Literal, URIRef
from rdflib.term import Node

from ...web.urls import display_url
from ..rdf.parsing import ADMS, DCAT, HEALTHDCATAP, short
from ..rdf.reader import DocumentReader, FetchedDocument
from ..rdf.record_graph import undescribed
from ..record import ReadOutcome
from ..source_client import UnreadableDocument

_LINKED: Mapping[Node, URIRef] = {
    DCAT.accessService: DCAT.DataService,
    DCAT.service: DCAT.DataService,
    ADMS.sample: DCAT.Distribution,
    HEALTHDCATAP.analytics: DCAT.Distribution,
}
"""Predicates that lead to such documents, and what these describe."""
_WORDS = {DCAT.DataService: "service", DCAT.Distribution: "distribution"}
_NOT_FOLLOWED = frozenset({DCAT.servesDataset, DCTERMS.isPartOf})
"""Predicates that lead from a service to other records, which have documents of their own."""
_SERVICE = "service"
"""What the source's memory stores as the digest of a service's document."""
_KEPT_BYTES = 64 * 1024
"""Longest document of a service that is kept in case its server fails later."""

Named = list[tuple[str, str]]
"""The services that a record names: the URL of each, and the type of what its document describes."""


class ServiceReader:
    """A reader of the services, samples and analytics that records name, each once in a crawl.

    If a service cannot be read, its last good description stays.
    """

    def __init__(self, reader: DocumentReader) -> None:
        self._reader = reader
        self._requests: dict[str, asyncio.Future[FetchedDocument | UnreadableDocument]] = {}

    async def fingerprint(self, own: str, named: Iterable[tuple[str, str]]) -> str:
        """Return a record's fingerprint with its services.

        :param own: the fingerprint of its other documents.
        :param named: the services that the record named when it was last parsed.
        """
        results = [await self._read(url, URIRef(kind)) for url, kind in named]
        if not results:
            return own
        return self._reader.hash(
            own,
            *(
                result.digest if isinstance(result, FetchedDocument) else result.reason
                for result in results
            ),
        )

    async def describe(self, graph: Graph) -> tuple[Named, list[str]]:
        """Add the descriptions of services, samples and analytics that a record's graph only names.

        :returns: the services, and a warning for each that cannot be read. The record keeps its URL.
        """
        kinds = {
            str(node): kind
            for predicate, kind in _LINKED.items()
            for node in graph.objects(None, predicate)
            if isinstance(node, URIRef)
        }
        named: Named = []
        warnings = []
        for url in filter(self._reader.reach.may_visit, undescribed(sorted(kinds), [graph])):
            kind = kinds[url]
            result = await self._read(url, kind)
            try:
                if isinstance(result, UnreadableDocument):
                    raise result
                _add_description(await result.parsed(), url, kind, graph)
            except UnreadableDocument as failure:
                if kind == DCAT.Distribution and failure.outcome is ReadOutcome.MALFORMED:
                    continue  # the file itself, which is not requested again
                words = f"{_WORDS[kind]} {display_url(url)}: {failure.reason}"
                warnings.append(f"{words}; only its URL is kept")
            named.append((url, str(kind)))
        return named, warnings

    async def _read(self, url: str, kind: URIRef) -> FetchedDocument | UnreadableDocument:
        if url not in self._requests:
            self._requests[url] = asyncio.ensure_future(self._fetch(url, kind))
        return await self._requests[url]

    async def _fetch(self, url: str, kind: URIRef) -> FetchedDocument | UnreadableDocument:
        """Fetch a document; if that fails, return the last good one."""
        known = self._recall(url)
        try:
            document = await self._reader.get(url)
            if known is None or document.digest != known.digest:
                _add_description(await document.parsed(), url, kind, Graph())
        except UnreadableDocument as failure:
            return known or failure
        if len(document.body) <= _KEPT_BYTES:
            body = base64.b64encode(document.body).decode()
            kept = json.dumps([document.base, document.content_type, body])
            self._reader.memory.remember(url, _SERVICE, kept)
        return document

    def _recall(self, url: str) -> FetchedDocument | None:
        """Return the last good document of a service."""
        text = self._reader.memory.recall(url, _SERVICE)
        if text is None:
            return None
        base, content_type, body = json.loads(text)
        return self._reader.document(url, base, content_type, base64.b64decode(body))


def _add_description(graph: Graph, url: str, kind: URIRef, target: Graph) -> None:
    """Add a document's description of a service or distribution to a graph, under the URL that records name.

    :raises UnreadableDocument: the document describes nothing of this kind, or several and not this one.
    """
    services = set(graph.subjects(RDF.type, kind))
    service = URIRef(url) if URIRef(url) in services else next(iter(services), None)
    # A single service under another URL is the same service under another name.
    if service is None or (service != URIRef(url) and len(services) > 1):
        reason = f"it describes no {short(str(kind))}"
        raise UnreadableDocument(url, reason, ReadOutcome.MALFORMED)
    pending, visited = [service], {service}
    while pending:
        node = pending.pop()
        for predicate, value in graph.predicate_objects(node):
            target.add((URIRef(url) if node == service else node, predicate, value))
            followed = predicate not in _NOT_FOLLOWED and not isinstance(value, Literal)
            if followed and value not in visited:
                visited.add(value)
                pending.append(value)
