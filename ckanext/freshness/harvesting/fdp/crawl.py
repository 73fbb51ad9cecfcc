"""One crawl of a FAIR Data Point: read the containers, then the records, many at a time.

The crawl reports and decides nothing. It hands each record to a sink as soon as it is read
(:class:`~ckanext.freshness.harvesting.record.CrawledRecord`) and ends with the containers
(:class:`~ckanext.freshness.harvesting.record.Containers`). The strategy decides about deletions.
"""

from __future__ import annotations

from functools import partial

from ...web.urls import display_url
from ..messages import HarvestMessage, MessageCode
from ..rdf.mapping import Mapper
from ..rdf.reader import DocumentReader, FetchedDocument, understood
from ..rdf.record_graph import describes
from ..record import (
    CrawledRecord,
    CurrentRecords,
    KnownRecord,
    ReadOutcome,
    SeenRecord,
    Sink,
    guid_of,
)
from ..source_client import UnreadableDocument, for_each
from ..source_type import CrawlEnd, CrawlInput, ask_left_out
from ..strategy import catalog_of, must_ask
from . import documents
from .container_tree import DEEPEST, ContainerTree, DatasetListing
from .containers import ContainerReader, Place, is_draft, list_key
from .datasets import REFUSING, DatasetReader
from .documents import DocumentOutline, ListedDataset

_OUTCOMES_OF_DRAFTS = frozenset({ReadOutcome.FORBIDDEN, ReadOutcome.GONE})


class Crawl:
    """One crawl of one source. Call :meth:`run` once."""

    def __init__(
        self, reader: DocumentReader, mapper: Mapper, given: CrawlInput, sink: Sink
    ) -> None:
        """
        :param sink: called with each record as soon as it is read, in no particular order.
        """
        source = given.source
        self._reader = reader
        self._config = source.config
        self._known = given.known
        self._sink = sink
        self._listing = DatasetListing(source.url, source.config.max_records)
        self._end = self._listing.end
        self._containers = self._end.containers
        is_wall = bool(reader.memory.recall(REFUSING, REFUSING))
        self._datasets = DatasetReader(reader, mapper, given.known, given.now, is_wall)
        containers = ContainerReader(reader, source, given.known, self._datasets)
        self._tree = ContainerTree(containers, self._listing, sink)
        self._claimed: set[str] = set()
        """Listed URLs of the datasets that are read already."""
        self._subjects: dict[str, str] = {}
        """The listed URL of each dataset, by its URL in its document."""
        self._there: set[str] = set()
        """Listed URLs of the datasets that were read, and of drafts."""
        self._below: dict[str, Place] = {}
        """Records that datasets list, and that are not read yet."""
        self._ask = partial(_answer_of, reader=reader, known=given.known, listing=self._listing)
        self._answers: dict[str, ReadOutcome] = {}
        """What the own URLs of current records answer that no list has."""

    async def run(self) -> CrawlEnd:
        """Read all containers and records.

        :raises Exception: the sink failed; the crawl then ends at once.
        """
        tree = self._tree
        await tree.read({self._containers.root: Place(None)})
        for _ in range(DEEPEST):
            await self._read_records()
            if not self._below:
                break
            below, self._below = self._below, {}
            await tree.read(below)
        if self._missing():
            await tree.read_again()
            await self._read_records()
        self._datasets.remember_refusals()
        missing = self._missing()
        known = {url for url in self._listing.urls() if self._known_as(url) is not None}
        self._answers |= await ask_left_out(
            [record for record in missing if record.url not in self._answers],
            self._ask,
            self._containers,
            concurrency=self._reader.concurrency,
            most=self._config.max_deletions,
            # If no listed record answers, nor do the missing ones say anything.
            listed=sorted(known & self._there or known),
        )
        answers = [self._answers.get(record.url) for record in missing]
        tree.prove(
            self._there | known,
            missing,
            is_missing=any(answer is not ReadOutcome.GONE for answer in answers),
        )
        for record, answer in zip(missing, answers, strict=True):
            if answer is not None:
                self._sink(CrawledRecord(SeenRecord(record.url, answer)), self._containers)
        self._end.errors += self._reader.errors
        self._end.warnings += self._reader.warnings
        return self._end

    def _missing(self) -> list[KnownRecord]:
        """Return the current records that are not listed, if their own URLs may tell more."""
        listed = {*self._listing.urls(), *self._containers.catalogs}
        # Some are listed under another URL.
        known = (self._known.of(url, listed) for url in (*listed, *self._subjects))
        listed |= {record.url for record in known if record is not None}
        return [record for record in self._known if must_ask(record, listed, self._containers)]

    def _known_as(self, url: str) -> KnownRecord | None:
        """Return the current record that a listed URL means."""
        return self._known.of(url, self._containers.listed)

    async def _read_records(self) -> None:
        """Read each listed dataset that is not read yet."""
        if not self._claimed:
            # Two listed URLs may lead to one document. The record keeps the URL that it had, whichever of the
            # two answers first.
            self._subjects |= {
                record.subject: record.url
                for record in self._known
                if record.subject is not None and record.url in self._listing
            }
        while unread := [url for url in self._listing.urls() if url not in self._claimed]:
            self._claimed.update(unread)
            self._reader.memory.expect(unread)
            await for_each(4 * self._reader.concurrency, self._read, unread)

    async def _read(self, url: str) -> None:
        """Read a listed dataset from its own URL, and hand it to the sink."""
        listed_in = self._tree.catalogs_of(url)
        try:
            with understood(url):
                document, member = await self._read_document(url)
                if self._known_as(url) is None and await is_draft(self._reader, url):
                    raise UnreadableDocument(url, "it is a draft", ReadOutcome.FORBIDDEN)
                crawled = await self._assembled(url, listed_in, document, member)
            self._there.add(url)
            self._follow(url, listed_in, member)
        except UnreadableDocument as failure:
            crawled = await self._failed(url, listed_in, failure)
        self._sink(crawled, self._containers)

    async def _failed(
        self, url: str, listed_in: tuple[str, ...], failure: UnreadableDocument
    ) -> CrawledRecord:
        """Return a listed record that could not be read."""
        known = self._known_as(url)
        is_draft = failure.outcome in _OUTCOMES_OF_DRAFTS and known is None
        if known is not None and known.url != url and failure.outcome is ReadOutcome.GONE:
            # If the URL that it had before still answers, the list is wrong, and the record is not gone.
            answer = self._answers[known.url] = await self._ask(known.url)
            if answer is not ReadOutcome.GONE:
                before = f"but {display_url(known.url)}, its URL before, answers otherwise"
                words = f"{failure.reason}, {before}"
                failure = UnreadableDocument(url, words, status=failure.status)
        if is_draft and failure.outcome is ReadOutcome.FORBIDDEN:
            self._there.add(url)
        if self._reader.memory.knows(list_key(url)):
            words = "it could not be read, and listed other records before"
            self._listing.end.mark_unproved(url, words, reported=True)
        error = None if is_draft or failure.reported else failure.message
        return CrawledRecord(SeenRecord(url, failure.outcome, listed_in), error=error)

    def _follow(self, url: str, listed_in: tuple[str, ...], member: ListedDataset) -> None:
        """Note the series of a dataset, and other records that it lists, on the source's hosts."""
        series = [one for one in member.series if self._reader.source_hosts.may_visit(one)]
        for one in series:
            self._listing.add(one, min(listed_in))
        self._below |= {part: Place(min(listed_in), is_catalog=False) for part in member.parts}
        if member.is_catalog:
            self._below[url] = Place(min(listed_in))
        if series or member.parts:
            self._reader.memory.remember(list_key(url), "list", "")

    async def _read_document(self, url: str) -> tuple[FetchedDocument, ListedDataset]:
        """Return a dataset's own document, and the dataset in it.

        :raises UnreadableDocument: it cannot be read or describes another dataset.
        """
        document = await self._reader.get(url)
        outline = await self._reader.outline(
            document,
            "dataset",
            DocumentOutline,
            lambda graph: documents.outline_of_dataset(graph, url, final_url=document.base),
        )
        if outline.member is None:
            if self._known_as(url) is None:
                # Some sources list catalogs as datasets. One that was a dataset before has lost its type.
                self._below[url] = Place(min(self._tree.catalogs_of(url)))
            reason = HarvestMessage(MessageCode.NO_DATASET)
            raise UnreadableDocument(
                url, reason, ReadOutcome.MALFORMED, reported=url in self._below
            )
        subject = outline.member.subject
        if self._listing.listed_as(subject) not in (None, url):
            words = f"{display_url(subject)}, which is listed itself"
        elif self._subjects.setdefault(subject, url) != url:
            words = f"{display_url(subject)}, as another listed URL does"
        else:
            return document, outline.member
        reason = HarvestMessage(MessageCode.DESCRIBES_ANOTHER, details=words)
        raise UnreadableDocument(url, reason, ReadOutcome.MALFORMED)

    async def _assembled(
        self,
        url: str,
        listed_in: tuple[str, ...],
        document: FetchedDocument,
        member: ListedDataset,
    ) -> CrawledRecord:
        """Return a dataset with its distributions."""
        listed, subject = self._containers.listed, member.subject
        known = self._known.of(url, listed, subject)
        adopted = self._known.adoptable.of(url, listed, subject) if known is None else None
        named = (self._tree.aliases.get(one, one) for one in member.part_of)
        part_of = next(filter(None, map(self._containers.catalog_as, named)), None)
        seen = SeenRecord(url, ReadOutcome.PRESENT, listed_in, part_of=part_of)
        guid = guid_of(url, catalog_of(seen, known, self._containers))
        return await self._datasets.read(seen, guid, document, member, known, adopted)


async def _answer_of(
    url: str, reader: DocumentReader, known: CurrentRecords, listing: DatasetListing
) -> ReadOutcome:
    """Return whether a current record's own document states anything of it. Servers lose types."""
    record = known.at(url)
    try:
        document = await reader.get(url)
        graph = await document.parsed()
        with understood(url):
            if describes(graph, url):
                return ReadOutcome.PRESENT
            outline = documents.outline_of_dataset(graph, url, final_url=document.base)
    except UnreadableDocument as failure:
        return failure.outcome
    is_itself = record is None or outline.is_catalog == record.is_catalog
    # It may have been merged into another record, which its URL leads to.
    subject = outline.member.subject if outline.member else url
    is_itself &= listing.listed_as(subject) in (None, url)
    return ReadOutcome.PRESENT if is_itself else ReadOutcome.MALFORMED
