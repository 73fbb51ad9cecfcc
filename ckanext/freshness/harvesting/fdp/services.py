"""Data services that records name and that are documents of their own."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime

from rdflib import DCTERMS, RDF, Graph, Literal, URIRef

from ...web.urls import display_url
from ..strategy import WITHDRAWN_AFTER, ReadOutcome
from .documents import undescribed
from .namespaces import DCAT
from .reader import DocumentReader, FetchedDocument, UnreadableDocument

_NAMED_BY = (DCAT.accessService, DCAT.service)
_NOT_FOLLOWED = frozenset({DCAT.servesDataset, DCTERMS.isPartOf})
"""What leads from a service to other records, which are described by their own documents."""
_SERVICE = "service"
_KEPT_BYTES = 64 * 1024
"""Longest document of a service that is kept for the time when its server cannot be read."""


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
            urls = json.loads(self._reader.recall(_key(record), own) or "[]")
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
            self._reader.remember(_key(record), own, json.dumps(urls))
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
        text = self._reader.recall(url, _SERVICE)
        if text is None:
            return None, None
        base, content_type, body, since = json.loads(text)
        document = self._reader.document(url, base, content_type, body.encode())
        return document, datetime.fromisoformat(since) if since else None

    def _remember(self, url: str, found: FetchedDocument, since: datetime | None) -> None:
        if len(found.body) <= _KEPT_BYTES:
            body = found.body.decode("utf-8", "replace")
            kept = [found.base, found.content_type, body, since and since.isoformat()]
            self._reader.remember(url, _SERVICE, json.dumps(kept))


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
