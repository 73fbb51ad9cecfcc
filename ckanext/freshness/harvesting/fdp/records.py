"""The listed datasets of a FAIR Data Point, each read from its own URL."""

from __future__ import annotations

from collections.abc import Iterable

from ...web.urls import display_url
from ..messages import HarvestMessage, MessageCode
from ..rdf.reader import FetchedDocument, understood
from ..rdf.record_graph import describes
from ..record import CrawledRecord, KnownRecord, ReadOutcome, SeenRecord, Sink, guid_of
from ..source_client import UnreadableDocument, for_each
from ..strategy import catalog_of
from . import documents
from .container_tree import ContainerTree, DatasetListing
from .containers import Place, is_draft, list_key
from .datasets import DatasetReader
from .documents import DocumentOutline, ListedDataset

_OUTCOMES_OF_DRAFTS = frozenset({ReadOutcome.FORBIDDEN, ReadOutcome.GONE})


class RecordReader:
    """A reader of the listed datasets of one crawl.

    :ivar there: listed URLs of the datasets that were read, and of drafts
    :ivar below: records that datasets list, and that are not read yet
    :ivar answers: what the own URLs of current records answer that no list has
    """

    def __init__(
        self, tree: ContainerTree, listing: DatasetListing, datasets: DatasetReader, sink: Sink
    ) -> None:
        """
        :param sink: called with each dataset as soon as it is read, in no particular order.
        """
        self._tree = tree
        self._listing = listing
        self._containers = listing.end.containers
        self._datasets = datasets
        self._reader = datasets.reader
        self._known = datasets.known
        self._sink = sink
        self._claimed: set[str] = set()
        """Listed URLs of the datasets that are read already."""
        self._subjects: dict[str, str] = {}
        """The listed URL of each dataset, by its URL in its document."""
        self.there: set[str] = set()
        self.below: dict[str, Place] = {}
        self.answers: dict[str, ReadOutcome] = {}

    async def read(self) -> None:
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

    def listed(self) -> set[str]:
        """Return the URLs of all listed records, and of current records that are listed under another URL."""
        listed = {*self._listing.urls(), *self._containers.catalogs}
        known = (self._known.of(url, listed) for url in (*listed, *self._subjects))
        return listed | {record.url for record in known if record is not None}

    def known_as(self, url: str) -> KnownRecord | None:
        """Return the current record that a listed URL means."""
        return self._known.of(url, self._containers.listed)

    async def ask(self, url: str) -> ReadOutcome:
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
        is_itself = known is None or outline.is_catalog == known.is_catalog
        # It may have been merged into another record, which its URL leads to.
        subject = outline.member.subject if outline.member else url
        is_itself &= self._listing.listed_as(subject) in (None, url)
        return ReadOutcome.PRESENT if is_itself else ReadOutcome.MALFORMED

    async def _read(self, url: str) -> None:
        """Read a listed dataset from its own URL, and hand it to the sink."""
        listed_in = self._tree.catalogs_of(url)
        try:
            with understood(url):
                document, member = await self._read_document(url)
                if self.known_as(url) is None and await is_draft(self._reader, url):
                    raise UnreadableDocument(url, "it is a draft", ReadOutcome.FORBIDDEN)
                crawled = await self._assembled(url, listed_in, document, member)
            self.there.add(url)
            self._follow(url, listed_in, member)
        except UnreadableDocument as failure:
            crawled = await self._failed(url, listed_in, failure)
        self._sink(crawled, self._containers)

    async def _failed(
        self, url: str, listed_in: tuple[str, ...], failure: UnreadableDocument
    ) -> CrawledRecord:
        """Return a listed record that could not be read."""
        is_draft = failure.outcome in _OUTCOMES_OF_DRAFTS and self.known_as(url) is None
        if failure.outcome is ReadOutcome.GONE and not is_draft:
            failure = await self._unless_there_as_before(url, failure)
        if is_draft and failure.outcome is ReadOutcome.FORBIDDEN:
            self.there.add(url)
        if self._reader.memory.knows(list_key(url)):
            words = "it could not be read, and listed other records before"
            self._listing.end.mark_unproved(url, words, reported=True)
        error = None if is_draft or failure.reported else failure.message
        return CrawledRecord(SeenRecord(url, failure.outcome, listed_in), error=error)

    async def _unless_there_as_before(
        self, url: str, failure: UnreadableDocument
    ) -> UnreadableDocument:
        """Return the failure of a current record that is listed under another URL, and gone there.

        If the URL that it had still answers, the list is wrong, and the record is not gone.
        """
        known = self.known_as(url)
        if known is None or known.url == url:
            return failure
        self.answers[known.url] = await self.ask(known.url)
        if self.answers[known.url] is ReadOutcome.GONE:
            return failure
        words = f"{failure.reason}, but {display_url(known.url)}, its URL before, answers otherwise"
        return UnreadableDocument(url, words, status=failure.status)

    def _follow(self, url: str, listed_in: tuple[str, ...], member: ListedDataset) -> None:
        """Note the series of a dataset, and other records that it lists, on the source's hosts."""
        series = [one for one in member.series if self._reader.source_hosts.may_visit(one)]
        for one in series:
            self._listing.add(one, min(listed_in))
        self.below |= {part: Place(min(listed_in), is_catalog=False) for part in member.parts}
        if member.is_catalog:
            self.below[url] = Place(min(listed_in))
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
            if self.known_as(url) is None:
                # Some sources list catalogs as datasets. One that was a dataset before has lost its type.
                self.below[url] = Place(min(self._tree.catalogs_of(url)))
            reason = HarvestMessage(MessageCode.NO_DATASET)
            raise UnreadableDocument(url, reason, ReadOutcome.MALFORMED, reported=url in self.below)
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
        known = self._known.of(url, listed) or self._known.of(subject, listed)
        adopted = None
        if known is None:
            adoptable = self._known.adoptable
            adopted = adoptable.of(url, listed) or adoptable.of(subject, listed)
        part_of = self._catalog_named(member.part_of)
        seen = SeenRecord(url, ReadOutcome.PRESENT, listed_in, part_of=part_of)
        guid = guid_of(url, catalog_of(seen, known, self._containers))
        return await self._datasets.read(seen, guid, document, member, known, adopted)

    def _catalog_named(self, part_of: Iterable[str]) -> str | None:
        """Return the catalog of this source that a record's dct:isPartOf names, in any spelling."""
        for url in part_of:
            catalog = self._containers.catalog_as(self._tree.aliases.get(url, url))
            if catalog:
                return catalog
        return None
