"""The lists of a catalogue: its own pages, and those of further catalogs that it names."""

from __future__ import annotations

from dataclasses import dataclass, field

from rdflib import Graph

from ..listings import ListFacts
from ..rdf.reader import (
    MOST_PAGES,
    DocumentReader,
    FetchedDocument,
    ListReading,
    mark_lists,
    second_reading,
    understood,
)
from ..record import CurrentRecords
from ..source_client import UnreadableDocument
from ..source_type import CrawlEnd
from .catalogue import CatalogueOutline, outline_of_catalogue
from .datasets import FoundDatasets

MOST_CATALOGS = 1000
"""The most catalogs with documents of their own."""

_ELSEWHERE = "dcat:Catalog on another host"


@dataclass(slots=True)
class CatalogueLists:
    """The lists of one crawl."""

    reader: DocumentReader
    end: CrawlEnd
    """Gets what could not be read."""
    known: CurrentRecords
    """The current records of the source."""
    found: FoundDatasets
    """Gets the datasets of the lists."""
    facts: dict[str, ListFacts] = field(default_factory=dict)
    """By URL of each list that was read."""
    _elsewhere: set[str] = field(default_factory=set)
    """Catalogs whose hosts may not be requested."""
    _listed: dict[str, int] = field(default_factory=dict)
    """A hash of the identities in each list, as last read."""

    @property
    def met(self) -> set[str]:
        """All catalogs that were requested."""
        return {*self.facts, *self.end.containers.unreadable}

    async def read(self) -> None:
        """Read all lists."""
        waiting = [self.end.containers.root]
        while waiting:
            url = waiting.pop(0)
            self.facts[url] = ListFacts()
            try:
                with understood(url):
                    below = await self._read_list(url, 0)
            except UnreadableDocument as failure:
                del self.facts[url]
                self.end.mark_unreadable(url, failure.reason, reported=failure.reported)
                continue
            new = below - self.met - set(waiting)
            if len(self.facts) + len(waiting) + len(new) > MOST_CATALOGS:
                self.facts[url].misfit = f"the source lists more than {MOST_CATALOGS} catalogs"
            else:
                waiting += sorted(new)

    async def read_again(self) -> None:
        """Read all lists once more, because an absence must be seen twice.

        A dataset may move from an unread page to one that was read before, and a document may be in the middle
        of being written.
        """
        for url, facts in sorted(self.facts.items()):
            before = self._listed[url]
            with second_reading(url, facts):
                below = await self._read_list(url, 2)
                changed = ""
                if not below <= self.met:
                    changed = "its list of catalogs changed while it was read"
                elif facts.page_size is None and self._listed[url] != before:
                    changed = "its list of datasets changed while it was read"
                facts.misfit = facts.misfit or changed

    async def _read_list(self, url: str, number: int) -> set[str]:
        """Read a list: if its pages do not fit each other, because it changed meanwhile, once more."""
        below = await self._read_pages(url, number)
        if self.facts[url].misfit:
            below |= await self._read_pages(url, number + 1)
        return below

    async def _read_pages(self, url: str, number: int) -> set[str]:
        """Read the pages of a list, and keep their datasets.

        :param number: tells the readings of the list apart.
        :returns: further catalogs that it names.
        :raises UnreadableDocument: its first page cannot be read.
        """
        facts = self.facts[url]
        self.found.forget_page()
        most = MOST_PAGES + len(self.known)
        reading: ListReading[CatalogueOutline] = ListReading(self.reader, url, most)
        named: set[str] = set()
        filled: set[str] = set()
        is_full, listed = False, 0

        def learn(page: FetchedDocument, graph: Graph) -> CatalogueOutline:
            return outline_of_catalogue(graph)

        async for page, outline in reading.pages("catalogue", CatalogueOutline, learn):
            named.update(outline.catalogs)
            filled.update(outline.filled)
            listed ^= hash(frozenset(outline.page.members))
            is_full = not await self.found.take(url, page, number, outline)
            if is_full:
                break
        reading.note(facts)
        if is_full:
            facts.misfit = f"the source lists more than max_records ({self.found.most}) datasets"
        self._listed[url] = listed
        facts.is_lost = not facts.has_list and self._had_records(url)
        below = {one.partition("#")[0] for one in named - filled}
        elsewhere = {one for one in below if not self.reader.source_hosts.may_visit(one)}
        self._elsewhere |= elsewhere
        return below - elsewhere

    def _had_records(self, url: str) -> bool:
        return any(record.catalog_url in (url, None) or record.foreign for record in self.known)

    def prove(self, *, is_missing: bool) -> None:
        """Mark the lists as unproved that do not prove that a record is absent.

        :param is_missing: a current record is in no list.
        """
        memory = self.reader.memory
        for url in sorted(self._elsewhere):
            if is_missing and memory.recall(url, _ELSEWHERE) is None:
                words = 'it is listed, but its host may not be requested: add it to "allowed_hosts"'
                self.end.mark_unreadable(url, words)
            else:
                # Records that are missing later are not there: the source does without this catalog.
                memory.remember(url, _ELSEWHERE, "")
                self.end.skip(_ELSEWHERE, url)
        for url, facts in sorted(self.facts.items()):
            facts.listed = facts.there = len(self.found.described)
            if facts.unusable:
                self.end.skip("dcat:Dataset without URL and identifier", url, facts.unusable)
            if facts.misfit:
                facts.misfit += self.found.sharers(url)
        # One of several datasets with one identifier may be the missing one.
        for url in self.found.contested.values():
            if url in self.facts:
                self.facts[url].unusable += 1
        mark_lists(memory, self.end, self.facts, is_missing=is_missing)
