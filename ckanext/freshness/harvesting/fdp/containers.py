"""Containers of a source: its root, its catalogs, and records of any other type that list datasets."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rdflib import Graph, URIRef

from ...web.urls import display_url, loose_spelling, spelling
from ..listings import ListFacts
from ..messages import HarvestMessage, MessageCode
from ..rdf.mapping import Mapper, mapped
from ..rdf.reader import MOST_PAGES, FetchedDocument, ListReading, doubt_of_list, understood
from ..record import Containers, CurrentRecords, ReadOutcome, SeenRecord, Sighting, Sink, spellings
from ..source_client import UnreadableDocument, for_each
from ..source_type import CrawlEnd
from . import documents
from .datasets import RecordMemory
from .documents import DocumentOutline, last_segment
from .reader import CrawlOptions, FdpReader, ServiceReader


class DatasetListing:
    """The listed datasets of a source, each with the containers that list it.

    A record's identity is its URL as listed. Documents may spell it differently (:meth:`listed_as`).

    :ivar end: the containers and what could not be read of them
    """

    def __init__(self, root: str, limit: int) -> None:
        """
        :param root: the source's URL.
        :param limit: the most datasets that are listed.
        """
        self.end = CrawlEnd(Containers(root=root))
        self._limit = limit
        self._found: dict[str, set[str]] = {}
        self._spellings: dict[str, str] = {}

    def add(self, dataset: str, container: str) -> None:
        """Add a dataset of a container. If the limit is reached, mark the container as unreadable."""
        if dataset not in self._found:
            if len(self._found) >= self._limit:
                reason = f"the source lists more than max_records ({self._limit}) datasets"
                self.end.mark_unreadable(container, reason)
                return
            # Listings may be long, and most URLs are in the plain spelling already.
            if (plain := spelling(dataset)) != dataset:
                self._spellings.setdefault(plain, dataset)
        self._found.setdefault(dataset, set()).add(container)
        self.end.containers.listed.add(dataset)

    def remove(self, urls: Collection[str]) -> None:
        """Remove URLs that turned out to be containers."""
        for url in urls:
            self._found.pop(url, None)
        self._spellings = {kept: url for kept, url in self._spellings.items() if url in self._found}

    def containers_of(self, dataset: str) -> set[str]:
        """Return the containers that list a dataset."""
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

    def __contains__(self, url: object) -> bool:
        return url in self._found

    def urls(self) -> list[str]:
        return list(self._found)


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
    """The part of a crawl that reads containers.

    :ivar aliases: the listed URL of each container, by its URL in its document
    """

    def __init__(
        self,
        reader: FdpReader,
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
        self._end = listing.end
        self._containers = listing.end.containers
        self._options = options
        self._known = known
        self._sink = sink
        self._services = services
        self._most_pages = MOST_PAGES + len(known)
        self._forbidden: dict[str, UnreadableDocument] = {}
        """Catalogs that answer 401 or 403."""
        self._places: dict[str, Place] = {}
        """Where each container stands that was requested."""
        self._lists: set[str] = set()
        """The root and the catalogs that were read."""
        self._paged: set[str] = set()
        """Containers whose lists have several pages."""
        self._facts: dict[str, ListFacts] = {}
        self._subjects: dict[str, str] = {}
        """By listed URL of each container with a list, the URL in its document; "" for the root of a FAIR Data
        Point, which may answer under any URL."""
        self.aliases: dict[str, str] = {}

    async def read(self, level: Mapping[str, Place]) -> None:
        """Read containers and those below them, level by level."""
        level = {url: place for url, place in level.items() if url not in self._places}
        for _ in range(self._options.max_depth + 1):
            self._places.update(level)
            below: dict[str, Place] = {}
            found: dict[str, _Container] = {}
            read = partial(self._read_container, found=found)
            await for_each(self._options.concurrency, read, list(level))
            for url, container in self._without_aliases(found):
                self._take(url, container, below)
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
            self._end.mark_unreadable(url, reason)

    async def read_again(self) -> None:
        """Read the lists once more, because an absence must be seen twice.

        A record may move from an unread page, or an unread catalog, to one that was read before. A single
        document cannot shift.
        """
        if self._paged or len(self._facts.keys() - {self._containers.root}) > 1:
            await asyncio.gather(*(self._read_again(url) for url in sorted(self._facts)))

    async def _read_again(self, url: str) -> None:
        facts = self._facts[url]
        try:
            with understood(url):
                outline, _, misfit = await self._read_list(url)
        except UnreadableDocument as failure:
            facts.misfit = facts.misfit or failure.reason
            return
        facts.misfit = facts.misfit or misfit
        for dataset in outline.datasets:
            self._listing.add(dataset, url)
        if not self.met >= {*outline.catalogs, *outline.parts}:
            facts.misfit = facts.misfit or "its list of catalogs changed while it was read"

    @property
    def met(self) -> set[str]:
        """The URLs of all containers, as listed and as their documents name them."""
        return {*self._places, *self.aliases}

    def catalogs_of(self, dataset: str) -> tuple[str, ...]:
        """Return the catalogs of a listed dataset: of each container that lists it, the nearest above."""
        containers = self._listing.containers_of(dataset)
        return tuple(sorted({self._catalog_of(container) for container in containers}))

    def _catalog_of(self, container: str) -> str:
        if container in self._containers.catalogs or container not in self._places:
            return container
        return self._places[container].catalog or container

    # What lists prove

    def prove(self, there: Collection[str], *, is_missing: bool, is_unlisted: bool) -> None:
        """Mark the lists as unproved that do not prove that a record is absent, and report refused catalogs.

        :param there: listed records that were read, are current, or are drafts.
        :param is_missing: a current record is in no list, and its own URL does not say that it is gone.
        :param is_unlisted: a current record is in no list.
        """
        for url in self._listing.urls():
            for container in self._listing.containers_of(url) & self._facts.keys():
                facts = self._facts[container]
                facts.listed += 1
                facts.there += url in there
        for url, facts in sorted(self._facts.items()):
            reason = doubt_of_list(self._reader.memory, url, facts, is_missing=is_missing)
            if reason is not None:
                self._end.mark_unproved(url, reason)
            elif facts.is_lost and is_missing:
                self._end.mark_without_list(url)
            elif facts.listed and not facts.there:
                words = f"none of the {facts.listed} records that it lists could be read"
                self._end.warnings.append(f"{display_url(url)}: {words}")
            if url in self._subjects and not (is_missing and (facts.instead or facts.unusable)):
                subject = json.dumps(self._subjects[url])
                self._reader.memory.remember(list_key(url), "list", subject)
        known_urls = {url for record in self._known for url in (record.url, record.catalog_url)}
        for url, failure in self._forbidden.items():
            # A catalog that nothing of ours was in is a draft, which is no error.
            if is_unlisted or url in known_urls:
                self._end.errors.append(failure.message)

    def _instead(self, url: str, outline: DocumentOutline) -> str:
        """Return the catalogs now and before, for people, if a URL leads to another one than in an earlier job.

        Servers redirect lost catalogs to the root or to other catalogs.
        """
        now = outline.subject or url
        before = json.loads(self._reader.memory.recall(list_key(url), "list") or '""')
        is_itself = url != self._containers.root and loose_spelling(now) == loose_spelling(url)
        if not before or is_itself or last_segment(before) == last_segment(now):
            return ""
        return f"{display_url(now)} instead of the catalog {display_url(before)}"

    def _was_listing(self, url: str) -> bool:
        """Return whether an earlier job read a list of a container."""
        plain = loose_spelling(url)
        return self._reader.memory.knows(list_key(url)) or any(
            record.catalog_url is not None and loose_spelling(record.catalog_url) == plain
            for record in self._known
        )

    # Lists and their pages

    async def _read_list(self, url: str) -> tuple[DocumentOutline, FetchedDocument, str]:
        """Read a container's document and the further pages of its list.

        If the pages do not fit each other, because the list changed, they are read once more. What either
        reading lists is listed.

        :returns: what all pages list, the first page, and why they make no whole list, if so.
        :raises UnreadableDocument: the first page cannot be read.
        """
        whole, document, misfit = await self._read_pages(url)
        if misfit:
            again, document, misfit = await self._read_pages(url)
            whole = _united(again, whole)
        return whole, document, misfit

    async def _read_pages(self, url: str) -> tuple[DocumentOutline, FetchedDocument, str]:
        is_catalog = self._places[url].is_catalog
        facts = self._facts.setdefault(url, ListFacts())

        def learn(page: FetchedDocument, graph: Graph) -> DocumentOutline:
            return documents.outline_of_container(
                graph,
                url,
                is_root=url == self._containers.root,
                is_part=not is_catalog,
                final_url=page.base,
            )

        reading: ListReading[DocumentOutline] = ListReading(self._reader, url, self._most_pages)
        role = "container" if is_catalog else "part"
        first: FetchedDocument | None = None
        whole = DocumentOutline()
        async for page, outline in reading.pages(role, DocumentOutline, learn):
            whole = outline if first is None else _together(whole, outline)
            first = first or page
        reading.note(facts)
        if reading.is_paged:
            self._paged.add(url)
        assert first is not None
        return whole, first, reading.misfit

    # One container

    async def _read_container(self, url: str, found: dict[str, _Container]) -> None:
        is_root, place = url == self._containers.root, self._places[url]
        mapper = self._options.catalog_mapper
        try:
            with understood(url):
                outline, document, misfit = await self._read_list(url)
                instead = self._instead(url, outline)
                if is_root and instead:
                    words = (
                        f"it describes {instead}: nothing is read from it. If the catalog has moved, "
                        "correct the source's URL"
                    )
                    reason = HarvestMessage(words, MessageCode.DESCRIBES_ANOTHER)
                    raise UnreadableDocument(url, reason, ReadOutcome.MALFORMED)
                is_new = self._known.at(url) is None
                if (
                    not is_root
                    and not outline.members
                    and is_new
                    and await self._reader.is_draft(url)
                ):
                    raise UnreadableDocument(url, "it is a draft", ReadOutcome.FORBIDDEN)
                sighting = None
                if mapper and (outline.is_catalog or (place.is_catalog and not is_root)):
                    sighting = await self._catalog_record(url, document, outline, mapper)
        except UnreadableDocument as failure:
            self._facts.pop(url, None)
            self._take_failure(url, failure)
            return
        facts = self._facts[url]
        facts.misfit, facts.unusable = misfit, outline.nameless
        facts.instead = instead if place.is_catalog else ""
        has_list = outline.states_list or outline.length > outline.services
        facts.is_lost = not has_list and not outline.members and self._was_listing(url)
        if has_list:
            is_itself = outline.is_catalog or not is_root
            self._subjects[url] = (outline.subject or url) if is_itself else ""
        found[url] = _Container(outline, sighting)

    def _take_failure(self, url: str, failure: UnreadableDocument) -> None:
        if url == self._containers.root or self._places[url].is_catalog:
            is_forbidden = failure.outcome is ReadOutcome.FORBIDDEN and url != self._containers.root
            if is_forbidden:
                self._forbidden[url] = failure
            is_told = failure.reported or is_forbidden
            self._end.mark_unreadable(url, failure.reason, reported=is_told)
            return
        # It may have been a container, so it proves nothing. Drafts of any type are listed, too.
        is_draft = failure.outcome in (ReadOutcome.FORBIDDEN, ReadOutcome.GONE)
        is_quiet = is_draft and not self._reader.memory.knows(list_key(url))
        self._end.mark_unproved(url, failure.reason, reported=failure.reported or is_quiet)

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
                continue
            self._facts.pop(url, None)
            if first.rstrip("/") == url.rstrip("/"):
                self._containers.catalogs.discard(url)
                self._containers.listed.discard(url)
            else:
                words = f"it describes {display_url(first)} instead"
                reason = HarvestMessage(words, MessageCode.DESCRIBES_ANOTHER)
                self._end.mark_unreadable(url, reason)
        return sorted(containers, key=lambda item: item[0])

    def _take(self, url: str, container: _Container, below: dict[str, Place]) -> None:
        """Add what a container lists to the listing and to the next level."""
        outline, place = container.outline, self._places[url]
        is_root = url == self._containers.root
        if outline.members:
            self._facts.pop(url, None)
            self._listing.add(url, place.catalog or self._containers.root)
            return
        is_catalog = outline.is_catalog or (place.is_catalog and not is_root)
        if is_catalog:
            self._containers.catalogs.add(url)
            if not outline.is_catalog:
                self._end.warnings.append(
                    f"{display_url(url)}: its type dcat:Catalog is missing; it was read as a catalog, because "
                    "the source lists it as one"
                )
        if is_catalog or is_root:
            self._lists.add(url)
        if container.sighting is not None:
            self._sink(container.sighting, self._containers)
        for dataset in outline.datasets:
            self._listing.add(dataset, url)
        kind = outline.type_name or "of no known type"
        counts = Counter({**outline.unusable, "dcat:DataService": outline.services})
        counts[kind] += not is_catalog and not is_root
        for kind, count in counts.items():
            if count:
                self._end.skip(kind, url, count)
        self._add_children(url, outline, url if is_catalog else place.catalog, below)

    def _add_children(
        self, url: str, outline: DocumentOutline, catalog: str | None, below: dict[str, Place]
    ) -> None:
        met = self.met
        children = {
            **{part: Place(catalog, is_catalog=False) for part in outline.parts},
            **{child: Place(catalog) for child in outline.catalogs},
        }
        children = {
            child: place
            for child, place in children.items()
            if child not in met
            and child not in self._listing
            and (place.is_catalog or self._reader.reach.may_visit(child))
            and (child not in below or place.is_catalog)
        }
        most = self._options.max_catalogs
        if len(self._places) + len({*below, *children}) > most:
            self._end.mark_unreadable(url, f"the source lists more than {most} catalogs")
        else:
            below |= children

    async def _catalog_record(
        self, url: str, document: FetchedDocument, outline: DocumentOutline, mapper: Mapper
    ) -> Sighting:
        known = self._known.at(url)
        memory = RecordMemory.of(known)
        own = self._reader.hash(document.digest)
        record, content_hash = None, known.content_hash if known else None
        warnings: list[str] = []
        fingerprint = await self._services.fingerprint(own, memory.services)
        if content_hash is None or memory.fingerprint != fingerprint:
            graph = await document.parsed()
            services, warnings = await self._services.describe(graph)
            fingerprint = await self._services.fingerprint(own, services)
            memory = RecordMemory(fingerprint, services)
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
        may_be_cut = not document.has_end or bool(warnings)
        return Sighting(seen, record, memory=memory.as_json(), may_be_cut=may_be_cut)


def _together(pages: DocumentOutline, page: DocumentOutline) -> DocumentOutline:
    """Return one outline of the pages of a list."""
    return replace(
        _united(pages, page),
        states_list=pages.states_list or page.states_list,
        services=pages.services + page.services,
        unusable=dict(Counter(pages.unusable) + Counter(page.unusable)),
    )


def _united(first: DocumentOutline, second: DocumentOutline) -> DocumentOutline:
    """Return the first outline with what the second one lists besides."""
    names = ("catalogs", "datasets", "parts")
    united: dict[str, Any] = {
        name: sorted({*getattr(first, name), *getattr(second, name)}) for name in names
    }
    return replace(first, **united)


def list_key(url: str) -> str:
    """Return the key in the memory of a record that lists others; the value is the URL in its document."""
    return f"{url}#list"
