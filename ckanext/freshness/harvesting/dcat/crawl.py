"""One crawl of a catalogue: read its lists, then hand on the datasets that they describe.

Each document with a list is a container: the source's own URL, and each further catalog. The crawl decides
nothing (:mod:`..source_type`). It hands on the datasets when all lists are read: only then it is known which
of several descriptions says most, whether an identity belongs to several datasets, and whether the catalogue
has moved. Meanwhile each new or changed dataset waits as compressed JSON.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import PurePosixPath
from urllib.parse import urldefrag, urlsplit

from rdflib import Graph

from ...web.urls import display_url, loose_spelling
from ..listings import ListFacts
from ..messages import Message, about
from ..rdf.mapping import Mapper
from ..rdf.reader import (
    MOST_PAGES,
    DocumentReader,
    FetchedDocument,
    ListReading,
    mark_lists,
    second_reading,
    understood,
)
from ..rdf.record_graph import describes
from ..record import (
    Containers,
    CrawledRecord,
    CurrentRecords,
    KnownRecord,
    ReadOutcome,
    SeenRecord,
    Sink,
)
from ..source_client import UnreadableDocument
from ..source_type import CrawlEnd, CrawlInput, ask_left_out
from ..strategy import LEFT_OUT_AFTER, must_ask
from .catalogue import CatalogueOutline, nodes_by_identity, outline_of_catalogue
from .datasets import FoundDataset, FoundDatasets, Identities

MISSING = "missing since"
"""The key in the source's memory of the current records that the lists do not describe: guids and times."""

_CONTESTED = "several datasets of the catalogue have this identifier"
_OTHER_CATALOG = "a catalog that could not be read has a dataset with this identifier"
_UNDESCRIBED = "it is listed, but the catalogue does not describe it"

_RDF_ENDINGS = frozenset({".ttl", ".rdf", ".xml", ".jsonld", ".n3"})


class CatalogueCrawl:
    """One crawl of one source. Call :meth:`run` once."""

    def __init__(
        self, reader: DocumentReader, mapper: Mapper, given: CrawlInput, sink: Sink
    ) -> None:
        """
        :param sink: called with each dataset when all lists were read.
        """
        source, known = given.source, given.known
        self._reader = reader
        self._config = source.config
        self._now = given.now
        self._known = known
        self._sink = sink
        self._end = CrawlEnd(Containers(root=source.url, has_own_documents=False))
        self._containers = self._end.containers
        self._found = FoundDatasets(reader, mapper, known, source.config.max_records)
        self._lists = CatalogueLists(reader, self._end, known, self._found)
        self._missing_since: dict[str, str] = reader.memory.recall(MISSING, MISSING) or {}
        """By guid of a record that the last job missed: when a job first missed it."""

    async def run(self) -> CrawlEnd:
        """Read all lists, and hand on their datasets; an exception of the sink ends the crawl."""
        await self._lists.read()
        identities = Identities(self._known, self._found, self._containers)
        if self._missing(identities):
            await self._lists.read_again()
        missing = self._missing(identities)
        answers = await self._ask_for(missing)
        self._doubt(missing, identities)
        self._lists.prove(is_missing=bool(missing))
        self._hand_on(identities)
        for url, outcome in answers.items():
            self._sink(CrawledRecord(SeenRecord(url, outcome)), self._containers)
        self._end.errors += self._reader.errors
        self._end.warnings += self._reader.warnings
        return self._end

    # Records that are in no list

    def _missing(self, identities: Identities) -> list[KnownRecord]:
        """Return the current records that are in no list."""
        found, listed = self._found, self._containers.listed
        listed.update(found.described, found.contested, found.undescribed)
        there = {known.url for one in listed if (known := identities.of(one)[0]) is not None}
        return [record for record in self._known if record.url not in there]

    async def _ask_for(self, missing: list[KnownRecord]) -> dict[str, ReadOutcome]:
        """Ask for records that no list has, at their own URLs on the source's hosts."""
        listed, may_visit = self._containers.listed, self._reader.source_hosts.may_visit
        left_out = [
            one for one in missing if must_ask(one, listed, self._containers) and may_visit(one.url)
        ]
        described = self._found.described
        return await ask_left_out(
            left_out,
            partial(_ask, self._reader, self._containers.root, described),
            self._containers,
            concurrency=self._reader.concurrency,
            most=self._config.max_deletions,
            listed=sorted(url for url in described if may_visit(url)),
        )

    def _doubt(self, left_out: Collection[KnownRecord], identities: Identities) -> None:
        """Note the records whose descriptions are missing, or a part of them: the lists may be cut.

        Records that nobody can recognise raise no doubt, nor do those that have been missing for so long that
        the others need not wait any more.
        """
        failed = (one for one, found in self._found.described.items() if found.error)
        adoptable, listed = self._known.adoptable, self._containers.listed
        unread = (
            identities.of(one)[0] or adoptable.of(one, listed)
            for one in (*self._found.only_named(), *failed)
        )
        missing = {one.guid for one in (*left_out, *filter(None, unread)) if one.recognised}
        now = self._now
        # What an unread list has is not missing for that reason.
        first = None if self._containers.unreadable else now.isoformat()
        since = {
            guid: begin
            for guid in sorted(missing)
            if (begin := self._missing_since.get(guid, first)) is not None
        }
        self._reader.memory.remember(MISSING, MISSING, since)
        self._containers.left_out.update(
            guid
            for guid in missing
            if guid not in since or now - datetime.fromisoformat(since[guid]) < LEFT_OUT_AFTER
        )

    # Records that a list has

    def _hand_on(self, identities: Identities) -> None:
        """Hand on the datasets, and report those that could not be read."""
        for identity, found in self._found.described.items():
            if identity not in self._found.contested:
                self._sink(self._crawled(identity, found, identities), self._containers)
        for identity, url in sorted(self._found.contested.items()):
            self._sink(_unread(identity, url, _CONTESTED), self._containers)
        for identity in self._found.only_named():
            if identities.of(identity)[0] is None:
                self._end.skip(f"dcat:Dataset: {_UNDESCRIBED}", identity)
            else:
                url = self._found.undescribed[identity]
                self._sink(_unread(identity, url, _UNDESCRIBED), self._containers)

    def _crawled(self, identity: str, found: FoundDataset, identities: Identities) -> CrawledRecord:
        """Return a dataset as this job found it."""
        known, name = identities.of(identity)
        if found.error is not None:
            return _unread(identity, found.url, found.error)
        if (
            known is not None
            and known.catalog_url in self._containers.unreadable
            and (found.description.is_blank or known.url != identity)
        ):
            return _unread(identity, found.url, _OTHER_CATALOG)
        record = self._found.contents(found, known)
        content_hash = known.content_hash if known is not None else None
        if record is not None:
            content_hash = self._reader.hash(record.digest())
        seen = SeenRecord(identity, ReadOutcome.PRESENT, (found.url,), content_hash=content_hash)
        facts = self._lists.facts.get(found.url)
        may_be_cut = (
            facts is None
            or not facts.has_end
            or found.url in self._containers.unproved
            # The end of a cut document may have moved behind it.
            or (known is not None and known.guid in self._missing_since)
        )
        return CrawledRecord(seen, record, subject=name, memory=found.memory, may_be_cut=may_be_cut)


def _unread(identity: str, url: str, words: Message) -> CrawledRecord:
    seen = SeenRecord(identity, ReadOutcome.MALFORMED, (url,))
    return CrawledRecord(seen, error=about(display_url(identity), words))


async def _ask(
    reader: DocumentReader, source_url: str, listed: Container[str], url: str
) -> ReadOutcome:
    """Return whether RDF at a dataset's own URL, or beside it, states anything of the dataset.

    The type does not matter: servers lose types, and other vocabularies have types of their own.

    :param listed: the identities of all listed datasets.
    """
    address = urldefrag(url).url
    # Datasets whose IRIs differ in their fragments share one document.
    get = reader.get if address == url else reader.get_once
    # CKANs with ckanext-dcat have the RDF of a dataset beside its page for people.
    ending = PurePosixPath(urlsplit(source_url).path).suffix
    suffix = ending if ending in _RDF_ENDINGS else ".ttl"
    for requested in (address, f"{address}{suffix}"):
        try:
            document = await get(requested)
            graph = await document.parsed()
            with understood(url):
                names = {loose_spelling(one) for one in nodes_by_identity(graph)}
                is_moved = document.base not in listed and loose_spelling(document.base) in names
                if is_moved or loose_spelling(url) in names or describes(graph, url):
                    return ReadOutcome.PRESENT
        except UnreadableDocument as failure:
            if requested == address and failure.outcome is not ReadOutcome.MALFORMED:
                return failure.outcome
    return ReadOutcome.MALFORMED


# The lists: the catalogue's own pages, and those of further catalogs that it names

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
                continue
            self.end.skip(_ELSEWHERE, url)
            if is_missing:
                self.end.containers.elsewhere.add(url)
            else:
                memory.remember(url, _ELSEWHERE, "")
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
