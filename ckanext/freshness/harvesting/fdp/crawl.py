"""One crawl of a FAIR Data Point: read the containers, then the records, many at a time.

The crawl reports and decides nothing. It hands each record to a sink as soon as it is read
(:class:`~ckanext.freshness.harvesting.record.Sighting`) and ends with the containers
(:class:`~ckanext.freshness.harvesting.record.Containers`). The strategy decides about deletions.
"""

from __future__ import annotations

from collections.abc import Iterable

from rdflib import Graph

from ...web.urls import display_url
from ..messages import HarvestMessage, MessageCode
from ..rdf.reader import FetchedDocument, understood
from ..rdf.record_graph import describes
from ..rdf.source_type import CrawlOptions
from ..record import (
    CurrentRecords,
    KnownRecord,
    ReadOutcome,
    SeenRecord,
    Sighting,
    Sink,
    guid_of,
)
from ..source_client import UnreadableDocument, for_each
from ..source_type import CrawlEnd, ask_left_out
from ..strategy import catalog_of, must_ask
from . import documents
from .container_tree import DEEPEST, ContainerTree, DatasetListing
from .containers import ContainerReader, Place, list_key
from .datasets import REFUSING, DatasetReader
from .documents import DocumentOutline, ListedDataset
from .reader import FdpReader, ServiceReader

_OUTCOMES_OF_DRAFTS = frozenset({ReadOutcome.FORBIDDEN, ReadOutcome.GONE})


class Crawl:
    """One crawl of one source. Call :meth:`run` once.

    :ivar containers: the containers read so far
    """

    def __init__(
        self,
        reader: FdpReader,
        source_url: str,
        options: CrawlOptions,
        known: CurrentRecords,
        sink: Sink,
    ) -> None:
        """
        :param known: the current records of the source.
        :param sink: called with each record as soon as it is read, in no particular order.
        """
        self._known = known
        self._sink = sink
        self._options = options
        self._reader = reader
        self._listing = DatasetListing(source_url, options.max_records)
        services = ServiceReader(reader)
        containers = ContainerReader(reader, services, options, known, source_url)
        self._catalogs = ContainerTree(containers, self._listing, sink)
        is_wall = reader.memory.recall(REFUSING, REFUSING) == "true"
        self._datasets = DatasetReader(
            reader, services, options.mapper, known, options.now, is_wall
        )
        self._claimed: set[str] = set()
        """Listed URLs of the datasets that are read already."""
        self._subjects: dict[str, str] = {}
        """The listed URL of each dataset, by its URL in its document."""
        self._there: set[str] = set()
        """Listed URLs of the datasets that were read, and of drafts."""
        self._below: dict[str, Place] = {}
        """Records that datasets list, and that are not read yet."""
        self._answers: dict[str, ReadOutcome] = {}
        """What the own URLs of current records answer that no list has."""
        self._end = self._listing.end
        self.containers = self._end.containers

    async def run(self) -> CrawlEnd:
        """Read all containers and records.

        :raises Exception: the sink failed; the crawl then ends at once.
        """
        await self._catalogs.read({self.containers.root: Place(None)})
        # Two listed URLs may lead to one document. The record keeps the URL that it had, whichever of the
        # two answers first.
        self._subjects |= {
            record.subject: record.url
            for record in self._known
            if record.subject is not None and record.url in self._listing
        }
        for _ in range(DEEPEST):
            await self._read_datasets()
            if not self._below:
                break
            below, self._below = self._below, {}
            await self._catalogs.read(below)
        if self._missing():
            await self._catalogs.read_again()
            await self._read_datasets()
        self._datasets.remember_refusals()
        missing = self._missing()
        known = {url for url in self._listing.urls() if self._known_as(url) is not None}
        await self._ask(missing, known)
        there = self._there | known
        self._catalogs.prove(there, is_missing=self._is_missing(missing), is_unlisted=bool(missing))
        for record in missing:
            if (outcome := self._answers.get(record.url)) is not None:
                self._sink(Sighting(SeenRecord(record.url, outcome)), self.containers)
        self._end.errors += self._reader.errors
        self._end.warnings += self._reader.warnings
        return self._end

    # Current records that no list has

    def _missing(self) -> list[KnownRecord]:
        """Return the current records that are not listed, if their own URLs may tell more."""
        listed = {*self._listing.urls(), *self.containers.catalogs}
        known = (self._known.of(url, listed) for url in (*listed, *self._subjects))
        # A current record may be listed under another URL now.
        listed |= {record.url for record in known if record is not None}
        return [record for record in self._known if must_ask(record, listed, self.containers)]

    def _is_missing(self, records: Iterable[KnownRecord]) -> bool:
        """Return whether a record is missing, unless its own URL says that it is gone."""
        return any(self._answers.get(one.url) is not ReadOutcome.GONE for one in records)

    async def _ask(self, missing: Iterable[KnownRecord], listed: set[str]) -> None:
        """Request the own URLs of records that no list has.

        :param listed: the listed URLs of current records.
        """
        left_out = [record for record in missing if record.url not in self._answers]
        self._answers |= await ask_left_out(
            left_out,
            self._ask_one,
            self.containers,
            concurrency=self._options.concurrency,
            most=self._options.max_deletions,
            # If no listed record answers, nor do the missing ones say anything.
            listed=sorted(listed & self._there or listed),
        )

    async def _ask_one(self, url: str) -> ReadOutcome:
        """Return whether a current record's own document states anything of it. Servers lose types."""
        known = self._known.at(url)
        try:
            document = await self._reader.get(url)
            graph = await document.parsed()
            with understood(url):
                if describes(graph, url):
                    return ReadOutcome.PRESENT
                outline = documents.outline_of_dataset(graph, url, final_url=document.base)
        except UnreadableDocument as failure:
            return failure.outcome
        subjects = (member.subject for member in outline.members.values())
        is_itself = known is None or outline.is_catalog == known.is_catalog
        # It may have been merged into another record, which its URL leads to.
        if not is_itself or any(
            self._listing.listed_as(one) not in (None, url) for one in subjects
        ):
            return ReadOutcome.MALFORMED
        return ReadOutcome.PRESENT

    async def _read_datasets(self) -> None:
        """Read each listed dataset from its own URL."""
        while unread := [url for url in self._listing.urls() if url not in self._claimed]:
            self._claimed.update(unread)
            await for_each(4 * self._options.concurrency, self._read_record, unread)

    # One record

    def _known_as(self, url: str) -> KnownRecord | None:
        """Return the current record that a listed URL means."""
        return self._known.of(url, self.containers.listed)

    async def _read_record(self, url: str) -> None:
        """Read a listed dataset from its own URL, and hand it to the sink."""
        listed_in = self._catalogs.catalogs_of(url)
        try:
            with understood(url):
                document, outline = await self._read_document(url)
                member = outline.members[url]
                if self._known_as(url) is None and await self._reader.is_draft(url):
                    raise UnreadableDocument(url, "it is a draft", ReadOutcome.FORBIDDEN)
                sighting = await self._assemble(url, listed_in, document, member)
            self._there.add(url)
            self._follow(url, listed_in, member)
        except UnreadableDocument as failure:
            sighting = await self._failed(url, listed_in, failure)
        self._sink(sighting, self.containers)

    async def _failed(
        self, url: str, listed_in: tuple[str, ...], failure: UnreadableDocument
    ) -> Sighting:
        """Return the sighting of a listed record that could not be read."""
        is_draft = failure.outcome in _OUTCOMES_OF_DRAFTS and self._known_as(url) is None
        if failure.outcome is ReadOutcome.GONE and not is_draft:
            failure = await self._unless_there_as_before(url, failure)
        if is_draft and failure.outcome is ReadOutcome.FORBIDDEN:
            self._there.add(url)
        if self._reader.memory.knows(list_key(url)):
            words = "it could not be read, and listed other records before"
            self._end.mark_unproved(url, words, reported=True)
        error = None if is_draft or failure.reported else failure.message
        return Sighting(SeenRecord(url, failure.outcome, listed_in), error=error)

    async def _unless_there_as_before(
        self, url: str, failure: UnreadableDocument
    ) -> UnreadableDocument:
        """Return the failure of a current record that is listed under another URL, and gone there.

        If the URL that it had still answers, the list is wrong, and the record is not gone.
        """
        known = self._known_as(url)
        if known is None or known.url == url:
            return failure
        self._answers[known.url] = await self._ask_one(known.url)
        if self._answers[known.url] is ReadOutcome.GONE:
            return failure
        words = f"{failure.reason}, but {display_url(known.url)}, its URL before, does not"
        return UnreadableDocument(url, words, status=failure.status)

    def _follow(self, url: str, listed_in: tuple[str, ...], member: ListedDataset) -> None:
        """Note the series of a dataset, and other records that it lists, on the source's hosts."""
        series = [one for one in member.series if self._reader.reach.may_visit(one)]
        for one in series:
            self._listing.add(one, min(listed_in))
        self._below |= {part: Place(min(listed_in), is_catalog=False) for part in member.parts}
        if member.is_catalog:
            self._below[url] = Place(min(listed_in))
        if series or member.parts:
            self._reader.memory.remember(list_key(url), "list", '""')

    async def _own_outline(self, url: str) -> tuple[FetchedDocument, DocumentOutline]:
        """Return the document at a record's own URL, and its outline.

        :raises UnreadableDocument: it cannot be read or describes another dataset.
        """
        document = await self._reader.get(url)
        try:
            outline = await self._reader.outline(
                document,
                "dataset",
                DocumentOutline,
                lambda graph: documents.outline_of_dataset(graph, url, final_url=document.base),
            )
        except UnreadableDocument:
            if url in self._listing:
                self._list_instead(url, await document.parsed())
            raise
        return document, outline

    def _list_instead(self, url: str, graph: Graph) -> None:
        """List the only dataset of a listed URL's document, if it is current: the source still has it."""
        described = list(documents.outline_of_datasets(graph).members)
        if len(described) == 1 and self._known.at(described[0]) is not None:
            for container in self._listing.containers_of(url):
                self._listing.add(described[0], container)

    async def _read_document(self, url: str) -> tuple[FetchedDocument, DocumentOutline]:
        """Return a dataset's own document and its outline.

        :raises UnreadableDocument: it cannot be read or describes another dataset.
        """
        document, outline = await self._own_outline(url)
        if outline.is_catalog:
            if self._known_as(url) is None:
                # Some sources list catalogs as datasets. One that was a dataset before has lost its type.
                self._below[url] = Place(min(self._catalogs.catalogs_of(url)))
            reason = HarvestMessage("it describes no dcat:Dataset", MessageCode.NO_DATASET)
            raise UnreadableDocument(
                url, reason, ReadOutcome.MALFORMED, reported=url in self._below
            )
        subject = outline.members[url].subject
        if self._listing.listed_as(subject) not in (None, url):
            words = f"it describes {display_url(subject)} instead, which is listed itself"
        elif self._subjects.setdefault(subject, url) != url:
            words = f"it describes {display_url(subject)}, as another listed URL does"
        else:
            return document, outline
        reason = HarvestMessage(words, MessageCode.DESCRIBES_ANOTHER)
        raise UnreadableDocument(url, reason, ReadOutcome.MALFORMED)

    async def _assemble(
        self,
        url: str,
        listed_in: tuple[str, ...],
        document: FetchedDocument,
        member: ListedDataset,
    ) -> Sighting:
        """Return the sighting of a dataset with its distributions."""
        listed, subject = self.containers.listed, member.subject
        known = self._known.of(url, listed) or self._known.of(subject, listed)
        adopted = None
        if known is None:
            adoptable = self._known.adoptable
            adopted = adoptable.of(url, listed) or adoptable.of(subject, listed)
        part_of = self._catalog_named(member.part_of)
        seen = SeenRecord(url, ReadOutcome.PRESENT, listed_in, part_of=part_of)
        guid = guid_of(url, catalog_of(seen, known, self.containers))
        return await self._datasets.read(seen, guid, document, member, known, adopted)

    def _catalog_named(self, part_of: Iterable[str]) -> str | None:
        """Return the catalog of this source that a record's dct:isPartOf names, in any spelling."""
        for url in part_of:
            catalog = self.containers.catalog_as(self._catalogs.aliases.get(url, url))
            if catalog:
                return catalog
        return None
