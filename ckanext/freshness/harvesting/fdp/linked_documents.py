"""The documents that a record links to: its distributions, its data services, its samples and analytics."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rdflib import DCTERMS, RDF, Graph, Literal, URIRef
from rdflib.term import Node

from ...web.urls import display_url
from ..rdf.parsing import ADMS, DCAT, HEALTHDCATAP, short, utf8_of
from ..rdf.record_graph import undescribed
from ..record import ReadOutcome
from ..strategy import fate_of_service
from .documents import ListedDataset
from .reader import (
    MOST_PAGES,
    NO_SUCH_ENDPOINT,
    DocumentReader,
    FetchedDocument,
    Pages,
    UnreadableDocument,
    first_page,
)

_LINKED: Mapping[Node, URIRef] = {
    DCAT.accessService: DCAT.DataService,
    DCAT.service: DCAT.DataService,
    ADMS.sample: DCAT.Distribution,
    HEALTHDCATAP.analytics: DCAT.Distribution,
}
"""Predicates that lead to the documents that a :class:`ServiceReader` reads, and what these describe."""
_WORDS = {DCAT.DataService: "service", DCAT.Distribution: "distribution"}
_NOT_FOLLOWED = frozenset({DCAT.servesDataset, DCTERMS.isPartOf})
"""Predicates that lead from a service to other records, which have documents of their own."""
_SERVICE = "service"
"""What the memory of documents stores as the digest of a service's document."""
_KEPT_BYTES = 64 * 1024
"""Longest document of a service that is kept in case its server fails later."""


@dataclass(slots=True)
class DistributionDocuments:
    """The documents of a dataset's distributions that could be read, and the failures."""

    pages: list[FetchedDocument] = field(default_factory=list)
    single: dict[str, FetchedDocument] = field(default_factory=dict)
    """By URL, the documents of distributions that have a request each."""
    failed: dict[str, UnreadableDocument] = field(default_factory=dict)
    """By URL, the distributions that could not be read."""
    broken_page: UnreadableDocument | None = None
    """The page that could not be read. It and the pages after it may have further distributions."""
    all_pages: bool = False
    """The last page was read, and the server marks it as the last."""

    @property
    def listed_whole(self) -> bool:
        """True if all pages were read, so that a distribution on none of them is not listed by pages."""
        return self.all_pages and self.broken_page is None

    @property
    def documents(self) -> list[FetchedDocument]:
        return [*self.pages, *self.single.values()]


class DistributionReader:
    """A reader of the documents of datasets' distributions.

    :ivar has_pages: False as soon as the server turns out to have no page endpoints. It may have some for
        datasets, and none for series of datasets.
    """

    def __init__(self, reader: DocumentReader) -> None:
        self._reader = reader
        self.has_pages = True
        self._were_read = False

    async def read(
        self, dataset: str, member: ListedDataset, *, had_pages: bool = False
    ) -> DistributionDocuments:
        """Read a dataset's distributions from pages, or each with its own request if there are no pages.

        :param had_pages: earlier, only pages listed some of the distributions. If there are no pages
            now, that counts as a broken page.
        """
        parts = DistributionDocuments()
        first = first_page(dataset, "distribution")
        may_have = self.has_pages and (member.distributions or member.contained)
        if first and (may_have or had_pages):
            missing = await self._read_pages(first, parts)
            if had_pages:
                parts.broken_page = parts.broken_page or missing
        if not parts.pages:
            await self.read_each([*member.distributions, *member.contained], parts)
        return parts

    async def read_each(self, urls: Iterable[str], parts: DistributionDocuments) -> None:
        """Read each distribution with its own request and add it; leave out hosts that may not be requested."""
        for url in filter(self._reader.may_visit, urls):
            if url in parts.single or url in parts.failed:
                continue
            try:
                parts.single[url] = await self._reader.get(url)
            except UnreadableDocument as failure:
                parts.failed[url] = failure

    async def _read_pages(
        self, first: str, parts: DistributionDocuments
    ) -> UnreadableDocument | None:
        """Read all pages and add them; if there is no page endpoint, return the failure."""
        pages = Pages(first, MOST_PAGES)
        try:
            while (url := pages.next()) is not None:
                page = await self._reader.get(url)
                if not parts.pages and page.is_html:
                    self.has_pages = self._were_read
                    reason = "it answers with a user interface"
                    return UnreadableDocument(first, ReadOutcome.FAILED, reason)
                parts.pages.append(page)
                self._were_read = self.has_pages = True
                pages.add(page)
            pages.end()
        except UnreadableDocument as failure:
            if parts.pages or failure.status not in NO_SUCH_ENDPOINT:
                parts.broken_page = failure
                return None
            if failure.outcome is not ReadOutcome.FORBIDDEN:
                self.has_pages = self._were_read
            return failure
        parts.all_pages = bool(parts.pages) and parts.pages[-1].is_paged
        return None


class ServiceReader:
    """A reader of the data services, samples and analytics that records name, each once in a crawl."""

    def __init__(self, reader: DocumentReader, now: datetime) -> None:
        self._reader = reader
        self._now = now
        self._requests: dict[str, asyncio.Future[FetchedDocument | UnreadableDocument]] = {}
        self._named: dict[tuple[str, str], list[tuple[str, str]]] = {}
        """The URLs that each record names, by its own URL and the fingerprint of its other documents. Each
        has the type of what it describes."""

    async def fingerprint(self, record: str, own: str) -> str:
        """Return a record's fingerprint with the services that it named when it was last parsed.

        :param record: the record's URL.
        :param own: the fingerprint of its other documents.
        """
        named = self._named.get((record, own))
        if named is None:
            named = json.loads(self._reader.memory.recall(_memory_key(record), own) or "[]")
        if not named:
            return own
        results = [await self._read(url, URIRef(kind)) for url, kind in named]
        return self._reader.hash(
            own,
            *(
                result.digest if isinstance(result, FetchedDocument) else result.reason
                for result in results
            ),
        )

    async def describe(self, record: str, own: str, graph: Graph) -> list[str]:
        """Add the descriptions of services, samples and analytics that a record's graph only names.

        :param record: the record's URL.
        :param own: the fingerprint of its other documents.
        :returns: a warning for each that cannot be read. The record keeps its URL.
        """
        kinds = {
            str(node): kind
            for predicate, kind in _LINKED.items()
            for node in graph.objects(None, predicate)
            if isinstance(node, URIRef)
        }
        named: list[tuple[str, str]] = []
        warnings = []
        for url in filter(self._reader.may_visit, undescribed(sorted(kinds), [graph])):
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
        if named:
            self._named[record, own] = named
            self._reader.memory.remember(_memory_key(record), own, json.dumps(named))
        return warnings

    async def _read(self, url: str, kind: URIRef) -> FetchedDocument | UnreadableDocument:
        if url not in self._requests:
            self._requests[url] = asyncio.ensure_future(self._fetch(url, kind))
        return await self._requests[url]

    async def _fetch(self, url: str, kind: URIRef) -> FetchedDocument | UnreadableDocument:
        """Fetch a document; if that fails, return the last good one while the strategy keeps it."""
        known, since = self._recall(url)
        try:
            document = await self._reader.get(url)
            if known is None or document.digest != known.digest:
                _add_description(await document.parsed(), url, kind, Graph())
        except UnreadableDocument as failure:
            if known is None:
                return failure
            fate = fate_of_service(outcome=failure.outcome, since=since, now=self._now)
            if fate.since != since:
                self._remember(url, known, fate.since)
            return known if fate.stays else failure
        self._remember(url, document, None)
        return document

    def _recall(self, url: str) -> tuple[FetchedDocument | None, datetime | None]:
        """Return a service's last good document, and when its URL began to answer 401, 403, 404 or 410."""
        text = self._reader.memory.recall(url, _SERVICE)
        if text is None:
            return None, None
        base, content_type, body, since = json.loads(text)
        document = self._reader.document(url, base, content_type, body.encode())
        return document, datetime.fromisoformat(since) if since else None

    def _remember(self, url: str, document: FetchedDocument, since: datetime | None) -> None:
        if len(document.body) <= _KEPT_BYTES:
            body = utf8_of(document.body, document.content_type).decode("utf-8", "replace")
            kept = [document.base, document.content_type, body, since and since.isoformat()]
            self._reader.memory.remember(url, _SERVICE, json.dumps(kept))


def _memory_key(record: str) -> str:
    """Return the key of a record's services in the memory; no document has this URL."""
    return f"{record}#services"


def _add_description(graph: Graph, url: str, kind: URIRef, target: Graph) -> None:
    """Add a document's description of a service or distribution to a graph, under the URL that records name.

    :raises UnreadableDocument: the document describes nothing of this kind, or several and not this one.
    """
    services = set(graph.subjects(RDF.type, kind))
    service = URIRef(url) if URIRef(url) in services else next(iter(services), None)
    # A single service under another URL is the same service under another name.
    if service is None or (service != URIRef(url) and len(services) > 1):
        reason = f"it describes no {short(str(kind))}"
        raise UnreadableDocument(url, ReadOutcome.MALFORMED, reason)
    pending, visited = [service], {service}
    while pending:
        node = pending.pop()
        for predicate, value in graph.predicate_objects(node):
            target.add((URIRef(url) if node == service else node, predicate, value))
            followed = predicate not in _NOT_FOLLOWED and not isinstance(value, Literal)
            if followed and value not in visited:
                visited.add(value)
                pending.append(value)
