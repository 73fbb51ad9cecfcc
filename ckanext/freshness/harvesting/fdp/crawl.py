"""One crawl of a FAIR Data Point: read the containers, then the records, many at a time.

The crawl reports and decides nothing. It hands each record to a sink as soon as it is read
(:class:`~ckanext.freshness.harvesting.record.Sighting`) and ends with the containers
(:class:`~ckanext.freshness.harvesting.record.Containers`). The strategy decides about deletions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from ...web.urls import display_url
from ..messages import HarvestMessage, MessageCode
from ..record import Containers, CurrentRecords, ReadOutcome, SeenRecord, Sighting, Sink
from ..strategy import must_ask
from . import documents
from .containers import ContainerCrawl, CrawlOptions, DatasetListing
from .datasets import DatasetAssembler
from .documents import DocumentOutline, ListedDataset
from .linked_documents import ServiceReader
from .rdf import RdfParser
from .reader import (
    MOST_PAGES,
    NO_SUCH_ENDPOINT,
    DocumentReader,
    FetchedDocument,
    Pages,
    UnreadableDocument,
    first_page,
)
from .task_group import TaskGroup

if TYPE_CHECKING:
    from ...web.client import Client
    from ..document_memory import DocumentMemory

_OUTCOMES_OF_DRAFTS = frozenset({ReadOutcome.FORBIDDEN, ReadOutcome.GONE})


class Crawl:
    """One crawl of one source. Call :meth:`run` once.

    :ivar containers: the containers read so far
    :ivar errors: one line for people, URL and reason, for each container that could not be read;
        complete when :meth:`run` returns
    """

    def __init__(
        self,
        client: Client,
        source_url: str,
        options: CrawlOptions,
        known: CurrentRecords,
        memory: DocumentMemory,
        sink: Sink,
        parser: RdfParser,
    ) -> None:
        """
        :param known: the current records of the source.
        :param sink: called with each record as soon as it is read, in no particular order.
        """
        self._known = known
        self._sink = sink
        self._reader = DocumentReader(
            client,
            source_url,
            memory,
            parser,
            allowed_hosts=options.allowed_hosts,
            headers=options.headers,
            salt=options.salt,
        )
        # Tasks that read pages wait until there is room for the records they start. In one group,
        # pages could fill all the room and wait for each other.
        self._page_tasks = TaskGroup(options.concurrency)
        self._record_tasks = TaskGroup(options.concurrency * 4)
        self._listing = DatasetListing(source_url, options.max_records)
        services = ServiceReader(self._reader, options.now)
        self._catalogs = ContainerCrawl(self._reader, self._listing, options, known, sink, services)
        self._datasets = DatasetAssembler(
            self._reader, services, options.mapper, self._dataset_of, options.now
        )
        self._subjects: dict[str, str] = {}
        """The listed URL of each dataset, by its URL in its document."""
        self._present: set[str] = set()
        """Listed URLs of the datasets that were read."""
        self._record_failed = False
        """A listed record other than a draft could not be read."""
        self._described_elsewhere: dict[str, set[str]] = {}
        """By dataset, URLs of other datasets' documents that describe distributions of it."""
        self._in_pages: set[str] = set()
        """Listed URLs of the datasets that pages have."""
        self._only_in_pages: dict[str, set[str]] = {}
        """By URL of a dataset that pages have and no container lists: the catalogs of these pages."""
        self._paged_whole: set[str] = set()
        """Catalogs whose pages were read from the first to the last."""
        self._missed_pages: dict[str, str] = {}
        """First pages that an earlier crawl read, with the reason why they are of no use now."""
        self._malformed_pages: list[tuple[str, UnreadableDocument]] = []
        self._with_malformed_record: set[str] = set()
        """Catalogs that list a record whose own document is malformed."""
        self.containers = self._listing.containers
        self.errors = self._listing.errors

    async def run(self) -> Containers:
        """Read all containers and records; return the containers.

        :raises Exception: the sink failed; the crawl then ends at once.
        """
        try:
            with_pages = await self._catalogs.read()
            # Two listed URLs may lead to one document. The record keeps the URL that it had,
            # whichever of the two answers first.
            self._subjects = {
                record.subject: record.url
                for record in self._known
                if record.subject is not None and record.url in self._listing
            }
            for catalog in with_pages:
                await self._page_tasks.start(self._read_pages(catalog))
            await self._page_tasks.join()
            await self._read_unread_datasets()
            for url, catalogs in sorted(self._only_in_pages.items()):
                if self._dataset_of(url) is None:
                    for catalog in sorted(catalogs):
                        self._listing.add(url, catalog)
            await self._read_unread_datasets()
            self._report_missed_pages()
            for url, document_urls in sorted(self._described_elsewhere.items()):
                if url in self._present:
                    await self._record_tasks.start(self._read_again(url, document_urls))
            await self._record_tasks.join()
            # A malformed record makes its page malformed: the record's own error is enough.
            self.errors += [
                failure.message
                for catalog, failure in self._malformed_pages
                if catalog not in self._with_malformed_record
            ]
            if self.containers.unreadable:
                listed = self._listed_records()
                for record in self._known:
                    if must_ask(record, listed, self.containers):
                        await self._record_tasks.start(self._check_unlisted(record.url))
                await self._record_tasks.join()
        finally:
            await self._page_tasks.cancel()
            await self._record_tasks.cancel()
        self.errors += self._reader.errors
        return self.containers

    async def _read_unread_datasets(self) -> None:
        """Read each listed dataset that was in no page from its own URL."""
        for url in self._listing.urls():
            if self._listing.claim(url):
                await self._record_tasks.start(self._read_record(url))
        await self._record_tasks.join()

    # Pages of datasets

    async def _read_pages(self, catalog: str) -> None:
        """Read the pages of a catalog's datasets, if the server has such pages.

        If a page is malformed, its datasets are read one by one later. If a page does not answer,
        that also applies to the pages after it.
        """
        url = first = first_page(catalog, "dataset")
        if first is None:
            return
        was_there = self._reader.memory.knows(first)
        pages = Pages(MOST_PAGES + len(self._listing))
        page, is_first, whole = None, True, True
        while url is not None:
            try:
                page = await self._reader.get(url)
                if is_first and page.is_html:
                    self._datasets.distributions.has_pages = False
                    if was_there:
                        self._missed_pages[first] = "it answers with a user interface"
                    return
                is_first = False
                whole = await self._read_page(catalog, page) and whole
                url = pages.after(page)
            except UnreadableDocument as failure:
                if not is_first or failure.status not in NO_SUCH_ENDPOINT:
                    self._listing.mark_unreadable(
                        failure.url, failure.reason, reported=failure.reported
                    )
                else:
                    if failure.outcome is not ReadOutcome.FORBIDDEN:
                        self._datasets.distributions.has_pages = False
                    if was_there:
                        self._missed_pages[first] = failure.reason
                return
        # Without links to the first or last page, the server may have sent only some datasets.
        if page is not None and page.is_paged:
            if whole:
                self._paged_whole.add(catalog)
        elif was_there:
            self._missed_pages[first] = "it does not say which page is the last one"

    async def _read_page(self, catalog: str, page: FetchedDocument) -> bool:
        """Start to read the datasets of a page; return whether the page is well-formed."""
        try:
            outline = await self._reader.outline(page, "page", documents.outline_of_page)
        except UnreadableDocument as failure:
            self._listing.mark_unreadable(page.url, failure.reason, reported=True)
            self._malformed_pages.append((catalog, failure))
            return False
        for subject, member in outline.members.items():
            url = self._listing.listed_as(subject)
            if url is not None and self._listing.claim(url):
                self._subjects.setdefault(subject, url)
                await self._record_tasks.start(self._read_record(url, page, member))
            elif url is None and subject in self._subjects:
                # A persistent URL of a listed record, whose own document is read.
                self._in_pages.add(self._subjects[subject])
            elif url is None and (member.part_of or self._known.at(subject)):
                # Without dct:isPartOf, an unlisted dataset is only mentioned.
                self._only_in_pages.setdefault(subject, set()).add(catalog)
        return True

    def _report_missed_pages(self) -> None:
        """Report missed pages as unreadable if a current record is listed nowhere else.

        The strategy then asks for each such record by its own URL, since it may be gone.
        """
        if not self._missed_pages:
            return
        listed = self._listed_records()
        if any(record.url not in listed for record in self._known):
            for first, reason in sorted(self._missed_pages.items()):
                self._listing.mark_unreadable(first, reason, reported=True)

    # Records

    async def _read_record(
        self, url: str, page: FetchedDocument | None = None, member: ListedDataset | None = None
    ) -> None:
        """Read a listed dataset from a page, or from its own URL, and hand it to the sink."""
        listed_in = self._listing.containers_of(url)
        if page is not None:
            self._in_pages.add(url)
        try:
            if page is None or member is None:
                page, outline = await self._read_document(url)
                member = outline.members[url]
            sighting = await self._assemble(url, listed_in, page, member)
            self._present.add(url)
        except UnreadableDocument as failure:
            if failure.outcome is ReadOutcome.MALFORMED and failure.url == url:
                self._with_malformed_record.update(listed_in)
            is_draft = (
                failure.outcome in _OUTCOMES_OF_DRAFTS
                and self._known.of(url, self.containers.listed) is None
            )
            self._record_failed |= not is_draft
            left_out = self._is_left_out(url, listed_in)
            seen = SeenRecord(url, failure.outcome, listed_in, left_out=left_out)
            error = None if is_draft or failure.reported else failure.message
            sighting = Sighting(seen, error=error)
        self._sink(sighting, self.containers)

    async def _read_again(self, url: str, document_urls: Collection[str]) -> None:
        """Read a dataset again with its distributions in other datasets' documents.

        These documents are known only when all other datasets have been read.

        :param document_urls: URLs of these documents.
        """
        try:
            document, outline = await self._read_document(url)
            sighting = await self._assemble(
                url,
                self._listing.containers_of(url),
                document,
                outline.members[url],
                other_documents=sorted(document_urls),
                all_read=not self.containers.unreadable and not self._record_failed,
            )
        except UnreadableDocument:
            return  # the first sighting counts
        self._sink(sighting, self.containers)

    async def _check_unlisted(self, url: str) -> None:
        """Check whether a current record that no container lists still answers."""
        try:
            await self._reader.get(url)
            outcome = ReadOutcome.PRESENT
        except UnreadableDocument as failure:
            outcome = failure.outcome
        self._sink(Sighting(SeenRecord(url, outcome)), self.containers)

    async def _read_document(self, url: str) -> tuple[FetchedDocument, DocumentOutline]:
        """Return a dataset's own document and its outline.

        :raises UnreadableDocument: it cannot be read or describes another dataset.
        """
        document = await self._reader.get(url)
        outline = await self._reader.outline(
            document,
            "dataset",
            lambda graph: documents.outline_of_dataset(graph, url, final_url=document.base),
        )
        subject = outline.members[url].subject
        if self._listing.listed_as(subject) not in (None, url):
            words = f"it describes {display_url(subject)} instead, which is listed itself"
        elif self._subjects.setdefault(subject, url) != url:
            words = f"it describes {display_url(subject)}, as another listed URL does"
        else:
            return document, outline
        reason = HarvestMessage(words, MessageCode.DESCRIBES_ANOTHER)
        raise UnreadableDocument(url, ReadOutcome.MALFORMED, reason)

    async def _assemble(
        self,
        url: str,
        listed_in: tuple[str, ...],
        document: FetchedDocument,
        member: ListedDataset,
        *,
        other_documents: Collection[str] | None = None,
        all_read: bool = False,
    ) -> Sighting:
        """Return the sighting of a dataset with its distributions.

        The parameters are those of :meth:`.DatasetAssembler.read`.
        """
        listed = self.containers.listed
        known = self._known.of(url, listed) or self._known.of(member.subject, listed)
        adopted = None
        if known is None:
            adoptable = self._known.adoptable
            adopted = adoptable.of(url, listed) or adoptable.of(member.subject, listed)
        dataset = await self._datasets.read(
            url,
            document,
            member,
            listed_in,
            known,
            adopted,
            other_documents=other_documents,
            all_read=all_read,
        )
        for owner, document_urls in dataset.described_for_others.items():
            self._described_elsewhere.setdefault(owner, set()).update(document_urls)
        if any(lost.elsewhere for lost in dataset.distributions.values()):
            self._described_elsewhere.setdefault(url, set())
        seen = SeenRecord(
            url,
            ReadOutcome.PRESENT,
            listed_in,
            part_of=self._catalog_named(member.part_of),
            content_hash=dataset.content_hash,
        )
        was_in_pages = known is not None and known.in_pages
        return Sighting(
            seen,
            dataset.record,
            dataset.fingerprint,
            subject=member.subject if member.subject != url else None,
            distributions=dataset.distributions,
            warnings=dataset.warnings,
            drafts=dataset.drafts,
            in_pages=url in self._in_pages
            or (was_in_pages and not self._is_left_out(url, listed_in)),
        )

    def _is_left_out(self, url: str, listed_in: Collection[str]) -> bool:
        """Return whether all pages of a dataset's catalogs were read and none has the dataset."""
        return url not in self._in_pages and self._paged_whole.issuperset(listed_in)

    def _catalog_named(self, part_of: Iterable[str]) -> str | None:
        """Return the catalog of this source that a record's dct:isPartOf names, in any spelling."""
        for url in part_of:
            catalog = self.containers.catalog_as(self._catalogs.aliases.get(url, url))
            if catalog:
                return catalog
        return None

    def _dataset_of(self, url: str) -> str | None:
        """Return the listed URL of the dataset that a URL identifies."""
        return self._listing.listed_as(url) or self._subjects.get(url)

    def _listed_records(self) -> set[str]:
        """Return the URLs of all listed records, and of current records now listed under another URL."""
        listed = {*self._listing.urls(), *self.containers.catalogs}
        known = (self._known.of(url, listed) for url in (*listed, *self._subjects))
        return listed | {record.url for record in known if record is not None}
