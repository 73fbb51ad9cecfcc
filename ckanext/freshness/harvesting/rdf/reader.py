"""Requests for the RDF documents of one crawl, and readings of lists that have several pages."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote, unquote_to_bytes, urljoin, urlsplit

from rdflib import RDF, BNode, Graph, Namespace, URIRef
from requests.utils import parse_header_links
from sqlalchemy.exc import SQLAlchemyError
from typing_extensions import Self

from ...web.exchange import Answer
from ...web.urls import display_url, parse_url
from ..listings import ListFacts, Page, PagedList, why_unproved
from ..record import ReadOutcome
from ..source_client import SourceClient, SourceReader, UnreadableDocument, unexpected
from . import parsing as rdf
from .parsing import LDP, DocumentError, RdfParser

if TYPE_CHECKING:
    from ..source_memory import SourceMemory
    from ..source_type import CrawlEnd

log = logging.getLogger(__name__)

Outline = TypeVar("Outline", bound="PageOutline")

MOST_PAGES = 1000
"""The most pages of one list. A list may have one more for each current record of the source."""
MOST_BYTES = 1200
"""Longest URL or identity of a record. A guid has two, and PostgreSQL's index on guids takes 2,704 bytes."""
MOST_DOUBTFUL = 3
"""Pages in a row that repeat others, after which no more are read: the server may invent pages without end."""

_LAST_PART = re.compile("[/#]")
"""What separates the last part of a URL from the others."""

_HYDRA = Namespace("http://www.w3.org/ns/hydra/core#")
_NEXT_PAGE = (
    # Hydra's terms of today and of before 2014
    *(_HYDRA["next"], _HYDRA.nextPage),
    # TREE, ActivityStreams, XHTML, and LDP of before 2014
    URIRef("https://w3id.org/tree#node"),
    URIRef("https://www.w3.org/ns/activitystreams#next"),
    URIRef("http://www.w3.org/1999/xhtml/vocab#next"),
    LDP.nextPage,
)
"""Predicates by which documents name further pages."""


@dataclass(slots=True)
class FetchedDocument:
    """A document that answered 200."""

    url: str
    base: str
    """The URL that answered, after redirects."""
    body: bytes
    content_type: str | None
    digest: str
    """Hash of the bytes and of what decides their meaning: media type and charset, and after a redirect the
    URL that answered, to which URLs in the document may be relative."""
    parser: RdfParser
    links: Mapping[str, str] = field(default_factory=dict)
    """Targets of its Link headers (RFC 8288), by relation."""
    has_end: bool = True
    """The server said where the document ends: without that, a part of it looks like the whole."""
    _graph: Graph | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Tasks of many records of one page need its graph at the same time."""

    async def parsed(self) -> Graph:
        """Return the document's graph; parse it on the first call.

        :raises UnreadableDocument: it cannot be parsed.
        """
        async with self._lock:
            if self._graph is None:
                with understood(self.url):
                    self._graph = await self.parser.parse(self.body, self.content_type, self.base)
        return self._graph


@contextlib.contextmanager
def understood(url: str) -> Iterator[None]:
    """Turn an error in the block into an UnreadableDocument of this URL.

    Whatever a document does to the code that reads it is an error of this document.
    """
    try:
        yield
    except (UnreadableDocument, SQLAlchemyError):
        # The memory of documents is in the database: a job without its database is tried again.
        raise
    except DocumentError as error:
        raise UnreadableDocument(url, error.reason, ReadOutcome.MALFORMED) from error
    except Exception as error:
        log.exception("The document %s could not be understood", display_url(url))
        reason = unexpected("it cannot be read", error)
        raise UnreadableDocument(url, reason, ReadOutcome.MALFORMED) from error


class DocumentReader(SourceReader):
    """A reader of the documents of one source.

    :ivar memory: outlines that earlier crawls kept
    """

    def __init__(
        self,
        opened: SourceClient,
        memory: SourceMemory,
        parser: RdfParser,
        *,
        salt: str,
        accept: str = rdf.ACCEPT,
        content_type: str | None = None,
    ) -> None:
        """
        :param salt: part of every hash: what records depend on besides their bytes, such as the language.
        :param content_type: counts in place of what the server says, if the server is known to be wrong.
        """
        super().__init__(opened)
        self.memory = memory
        self._salt = salt
        self._parser = parser
        self._accept = accept
        self._content_type = content_type
        self._shared: dict[str, asyncio.Future[FetchedDocument]] = {}

    @property
    def warnings(self) -> list[str]:
        """One line for people for each document that breaks the rules of its format and was read."""
        warnings = self._parser.warnings.items()
        return [f"{display_url(url)}: {warning}" for url, warning in sorted(warnings)]

    async def get(self, url: str) -> FetchedDocument:
        """Fetch a document.

        :raises UnreadableDocument: no answer, or a status other than 200.
        """
        answer = await self.fetch(url, self._accept)
        body, base = answer.body or b"", answer.final_url
        content_type = self._content_type or answer.headers.get("Content-Type")
        form = rdf.media_type(content_type), rdf.charset(content_type)
        digest = self.hash(*form, body, "" if base == parse_url(url).url else base)
        document = FetchedDocument(url, base, body, content_type, digest, self._parser)
        document.links = _links(answer)
        # The other transfer encodings end with the connection.
        document.has_end = (
            "Content-Length" in answer.headers
            or "chunked" in answer.headers.get("Transfer-Encoding", "").lower()
        )
        return document

    async def get_once(self, url: str) -> FetchedDocument:
        """Fetch a document that several records need, or return it if this crawl has it.

        :raises UnreadableDocument: see :meth:`get`.
        """
        if url not in self._shared:
            self._shared[url] = asyncio.ensure_future(self.get(url))
        return await self._shared[url]

    async def outline(
        self,
        document: FetchedDocument,
        role: str,
        kind: type[Outline],
        learn: Callable[[Graph], Outline],
    ) -> Outline:
        """Return a document's outline; parse the document only if its bytes have changed.

        :param role: how the document is read ("page", "dataset", ...); one document may have several.
        :param kind: the class of the outline.
        :param learn: makes the outline of a graph, or raises DocumentError.
        :raises UnreadableDocument: the document cannot be understood.
        """
        digest = self.hash(role, kind.field_names(), document.digest)
        plain = self.memory.recall(document.url, digest)
        if plain is not None:
            return kind.from_plain(plain)
        graph = await document.parsed()
        with understood(document.url):
            outline = learn(graph)
        plain = asdict(outline)
        if "\\u0000" not in json.dumps(plain):  # PostgreSQL stores no NUL
            self.memory.remember(document.url, digest, plain)
        return outline

    def hash(self, *parts: str | bytes) -> str:
        """Return the SHA-256 of the salt and the parts, in hex."""
        digest = hashlib.sha256(self._salt.encode())
        for part in parts:
            digest.update(b"\0")
            digest.update(part if isinstance(part, bytes) else part.encode())
        return digest.hexdigest()


def _links(answer: Answer) -> dict[str, str]:
    """Return the targets of an answer's Link headers, by relation. A malformed target stays as it is."""
    targets: dict[str, str] = {}
    for header in answer.headers.getall("Link", ()):
        for link in parse_header_links(header):
            # Names of parameters are in any case, and a relation may be a URL (RFC 8288, sections 2.1 and 3).
            relations = next((text for name, text in link.items() if name.lower() == "rel"), "")
            target = link["url"]
            with contextlib.suppress(ValueError):
                target = urljoin(answer.final_url, target)
            for relation in relations.lower().split():
                targets.setdefault(_LAST_PART.split(relation)[-1], target)
    return targets


# Lists that have several pages


@dataclass(frozen=True, slots=True)
class PageOutline:
    """What a crawl needs of a document with a list; kept so that unchanged bytes are not parsed again."""

    next_pages: list[str] = field(default_factory=list)
    """Further pages of the list, as the document writes them."""
    last_pages: list[str] = field(default_factory=list)
    """Pages that the document names as the last one, and that are not this page itself."""
    totals: list[int] = field(default_factory=list)
    """Numbers of records in the whole list that the document states. Several contradict each other."""
    has_marks: bool = False
    """The document says something of pages, even if only that this one is the first and the last."""

    @property
    def page(self) -> Page:
        """Return what the document lists, without what its URL and its server tell."""
        return Page()

    @classmethod
    def field_names(cls) -> str:
        """Return the names of all fields. It is part of the digest, so a new version reads outlines anew."""
        return " ".join(one.name for one in fields(cls))

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Return the outline with these values of fields."""
        return cls(**plain)


def paging_of(graph: Graph) -> PageOutline:
    """Return what a document says of the pages of its list. Totals and last pages are Hydra's."""
    pages = {
        str(node)
        for predicate in _NEXT_PAGE
        for node in graph.objects(None, predicate)
        if not isinstance(node, BNode) and node != RDF.nil
    }
    totals = {
        int(text)
        for node in graph.objects(None, _HYDRA.totalItems)
        if (text := str(node).strip()).isdecimal() and len(text) < 10
    }
    lasts = [
        (str(page), str(last))
        for name in ("last", "lastPage")
        for page, last in graph.subject_objects(_HYDRA[name])
    ]
    firsts = {
        str(first) for name in ("first", "firstPage") for first in graph.objects(None, _HYDRA[name])
    }
    # If the last page is the first one, this is the only page, whatever its own URL.
    last_pages = sorted({last for _, last in lasts} - {page for page, _ in lasts} - firsts)
    has_marks = bool(pages or lasts or totals)
    return PageOutline(sorted(pages), last_pages, sorted(totals), has_marks)


class ListReading(Generic[Outline]):
    """A reading of a list from its first page to the last.

    All further pages are read that a document or its ``Link`` header names. If both do, they must agree.

    When :meth:`pages` has ended, :meth:`note` says whether the list was read whole.
    """

    def __init__(self, reader: DocumentReader, url: str, most_pages: int) -> None:
        """
        :param url: the first page.
        """
        self._reader = reader
        self._url = url
        self._most = most_pages
        self._listed = PagedList()
        self._is_paged = False

    async def pages(
        self, role: str, kind: type[Outline], learn: Callable[[FetchedDocument, Graph], Outline]
    ) -> AsyncIterator[tuple[FetchedDocument, Outline]]:
        """Yield the pages with their outlines. A page that cannot be read ends them, as a misfit.

        :param role: see :meth:`.reader.DocumentReader.outline`, as for ``kind``.
        :param learn: makes the outline of a page and its graph, or raises DocumentError.
        :raises UnreadableDocument: the first page cannot be read.
        """
        waiting, met, listed = [self._url], {_page_key(self._url)}, self._listed
        doubtful = 0
        while waiting and doubtful < MOST_DOUBTFUL:
            try:
                page = await self._reader.get(waiting.pop(0))
                outline = await self._reader.outline(page, role, kind, partial(learn, page))
            except UnreadableDocument as failure:
                if not listed.pages:
                    raise
                listed.note(str(failure.message))
                return
            doubtful = 0 if listed.add(self._page(page, outline)) else doubtful + 1
            links = self._targets(page, outline.next_pages)
            header = self._targets(page, _given(page.links, "next"))
            if links and not header.keys() <= links.keys():
                listed.note("a document and its Link header name different next pages")
            links |= header
            if links and links.keys() <= met:
                listed.note("its link to the next page leads to a page that was read before")
            following = {plain: url for plain, url in links.items() if plain not in met}
            self._is_paged |= bool(following)
            yield page, outline
            if len(met) + len(following) > self._most:
                listed.note(f"there is another page after {self._most} pages")
                return
            waiting += sorted(following.values())
            met |= following.keys()
        listed.end()

    def note(self, facts: ListFacts) -> None:
        """Note in the facts about the list what this reading says of its pages, besides what others said."""
        facts.misfit, pages = self._listed.misfit, self._listed.pages
        facts.has_end &= all(one.has_end for one in pages)
        facts.has_list = any(one.is_list for one in pages)
        facts.unusable = max(facts.unusable, sum(one.nameless for one in pages))
        *earlier, last = (one.length for one in pages)
        facts.page_size = pages[0].length if self._is_paged else facts.page_size
        facts.bare_size = pages[0].length if all(one.is_bare for one in pages) else None
        has_last = any(one.has_last for one in pages)
        facts.is_full = bool(earlier) and not has_last and last >= max(earlier)

    def _page(self, document: FetchedDocument, outline: Outline) -> Page:
        """Return all that is known of a page."""
        page, links = outline.page, document.links
        nameless = [f"{document.url} {number}" for number in range(page.nameless)]
        # If the last page is the first one, this is the only page, whatever its own URL.
        is_only = links.get("last") == links.get("first")
        lasts = [*outline.last_pages, *([] if is_only else _given(links, "last"))]
        here = {_page_key(document.url), _page_key(document.base)}
        return replace(
            page,
            url=_page_key(document.url),
            members=[*page.members, *nameless],
            digest=document.digest,
            totals=outline.totals,
            ends=sorted(self._targets(document, lasts).keys() - here),
            is_list=page.is_list or bool(outline.totals),
            has_end=document.has_end,
            is_bare=links.keys().isdisjoint(("last", "next", "prev")) and not outline.has_marks,
            has_last=bool(outline.totals or lasts),
        )

    def _targets(self, page: FetchedDocument, links: Iterable[str]) -> dict[str, str]:
        """Return the URLs to which links of a page lead, by their key."""
        targets = {}
        for link in links:
            try:
                url = urljoin(page.base, link)
                targets[_page_key(url)] = url
            except ValueError:
                self._listed.note("its link to another page is malformed")
        return targets


def _given(links: Mapping[str, str], relation: str) -> list[str]:
    return [links[relation]] if relation in links else []


@contextlib.contextmanager
def second_reading(url: str, facts: ListFacts) -> Iterator[None]:
    """Add to the facts about a list what the block, which reads it once more, finds wrong with it."""
    first = facts.misfit
    try:
        with understood(url):
            yield
    except UnreadableDocument as failure:
        facts.misfit = str(failure.reason)
    facts.misfit = first or facts.misfit


def mark_lists(
    memory: SourceMemory, end: CrawlEnd, facts: Mapping[str, ListFacts], *, is_missing: bool
) -> None:
    """Mark the lists that do not prove that a record is absent from them.

    If a list has several pages, the memory keeps for the next job how long the first of them is.

    :param facts: by URL of each container that was read.
    :param is_missing: a current record is in no list.
    """
    for url, one in sorted(facts.items()):
        before = memory.recall(f"{url}#pages", "pages")
        one.is_cut = one.bare_size is not None and one.bare_size in (before, one.page_size)
        reason = why_unproved(one, is_missing=is_missing)
        if one.page_size != before and (reason is None or one.page_size is not None):
            memory.remember(f"{url}#pages", "pages", one.page_size)
        if reason is not None:
            end.mark_unproved(url, reason)
        elif one.is_lost and is_missing:
            end.mark_without_list(url)


def _page_key(url: str) -> str:
    """Return a URL in one spelling, without fragment: links to a page differ in order and percent-encoding.

    A malformed URL stays as it is. Its request fails, and names it.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    query = "&".join(sorted(_encoded(one.replace("+", "%20")) for one in parts.query.split("&")))
    return parts._replace(path=_encoded(parts.path), query=query, fragment="").geturl()


def _encoded(text: str) -> str:
    return quote(unquote_to_bytes(text), safe="/=:,;@")
