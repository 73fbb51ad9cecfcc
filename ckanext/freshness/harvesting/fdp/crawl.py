"""One crawl of a FAIR Data Point: containers first, then records, all politely waited for together.

The crawl says what it saw (:class:`Sighting`, one per record, handed on as it comes; and
:class:`~ckanext.freshness.harvesting.strategy.Containers` at the end) and decides nothing: what is
deleted is the strategy's business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from ...web.client import Client
from ...web.urls import display_url
from ..document_memory import DocumentMemory
from ..record_identity import CurrentRecords
from ..sightings import Sighting, Sink
from ..strategy import Containers, ReadOutcome, SeenRecord, must_ask
from . import documents
from .containers import ContainerCrawl, CrawlOptions, DatasetListing, TaskGroup
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

_MAY_BE_MEANT = frozenset({ReadOutcome.FORBIDDEN, ReadOutcome.GONE})


class Crawl:
    """One crawl of one source. Not to be run twice."""

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
        :param sink: is called with every record as soon as it is read, in no particular order.
        """
        self._options = options
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
        # Records have a crew of their own: pages under way wait for room in it.
        self._page_crew = TaskGroup(options.concurrency)
        self._record_crew = TaskGroup(options.concurrency * 4)
        self._listing = DatasetListing(source_url, options.max_records)
        services = ServiceReader(self._reader, options.now)
        self._catalogs = ContainerCrawl(self._reader, self._listing, options, known, sink, services)
        self._subjects: dict[str, str] = {}
        self._only_in_pages: dict[str, set[str]] = {}
        self._missed_pages: dict[str, str] = {}
        """First pages that were there at an earlier crawl, and why they do not say what they list."""
        self._malformed_pages: list[tuple[str, UnreadableDocument]] = []
        self._malformed_in: set[str] = set()
        self._paged_whole: set[str] = set()
        self._datasets = DatasetAssembler(
            self._reader, services, options.mapper, self._dataset_of, options.now
        )
        self._lent: dict[str, set[str]] = {}
        self._present: set[str] = set()
        self._in_pages: set[str] = set()
        self._missed_one = False
        self.containers = self._listing.containers
        self.errors = self._listing.errors

    async def run(self) -> Containers:
        """Crawl; afterwards ``containers`` and ``errors`` are whole.

        ``errors`` is a line for people, URL and reason, for each container that could not be read.

        :raises Exception: whatever the sink raises; the crawl then ends at once.
        """
        try:
            with_pages = await self._catalogs.read()
            self._subjects = self._subjects_of_known()
            for catalog in with_pages:
                await self._page_crew.start(self._read_pages(catalog))
            await self._page_crew.join()
            await self._read_the_rest()
            for url, found_in in sorted(self._only_in_pages.items()):
                if self._dataset_of(url) is None:
                    for catalog in sorted(found_in):
                        self._listing.add(url, catalog)
            await self._read_the_rest()
            self._miss_pages()
            for url, lent in sorted(self._lent.items()):
                if url in self._present:
                    await self._record_crew.start(self._read_again(url, lent))
            await self._record_crew.join()
            self._tell_of_malformed_pages()
            if self.containers.unreadable:
                listed = self._listed_records()
                for record in self._known:
                    if must_ask(record, listed, self.containers):
                        await self._record_crew.start(self._ask_for(record.url))
                await self._record_crew.join()
        finally:
            await self._page_crew.dismiss()
            await self._record_crew.dismiss()
        self.errors += self._reader.errors
        return self.containers

    async def _read_the_rest(self) -> None:
        """Read by itself each listed dataset that no page had."""
        for url in self._listing.urls():
            if self._listing.claim(url):
                await self._record_crew.start(self._read_record(url))
        await self._record_crew.join()

    # Pages of datasets

    async def _read_pages(self, catalog: str) -> None:
        """Read a catalog's datasets a page at a time, as far as the server offers that.

        A page that cannot be read leaves its datasets, and one that does not answer also those of
        the pages after it, to be read record by record.
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
                    self._listing.unreadable(failure.url, failure.words, told=failure.told)
                else:
                    if failure.outcome is not ReadOutcome.FORBIDDEN:
                        self._datasets.distributions.has_pages = False
                    if was_there:
                        self._missed_pages[first] = failure.words
                return
        # A server that says nothing of pages may have sent a part of them all, or no page at all.
        if page is not None and page.is_paged:
            if whole:
                self._paged_whole.add(catalog)
        elif was_there:
            self._missed_pages[first] = "it does not say which page is the last one"

    def _miss_pages(self) -> None:
        """Count pages that were there as unread if a current record is listed nowhere else.

        Each record that is missed is asked for itself, and may just be gone.
        """
        if not self._missed_pages:
            return
        listed = self._listed_records()
        if any(one.url not in listed for one in self._known):
            for first, words in sorted(self._missed_pages.items()):
                self._listing.unreadable(first, words, told=True)

    async def _read_page(self, catalog: str, page: FetchedDocument) -> bool:
        """Begin to read the datasets of a page; return whether the page is well-formed."""
        try:
            outline = await self._reader.outline(page, "page", documents.outline_of_page)
        except UnreadableDocument as failure:
            self._listing.unreadable(page.url, failure.words, told=True)
            self._malformed_pages.append((catalog, failure))
            return False
        for called, member in outline.members.items():
            url = self._listing.listed_as(called)
            if url is not None and self._listing.claim(url):
                self._subjects.setdefault(called, url)
                await self._record_crew.start(self._read_record(url, page, member))
            elif url is None and called in self._subjects:
                # A persistent URL: its own document says which record it is, and that is read.
                self._in_pages.add(self._subjects[called])
            elif url is None and (member.part_of or self._known.at(called)):
                # What is neither listed nor says whose it is, is only mentioned.
                self._only_in_pages.setdefault(called, set()).add(catalog)
        return True

    def _tell_of_malformed_pages(self) -> None:
        """A page is malformed because one of its records is: that record's error says enough."""
        for catalog, failure in self._malformed_pages:
            if catalog not in self._malformed_in:
                self.errors.append(str(failure))

    # Records

    async def _read_record(
        self, url: str, page: FetchedDocument | None = None, member: ListedDataset | None = None
    ) -> None:
        """Read one listed record, out of a page or by itself, and hand it to the sink."""
        listed_in = self._listing.containers_of(url)
        if page is not None:
            self._in_pages.add(url)
        try:
            if page is None or member is None:
                page, outline = await self._read_alone(url)
                member = outline.members[url]
            sighting = await self._assemble(url, listed_in, page, member)
            self._present.add(url)
        except UnreadableDocument as failure:
            if failure.outcome is ReadOutcome.MALFORMED and failure.url == url:
                self._malformed_in.update(listed_in)
            # What was never ours may be a draft, or gone, without being anybody's fault.
            ours = self._known.of(url, self.containers.listed)
            expected = ours is None and failure.outcome in _MAY_BE_MEANT
            self._missed_one |= not expected
            left_out = self._is_left_out(url, listed_in)
            seen = SeenRecord(url, failure.outcome, listed_in, left_out=left_out)
            sighting = Sighting(seen, error=None if expected or failure.told else str(failure))
        self._sink(sighting, self.containers)

    def _is_left_out(self, url: str, listed_in: Collection[str]) -> bool:
        """Whether the pages of its catalogs were read whole and do not have a listed dataset."""
        return url not in self._in_pages and self._paged_whole.issuperset(listed_in)

    def _subjects_of_known(self) -> dict[str, str]:
        """Which of the listed URLs have what documents call so: those that had it before.

        Of two URLs with one document the other would else become a second dataset, whenever it
        answers first.
        """
        return {
            one.subject: one.url
            for one in self._known
            if one.subject is not None and one.url in self._listing
        }

    async def _read_alone(self, url: str) -> tuple[FetchedDocument, DocumentOutline]:
        """A dataset's own document.

        :raises Unreadable: it does not describe that dataset.
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
            raise UnreadableDocument(url, ReadOutcome.MALFORMED, words)
        if self._subjects.setdefault(subject, url) != url:
            words = f"it describes {display_url(subject)}, as another listed URL does"
            raise UnreadableDocument(url, ReadOutcome.MALFORMED, words)
        return document, outline

    async def _assemble(
        self,
        url: str,
        listed_in: tuple[str, ...],
        document: FetchedDocument,
        member: ListedDataset,
        **lent: Any,
    ) -> Sighting:
        """Make the sighting of a record out of its own document and those of its distributions.

        :param lent: see :meth:`Datasets.read`.
        """
        listed = self.containers.listed
        ours = self._known.of(url, listed) or self._known.of(member.subject, listed)
        adopted = None
        if ours is None:
            orphans = self._known.adoptable
            adopted = orphans.of(url, listed) or orphans.of(member.subject, listed)
        found = await self._datasets.read(url, document, member, listed_in, ours, adopted, **lent)
        for owner, where in found.lends.items():
            self._lent.setdefault(owner, set()).update(where)
        if any(one.elsewhere for one in found.distributions.values()):
            self._lent.setdefault(url, set())
        seen = SeenRecord(
            url,
            ReadOutcome.PRESENT,
            listed_in,
            part_of=self._catalog_named(member.part_of),
            content_hash=found.content_hash,
        )
        was_in_pages = ours is not None and ours.in_pages
        return Sighting(
            seen,
            found.record,
            found.fingerprint,
            subject=member.subject if member.subject != url else None,
            distributions=found.distributions,
            warnings=found.warnings,
            drafts=found.drafts,
            in_pages=url in self._in_pages
            or (was_in_pages and not self._is_left_out(url, listed_in)),
        )

    def _catalog_named(self, part_of: Iterable[str]) -> str | None:
        """The catalog of this source that a record's dct:isPartOf names, however it is spelled."""
        named = (self._catalogs.aliases.get(one, one) for one in part_of)
        return next((found for one in named if (found := self.containers.catalog_as(one))), None)

    def _dataset_of(self, url: str) -> str | None:
        """The listed dataset that a URL means."""
        return self._listing.listed_as(url) or self._subjects.get(url)

    async def _read_again(self, url: str, lent: Collection[str]) -> None:
        """Read a dataset once more, with the distributions that other datasets' documents describe.

        Only when all others have been read is it known which these are.
        """
        try:
            document, outline = await self._read_alone(url)
            sighting = await self._assemble(
                url,
                self._listing.containers_of(url),
                document,
                outline.members[url],
                lent=sorted(lent),
                all_read=not self.containers.unreadable and not self._missed_one,
            )
        except UnreadableDocument:
            return  # the first look at it counts
        self._sink(sighting, self.containers)

    def _listed_records(self) -> set[str]:
        """The URLs of all that is listed, and of the current records that go on under another one."""
        listed = {*self._listing.urls(), *self.containers.catalogs}
        means = (self._known.of(url, listed) for url in (*listed, *self._subjects))
        return listed | {known.url for known in means if known is not None}

    async def _ask_for(self, url: str) -> None:
        """Learn whether a record that nothing lists is gone for itself."""
        try:
            await self._reader.get(url)
            outcome = ReadOutcome.PRESENT
        except UnreadableDocument as failure:
            outcome = failure.outcome
        self._sink(Sighting(SeenRecord(url, outcome)), self.containers)
