"""One container of a source: its root, a catalog, or a record of any other type that lists datasets."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from rdflib import Graph, URIRef

from ...web.urls import display_url, loose_spelling
from ..listings import ListFacts
from ..messages import HarvestMessage, MessageCode
from ..rdf.reader import MOST_PAGES, DocumentReader, FetchedDocument, ListReading
from ..record import CrawledRecord, CurrentRecords, ReadOutcome
from ..source_client import UnreadableDocument
from ..source_config import Source
from . import documents
from .datasets import DatasetReader
from .documents import DocumentOutline, last_segment

_NO_SUCH_ENDPOINT = frozenset({400, 401, 403, 404, 405, 406, 410, 501})
"""Statuses that mean: the server has no endpoint for the state of a record, or none for us."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a container stands, by the record that lists it."""

    catalog: str | None
    """The nearest catalog above; of a catalog that was read, itself."""
    is_catalog: bool = True
    """It is listed as a catalog, and not as a record of any type."""


@dataclass(frozen=True, slots=True)
class ContainerList:
    """What a container lists, with all pages of the list."""

    document: FetchedDocument
    """The first page."""
    outline: DocumentOutline
    facts: ListFacts
    subject: str | None = None
    """The URL in its document, if it has a list; "" for the root of a FAIR Data Point, which may answer under
    any URL."""
    crawled: CrawledRecord | None = None
    """Set if catalogs are harvested as records."""


@dataclass(frozen=True, slots=True)
class ContainerReader:
    """A reader of the containers of one crawl."""

    reader: DocumentReader
    source: Source
    known: CurrentRecords
    datasets: DatasetReader

    async def read(self, url: str, place: Place) -> ContainerList:
        """Read a container, and find out what its list is worth.

        :raises UnreadableDocument: its document cannot be read, or is that of another container or a draft.
        """
        is_root = url == self.source.url
        found = await self.read_list(url, place, ListFacts())
        outline, facts = found.outline, found.facts
        instead = self._instead(url, outline)
        if is_root and instead:
            words = f"{instead}. If that has moved, correct the source's URL"
            reason = HarvestMessage(MessageCode.DESCRIBES_ANOTHER, details=words)
            raise UnreadableDocument(url, reason, ReadOutcome.MALFORMED)
        is_new = not is_root and not outline.member and self.known.at(url) is None
        if is_new and await is_draft(self.reader, url):
            raise UnreadableDocument(url, "it is a draft", ReadOutcome.FORBIDDEN)
        facts.instead = instead if place.is_catalog else ""
        if facts.has_list:
            is_itself = outline.is_catalog or not is_root
            found = replace(found, subject=(outline.subject or url) if is_itself else "")
        else:
            facts.is_lost = not outline.member and self._was_listing(url)
        are_records = self.source.config.own.get("harvest_catalogs")
        if are_records and is_catalog(outline, place, is_root=is_root):
            subject = URIRef(outline.subject or url)
            catalog = await self.datasets.read_catalog(
                url, self.source.url, found.document, subject
            )
            found = replace(found, crawled=catalog)
        return found

    async def read_list(self, url: str, place: Place, facts: ListFacts) -> ContainerList:
        """Read a container's document and the further pages of its list.

        If the pages do not fit each other, because the list changed, they are read once more. What either
        reading lists is listed.

        :param facts: get what is to be known of the pages.
        :raises UnreadableDocument: the first page cannot be read.
        """
        found = await self._read_pages(url, place, facts)
        if facts.misfit:
            again = await self._read_pages(url, place, facts)
            found = replace(again, outline=_united(again.outline, found.outline))
        return found

    async def _read_pages(self, url: str, place: Place, facts: ListFacts) -> ContainerList:
        def learn(page: FetchedDocument, graph: Graph) -> DocumentOutline:
            return documents.outline_of_container(
                graph,
                url,
                is_root=url == self.source.url,
                is_part=not place.is_catalog,
                final_url=page.base,
            )

        most = MOST_PAGES + len(self.known)
        reading: ListReading[DocumentOutline] = ListReading(self.reader, url, most)
        role = "container" if place.is_catalog else "part"
        found: ContainerList | None = None
        async for page, outline in reading.pages(role, DocumentOutline, learn):
            if found is None:
                found = ContainerList(page, outline, facts)
            else:
                found = replace(found, outline=_together(found.outline, outline))
        reading.note(facts)
        assert found is not None, "a list has a first page, or cannot be read"
        return found

    def _instead(self, url: str, outline: DocumentOutline) -> str:
        """Return what a URL leads to now and before, for people, if that is another container than before.

        Servers redirect lost catalogs to the root or to other catalogs, and sometimes the root to a catalog.
        """
        now = outline.subject or url
        remembered = self.reader.memory.recall(list_key(url), "list")
        before = remembered or ""
        is_same = loose_spelling(now) == loose_spelling(url)
        if url == self.source.url and remembered is not None and not before and not is_same:
            is_part = any(now == record.catalog_url for record in self.known)
            return f"{display_url(now)} instead of the FAIR Data Point" if is_part else ""
        is_itself = url != self.source.url and is_same
        if not before or is_itself or last_segment(before) == last_segment(now):
            return ""
        return f"{display_url(now)} instead of the catalog {display_url(before)}"

    def _was_listing(self, url: str) -> bool:
        """Return whether an earlier job read a list of a container."""
        plain = loose_spelling(url)
        return self.reader.memory.knows(list_key(url)) or any(
            record.catalog_url is not None and loose_spelling(record.catalog_url) == plain
            for record in self.known
        )


def is_catalog(outline: DocumentOutline, place: Place, *, is_root: bool) -> bool:
    """Return whether a container is a catalog, by its document or by the record that lists it."""
    return outline.is_catalog or (place.is_catalog and not is_root)


def _together(pages: DocumentOutline, page: DocumentOutline) -> DocumentOutline:
    """Return one outline of the pages of a list."""
    return replace(
        _united(pages, page),
        states_list=pages.states_list or page.states_list,
        services=pages.services + page.services,
        nameless=pages.nameless + page.nameless,
    )


def _united(first: DocumentOutline, second: DocumentOutline) -> DocumentOutline:
    """Return the first outline with what the second one lists besides."""
    names = ("catalogs", "datasets", "parts")
    united: dict[str, Any] = {
        name: sorted({*getattr(first, name), *getattr(second, name)}) for name in names
    }
    return replace(first, **united)


def list_key(url: str) -> str:
    """Return the key in the memory of a record that lists others; the value is the URL in its document."""
    return f"{url}#list"


async def is_draft(reader: DocumentReader, url: str) -> bool:
    """Return whether a record is a draft that only the source's secret headers make readable.

    The reference implementation shows drafts to users, and tells their state at ``<record>/meta``. Other
    servers answer 404 there.

    :raises UnreadableDocument: the server does not tell.
    """
    if not reader.source_hosts.sends_headers_to(url) or "?" in url or "#" in url:
        return False
    meta = f"{url.rstrip('/')}/meta"
    try:
        answer = await reader.fetch(meta, "application/json")
    except UnreadableDocument as failure:
        if failure.status in _NO_SUCH_ENDPOINT:
            return False
        raise
    try:
        return str(json.loads(answer.body or b"")["state"]["current"]).upper() == "DRAFT"
    except (ValueError, TypeError, LookupError, RecursionError):
        return False
