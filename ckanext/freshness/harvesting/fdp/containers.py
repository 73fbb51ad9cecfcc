"""Root and catalogs: which there are, what they list, and which of them could not be read."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rdflib import URIRef

from ...web.urls import display_url
from ..record_identity import CurrentRecords
from ..sightings import Sighting, Sink
from ..strategy import Containers, ReadOutcome, SeenRecord
from ..url_spelling import spelling, spellings
from . import documents
from .documents import DocumentOutline, Mapper
from .linked_documents import ServiceReader
from .reader import DocumentReader, FetchedDocument, UnreadableDocument, first_page, understood


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """The limits and habits of one crawl."""

    mapper: Mapper
    now: datetime
    catalog_mapper: Mapper | None = None
    """Set where catalogs are records too."""
    salt: str = ""
    """Whatever a record's contents depend on besides its bytes (mapping version, language)."""
    max_records: int = 100_000
    max_catalogs: int = 10_000
    max_depth: int = 5
    """Levels of catalogs below the source's URL."""
    allowed_hosts: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent to the source's own origin only."""
    concurrency: int = 8


class TaskGroup:
    """A bounded group of tasks of one event loop.

    (asyncio.TaskGroup is bounded by nothing, and does not exist in Python 3.10.)
    """

    def __init__(self, size: int) -> None:
        """
        :param size: how many tasks may be under way, at least 1.
        """
        self._room = asyncio.Semaphore(size)
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None

    async def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin a task as soon as there is room for it.

        :raises BaseException: what an earlier task ended with; the work is then not begun.
        """
        try:
            await self._room.acquire()
        except BaseException:
            work.close()
            raise
        if self._failure is not None:
            self._room.release()
            work.close()
            raise self._failure
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def join(self) -> None:
        """Wait until nothing is under way.

        :raises BaseException: what the first task that failed ended with, as soon as it has.
        """
        while self._tasks and self._failure is None:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        if self._failure is not None:
            raise self._failure

    async def dismiss(self) -> None:
        """Cancel what is under way, and wait until that has ended too."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room.release()
        if not task.cancelled() and self._failure is None:
            self._failure = task.exception()


class DatasetListing:
    """Dataset URLs, each with the containers that list it.

    The URL as it is listed is a record's identity; documents may spell it in another way
    (:meth:`listed_as`).

    :ivar containers: what is known of the containers themselves
    :ivar errors: a line for people, URL and reason, for each that could not be read
    """

    def __init__(self, root: str, limit: int) -> None:
        """
        :param root: the source's URL.
        :param limit: how many datasets are taken up.
        """
        self.containers = Containers(root=root)
        self.errors: list[str] = []
        self._limit = limit
        self._found: dict[str, tuple[str, ...]] = {}
        self._spellings: dict[str, str] = {}
        self._claimed: set[str] = set()

    def add(self, dataset: str, container: str) -> None:
        """Note that a container lists a dataset; it has not been read whole if that is one too many."""
        before = self._found.get(dataset, ())
        if not before:
            if len(self._found) >= self._limit:
                words = f"the source lists more than max_records ({self._limit}) datasets"
                self.unreadable(container, words)
                return
            # Most URLs are spelled as all would be, and there may be many.
            if (plain := spelling(dataset)) != dataset:
                self._spellings.setdefault(plain, dataset)
        self._found[dataset] = tuple(sorted({*before, container}))
        self.containers.listed.add(dataset)

    def unreadable(self, container: str, reason: str, *, told: bool = False) -> None:
        """Note that a container, or a page of it, could not be read whole.

        :param told: somebody says so already, or will.
        """
        if container not in self.containers.unreadable:
            self.containers.unreadable[container] = reason
            if not told:
                self.errors.append(f"{display_url(container)}: {reason}")

    def leave_out(self, urls: Collection[str]) -> None:
        """Take URLs out that are no datasets."""
        for url in urls:
            self._found.pop(url, None)
        self._spellings = {kept: url for kept, url in self._spellings.items() if url in self._found}

    def containers_of(self, dataset: str) -> tuple[str, ...]:
        """The containers that list a dataset, sorted."""
        return self._found[dataset]

    def listed_as(self, url: str) -> str | None:
        """The listed URL that is this one, or differs from it only in spelling."""
        if url in self._found:
            return url
        for plain in spellings(url):
            if plain in self._found:
                return plain
            if plain in self._spellings:
                return self._spellings[plain]
        return None

    def claim(self, dataset: str) -> bool:
        """Whether a dataset is still to be read; it counts as read from now on."""
        if dataset in self._claimed:
            return False
        self._claimed.add(dataset)
        return True

    def __contains__(self, url: object) -> bool:
        return url in self._found

    def __len__(self) -> int:
        return len(self._found)

    def urls(self) -> list[str]:
        """All listed datasets."""
        return list(self._found)


@dataclass(frozen=True, slots=True)
class _Container:
    """A root or a catalog that was read; with its own sighting where catalogs are records too."""

    outline: DocumentOutline
    sighting: Sighting | None


class ContainerCrawl:
    """The first part of a crawl."""

    def __init__(
        self,
        reader: DocumentReader,
        listing: DatasetListing,
        options: CrawlOptions,
        known: CurrentRecords,
        sink: Sink,
        services: ServiceReader,
    ) -> None:
        """
        :param listing: takes what is found.
        :param known: the current records of the source.
        :param sink: is called with catalogs, where they are records too.
        """
        self._reader = reader
        self._listing = listing
        self._containers = listing.containers
        self._options = options
        self._known = known
        self._sink = sink
        self._services = services
        self._crew = TaskGroup(options.concurrency)
        self._drafts: dict[str, UnreadableDocument] = {}
        self.aliases: dict[str, str] = {}
        """By what a container is called in its document, the URL under which it is listed."""

    async def read(self) -> list[str]:
        """Read root and catalogs, level by level.

        :returns: the catalogs that were read whole and whose pages would say as much as their records.
        """
        readable, with_pages = [], []
        level, asked = [self._containers.root], {self._containers.root}
        for depth in range(self._options.max_depth + 1):
            below: set[str] = set()
            for url, container in self._told_apart(await self._read_level(level)):
                outline = container.outline
                if depth or outline.is_catalog:
                    self._containers.catalogs.add(url)
                    readable.append(url)
                    first = first_page(url, "dataset")
                    if not outline.by_containers or (first and self._reader.memory.knows(first)):
                        with_pages.append(url)
                if container.sighting is not None:
                    self._sink(container.sighting, self._containers)
                for dataset in outline.datasets:
                    self._listing.add(dataset, url)
                children = set(outline.catalogs) - asked - below - self.aliases.keys()
                most = self._options.max_catalogs
                if len(asked) + len(below) + len(children) > most:
                    self._listing.unreadable(url, f"the source lists more than {most} catalogs")
                else:
                    below |= children
                for one in outline.refused:
                    self._refused(one, url)
                for one in outline.refused_catalogs:
                    self._listing.unreadable(one, self._refused(one, url), told=True)
            level = sorted(below)
            asked |= below
            self._containers.catalogs.update(level)
            self._containers.listed.update(level)
            if not level:
                break
        for url in level:
            words = f"it lies deeper than {self._options.max_depth} levels of catalogs"
            self._listing.unreadable(url, words)
        self._listing.leave_out([self._containers.root, *readable])
        self._tell_of_drafts()
        return with_pages

    def _refused(self, listed: str, container: str) -> str:
        """Tell that a container lists what nobody can ask for: it may be there, and cannot be read."""
        words = f"it lists {display_url(listed)}, which cannot be asked for"
        self._listing.errors.append(f"{display_url(container)}: {words}")
        if self._known.at(listed) is not None:
            seen = SeenRecord(listed, ReadOutcome.FAILED, listed_in=(container,))
            self._sink(
                Sighting(seen, error=f"{display_url(listed)}: cannot be asked for"),
                self._containers,
            )
        return words

    async def _read_level(self, urls: Iterable[str]) -> dict[str, _Container]:
        found: dict[str, _Container] = {}
        try:
            for url in urls:
                await self._crew.start(self._read_container(url, found))
            await self._crew.join()
        finally:
            await self._crew.dismiss()
        return found

    async def _read_container(self, url: str, found: dict[str, _Container]) -> None:
        is_root = url == self._containers.root
        mapper = self._options.catalog_mapper
        try:
            document = await self._reader.get(url)
            outline = await self._reader.outline(
                document,
                "container",
                lambda graph: documents.outline_of_container(
                    graph, url, is_root=is_root, final_url=document.base
                ),
            )
            sighting = None
            if mapper and (outline.is_catalog or not is_root):
                sighting = await self._catalog_record(url, document, outline, mapper)
        except UnreadableDocument as failure:
            if failure.outcome is ReadOutcome.FORBIDDEN and not is_root:
                self._drafts[url] = failure
            self._listing.unreadable(url, failure.words, told=failure.told or url in self._drafts)
        else:
            found[url] = _Container(outline, sighting)

    def _told_apart(self, found: dict[str, _Container]) -> list[tuple[str, _Container]]:
        """The containers of one level, each once, whatever URLs lead to it.

        One that answers with the document of another one has not been read: its URL may have been
        turned into a redirect, by design or by accident.
        """
        each = []
        # Who answers under the URL that its document has is itself; then the others.
        for url in sorted(found, key=lambda url: (found[url].outline.subject != url, url)):
            other = self.aliases.setdefault(found[url].outline.subject or url, url)
            if other == url:
                each.append((url, found[url]))
            elif other.rstrip("/") == url.rstrip("/"):
                self._containers.catalogs.discard(url)
                self._containers.listed.discard(url)
            else:
                self._listing.unreadable(url, f"it describes {display_url(other)} instead")
        return sorted(each, key=lambda item: item[0])

    async def _catalog_record(
        self, url: str, document: FetchedDocument, outline: DocumentOutline, mapper: Mapper
    ) -> Sighting:
        known = self._known.at(url)
        own = self._reader.hash(document.digest)
        fingerprint = await self._services.fingerprint(url, own)
        record = None
        if known is not None and known.fingerprint == fingerprint:
            content_hash = known.content_hash
        else:
            graph = await document.parsed()
            warnings = await self._services.describe(url, own, graph)
            fingerprint = await self._services.fingerprint(url, own)
            with understood(url):
                record = documents.mapped(mapper, graph, URIRef(outline.subject or url))
            record.warnings = sorted({*record.warnings, *warnings})
            content_hash = self._reader.hash(record.digest())
        seen = SeenRecord(
            url,
            ReadOutcome.PRESENT,
            listed_in=(self._containers.root,),
            content_hash=content_hash,
            is_catalog=True,
        )
        return Sighting(seen, record, fingerprint)

    def _tell_of_drafts(self) -> None:
        """Catalogs that are drafts, and always were, are no fault of anybody."""
        ours = {url for one in self._known for url in (one.url, one.catalog_url)}
        lost_one = any(
            one.catalog_url not in self._containers.catalogs
            and self._listing.listed_as(one.url) is None
            for one in self._known
        )
        for url, failure in self._drafts.items():
            # One that vanished with all that it lists may have been below this one.
            if lost_one or url in ours:
                self._listing.errors.append(str(failure))
