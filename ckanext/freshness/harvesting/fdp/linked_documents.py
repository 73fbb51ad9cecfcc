"""The documents that a record links to: its distributions and its data services."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from rdflib import DCTERMS, RDF, Graph, Literal, URIRef

from ...web.urls import display_url
from ..strategy import WITHDRAWN_AFTER, ReadOutcome
from .documents import ListedDataset, undescribed
from .rdf import DCAT
from .reader import (
    MOST_PAGES,
    NO_SUCH_ENDPOINT,
    DocumentReader,
    FetchedDocument,
    Pages,
    UnreadableDocument,
    first_page,
)

_NAMED_BY = (DCAT.accessService, DCAT.service)
_NOT_FOLLOWED = frozenset({DCAT.servesDataset, DCTERMS.isPartOf})
"""What leads from a service to other records, which are described by their own documents."""
_SERVICE = "service"
_KEPT_BYTES = 64 * 1024
"""Longest document of a service that is kept for the time when its server cannot be read."""


@dataclass(slots=True)
class DistributionDocuments:
    """The documents of a dataset's distributions, as far as they could be read."""

    pages: list[FetchedDocument] = field(default_factory=list)
    single: dict[str, FetchedDocument] = field(default_factory=dict)
    """By URL, the documents of distributions that were read one by one."""
    failed: dict[str, UnreadableDocument] = field(default_factory=dict)
    """By URL, the distributions that could not be read."""
    broken_page: UnreadableDocument | None = None
    """The page that could not be read: it and those after it may list further distributions."""
    all_pages: bool = False
    """The pages were read to the last one, and their server counts them: there are no others."""

    @property
    def listed_whole(self) -> bool:
        """Whether the pages say for sure which distributions they do not list."""
        return self.all_pages and self.broken_page is None

    @property
    def documents(self) -> list[FetchedDocument]:
        """All documents."""
        return [*self.pages, *self.single.values()]


class DistributionReader:
    """Reads the distributions of datasets.

    :ivar has_pages: the server has page endpoints, as far as anybody has seen
    """

    def __init__(self, reader: DocumentReader) -> None:
        self._reader = reader
        self.has_pages = True

    async def read(
        self, dataset: str, member: ListedDataset, *, had_pages: bool = False
    ) -> DistributionDocuments:
        """Read the documents of a dataset's distributions.

        :param had_pages: the dataset's pages have listed distributions that nothing else lists. They
            are read again, and if they cannot be, they are missed.
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
        """Read distributions one by one; what another host has to say is left out."""
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
        """Read all pages; return why there are none, if there is no such endpoint."""
        pages = Pages(MOST_PAGES)
        url: str | None = first
        while url is not None:
            try:
                page = await self._reader.get(url)
                if not parts.pages and page.is_html:
                    self.has_pages = False
                    words = "it answers with a user interface"
                    return UnreadableDocument(first, ReadOutcome.FAILED, words)
                parts.pages.append(page)
                url = pages.after(page)
            except UnreadableDocument as failure:
                if parts.pages or failure.status not in NO_SUCH_ENDPOINT:
                    parts.broken_page = failure
                    return None
                if failure.outcome is not ReadOutcome.FORBIDDEN:
                    self.has_pages = False
                return failure
        parts.all_pages = bool(parts.pages) and parts.pages[-1].is_paged
        return None


class ServiceReader:
    """Reads the data services of one crawl, each once."""

    def __init__(self, reader: DocumentReader, now: datetime) -> None:
        self._reader = reader
        self._now = now
        self._reading: dict[str, asyncio.Future[FetchedDocument | UnreadableDocument]] = {}
        self._named: dict[tuple[str, str], list[str]] = {}

    async def fingerprint(self, record: str, own: str) -> str:
        """Return the fingerprint of a record with the services that it named when it was last parsed.

        :param record: the record's URL.
        :param own: the fingerprint of all of its other documents.
        """
        urls = self._named.get((record, own))
        if urls is None:
            urls = json.loads(self._reader.memory.recall(_key(record), own) or "[]")
        if not urls:
            return own
        found = [await self._read(url) for url in urls]
        return self._reader.hash(
            own, *(one.digest if isinstance(one, FetchedDocument) else one.words for one in found)
        )

    async def describe(self, record: str, own: str, graph: Graph) -> list[str]:
        """Add the descriptions of the services that a record's graph only names.

        :param record: the record's URL.
        :param own: the fingerprint of all of its other documents.
        :returns: a warning for each service that cannot be read: its URL alone is kept.
        """
        named = {
            str(one)
            for step in _NAMED_BY
            for one in graph.objects(None, step)
            if isinstance(one, URIRef)
        }
        urls = [url for url in undescribed(sorted(named), [graph]) if self._reader.may_visit(url)]
        if urls:
            self._named[record, own] = urls
            self._reader.memory.remember(_key(record), own, json.dumps(urls))
        warnings = []
        for url in urls:
            found = await self._read(url)
            try:
                if isinstance(found, UnreadableDocument):
                    raise found
                _add_description(await found.parsed(), url, graph)
            except UnreadableDocument as failure:
                words = f"service {display_url(url)}: {failure.words}; only its URL is kept"
                warnings.append(words)
        return warnings

    async def _read(self, url: str) -> FetchedDocument | UnreadableDocument:
        if url not in self._reading:
            self._reading[url] = asyncio.ensure_future(self._fetch(url))
        return await self._reading[url]

    async def _fetch(self, url: str) -> FetchedDocument | UnreadableDocument:
        known, since = self._recall(url)
        try:
            found = await self._reader.get(url)
            if known is None or found.digest != known.digest:
                _add_description(await found.parsed(), url, Graph())
        except UnreadableDocument as failure:
            if known is None:
                return failure
            if failure.outcome in (ReadOutcome.FORBIDDEN, ReadOutcome.GONE):
                since = since or self._now
                self._remember(url, known, since)
                if self._now - since >= WITHDRAWN_AFTER:
                    return failure
            return known
        self._remember(url, found, None)
        return found

    def _recall(self, url: str) -> tuple[FetchedDocument | None, datetime | None]:
        """Return the last document that described a service, and since when its URL answers 401, 403,
        404 or 410.
        """
        text = self._reader.memory.recall(url, _SERVICE)
        if text is None:
            return None, None
        base, content_type, body, since = json.loads(text)
        document = self._reader.document(url, base, content_type, body.encode())
        return document, datetime.fromisoformat(since) if since else None

    def _remember(self, url: str, found: FetchedDocument, since: datetime | None) -> None:
        if len(found.body) <= _KEPT_BYTES:
            body = found.body.decode("utf-8", "replace")
            kept = [found.base, found.content_type, body, since and since.isoformat()]
            self._reader.memory.remember(url, _SERVICE, json.dumps(kept))


def _key(record: str) -> str:
    """Under what the services of a record are remembered: no document has such a URL."""
    return f"{record}#services"


def _add_description(graph: Graph, url: str, to: Graph) -> None:
    """Add what a document says of a service, under the URL by which records name it.

    :raises Unreadable: it describes no service.
    """
    services = set(graph.subjects(RDF.type, DCAT.DataService))
    service = URIRef(url) if URIRef(url) in services else next(iter(services), None)
    # Another URL is the same service by another name, if it is the only one.
    if service is None or (service != URIRef(url) and len(services) > 1):
        raise UnreadableDocument(url, ReadOutcome.MALFORMED, "it describes no dcat:DataService")
    pending, met = [service], {service}
    while pending:
        node = pending.pop()
        for predicate, value in graph.predicate_objects(node):
            to.add((URIRef(url) if node == service else node, predicate, value))
            followed = predicate not in _NOT_FOLLOWED and not isinstance(value, Literal)
            if followed and value not in met:
                met.add(value)
                pending.append(value)
