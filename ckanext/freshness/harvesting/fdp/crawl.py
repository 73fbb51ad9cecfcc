"""One crawl of a FAIR Data Point: containers first, then records, all politely waited for together.

The crawl says what it saw (:class:`Sighting`, one per record, handed on as it comes; and
:class:`~ckanext.freshness.harvesting.strategy.Containers` at the end) and decides nothing: what is
deleted is the strategy's business.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

from rdflib import Graph, URIRef
from requests.utils import parse_header_links

from ...web.client import Answer, Client, Request
from ...web.errors import FetchError
from ...web.urls import display_url
from ..memory import DocumentMemory
from ..sightings import Sighting, Sink
from ..strategy import Containers, Known, Outcome, Seen, must_ask
from . import documents
from .documents import DocumentError, Mapper, Member, Outline
from .mapping import MappingError

log = logging.getLogger(__name__)

PAGE_SIZE = 50
"""Children asked for with one request where the server has page endpoints."""

_NO_SUCH_ENDPOINT = frozenset({400, 401, 403, 404, 405, 406, 410, 501})
"""Answers to a first page that mean: there is no page endpoint here, or not for this visitor."""

_OUTCOMES = {
    401: Outcome.FORBIDDEN,
    403: Outcome.FORBIDDEN,
    404: Outcome.GONE,
    410: Outcome.GONE,
}

_BIG = 256 * 1024
"""Bytes above which a document is parsed in a thread, so that the other requests' clocks go on."""


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """The limits and habits of one crawl."""

    mapper: Mapper
    catalog_mapper: Mapper | None = None
    """Set where catalogs are records too."""
    salt: str = ""
    """Whatever a record's contents depend on besides its bytes (mapping version, language)."""
    max_records: int = 100_000
    max_depth: int = 5
    """Levels of catalogs below the source's URL."""
    allowed_hosts: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)
    concurrency: int = 8


@dataclass(slots=True)
class _Document:
    """A document that answered 200: its bytes, and what is known of them."""

    url: str
    base: str
    body: bytes
    content_type: str | None
    digest: str
    graph: Graph | None = None

    @property
    def kind(self) -> str:
        return (self.content_type or "").partition(";")[0].strip().lower()

    async def parsed(self) -> Graph:
        """Its graph, parsed when first asked for.

        :raises DocumentError: it cannot be understood.
        """
        if self.graph is None:
            arguments = (self.body, self.content_type, self.base)
            if len(self.body) > _BIG:
                self.graph = await asyncio.to_thread(documents.parse, *arguments)
            else:
                self.graph = documents.parse(*arguments)
        return self.graph


class _Failure(Exception):
    """A document that could not be had."""

    def __init__(self, url: str, outcome: Outcome, words: str, status: int | None = None) -> None:
        super().__init__(words)
        self.url = url
        self.outcome = outcome
        self.words = words
        self.status = status


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
        self._client = client
        self._options = options
        self._known = known
        self._memory = memory
        self._sink = sink
        self._hosts = options.allowed_hosts | {urlsplit(source_url).hostname or ""}
        self._slots = asyncio.Semaphore(options.concurrency * 4)
        self._tasks: set[asyncio.Task[None]] = set()
        self._listed: dict[str, tuple[str, ...]] = {}
        self._aliases: dict[str, str] = {}
        self._claimed: set[str] = set()
        self._only_in_pages: dict[str, set[str]] = {}
        self._paged_whole: set[str] = set()
        self._distribution_pages = True
        self.containers = Containers(root=source_url)
        self.errors: list[str] = []
        """One line for people for each container that could not be read: URL and reason."""

    async def run(self) -> Containers:
        """Crawl; afterwards ``containers`` and ``errors`` are whole.

        :raises Exception: whatever the sink raises; the crawl then ends at once.
        """
        try:
            catalogs = await self._read_containers()
            await asyncio.gather(*(self._read_pages(url) for url in catalogs))
            for url, found_in in sorted(self._only_in_pages.items()):
                for catalog in sorted(found_in):
                    self._list(url, catalog)
            for url in [url for url in self._listed if url not in self._claimed]:
                await self._start(self._read_record(url))
            await self._join()
            for record in list(self._known.values()):
                if must_ask(record, self._listed, self.containers):
                    await self._start(self._ask_for(record.url))
            await self._join()
        finally:
            for task in self._tasks:
                task.cancel()
        return self.containers

    # Containers

    async def _read_containers(self) -> list[str]:
        """Read root and catalogs, level by level; returns the catalogs that were read whole."""
        readable: list[str] = []
        level, asked = [self.containers.root], {self.containers.root}
        for depth in range(self._options.max_depth + 1):
            outlines = await asyncio.gather(*(self._read_container(url) for url in level))
            below: set[str] = set()
            for url, outline in zip(level, outlines, strict=True):
                if outline is None:
                    continue
                if depth or outline.is_catalog:
                    self.containers.catalogs.add(url)
                    readable.append(url)
                self._aliases[outline.subject or url] = url
                for dataset in outline.datasets:
                    self._list(dataset, url)
                below.update(outline.catalogs)
            level = sorted(below - asked)
            asked |= below
            self.containers.catalogs.update(level)
            if not level:
                return readable
        for url in level:
            self._unreadable(
                url, f"it lies deeper than {self._options.max_depth} levels of catalogs"
            )
        return readable

    async def _read_container(self, url: str) -> Outline | None:
        try:
            document = await self._get(url)
            outline = self._recall(document)
            if outline is None:
                outline = documents.outline_of_container(await document.parsed(), url)
                self._remember(document, outline)
            if self._options.catalog_mapper and (outline.is_catalog or url != self.containers.root):
                await self._catalog_record(url, document, outline, self._options.catalog_mapper)
        except _Failure as failure:
            # A catalog that is a draft, and always was, is no fault of anybody.
            draft = failure.outcome is Outcome.FORBIDDEN and not self._holds_ours(url)
            self._unreadable(url, failure.words, quiet=draft)
        except DocumentError as error:
            self._unreadable(url, str(error))
        except MappingError as error:
            self._unreadable(url, error.words)
        else:
            return outline
        return None

    async def _catalog_record(
        self, url: str, document: _Document, outline: Outline, mapper: Mapper
    ) -> None:
        known = self._known.get(url)
        fingerprint = self._hash(document.digest)
        record = None
        if known is not None and known.fingerprint == fingerprint:
            content_hash = known.content_hash
        else:
            record = mapper(await document.parsed(), URIRef(outline.subject or url))
            content_hash = self._hash(record.digest())
        seen = Seen(
            url,
            Outcome.PRESENT,
            listed_in=(self.containers.root,),
            content_hash=content_hash,
            is_catalog=True,
        )
        self._sink(Sighting(seen, record, fingerprint), self.containers)

    def _holds_ours(self, catalog: str) -> bool:
        return any(catalog in (one.catalog_url, one.url) for one in self._known.values())

    def _list(self, dataset: str, catalog: str) -> None:
        before = self._listed.get(dataset, ())
        if catalog in before:
            return
        if not before and len(self._listed) >= self._options.max_records:
            limit = self._options.max_records
            self._unreadable(catalog, f"the source lists more than max_records ({limit}) datasets")
            return
        self._listed[dataset] = tuple(sorted((*before, catalog)))

    def _unreadable(self, url: str, reason: str, *, quiet: bool = False) -> None:
        if url not in self.containers.unreadable:
            self.containers.unreadable[url] = reason
            if not quiet:
                self.errors.append(f"{display_url(url)}: {reason}")

    # Pages of datasets

    async def _read_pages(self, catalog: str) -> None:
        """Read a catalog's datasets a page at a time, as far as the server offers that.

        A page that fails leaves the rest of the catalog to be read record by record.
        """
        url: str | None = f"{catalog.rstrip('/')}/page/dataset?page=0&size={PAGE_SIZE}"
        visited: set[str] = set()
        while url is not None and url not in visited:
            try:
                document, following = await self._get_page(url)
                if not visited and document.kind == "text/html":
                    self._distribution_pages = False
                    return  # a user interface that answers every path with itself
                outline = await self._outline_of_datasets(document, is_page=True)
            except _Failure as failure:
                if visited or failure.status not in _NO_SUCH_ENDPOINT:
                    self._unreadable(url, failure.words)
                elif failure.status not in (401, 403):
                    self._distribution_pages = False
                return
            except DocumentError as error:
                self._unreadable(url, str(error))
                return
            visited.add(url)
            for member in outline.members:
                if member not in self._listed:
                    self._only_in_pages.setdefault(member, set()).add(catalog)
                elif member not in self._claimed:
                    await self._start(self._read_record(member, document, outline))
            url = following
        self._paged_whole.add(catalog)

    async def _get_page(self, url: str) -> tuple[_Document, str | None]:
        """A page and the URL of the next one (RFC 8288, rel="next"), if there is one."""
        answer = await self._fetch(url)
        following = next(
            (
                link["url"]
                for header in answer.headers.getall("Link", ())
                for link in parse_header_links(header)
                if "next" in link.get("rel", "").lower().split()
            ),
            None,
        )
        return self._document(url, answer), following and urljoin(answer.final_url, following)

    async def _outline_of_datasets(self, document: _Document, *, is_page: bool) -> Outline:
        outline = self._recall(document)
        if outline is None:
            outline = documents.outline_of_datasets(
                await document.parsed(),
                document.url,
                self._listed,
                self._options.mapper,
                is_page=is_page,
            )
            self._remember(document, outline)
        return outline

    def _recall(self, document: _Document) -> Outline | None:
        text = self._memory.recall(document.url, document.digest)
        return None if text is None else Outline.from_json(text)

    def _remember(self, document: _Document, outline: Outline) -> None:
        self._memory.remember(document.url, document.digest, outline.as_json())

    # Records

    async def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin a task once there is room: what waits is not more than a few times what is under way."""
        await self._slots.acquire()
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._slots.release()
        if not task.cancelled() and task.exception() is None:
            self._tasks.discard(task)

    async def _join(self) -> None:
        while self._tasks:
            await asyncio.gather(*self._tasks)

    async def _read_record(
        self, url: str, document: _Document | None = None, outline: Outline | None = None
    ) -> None:
        """Read one listed record, out of a page or by itself, and hand it to the sink."""
        self._claimed.add(url)
        listed_in = self._listed[url]
        left_out = document is None and self._paged_whole.issuperset(listed_in)
        try:
            if document is None or outline is None:
                document = await self._get(url)
                outline = await self._outline_of_datasets(document, is_page=False)
            if url in outline.malformed:
                raise DocumentError(outline.malformed[url])
            sighting = await self._assemble(url, listed_in, document, outline.members[url])
        except _Failure as failure:
            seen = Seen(url, failure.outcome, listed_in, left_out=left_out)
            draft = failure.outcome is not Outcome.FAILED and url not in self._known
            words = None if draft else f"{display_url(failure.url)}: {failure.words}"
            sighting = Sighting(seen, error=words)
        except (DocumentError, MappingError) as error:
            seen = Seen(url, Outcome.MALFORMED, listed_in)
            words = error.words if isinstance(error, MappingError) else str(error)
            sighting = Sighting(seen, error=f"{display_url(url)}: {words}")
        self._sink(sighting, self.containers)

    async def _assemble(
        self, url: str, listed_in: tuple[str, ...], document: _Document, member: Member
    ) -> Sighting:
        """A record out of its own document and those of its distributions."""
        parts = await self._read_distributions(url, member.distributions)
        fingerprint = self._hash(
            member.digest, *member.part_of, *listed_in, *(part.digest for part in parts)
        )
        known = self._known.get(url)
        record = None
        if known is not None and known.fingerprint == fingerprint:
            content_hash = known.content_hash
        else:
            graph = await document.parsed()
            subject = documents.dataset_in(graph, url)
            for part in parts:
                graph += await part.parsed()
            record = self._options.mapper(graph, subject)
            content_hash = self._hash(record.digest())
        part_of = (self._aliases.get(one, one) for one in member.part_of)
        seen = Seen(
            url,
            Outcome.PRESENT,
            listed_in,
            part_of=next((one for one in part_of if one in self.containers.catalogs), None),
            content_hash=content_hash,
        )
        return Sighting(seen, record, fingerprint)

    async def _read_distributions(self, dataset: str, urls: list[str]) -> list[_Document]:
        """The documents of a dataset's distributions: its pages of them, or else one by one.

        A distribution that is a draft or gone (401, 403, 404, 410) is left out; any other failure
        is the dataset's, which would else look as if it had lost a resource.
        """
        if not urls:
            return []
        if self._distribution_pages:
            try:
                return await self._read_distribution_pages(dataset)
            except _Failure as failure:
                if failure.status not in _NO_SUCH_ENDPOINT:
                    raise
                if failure.status not in (401, 403):
                    self._distribution_pages = False
        found = []
        for url in urls:
            try:
                found.append(await self._get(url))
            except _Failure as failure:
                if failure.outcome is Outcome.FAILED:
                    raise
        return found

    async def _read_distribution_pages(self, dataset: str) -> list[_Document]:
        url: str | None = f"{dataset.rstrip('/')}/page/distribution?page=0&size={PAGE_SIZE}"
        found: dict[str, _Document] = {}
        while url is not None and url not in found:
            document, following = await self._get_page(url)
            if not found and document.kind == "text/html":
                raise _Failure(url, Outcome.GONE, "answers with a user interface", 404)
            found[url] = document
            url = following
        return list(found.values())

    async def _ask_for(self, url: str) -> None:
        """Learn whether a record that nothing lists is gone for itself."""
        try:
            await self._get(url)
            outcome = Outcome.PRESENT
        except _Failure as failure:
            outcome = failure.outcome
        self._sink(Sighting(Seen(url, outcome)), self.containers)

    # Documents

    async def _get(self, url: str) -> _Document:
        return self._document(url, await self._fetch(url))

    def _document(self, url: str, answer: Answer) -> _Document:
        body = answer.body or b""
        return _Document(
            url=url,
            base=answer.final_url,
            body=body,
            content_type=answer.headers.get("Content-Type"),
            digest=self._hash(body),
        )

    async def _fetch(self, url: str) -> Answer:
        """A document's answer.

        :raises _Failure: any other answer than 200, or none.
        """
        request = Request(
            url,
            accept=documents.ACCEPT,
            headers=self._options.headers,
            host_allowed=self._hosts.__contains__,
        )
        try:
            answer = await self._client.fetch(request)
        except FetchError as error:
            raise _Failure(url, Outcome.FAILED, error.words) from error
        if answer.status == 200:
            return answer
        outcome = _OUTCOMES.get(answer.status, Outcome.FAILED)
        tried = f" (tried {answer.attempts} times)" if answer.attempts > 1 else ""
        raise _Failure(url, outcome, f"it answers {answer.status}{tried}", answer.status)

    def _hash(self, *parts: str | bytes) -> str:
        digest = hashlib.sha256(self._options.salt.encode())
        for part in parts:
            digest.update(b"\0")
            digest.update(part if isinstance(part, bytes) else part.encode())
        return digest.hexdigest()
