"""One crawl of a FAIR Data Point: containers first, then records, all politely waited for together.

The crawl says what it saw (:class:`Sighting`, one per record, handed on as it comes; and
:class:`~ckanext.freshness.harvesting.strategy.Containers` at the end) and decides nothing: what is
deleted is the strategy's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rdflib import URIRef

from ...web.client import Client
from ...web.urls import display_url
from ..memory import DocumentMemory
from ..sightings import Sighting, Sink
from ..strategy import Containers, Known, Outcome, Seen, must_ask
from . import documents
from .crew import Crew
from .distributions import Distributions
from .documents import Mapper, Member, Outline
from .listing import Listing
from .reader import (
    MOST_PAGES,
    NO_SUCH_ENDPOINT,
    Document,
    Pages,
    Reader,
    Unreadable,
    first_page,
    understood,
)


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """The limits and habits of one crawl."""

    mapper: Mapper
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


@dataclass(frozen=True, slots=True)
class _Container:
    """A root or a catalog that was read."""

    outline: Outline
    sighting: Sighting | None
    """Of the catalog itself, where catalogs are records too."""


class Crawl:
    """One crawl of one source. Not to be run twice."""

    def __init__(
        self,
        client: Client,
        source_url: str,
        options: CrawlOptions,
        known: Mapping[str, Known],
        memory: DocumentMemory,
        sink: Sink,
    ) -> None:
        """
        :param known: the current records of the source by URL.
        :param sink: is called with every record as soon as it is read, in no particular order.
        """
        self._options = options
        self._known = known
        self._sink = sink
        self._reader = Reader(
            client,
            source_url,
            memory,
            allowed_hosts=options.allowed_hosts,
            headers=options.headers,
            salt=options.salt,
        )
        # Records have a crew of their own: containers under way wait for room in it.
        self._container_crew = Crew(options.concurrency)
        self._record_crew = Crew(options.concurrency * 4)
        self._listing = Listing(options.max_records)
        self._aliases: dict[str, str] = {}
        self._drafts: dict[str, Unreadable] = {}
        self._only_in_pages: dict[str, set[str]] = {}
        self._malformed_pages: list[tuple[str, Unreadable]] = []
        self._malformed_in: set[str] = set()
        self._paged_whole: set[str] = set()
        self._distributions = Distributions(self._reader)
        self.containers = Containers(root=source_url)
        self.errors: list[str] = []
        """One line for people for each container that could not be read: URL and reason."""

    async def run(self) -> Containers:
        """Crawl; afterwards ``containers`` and ``errors`` are whole.

        :raises Exception: whatever the sink raises; the crawl then ends at once.
        """
        try:
            for catalog in await self._read_containers():
                await self._container_crew.start(self._read_pages(catalog))
            await self._container_crew.join()
            for url, found_in in sorted(self._only_in_pages.items()):
                for catalog in sorted(found_in):
                    self._list(url, catalog)
            for url in self._listing.urls():
                if self._listing.claim(url):
                    await self._record_crew.start(self._read_record(url))
            await self._record_crew.join()
            self._tell_of_malformed_pages()
            listed = {*self._listing.urls(), *self.containers.catalogs}
            for record in list(self._known.values()):
                if must_ask(record, listed, self.containers):
                    await self._record_crew.start(self._ask_for(record.url))
            await self._record_crew.join()
        finally:
            await self._container_crew.dismiss()
            await self._record_crew.dismiss()
        self.errors += self._reader.errors
        return self.containers

    # Containers

    async def _read_containers(self) -> list[str]:
        """Read root and catalogs, level by level; returns the catalogs that were read whole."""
        readable: list[str] = []
        level, asked = [self.containers.root], {self.containers.root}
        for depth in range(self._options.max_depth + 1):
            found: dict[str, _Container] = {}
            for url in level:
                await self._container_crew.start(self._read_container(url, found))
            await self._container_crew.join()
            below: set[str] = set()
            for url, container in self._told_apart(found):
                outline = container.outline
                if depth or outline.is_catalog:
                    self.containers.catalogs.add(url)
                    readable.append(url)
                if container.sighting is not None:
                    self._sink(container.sighting, self.containers)
                for dataset in outline.datasets:
                    self._list(dataset, url)
                children = set(outline.catalogs) - asked - below - self._aliases.keys()
                if len(asked) + len(below) + len(children) > self._options.max_catalogs:
                    limit = self._options.max_catalogs
                    self._unreadable(url, f"the source lists more than {limit} catalogs")
                else:
                    below |= children
                for one in outline.refused:
                    line = f"{display_url(url)}: it lists {one}, which cannot be asked for"
                    self.errors.append(line)
            level = sorted(below)
            asked |= below
            self.containers.catalogs.update(level)
            if not level:
                break
        for url in level:
            words = f"it lies deeper than {self._options.max_depth} levels of catalogs"
            self._unreadable(url, words)
        self._listing.leave_out([self.containers.root, *readable])
        self._tell_of_drafts()
        return readable

    async def _read_container(self, url: str, found: dict[str, _Container]) -> None:
        is_root = url == self.containers.root
        mapper = self._options.catalog_mapper
        try:
            document = await self._reader.get(url)
            outline = await self._reader.outline(
                document,
                "container",
                lambda graph: documents.outline_of_container(graph, url, is_root=is_root),
            )
            sighting = None
            if mapper and (outline.is_catalog or not is_root):
                sighting = await self._catalog_record(url, document, outline, mapper)
        except Unreadable as failure:
            if failure.outcome is Outcome.FORBIDDEN and not is_root:
                self._drafts[url] = failure
            self._unreadable(url, failure.words, told=failure.told or url in self._drafts)
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
            other = self._aliases.setdefault(found[url].outline.subject or url, url)
            if other == url:
                each.append((url, found[url]))
            elif other.rstrip("/") == url.rstrip("/"):
                self.containers.catalogs.discard(url)
            else:
                self._unreadable(url, f"it describes {display_url(other)} instead")
        return sorted(each, key=lambda item: item[0])

    async def _catalog_record(
        self, url: str, document: Document, outline: Outline, mapper: Mapper
    ) -> Sighting:
        known = self._known.get(url)
        fingerprint = self._reader.hash(document.digest)
        record = None
        if known is not None and known.fingerprint == fingerprint:
            content_hash = known.content_hash
        else:
            graph = await document.parsed()
            with understood(url):
                record = documents.mapped(mapper, graph, URIRef(outline.subject or url))
            content_hash = self._reader.hash(record.digest())
        seen = Seen(
            url,
            Outcome.PRESENT,
            listed_in=(self.containers.root,),
            content_hash=content_hash,
            is_catalog=True,
        )
        return Sighting(seen, record, fingerprint)

    def _tell_of_drafts(self) -> None:
        """Catalogs that are drafts, and always were, are no fault of anybody."""
        ours = {url for one in self._known.values() for url in (one.url, one.catalog_url)}
        lost_one = any(
            one.catalog_url not in self.containers.catalogs and one.url not in self._listing
            for one in self._known.values()
        )
        for url, failure in self._drafts.items():
            # One that vanished with all that it lists may have been below this one.
            if lost_one or url in ours:
                self.errors.append(str(failure))

    def _list(self, dataset: str, container: str) -> None:
        if not self._listing.add(dataset, container):
            limit = self._options.max_records
            self._unreadable(
                container, f"the source lists more than max_records ({limit}) datasets"
            )

    def _unreadable(self, url: str, reason: str, *, told: bool = False) -> None:
        if url not in self.containers.unreadable:
            self.containers.unreadable[url] = reason
            if not told:
                self.errors.append(f"{display_url(url)}: {reason}")

    # Pages of datasets

    async def _read_pages(self, catalog: str) -> None:
        """Read a catalog's datasets a page at a time, as far as the server offers that.

        A page that cannot be read leaves its datasets, and one that does not answer also those of
        the pages after it, to be read record by record.
        """
        url = first_page(catalog, "dataset")
        pages = Pages(MOST_PAGES + len(self._listing))
        page, is_first, whole = None, True, True
        while url is not None:
            try:
                page = await self._reader.get(url)
                if is_first and page.is_html:
                    self._distributions.has_pages = False
                    return
                is_first = False
                whole = await self._read_page(catalog, page) and whole
                url = pages.after(page)
            except Unreadable as failure:
                if not is_first or failure.status not in NO_SUCH_ENDPOINT:
                    self._unreadable(failure.url, failure.words, told=failure.told)
                elif failure.outcome is not Outcome.FORBIDDEN:
                    self._distributions.has_pages = False
                return
        # A server that says nothing of pages may have sent a part of them all.
        if whole and page is not None and page.is_paged:
            self._paged_whole.add(catalog)

    async def _read_page(self, catalog: str, page: Document) -> bool:
        """Begin to read the datasets of a page; whether the page was well-formed."""
        try:
            outline = await self._reader.outline(
                page,
                "page",
                lambda graph: documents.outline_of_page(
                    graph, self._listing.listed_as, self._options.mapper
                ),
            )
        except Unreadable as failure:
            self._unreadable(page.url, failure.words, told=True)
            self._malformed_pages.append((catalog, failure))
            return False
        for url in outline.members:
            if url not in self._listing:
                self._only_in_pages.setdefault(url, set()).add(catalog)
            elif self._listing.claim(url):
                await self._record_crew.start(self._read_record(url, page, outline))
        return not outline.malformed

    def _tell_of_malformed_pages(self) -> None:
        """A page is malformed because one of its records is: that record's error says enough."""
        for catalog, failure in self._malformed_pages:
            if catalog not in self._malformed_in:
                self.errors.append(str(failure))

    # Records

    async def _read_record(
        self, url: str, page: Document | None = None, outline: Outline | None = None
    ) -> None:
        """Read one listed record, out of a page or by itself, and hand it to the sink."""
        listed_in = self._listing.containers_of(url)
        left_out = page is None and self._paged_whole.issuperset(listed_in)
        try:
            if page is None or outline is None:
                page, outline = await self._read_alone(url)
            sighting = await self._assemble(url, listed_in, page, outline.members[url])
        except Unreadable as failure:
            if failure.outcome is Outcome.MALFORMED and failure.url == url:
                self._malformed_in.update(listed_in)
            # A draft that was never ours is no fault, and what is gone is not either.
            expected = failure.outcome is Outcome.GONE or (
                failure.outcome is Outcome.FORBIDDEN and url not in self._known
            )
            seen = Seen(url, failure.outcome, listed_in, left_out=left_out)
            sighting = Sighting(seen, error=None if expected or failure.told else str(failure))
        self._sink(sighting, self.containers)

    async def _read_alone(self, url: str) -> tuple[Document, Outline]:
        """A dataset's own document.

        :raises Unreadable: it does not describe that dataset.
        """
        document = await self._reader.get(url)
        outline = await self._reader.outline(
            document,
            "dataset",
            lambda graph: documents.outline_of_dataset(graph, url, self._options.mapper),
        )
        subject = outline.members[url].subject
        if self._listing.listed_as(subject) not in (None, url):
            words = f"it describes {display_url(subject)} instead, which is listed itself"
            raise Unreadable(url, Outcome.MALFORMED, words)
        return document, outline

    async def _assemble(
        self, url: str, listed_in: tuple[str, ...], document: Document, member: Member
    ) -> Sighting:
        """A record out of its own document and those of its distributions."""
        parts, of_pages = await self._distributions.read(url, member.distributions)
        fingerprint = self._reader.hash(
            member.digest, *member.part_of, *listed_in, *(part.digest for part in parts)
        )
        known = self._known.get(url)
        record = None
        if known is not None and known.fingerprint == fingerprint:
            content_hash = known.content_hash
        else:
            graph = await document.parsed()
            graphs = [await part.parsed() for part in parts]
            if of_pages:
                missing = documents.undescribed(member.distributions, graphs)
                if more := await self._distributions.read_each(missing):
                    graphs += [await part.parsed() for part in more]
                    # The pages alone do not prove next time that nothing has changed.
                    fingerprint = self._reader.hash(fingerprint, *(part.digest for part in more))
            subject = URIRef(member.subject)
            with understood(url):
                own = documents.record_graph(graph, subject, graphs)
                record = documents.mapped(self._options.mapper, own, subject)
            content_hash = self._reader.hash(record.digest())
        part_of = (self._aliases.get(one, one) for one in member.part_of)
        seen = Seen(
            url,
            Outcome.PRESENT,
            listed_in,
            part_of=next((one for one in part_of if one in self.containers.catalogs), None),
            content_hash=content_hash,
        )
        return Sighting(seen, record, fingerprint)

    async def _ask_for(self, url: str) -> None:
        """Learn whether a record that nothing lists is gone for itself."""
        try:
            await self._reader.get(url)
            outcome = Outcome.PRESENT
        except Unreadable as failure:
            outcome = failure.outcome
        self._sink(Sighting(Seen(url, outcome)), self.containers)
