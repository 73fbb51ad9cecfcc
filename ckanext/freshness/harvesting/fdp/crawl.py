"""One crawl of a FAIR Data Point: read the containers, then the records, many at a time.

The crawl reports and decides nothing. It hands each record to a sink as soon as it is read
(:class:`~ckanext.freshness.harvesting.record.Sighting`) and ends with the containers
(:class:`~ckanext.freshness.harvesting.record.Containers`). The strategy decides about deletions.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from rdflib import Graph

from ...web.urls import display_url
from ..listings import lists_nothing_readable, nothing_readable
from ..messages import HarvestMessage, MessageCode, about
from ..rdf.parsing import RdfParser
from ..record import (
    Containers,
    CurrentRecords,
    KnownRecord,
    ReadOutcome,
    SeenRecord,
    Sighting,
    Sink,
)
from ..strategy import must_ask
from . import documents
from .containers import ContainerCrawl, Place
from .dataset_pages import DatasetPages
from .datasets import DatasetAssembler
from .documents import DocumentOutline, ListedDataset
from .linked_documents import ServiceReader
from .listing import CrawlOptions, DatasetListing
from .reader import DocumentReader, FetchedDocument, UnreadableDocument, understood
from .task_group import TaskGroup

if TYPE_CHECKING:
    from ...web.client import Client
    from ..document_memory import DocumentMemory

MOST_ASKED = 500
"""The most records that are asked whether they still answer, if that decides nothing."""

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
            self._reader, services, options.mapper, self._owner_of, options.now
        )
        self._subjects: dict[str, str] = {}
        """The listed URL of each dataset, by its URL in its document."""
        self._present: set[str] = set()
        """Listed URLs of the datasets that were read."""
        self._record_failed = False
        """A listed record other than a draft could not be read."""
        self._described_elsewhere: dict[str, set[str]] = {}
        """By dataset, URLs of other datasets' documents that describe distributions of it."""
        self._with_malformed_record: set[str] = set()
        """Catalogs that list a record whose own document is malformed."""
        self._pages = DatasetPages(
            self._reader,
            self._listing,
            known,
            self._catalogs.by_containers,
            self._subjects,
            self._start_record,
            self._seconds_alone,
        )
        self._forbidden: dict[str, Sighting] = {}
        """Sightings of current records that answer 401 or 403."""
        self._drafts: set[str] = set()
        """Listed URLs that answer 401 or 403 and were never harvested."""
        self._below: dict[str, Place] = {}
        """Records that datasets list, and that are not read yet."""
        self._parents: dict[str, set[str]] = {}
        """By what the dct:isPartOf of datasets names besides catalogs: these datasets."""
        self._answers: dict[str, ReadOutcome] = {}
        """What the own URLs of current records answer that no list has."""
        self._options = options
        self.containers = self._listing.containers
        self.errors = self._listing.errors
        self.warnings = self._catalogs.warnings
        self.not_harvested = self._catalogs.not_harvested

    async def run(self) -> Containers:
        """Read all containers and records; return the containers.

        :raises Exception: the sink failed; the crawl then ends at once.
        """
        try:
            with_pages = await self._catalogs.read()
            self._known.follow_move(self.containers.listed)
            # Two listed URLs may lead to one document. The record keeps the URL that it had,
            # whichever of the two answers first.
            self._subjects |= {
                record.subject: record.url
                for record in self._known
                if record.subject is not None and record.url in self._listing
            }
            await self._read_datasets(with_pages)
            await self._ask(self._missing()[:MOST_ASKED])
            if self._may_have_shifted():
                await self._catalogs.read_again()
                await self._read_datasets(self._pages.several())
            if any(record.only_in_pages for record in self._missing()):
                for first, reason in sorted(self._pages.missed.items()):
                    self._listing.mark_unproved(first, reason, reported=True)
                    words = about(display_url(first), reason)
                    self.warnings.append(f"{words}; records that no other list has are kept")
            for url, document_urls in sorted(self._described_elsewhere.items()):
                if url in self._present:
                    await self._record_tasks.start(self._read_again(url, document_urls))
            await self._record_tasks.join()
            for sighting in self._forbidden.values():
                self._sink(self._as_left_out(sighting), self.containers)
            # A malformed record makes its page malformed: the record's own error is enough.
            self.warnings += self._pages.warnings(self._with_malformed_record)
            self._catalogs.warn_of_parents(self._parents, self._subjects)
            missing = self._missing()
            self._doubt_unknown_lists(missing)
            # Those whose own URLs answer 404 or 410 are gone, whatever the lists prove.
            is_missing = any(self._answers.get(one.url) is not ReadOutcome.GONE for one in missing)
            self._catalogs.doubt(is_missing=is_missing)
            if self.containers.unreadable or self.containers.unproved:
                await self._ask(missing)
            for record in missing:
                if (outcome := self._answers.get(record.url)) is not None:
                    self._sink(Sighting(SeenRecord(record.url, outcome)), self.containers)
        finally:
            await self._page_tasks.cancel()
            await self._record_tasks.cancel()
        self.errors += self._reader.errors
        return self.containers

    async def _read_datasets(self, with_pages: Iterable[str]) -> None:
        """Read the pages of some containers, all other listed datasets, and the records below datasets."""
        for _ in range(self._options.max_depth):
            for catalog in with_pages:
                await self._page_tasks.start(self._pages.read(catalog))
            await self._page_tasks.join()
            self._datasets.distributions.has_pages &= self._pages.exist
            await self._read_unread_datasets()
            for url, catalogs in sorted(self._pages.only_there.items()):
                if self._dataset_of(url) is None:
                    for catalog in sorted(catalogs):
                        self._listing.add(url, catalog)
            await self._read_unread_datasets()
            if not self._below:
                break
            below, self._below = self._below, {}
            with_pages = await self._catalogs.read_below(below)

    async def _read_unread_datasets(self) -> None:
        """Read each listed dataset that was in no page from its own URL."""
        while unread := [url for url in self._listing.urls() if self._listing.claim(url)]:
            for url in unread:
                await self._record_tasks.start(self._read_record(url))
            await self._record_tasks.join()

    # Current records that no list has

    def _missing(self) -> list[KnownRecord]:
        """Return the current records that are not listed, if their own URLs may tell more."""
        listed = self._listed_records()
        return [record for record in self._known if must_ask(record, listed, self.containers)]

    def _may_have_shifted(self) -> bool:
        """Return whether a second reading of the lists may still find a current record."""
        return any(
            self._answers.get(one.url) is not ReadOutcome.GONE for one in self._missing()
        ) or any(self._is_left_out(url) for url in self._forbidden)

    def _doubt_unknown_lists(self, missing: Collection[KnownRecord]) -> None:
        """Mark containers as unproved whose lists name only records that are neither readable nor current.

        :param missing: current records that no list has; if there are none, a warning is enough, unless the
            container describes its records itself.
        """
        for container, members in self._listing.members().items():
            trusted = [
                url
                for url in members
                if url in self._present
                or url in self._drafts
                or self._known.of(url, self.containers.listed) is not None
            ]
            if not lists_nothing_readable(members, trusted):
                continue
            described = self._catalogs.described.intersection(members)
            if missing or described:
                words = nothing_readable(len(members), len(described))
                self._listing.mark_unproved(container, words)
            else:
                words = f"none of the {len(members)} records that it lists could be read"
                self.warnings.append(f"{display_url(container)}: {words}")

    async def _ask(self, missing: Iterable[KnownRecord]) -> None:
        """Request the own URLs of records that no list has.

        If all containers were read whole, the answers decide nothing. They save a second reading of the lists,
        and tell an editor more about the deletions.
        """
        for record in missing:
            if record.url not in self._answers:
                await self._record_tasks.start(self._check_unlisted(record.url))
        await self._record_tasks.join()

    async def _seconds_alone(self, container: str) -> float | None:
        """Return how long one more dataset of a container takes by itself; None if none is left."""
        members = self._listing.members().get(container, ())
        url = next((url for url in members if self._listing.claim(url)), None)
        if url is None:
            return None
        begin = time.monotonic()
        await self._read_record(url)
        alone = (time.monotonic() - begin) / self._options.concurrency
        return max(alone, 1 / self._options.requests_per_second)

    async def _start_record(self, url: str, page: FetchedDocument, member: ListedDataset) -> None:
        """Start to read a dataset of a page, if nothing else reads it and the page says everything of it."""
        if self._listing.claim(url):
            self._subjects.setdefault(member.subject, url)
            await self._record_tasks.start(self._read_record(url, page, member))

    # Records

    async def _read_record(
        self, url: str, page: FetchedDocument | None = None, member: ListedDataset | None = None
    ) -> None:
        """Read a listed dataset from a page, or from its own URL, and hand it to the sink."""
        listed_in = self._catalogs.catalogs_of(url)
        try:
            if page is None or member is None:
                page, outline = await self._read_document(url)
                member = outline.members[url]
            if self._known.of(url, self.containers.listed) is None and await self._reader.is_draft(
                url
            ):
                raise UnreadableDocument(url, ReadOutcome.FORBIDDEN, "it is a draft")
            with understood(url):
                sighting = await self._assemble(url, listed_in, page, member)
            self._present.add(url)
            self._follow(url, listed_in, member)
        except UnreadableDocument as failure:
            if failure.outcome is ReadOutcome.MALFORMED and failure.url == url:
                self._with_malformed_record.update(listed_in)
            is_draft = (
                failure.outcome in _OUTCOMES_OF_DRAFTS
                and self._known.of(url, self.containers.listed) is None
            )
            if failure.outcome is ReadOutcome.GONE and not is_draft:
                failure = await self._unless_there_as_before(url, failure)
            self._record_failed |= not is_draft
            if is_draft and failure.outcome is ReadOutcome.FORBIDDEN:
                self._drafts.add(url)
            if self._reader.memory.knows(_series_key(url)):
                words = "it could not be read, and listed other records before"
                self._listing.mark_unproved(url, words, reported=True)
            error = None if is_draft or failure.reported else failure.message
            sighting = Sighting(SeenRecord(url, failure.outcome, listed_in), error=error)
            if failure.outcome is ReadOutcome.FORBIDDEN and not is_draft:
                # Whether the pages leave it out is known only at the end.
                self._forbidden[url] = sighting
                return
        self._sink(sighting, self.containers)

    async def _unless_there_as_before(
        self, url: str, failure: UnreadableDocument
    ) -> UnreadableDocument:
        """Return the failure of a current record that is listed under another URL, and gone there.

        If the URL that it had still answers, the list is wrong, and the record is not gone.
        """
        known = self._known.of(url, self.containers.listed)
        if known is None or known.url == url:
            return failure
        await self._check_unlisted(known.url)
        if self._answers[known.url] is ReadOutcome.GONE:
            return failure
        words = f"{failure.reason}, but {display_url(known.url)}, its URL before, does not"
        return UnreadableDocument(url, ReadOutcome.FAILED, words, status=failure.status)

    def _follow(self, url: str, listed_in: tuple[str, ...], member: ListedDataset) -> None:
        """Note the series of a dataset, and other records that it lists, on the source's hosts."""
        series = [one for one in member.series if self._reader.may_visit(one)]
        for one in series:
            self._listing.add(one, min(listed_in))
        self._below |= {part: Place(min(listed_in), is_catalog=False) for part in member.parts}
        if member.is_catalog:
            self._below[url] = Place(min(listed_in))
        if series or member.parts:
            self._reader.memory.remember(_series_key(url), "list", "{}")

    def _as_left_out(self, sighting: Sighting) -> Sighting:
        seen = sighting.seen
        left_out = self._is_left_out(seen.url)
        return replace(sighting, seen=replace(seen, left_out=left_out))

    async def _read_again(self, url: str, document_urls: Collection[str]) -> None:
        """Read a dataset again with its distributions in other datasets' documents.

        These documents are known only when all other datasets have been read.

        :param document_urls: URLs of these documents.
        """
        try:
            document, outline = await self._read_document(url)
            with understood(url):
                sighting = await self._assemble(
                    url,
                    self._catalogs.catalogs_of(url),
                    document,
                    outline.members[url],
                    other_documents=sorted(document_urls),
                    all_read=not (
                        self.containers.unreadable
                        or self.containers.unproved
                        or self._record_failed
                    ),
                )
        except UnreadableDocument:
            return  # the first sighting counts
        self._sink(sighting, self.containers)

    async def _check_unlisted(self, url: str) -> None:
        """Check whether a current record that no container lists still answers as itself."""
        try:
            _, outline = await self._own_outline(url)
            is_itself = not outline.is_catalog
            self._answers[url] = ReadOutcome.PRESENT if is_itself else ReadOutcome.MALFORMED
        except UnreadableDocument as failure:
            self._answers[url] = failure.outcome

    async def _own_outline(self, url: str) -> tuple[FetchedDocument, DocumentOutline]:
        """Return the document at a record's own URL, and its outline.

        :raises UnreadableDocument: it cannot be read or describes another dataset.
        """
        document = await self._reader.get(url)
        try:
            outline = await self._reader.outline(
                document,
                "dataset",
                lambda graph: documents.outline_of_dataset(graph, url, final_url=document.base),
            )
        except UnreadableDocument:
            if url in self._listing:
                self._list_instead(url, await document.parsed())
            raise
        return document, outline

    def _list_instead(self, url: str, graph: Graph) -> None:
        """List the only dataset of a listed URL's document, if it is current: the source still has it."""
        described = list(documents.outline_of_page(graph).members)
        if len(described) == 1 and self._known.at(described[0]) is not None:
            for container in self._listing.containers_of(url):
                self._listing.add(described[0], container)

    async def _read_document(self, url: str) -> tuple[FetchedDocument, DocumentOutline]:
        """Return a dataset's own document and its outline.

        :raises UnreadableDocument: it cannot be read or describes another dataset.
        """
        document, outline = await self._own_outline(url)
        if outline.is_catalog:
            if self._known.of(url, self.containers.listed) is None:
                # Some sources list catalogs as datasets. One that was a dataset before has lost its type.
                self._below[url] = Place(min(self._catalogs.catalogs_of(url)))
            reason = HarvestMessage("it describes no dcat:Dataset", MessageCode.NO_DATASET)
            raise UnreadableDocument(
                url, ReadOutcome.MALFORMED, reason, reported=url in self._below
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
        part_of = self._catalog_named(member.part_of)
        if part_of is None:
            for one in member.part_of:
                self._parents.setdefault(one, set()).add(url)
        dataset = await self._datasets.read(
            url,
            document,
            member,
            # The catalog that the record names may leave the source: that makes another record of it.
            (*listed_in, part_of or ""),
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
            part_of=part_of,
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
            in_pages=url in self._pages.found or (was_in_pages and not self._is_left_out(url)),
            only_in_pages=url in self._pages.only_there,
        )

    def _is_left_out(self, url: str) -> bool:
        """Return whether all pages of a dataset's containers were read and none has the dataset."""
        return self._pages.leave_out(url, self._listing.containers_of(url))

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

    def _owner_of(self, url: str) -> str | None:
        """Return the dataset of the source that a URL identifies.

        While a container was not read whole, a current record that it may list still owns its distributions.
        """
        found = self._dataset_of(url)
        if found is None and (self.containers.unreadable or self.containers.unproved):
            known = self._known.of(url, self.containers.listed)
            return None if known is None or known.url in self._listing else known.url
        return found

    def _listed_records(self) -> set[str]:
        """Return the URLs of all listed records, and of current records now listed under another URL."""
        listed = {*self._listing.urls(), *self.containers.catalogs}
        known = (self._known.of(url, listed) for url in (*listed, *self._subjects))
        return listed | {record.url for record in known if record is not None}


def _series_key(url: str) -> str:
    """Return the key in the memory by which a dataset is known to have listed other records."""
    return f"{url}#list"
