"""What only documents of FAIR Data Points have: drafts, and parts of records with documents of
their own (data services).
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from rdflib import RDF, Graph, URIRef
from rdflib.term import Node

from ...web.urls import display_url
from ..rdf.mapping import Mapper
from ..rdf.parsing import DCAT
from ..rdf.reader import DocumentReader, FetchedDocument
from ..rdf.record_graph import descriptions, undescribed
from ..record import ReadOutcome
from ..source_client import UnreadableDocument

_NO_SUCH_ENDPOINT = frozenset({400, 401, 403, 404, 405, 406, 410, 501})
"""Statuses that mean: the server has no endpoint for the state of a record, or none for us."""

_LINKED: Mapping[Node, URIRef] = {DCAT.accessService: DCAT.DataService}
"""Predicates that lead to such documents, and what these describe."""
_SERVICE = "service"
"""What the source's memory stores as the digest of a service's document."""
_KEPT_BYTES = 64 * 1024
"""Longest document of a service that is kept in case its server fails later."""

Named = list[tuple[str, str]]
"""The services that a record names: the URL of each, and the type of what its document describes."""


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """The options of one crawl."""

    mapper: Mapper
    now: datetime
    catalog_mapper: Mapper | None = None
    """None if catalogs are not harvested as records."""
    max_records: int = 100_000
    max_catalogs: int = 10_000
    max_depth: int = 5
    """Levels of catalogs below the source's URL."""
    concurrency: int = 8
    max_deletions: int | None = None
    """The source's."""


class FdpReader(DocumentReader):
    """A reader of the documents of one FAIR Data Point."""

    async def is_draft(self, url: str) -> bool:
        """Return whether a record is a draft that only the source's secret headers make readable.

        The reference implementation shows drafts to users, and tells their state at ``<record>/meta``. Other
        servers answer 404 there.

        :raises UnreadableDocument: the server does not tell.
        """
        if not self.reach.sends_headers_to(url) or "?" in url or "#" in url:
            return False
        meta = f"{url.rstrip('/')}/meta"
        try:
            answer = await self.fetch(meta, "application/json")
        except UnreadableDocument as failure:
            if failure.status in _NO_SUCH_ENDPOINT:
                return False
            raise
        try:
            return str(json.loads(answer.body or b"")["state"]["current"]).upper() == "DRAFT"
        except (ValueError, TypeError, LookupError, RecursionError):
            return False


class ServiceReader:
    """A reader of the services that records name, each once in a crawl.

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
        """Add the descriptions of services that a record's graph only names.

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
                words = f"service {display_url(url)}: {failure.reason}"
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

    :raises UnreadableDocument: the document describes no record of this kind, or several others.
    """
    services = set(graph.subjects(RDF.type, kind))
    service = URIRef(url) if URIRef(url) in services else next(iter(services), None)
    # A single service under another URL is the same service under another name.
    if service is None or (service != URIRef(url) and len(services) > 1):
        reason = f"it describes no dcat:{kind.fragment}"
        raise UnreadableDocument(url, reason, ReadOutcome.MALFORMED)
    # What the target describes may be the dataset itself, of which the document may have a former title.
    described = {*target.subjects()} - {service}
    for node, statements in descriptions(graph, service, ()).items():
        for predicate, value in () if node in described else statements:
            target.add((URIRef(url) if node == service else node, predicate, value))
