"""The containers of a source, level by level, and the datasets that they list."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

from ...web.urls import display_url, spelling
from ..listings import ListFacts
from ..messages import HarvestMessage, MessageCode
from ..rdf.reader import mark_lists, second_reading, understood
from ..record import Containers, KnownRecord, ReadOutcome, Sink, spellings
from ..source_client import UnreadableDocument, for_each
from ..source_type import CrawlEnd
from .containers import ContainerList, ContainerReader, Place, is_catalog, list_key
from .documents import DocumentOutline

MOST_CONTAINERS = 10_000
"""The most containers of a source."""
DEEPEST = 5
"""Levels of containers below the source's URL."""
_WITHOUT_URL = "dcat:Dataset without a URL"
_WITHOUT_TYPE = (
    "its type dcat:Catalog is missing; it was read as a catalog, because the source lists it as one"
)


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

    def remove(self, url: str) -> None:
        """Remove a URL that turned out to be a container."""
        self._found.pop(url, None)

    def containers_of(self, dataset: str) -> set[str]:
        """Return the containers that list a dataset."""
        return self._found[dataset]

    def listed_as(self, url: str) -> str | None:
        """Return the listed URL that equals this URL or is another spelling of it."""
        if url in self._found:
            return url
        for plain in spellings(url):
            for listed in (plain, self._spellings.get(plain, plain)):
                if listed in self._found:
                    return listed
        return None

    def count(self, facts: Mapping[str, ListFacts], there: Collection[str]) -> None:
        """Count the datasets of each container.

        :param facts: by URL of the container.
        :param there: datasets that were read, are current, or are drafts.
        """
        for dataset, containers in self._found.items():
            for container in containers & facts.keys():
                facts[container].listed += 1
                facts[container].there += dataset in there

    def __contains__(self, url: object) -> bool:
        return url in self._found

    def urls(self) -> list[str]:
        return list(self._found)


class ContainerTree:
    """The containers of one crawl.

    :ivar aliases: the listed URL of each container, by its URL in its document
    """

    def __init__(self, reader: ContainerReader, listing: DatasetListing, sink: Sink) -> None:
        """
        :param listing: receives the datasets and the unreadable containers.
        :param sink: called with each catalog, if catalogs are harvested as records.
        """
        self._reader = reader
        self._listing = listing
        self._end = listing.end
        self._containers = listing.end.containers
        self._sink = sink
        self._forbidden: dict[str, UnreadableDocument] = {}
        """Catalogs that answer 401 or 403."""
        self._places: dict[str, Place] = {}
        """Where each container stands that was requested."""
        self._lists: dict[str, ContainerList] = {}
        """The containers that were read."""
        self.aliases: dict[str, str] = {}

    async def read(self, level: Mapping[str, Place]) -> None:
        """Read containers and those below them, level by level."""
        level = {url: place for url, place in level.items() if url not in self._places}
        for _ in range(DEEPEST + 1):
            self._places.update(level)
            found: dict[str, ContainerList] = {}
            concurrency = self._reader.reader.concurrency
            await for_each(concurrency, partial(self._read, found=found), list(level))
            level = {}
            for url, container in self._without_aliases(found):
                self._take(url, container, level)
            catalogs = [url for url, place in level.items() if place.is_catalog]
            self._containers.catalogs.update(catalogs)
            self._containers.listed.update(catalogs)
            if not level:
                break
        for url in self._lists.keys() & {self._containers.root, *self._containers.catalogs}:
            # Some sources list their catalogs as datasets, too.
            self._listing.remove(url)
        for url in level:
            self._end.mark_unreadable(url, f"it lies deeper than {DEEPEST} levels of catalogs")

    async def _read(self, url: str, found: dict[str, ContainerList]) -> None:
        try:
            with understood(url):
                found[url] = await self._reader.read(url, self._places[url])
        except UnreadableDocument as failure:
            self._take_failure(url, failure)

    async def read_again(self) -> None:
        """Read the lists once more, because an absence must be seen twice.

        A record may move from an unread page, or an unread catalog, to one that was read before. A single
        document cannot shift.
        """
        facts = [one.facts for one in self._lists.values()]
        is_paged = any(one.page_size is not None for one in facts)
        if is_paged or len(self._lists.keys() - {self._containers.root}) > 1:
            await asyncio.gather(*(self._read_again(url) for url in sorted(self._lists)))

    async def _read_again(self, url: str) -> None:
        facts = self._lists[url].facts
        with second_reading(url, facts):
            again = await self._reader.read_list(url, self._places[url], facts)
            for dataset in again.outline.datasets:
                self._listing.add(dataset, url)
            if not self.met >= {*again.outline.catalogs, *again.outline.parts}:
                changed = "its list of catalogs changed while it was read"
                facts.misfit = facts.misfit or changed

    @property
    def met(self) -> set[str]:
        """The URLs of all containers, as listed and as their documents name them."""
        return {*self._places, *self.aliases}

    def catalogs_of(self, dataset: str) -> tuple[str, ...]:
        """Return the catalogs of a listed dataset: of each container that lists it, the nearest above."""
        containers, unknown = self._listing.containers_of(dataset), Place(None)
        return tuple(sorted({self._places.get(one, unknown).catalog or one for one in containers}))

    def prove(
        self, there: Collection[str], missing: Collection[KnownRecord], *, is_missing: bool
    ) -> None:
        """Mark the lists as unproved that do not prove that a record is absent, and report refused catalogs.

        :param there: listed records that were read, are current, or are drafts.
        :param missing: the current records that are in no list.
        :param is_missing: the own URL of one of them does not say that it is gone.
        """
        memory, known = self._reader.reader.memory, self._reader.known
        facts: dict[str, ListFacts] = {url: one.facts for url, one in self._lists.items()}
        self._listing.count(facts, there)
        mark_lists(memory, self._end, facts, is_missing=is_missing)
        for url, one in sorted(self._lists.items()):
            listed = one.facts.listed
            if listed and not one.facts.there and url not in self._containers.unproved:
                words = f"none of the {listed} records that it lists could be read"
                self._end.warnings.append(f"{display_url(url)}: {words}")
            if one.subject is not None and not (
                is_missing and (one.facts.instead or one.facts.unusable)
            ):
                memory.remember(list_key(url), "list", one.subject)
        known_urls = {url for record in known for url in (record.url, record.catalog_url)}
        for url, failure in self._forbidden.items():
            # Without records of ours in it, a catalog that may not be read is a draft, which is no error.
            if missing or url in known_urls:
                self._end.errors.append(failure.message)

    def _take_failure(self, url: str, failure: UnreadableDocument) -> None:
        is_root = url == self._containers.root
        is_draft = failure.outcome in (ReadOutcome.FORBIDDEN, ReadOutcome.GONE)
        if not is_root and not self._places[url].is_catalog:
            # It may have been a container, so it proves nothing. Drafts of any type are listed, too.
            is_quiet = is_draft and not self._reader.reader.memory.knows(list_key(url))
            is_told = failure.reported or is_quiet
            self._end.mark_unproved(url, failure.reason, reported=is_told)
            return
        is_forbidden = failure.outcome is ReadOutcome.FORBIDDEN and not is_root
        if is_forbidden:
            self._forbidden[url] = failure
        self._end.mark_unreadable(url, failure.reason, reported=failure.reported or is_forbidden)

    def _without_aliases(self, found: dict[str, ContainerList]) -> list[tuple[str, ContainerList]]:
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
                other = display_url(first)
                reason = HarvestMessage(MessageCode.DESCRIBES_ANOTHER, details=other)
                self._end.mark_unreadable(url, reason)
        return sorted(containers, key=lambda item: item[0])

    def _take(self, url: str, container: ContainerList, below: dict[str, Place]) -> None:
        """Add what a container lists to the listing and to the next level."""
        outline, place = container.outline, self._places[url]
        is_root = url == self._containers.root
        if outline.member:
            self._listing.add(url, place.catalog or self._containers.root)
            return
        self._lists[url] = container
        is_a_catalog = is_catalog(outline, place, is_root=is_root)
        if is_a_catalog:
            self._containers.catalogs.add(url)
        if is_a_catalog and not outline.is_catalog:
            self._end.warnings.append(f"{display_url(url)}: {_WITHOUT_TYPE}")
        if container.crawled is not None:
            self._sink(container.crawled, self._containers)
        for dataset in outline.datasets:
            self._listing.add(dataset, url)
        for kind, count in _not_harvested(outline, is_record=is_a_catalog or is_root).items():
            self._end.skip(kind, url, count)
        catalog = url if is_a_catalog else place.catalog
        self._places[url] = replace(place, catalog=catalog)
        children = {part: Place(catalog, is_catalog=False) for part in outline.parts}
        children |= {child: Place(catalog) for child in outline.catalogs}
        self._add_children(url, children, below)

    def _add_children(
        self, url: str, children: Mapping[str, Place], below: dict[str, Place]
    ) -> None:
        """Add the containers that a container lists to the next level, unless they were met."""
        met, source_hosts = self.met, self._reader.reader.source_hosts
        new = {
            child: place
            for child, place in children.items()
            if child not in met
            and child not in self._listing
            and (place.is_catalog or source_hosts.may_visit(child))
            and (child not in below or place.is_catalog)
        }
        if len(self._places) + len({*below, *new}) > MOST_CONTAINERS:
            words = f"the source lists more than {MOST_CONTAINERS} catalogs"
            self._end.mark_unreadable(url, words)
        else:
            below |= new


def _not_harvested(outline: DocumentOutline, *, is_record: bool) -> Counter[str]:
    """Count the entries of a container that are not harvested, by kind; also itself, unless it `is_record`."""
    counts = Counter({_WITHOUT_URL: outline.nameless, "dcat:DataService": outline.services})
    counts[outline.type_name or "of no known type"] += not is_record
    return +counts
