"""Containers of a source: its root, its catalogs, and records of any other type that list datasets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from rdflib import URIRef

from ...web.urls import display_url
from ..listings import LOST_LIST, nothing_readable, without_urls
from ..messages import HarvestMessage, MessageCode
from ..rdf.record_graph import Mapper, mapped
from ..record import (
    CurrentRecords,
    NotHarvested,
    ReadOutcome,
    SeenRecord,
    Sighting,
    Sink,
    loose_spelling,
)
from .container_lists import ListReader
from .documents import DocumentOutline, last_segment
from .linked_documents import ServiceReader
from .listing import CrawlOptions, DatasetListing
from .reader import (
    MOST_PAGES,
    DocumentReader,
    FetchedDocument,
    UnreadableDocument,
    first_page,
    understood,
)
from .task_group import TaskGroup

ONLY_ABOVE = (
    "the catalog that lists it describes it, but records are read from documents of their own: ask the "
    "publisher to let its URL answer"
)
"""What to do about a catalog that cannot be read, and that the document of another one describes."""


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of a container before it is read, from the record that lists it."""

    catalog: str | None
    """The nearest catalog above."""
    is_catalog: bool = True
    """It is listed as a catalog, and not as a record of any type."""


@dataclass(frozen=True, slots=True)
class _Container:
    """A root, a catalog or another record with a list, with all pages of the list."""

    outline: DocumentOutline
    sighting: Sighting | None
    """Set if catalogs are harvested as records."""


class ContainerCrawl:
    """The first part of a crawl: the root, its catalogs, and records of other types between them and datasets.

    :ivar described: listed catalogs and datasets that the document of their container describes itself
    :ivar aliases: the listed URL of each container, by its URL in its document
    :ivar by_containers: containers whose datasets only the LDP containers in their documents name
    :ivar warnings: one line for people for each oddity that costs nothing
    :ivar not_harvested: members of lists that become no dataset, by their kind
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
        self._places: dict[str, Place] = {}
        """Where each container stands that was requested."""
        self._lists: set[str] = set()
        """The root and the catalogs that were read."""
        self._list_reader = ListReader(reader, listing, most_pages=MOST_PAGES + len(known))
        self.by_containers: set[str] = set()
        self.described: set[str] = set()
        self.aliases: dict[str, str] = {}
        self.warnings: list[str] = []
        self.not_harvested: dict[str, NotHarvested] = {}
        self._doubts: dict[str, str] = {}
        """By container, why its list does not prove that a record is absent."""
        self._subjects: dict[str, str] = {}
        """The URL in its document of each catalog, by its listed URL."""

    async def read(self) -> list[str]:
        """Read the root and everything below it; return the containers whose datasets pages may have."""
        found = await self.read_below({self._containers.root: Place(None)})
        self._report_forbidden()
        return found

    async def read_below(self, level: Mapping[str, Place]) -> list[str]:
        """Read containers and those below them, level by level.

        :returns: the containers whose datasets can be read from pages. A container is left out if only
            the LDP container in its document names its datasets, because pages do not have such
            containers, unless an earlier crawl read its pages.
        """
        with_pages = []
        level = {url: place for url, place in level.items() if url not in self._places}
        for _ in range(self._options.max_depth + 1):
            self._places.update(level)
            below: dict[str, Place] = {}
            for url, container in self._without_aliases(await self._read_level(level)):
                if self._take(url, container, below):
                    with_pages.append(url)
            level = below
            catalogs = [url for url, place in below.items() if place.is_catalog]
            self._containers.catalogs.update(catalogs)
            self._containers.listed.update(catalogs)
            if not level:
                break
        # Some sources list their catalogs as datasets, too.
        self._listing.remove(self._lists)
        for url in level:
            reason = f"it lies deeper than {self._options.max_depth} levels of catalogs"
            self._listing.mark_unreadable(url, reason)
        return with_pages

    async def read_again(self) -> None:
        """Read the lists once more, because an absence must be seen twice.

        A record may move from an unread page, or an unread catalog, to one that was read before. A single
        document cannot shift.
        """
        read = self._places.keys() - self.containers_not_read()
        if not self._list_reader.paged and len(read - {self._containers.root}) < 2:
            return
        await asyncio.gather(*(self._read_again(url) for url in sorted(read)))

    async def _read_again(self, url: str) -> None:
        try:
            outline, _ = await self._list_reader.read(url, is_catalog=self._places[url].is_catalog)
        except UnreadableDocument as failure:
            self._listing.mark_unproved(url, failure.reason)
            return
        for dataset in outline.datasets:
            self._listing.add(dataset, url)
        if not self.met >= {*outline.catalogs, *outline.parts}:
            self._listing.mark_unproved(url, "its list of catalogs changed while it was read")

    @property
    def met(self) -> set[str]:
        """The URLs of all containers, as listed and as their documents name them."""
        return {*self._places, *self.aliases}

    def warn_of_parents(
        self, parents: Mapping[str, Collection[str]], subjects: Iterable[str]
    ) -> None:
        """Warn of each URL that datasets name by dct:isPartOf, and that is no record of this source.

        :param parents: the datasets by this URL.
        :param subjects: URLs of datasets in their documents, besides those of the listing.
        """
        there = set(map(loose_spelling, {*self.met, *self._listing.urls(), *subjects}))
        for parent, datasets in sorted(parents.items()):
            if loose_spelling(parent) not in there:
                example = display_url(min(datasets))
                self.warnings.append(
                    f"{display_url(parent)}: {len(datasets)} datasets, such as {example}, name it by "
                    "dct:isPartOf, but it is no record of this source; they are in the catalogs that list them"
                )

    def containers_not_read(self) -> set[str]:
        """Return the containers that could not be read."""
        return {*self._containers.unreadable, *self._containers.unproved}

    def catalogs_of(self, dataset: str) -> tuple[str, ...]:
        """Return the catalogs of a listed dataset: of each container that lists it, the nearest above."""
        containers = self._listing.containers_of(dataset)
        return tuple(sorted({self._catalog_of(container) for container in containers}))

    def _catalog_of(self, container: str) -> str:
        if container in self._containers.catalogs or container not in self._places:
            return container
        return self._places[container].catalog or container

    def _take(self, url: str, container: _Container, below: dict[str, Place]) -> bool:
        """Add what a container lists to the listing and to the next level; return whether it may have pages."""
        outline, place = container.outline, self._places[url]
        is_root = url == self._containers.root
        if outline.members:
            self._listing.add(url, place.catalog or self._containers.root)
            return False
        is_catalog = outline.is_catalog or (place.is_catalog and not is_root)
        if is_catalog:
            self._containers.catalogs.add(url)
            if not outline.is_catalog:
                self.warnings.append(
                    f"{display_url(url)}: its type dcat:Catalog is missing; it was read as a catalog, because "
                    "the source lists it as one"
                )
        if is_catalog or is_root:
            self._lists.add(url)
        if container.sighting is not None:
            self._sink(container.sighting, self._containers)
        for dataset in outline.datasets:
            self._listing.add(dataset, url)
        self.described.update(outline.described)
        refused = [*outline.refused, *outline.refused_catalogs]
        if nameless := outline.blank + outline.texts + len(refused):
            self._doubts[url] = without_urls(nameless)
        self._count_others(url, outline, is_counted=not is_catalog and not is_root)
        self._prove_list(url, outline)
        self._add_children(url, outline, url if is_catalog else place.catalog, below)
        for dataset in outline.refused:
            self._report_refused(dataset, url)
        for catalog in outline.refused_catalogs:
            reason = self._report_refused(catalog, url)
            self._listing.mark_unreadable(catalog, reason, reported=True)
        if is_root and not is_catalog and not outline.type_name:
            return False
        if outline.by_containers:
            self.by_containers.add(url)
        first = first_page(url, "dataset")
        return bool(outline.datasets or is_catalog) and (
            not outline.by_containers or bool(first and self._reader.memory.knows(first))
        )

    def _add_children(
        self, url: str, outline: DocumentOutline, catalog: str | None, below: dict[str, Place]
    ) -> None:
        known = self.met
        children = {
            **{part: Place(catalog, is_catalog=False) for part in outline.parts},
            **{child: Place(catalog) for child in outline.catalogs},
        }
        children = {
            child: place
            for child, place in children.items()
            if child not in known
            and child not in self._listing
            and (place.is_catalog or self._reader.may_visit(child))
            and (child not in below or place.is_catalog)
        }
        most = self._options.max_catalogs
        if len(self._places) + len({*below, *children}) > most:
            self._listing.mark_unreadable(url, f"the source lists more than {most} catalogs")
        else:
            below |= children

    def _count_others(self, url: str, outline: DocumentOutline, *, is_counted: bool) -> None:
        """Count what becomes no dataset: the container itself, services, and datasets without a URL."""
        kinds = {
            outline.type_name or "of no known type": int(is_counted),
            "dcat:DataService": outline.services,
            "dcat:Dataset without a URL (blank node)": outline.blank,
            "text in place of a URL": outline.texts,
        }
        for kind, count in kinds.items():
            if count:
                self.not_harvested.setdefault(kind, NotHarvested()).add(display_url(url), count)

    def _prove_list(self, url: str, outline: DocumentOutline) -> None:
        """Mark a container as unproved if its document has lost the list that an earlier job read."""
        if outline.blank and not outline.listed and self._listed_before(url):
            # A server that no longer names its datasets may still list all of them.
            self._listing.mark_unproved(url, nothing_readable(outline.blank))
        elif outline.listed or outline.blank or outline.states_list:
            self._reader.memory.remember(_list_key(url), "list", "{}")
        elif self._listed_before(url):
            self._listing.mark_unproved(url, LOST_LIST)

    def _listed_before(self, url: str) -> bool:
        """Return whether an earlier job read a list of a container."""
        plain = loose_spelling(url)
        return self._reader.memory.knows(_list_key(url)) or any(
            record.catalog_url is not None and loose_spelling(record.catalog_url) == plain
            for record in self._known
        )

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
        is_root, place = url == self._containers.root, self._places[url]
        mapper = self._options.catalog_mapper
        try:
            outline, document = await self._list_reader.read(url, is_catalog=place.is_catalog)
            if is_root:
                self._check_same_catalog(url, outline)
            elif place.is_catalog:
                self._compare_catalog(url, outline)
            if not is_root and not outline.members and await self._is_draft(url):
                raise UnreadableDocument(url, ReadOutcome.FORBIDDEN, "it is a draft")
            sighting = None
            if mapper and (outline.is_catalog or (place.is_catalog and not is_root)):
                sighting = await self._catalog_record(url, document, outline, mapper)
        except UnreadableDocument as failure:
            if is_root or place.is_catalog:
                is_forbidden = failure.outcome is ReadOutcome.FORBIDDEN and not is_root
                if is_forbidden:
                    self._forbidden[url] = failure
                reason = failure.reason
                if url in self.described:
                    reason = f"{reason}; {ONLY_ABOVE}"
                self._listing.mark_unreadable(
                    url, reason, reported=failure.reported or is_forbidden
                )
                return
            # It may have been a container, so it proves nothing. Drafts of any type are listed, too.
            is_draft = failure.outcome in (ReadOutcome.FORBIDDEN, ReadOutcome.GONE)
            is_quiet = is_draft and not self._reader.memory.knows(_list_key(url))
            self._listing.mark_unproved(url, failure.reason, reported=failure.reported or is_quiet)
        else:
            found[url] = _Container(outline, sighting)

    def _check_same_catalog(self, url: str, outline: DocumentOutline) -> None:
        """Check that a source whose own URL is that of a catalog still answers with this catalog.

        Servers redirect lost catalogs to the root or to other catalogs.

        :raises UnreadableDocument: it describes another record.
        """
        before, now = self._subject_before(url), outline.subject or url
        if before and last_segment(before) != last_segment(now):
            words = (
                f"it describes {display_url(now)} instead of the catalog {display_url(before)}: nothing is "
                "read from it. If the catalog has moved, correct the source's URL"
            )
            reason = HarvestMessage(words, MessageCode.DESCRIBES_ANOTHER)
            raise UnreadableDocument(url, ReadOutcome.MALFORMED, reason)
        if outline.is_catalog:
            self._subjects[url] = now

    def _compare_catalog(self, url: str, outline: DocumentOutline) -> None:
        """Doubt a list if its URL led to another catalog before: servers redirect lost catalogs to others."""
        before, now = self._subject_before(url), outline.subject or url
        is_itself = loose_spelling(now) == loose_spelling(url)
        if before and not is_itself and last_segment(before) != last_segment(now):
            self._doubts[url] = (
                f"it describes {display_url(now)} instead of the catalog {display_url(before)}, and records "
                "that were listed before are missing: nothing is deleted for that"
            )
        self._subjects[url] = now

    def _subject_before(self, url: str) -> str:
        """Return the URL of a catalog in its document, as an earlier job read it; "" if none did."""
        memory = self._reader.memory
        return str(json.loads(memory.recall(_subject_key(url), "subject") or '""'))

    def doubt(self, *, is_missing: bool) -> None:
        """Mark the lists as unproved that do not prove that a record is absent, if one is missing.

        Otherwise the catalogs of this job are those that the next one compares with.
        """
        if is_missing:
            for url, reason in sorted(self._doubts.items()):
                self._listing.mark_unproved(url, reason)
        for url, subject in self._subjects.items():
            if not is_missing or url not in self._doubts:
                self._reader.memory.remember(_subject_key(url), "subject", json.dumps(subject))

    async def _is_draft(self, url: str) -> bool:
        return self._known.at(url) is None and await self._reader.is_draft(url)

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


def _subject_key(url: str) -> str:
    """Return the key in the memory of the URL that a catalog has in its own document."""
    return f"{url}#catalog"


def _list_key(url: str) -> str:
    """Return the key in the memory by which a container is known to have listed records."""
    return f"{url}#list"
