"""Containers of a source: its root and catalogs, the datasets that they list, and failures to read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rdflib import URIRef

from ...web.urls import display_url
from ..messages import HarvestMessage, MessageCode, about
from ..record import (
    Containers,
    CurrentRecords,
    ReadOutcome,
    SeenRecord,
    Sighting,
    Sink,
    spelling,
    spellings,
)
from . import documents
from .documents import DocumentOutline
from .linked_documents import ServiceReader
from .reader import DocumentReader, FetchedDocument, UnreadableDocument, first_page, understood
from .record_graph import Mapper, mapped
from .task_group import TaskGroup


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """The options of one crawl."""

    mapper: Mapper
    now: datetime
    catalog_mapper: Mapper | None = None
    """None if catalogs are not harvested as records."""
    salt: str = ""
    """Part of every hash: what a record's contents depend on besides its bytes, such as the language."""
    max_records: int = 100_000
    max_catalogs: int = 10_000
    max_depth: int = 5
    """Levels of catalogs below the source's URL."""
    allowed_hosts: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent to the source's own origin only."""
    concurrency: int = 8


class DatasetListing:
    """The listed datasets of a source, each with the containers that list it.

    A record's identity is its URL as listed. Documents may spell it differently (:meth:`listed_as`).

    :ivar containers: the containers, as the strategy needs them
    :ivar errors: one line for people, URL and reason, for each container that could not be read
    """

    def __init__(self, root: str, limit: int) -> None:
        """
        :param root: the source's URL.
        :param limit: the most datasets that are listed.
        """
        self.containers = Containers(root=root)
        self.errors: list[str] = []
        self._limit = limit
        self._found: dict[str, tuple[str, ...]] = {}
        self._spellings: dict[str, str] = {}
        self._claimed: set[str] = set()

    def add(self, dataset: str, container: str) -> None:
        """Add a dataset of a container. If the limit is reached, mark the container as unreadable."""
        before = self._found.get(dataset, ())
        if not before:
            if len(self._found) >= self._limit:
                reason = f"the source lists more than max_records ({self._limit}) datasets"
                self.mark_unreadable(container, reason)
                return
            # Listings may be long, and most URLs are in the plain spelling already.
            if (plain := spelling(dataset)) != dataset:
                self._spellings.setdefault(plain, dataset)
        self._found[dataset] = tuple(sorted({*before, container}))
        self.containers.listed.add(dataset)

    def mark_unreadable(self, container: str, reason: str, *, reported: bool = False) -> None:
        """Record that a container, or a page of it, was not read whole.

        :param reported: another error reports this failure, so add none.
        """
        if container not in self.containers.unreadable:
            self.containers.unreadable[container] = reason
            if not reported:
                self.errors.append(about(display_url(container), reason))

    def remove(self, urls: Collection[str]) -> None:
        """Remove URLs that turned out to be containers."""
        for url in urls:
            self._found.pop(url, None)
        self._spellings = {kept: url for kept, url in self._spellings.items() if url in self._found}

    def containers_of(self, dataset: str) -> tuple[str, ...]:
        """Return the containers that list a dataset, sorted."""
        return self._found[dataset]

    def listed_as(self, url: str) -> str | None:
        """Return the listed URL that equals this URL or is another spelling of it."""
        if url in self._found:
            return url
        for plain in spellings(url):
            if plain in self._found:
                return plain
            if plain in self._spellings:
                return self._spellings[plain]
        return None

    def claim(self, dataset: str) -> bool:
        """Return True for the first claim of a dataset: the caller reads it. Return False afterwards."""
        if dataset in self._claimed:
            return False
        self._claimed.add(dataset)
        return True

    def __contains__(self, url: object) -> bool:
        return url in self._found

    def __len__(self) -> int:
        return len(self._found)

    def urls(self) -> list[str]:
        return list(self._found)


@dataclass(frozen=True, slots=True)
class _Container:
    """A root or a catalog that was read."""

    outline: DocumentOutline
    sighting: Sighting | None
    """Set if catalogs are harvested as records."""


class ContainerCrawl:
    """The first part of a crawl: the root and its catalogs.

    :ivar aliases: the listed URL of each container, by its URL in its document
    """

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
        :param listing: receives the datasets and the unreadable containers.
        :param known: the current records of the source.
        :param sink: called with each catalog, if catalogs are harvested as records.
        """
        self._reader = reader
        self._listing = listing
        self._containers = listing.containers
        self._options = options
        self._known = known
        self._sink = sink
        self._services = services
        self._tasks = TaskGroup(options.concurrency)
        self._forbidden: dict[str, UnreadableDocument] = {}
        self.aliases: dict[str, str] = {}

    async def read(self) -> list[str]:
        """Read root and catalogs, level by level.

        :returns: the catalogs whose datasets can be read from pages. A catalog is left out if only
            the container in its document names its datasets, because pages do not have such
            containers, unless an earlier crawl read its pages.
        """
        readable, with_pages = [], []
        level, requested = [self._containers.root], {self._containers.root}
        for depth in range(self._options.max_depth + 1):
            below: set[str] = set()
            for url, container in self._without_aliases(await self._read_level(level)):
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
                children = set(outline.catalogs) - requested - below - self.aliases.keys()
                most = self._options.max_catalogs
                if len(requested) + len(below) + len(children) > most:
                    reason = f"the source lists more than {most} catalogs"
                    self._listing.mark_unreadable(url, reason)
                else:
                    below |= children
                for dataset in outline.refused:
                    self._report_refused(dataset, url)
                for catalog in outline.refused_catalogs:
                    reason = self._report_refused(catalog, url)
                    self._listing.mark_unreadable(catalog, reason, reported=True)
            level = sorted(below)
            requested |= below
            self._containers.catalogs.update(level)
            self._containers.listed.update(level)
            if not level:
                break
        for url in level:
            reason = f"it lies deeper than {self._options.max_depth} levels of catalogs"
            self._listing.mark_unreadable(url, reason)
        self._listing.remove([self._containers.root, *readable])
        self._report_forbidden()
        return with_pages

    def _report_refused(self, listed: str, container: str) -> str:
        """Report a listed URL that cannot be requested; return the reason.

        If the URL is a current record's, the record counts as failed, so it is kept.
        """
        reason = f"it lists {display_url(listed)}, which cannot be requested"
        self._listing.errors.append(f"{display_url(container)}: {reason}")
        if self._known.at(listed) is not None:
            seen = SeenRecord(listed, ReadOutcome.FAILED, listed_in=(container,))
            self._sink(
                Sighting(seen, error=f"{display_url(listed)}: cannot be requested"),
                self._containers,
            )
        return reason

    async def _read_level(self, urls: Iterable[str]) -> dict[str, _Container]:
        found: dict[str, _Container] = {}
        try:
            for url in urls:
                await self._tasks.start(self._read_container(url, found))
            await self._tasks.join()
        finally:
            await self._tasks.cancel()
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
            is_forbidden = failure.outcome is ReadOutcome.FORBIDDEN and not is_root
            if is_forbidden:
                self._forbidden[url] = failure
            self._listing.mark_unreadable(
                url, failure.reason, reported=failure.reported or is_forbidden
            )
        else:
            found[url] = _Container(outline, sighting)

    def _without_aliases(self, found: dict[str, _Container]) -> list[tuple[str, _Container]]:
        """Return the containers of one level, each under one URL.

        If a URL answers with the document of another container, it counts as unread: it may redirect
        there by design or by accident.
        """
        containers = []
        # A container that answers under the URL in its own document comes before its aliases.
        for url in sorted(found, key=lambda url: (found[url].outline.subject != url, url)):
            first = self.aliases.setdefault(found[url].outline.subject or url, url)
            if first == url:
                containers.append((url, found[url]))
            elif first.rstrip("/") == url.rstrip("/"):
                self._containers.catalogs.discard(url)
                self._containers.listed.discard(url)
            else:
                words = f"it describes {display_url(first)} instead"
                reason = HarvestMessage(words, MessageCode.DESCRIBES_ANOTHER)
                self._listing.mark_unreadable(url, reason)
        return sorted(containers, key=lambda item: item[0])

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
                record = mapped(mapper, graph, URIRef(outline.subject or url))
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

    def _report_forbidden(self) -> None:
        """Report catalogs that answer 401 or 403, if records of ours may be in them.

        Other such catalogs are drafts, which are no error.
        """
        known_urls = {url for record in self._known for url in (record.url, record.catalog_url)}
        # A catalog that vanished with all its records may have been below any forbidden catalog.
        is_catalog_lost = any(
            record.catalog_url not in self._containers.catalogs
            and self._listing.listed_as(record.url) is None
            for record in self._known
        )
        for url, failure in self._forbidden.items():
            if is_catalog_lost or url in known_urls:
                self._listing.errors.append(failure.message)
