"""One crawl of a catalogue: read its pages, and those of further catalogs that it names.

Each document with a list is a container: the source's own URL, and each further catalog. The crawl hands on
the datasets of a page at once, and decides nothing (:mod:`..source_type`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rdflib import Graph
from rdflib.term import Node

from ...web.urls import display_url
from ..listings import ListFacts, doubt
from ..messages import about
from ..rdf.list_reading import MOST_PAGES, ListReading
from ..rdf.mapping import Mapper, mapped
from ..rdf.reader import DocumentReader, FetchedDocument, understood
from ..record import (
    Containers,
    CurrentRecords,
    KnownRecord,
    ReadOutcome,
    Record,
    SeenRecord,
    Sighting,
    Sink,
    resource_order,
)
from ..source_client import UnreadableDocument
from ..source_type import CrawlEnd
from .catalogue import (
    CatalogueOutline,
    graph_of,
    named_distributions,
    nodes_by_identity,
    outline_of_catalogue,
)

MOST_CATALOGS = 1000
"""The most catalogs with documents of their own."""


class CatalogueCrawl:
    """One crawl of one source. Call :meth:`run` once."""

    def __init__(
        self,
        reader: DocumentReader,
        source_url: str,
        mapper: Mapper,
        known: CurrentRecords,
        sink: Sink,
        *,
        most: int,
    ) -> None:
        """
        :param known: the current records of the source.
        :param most: the most datasets that are read.
        """
        self._reader = reader
        self._mapper = mapper
        self._known = known
        self._sink = sink
        self._most = most
        self._containers = Containers(root=source_url)
        self._end = CrawlEnd(self._containers)
        self._facts: dict[str, ListFacts] = {}
        self._taken: set[str] = set()
        """Identities of the datasets that were handed on."""
        self._unread: dict[str, tuple[str, str]] = {}
        """By identity, datasets that were not read: the list that has them, and why."""
        self._is_paged = False
        self._page: FetchedDocument | None = None
        self._nodes: dict[str, list[Node]] = {}
        """The nodes of the datasets of this page."""

    async def run(self) -> CrawlEnd:
        """Read all lists; an exception of the sink ends the crawl."""
        waiting = [self._containers.root]
        while waiting:
            url = waiting.pop(0)
            try:
                below = await self._read_list(url)
            except UnreadableDocument as failure:
                self._facts.pop(url, None)
                self._end.mark_unreadable(url, failure.reason, reported=failure.reported)
                continue
            new = below - self._facts.keys() - self._containers.unreadable.keys() - set(waiting)
            if len(self._facts) + len(waiting) + len(new) > MOST_CATALOGS:
                self._facts[url].misfit = f"the source lists more than {MOST_CATALOGS} catalogs"
            else:
                waiting += sorted(new)
        if self._is_missing() and (self._is_paged or len(self._facts) > 1):
            # A dataset may move from an unread page to one that was read before: an absence is seen twice.
            for url in sorted(self._facts):
                await self._read_again(url)
        self._tell_unread()
        self._prove()
        self._end.errors += self._reader.errors
        return self._end

    # Lists

    async def _read_list(self, url: str) -> set[str]:
        """Read a list, and once more if its pages do not fit each other, because it changed meanwhile.

        :returns: further catalogs that it names.
        :raises UnreadableDocument: its first page cannot be read.
        """
        facts = self._facts.setdefault(url, ListFacts())
        facts.misfit, below = await self._read_pages(url)
        if facts.misfit:
            facts.misfit, again = await self._read_pages(url)
            below |= again
        return below

    async def _read_again(self, url: str) -> None:
        facts = self._facts[url]
        try:
            misfit, below = await self._read_pages(url)
        except UnreadableDocument as failure:
            misfit, below = failure.reason, set()
        if not below <= self._facts.keys() | self._containers.unreadable.keys():
            misfit = misfit or "its list of catalogs changed while it was read"
        facts.misfit = facts.misfit or misfit

    async def _read_pages(self, url: str) -> tuple[str, set[str]]:
        """Read the pages of a list, and hand on their datasets.

        :returns: why the pages are not a whole list, if so; and further catalogs.
        """
        facts = self._facts[url]
        reading: ListReading[CatalogueOutline] = ListReading(
            self._reader, url, MOST_PAGES + len(self._known)
        )
        below: set[str] = set()
        misfit, has_list, unidentified = "", False, 0

        def learn(page: FetchedDocument, graph: Graph) -> CatalogueOutline:
            return outline_of_catalogue(graph)

        async for page, outline in reading.pages("catalogue", CatalogueOutline, learn):
            has_list |= outline.total is not None or bool(outline.identities or outline.further)
            unidentified += outline.nameless
            below.update(outline.catalogs)
            if not await self._take_page(url, page, outline):
                misfit = f"the source lists more than max_records ({self._most}) datasets"
                break
        self._is_paged |= reading.is_paged
        facts.has_end &= reading.has_end
        facts.unusable = unidentified
        facts.is_lost = not has_list and not unidentified and self._had_records(url)
        elsewhere = {one for one in below if not self._reader.reach.may_visit(one)}
        for one in elsewhere:
            if any(record.catalog_url == one for record in self._known):
                words = 'its host may not be requested any more: add it to "allowed_hosts"'
                self._end.mark_unreadable(one, words)
            else:
                self._end.skip("dcat:Catalog on another host", one)
        if unidentified:
            self._end.skip("dcat:Dataset without URL and identifier", url, unidentified)
        return misfit or reading.misfit, below - elsewhere

    def _had_records(self, url: str) -> bool:
        return any(record.catalog_url in (url, None) or record.foreign for record in self._known)

    # Datasets

    async def _take_page(self, url: str, page: FetchedDocument, outline: CatalogueOutline) -> bool:
        """Hand on the datasets of a page that no earlier page had; return whether there was room for all."""
        if not self._taken and self._known.may_have_moved_to(outline.records):
            await self._look_for_move()
        new = [identity for identity in outline.records if identity not in self._taken]
        room = self._most - len(self._taken)
        self._containers.listed.update(new[:room])
        for identity in new[:room]:
            self._taken.add(identity)
            self._unread.pop(identity, None)
            sighting = await self._sighting(url, page, identity, outline.records[identity])
            self._sink(sighting, self._containers)
        for words, identities in (
            ("several datasets of the catalogue have this identifier", outline.contested),
            ("it is listed, but the catalogue does not describe it", outline.undescribed),
        ):
            for identity in identities:
                if identity not in self._taken:
                    self._unread.setdefault(identity, (url, words))
        return len(new) <= room

    async def _look_for_move(self) -> None:
        """Read the whole catalogue before the first of its datasets counts as new."""
        ahead = CatalogueCrawl(
            self._reader,
            self._containers.root,
            self._mapper,
            CurrentRecords([]),
            lambda sighting, containers: None,
            most=self._most,
        )
        self._known.follow_move((await ahead.run()).containers.listed)

    async def _sighting(
        self, url: str, page: FetchedDocument, identity: str, digest: str
    ) -> Sighting:
        known = self._known.of(identity, self._containers.listed)
        memory = self._reader.hash(digest)
        seen = SeenRecord(identity, ReadOutcome.PRESENT, (url,))
        if (
            known is not None
            and known.url == identity
            and known.content_hash is not None
            and known.memory == memory
        ):
            return Sighting(replace(seen, content_hash=known.content_hash), memory=memory)
        try:
            graph = await page.parsed()
            if self._page is not page:
                self._page, self._nodes = page, nodes_by_identity(graph)
            (node,) = self._nodes[identity]
            with understood(identity):
                record = mapped(self._mapper, graph_of(graph, node), node)
                self._keep_named(record, known, named_distributions(graph, node))
        except UnreadableDocument as failure:
            failed = SeenRecord(identity, ReadOutcome.MALFORMED, (url,))
            return Sighting(failed, error=failure.message)
        seen = replace(seen, content_hash=self._reader.hash(record.digest()))
        return Sighting(seen, record, memory=memory)

    def _keep_named(
        self, record: Record, known: KnownRecord | None, named: Collection[str]
    ) -> None:
        """Keep the resources of distributions that a dataset names and that the document does not describe."""
        if known is None or not named:
            return
        kept = [one for one in self._known.resources_of(known) if one.get("uri") in named]
        record.resources = sorted([*record.resources, *kept], key=resource_order)

    def _tell_unread(self) -> None:
        """Report the datasets that are listed and were not read."""
        self._containers.listed.update(self._unread)
        for identity, (url, words) in sorted(self._unread.items()):
            if self._known.of(identity, self._containers.listed) is None:
                self._end.skip(f"dcat:Dataset: {words}", identity)
                continue
            seen = SeenRecord(identity, ReadOutcome.MALFORMED, (url,))
            error = about(display_url(identity), words)
            self._sink(Sighting(seen, error=error), self._containers)

    # What the lists prove

    def _is_missing(self) -> bool:
        """Return whether a current record is in no list."""
        listed = {*self._taken, *self._unread}
        found = {known.url for one in listed if (known := self._known.of(one, listed)) is not None}
        return any(record.url not in found for record in self._known)

    def _prove(self) -> None:
        """Mark the lists as unproved that do not prove that a record is absent."""
        is_missing = self._is_missing()
        for url, facts in sorted(self._facts.items()):
            facts.listed = facts.there = len(self._taken)
            if (reason := doubt(facts, is_missing=is_missing)) is not None:
                self._end.mark_unproved(url, reason)
