"""The documents of one crawl: asked for, followed from page to page, each failure put into words."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urljoin

from rdflib import Graph
from requests.utils import parse_header_links

from ...web.client import Answer, Client, Request
from ...web.errors import FailureReason, FetchError
from ...web.urls import display_url, parse_url
from ..document_memory import DocumentMemory
from ..source_hosts import SourceHosts
from ..strategy import ReadOutcome
from . import rdf
from .documents import DocumentOutline
from .rdf import DocumentError, RdfParser

PAGE_SIZE = 50
"""Children asked for with one request where the server has page endpoints."""

MOST_PAGES = 1000
"""Pages of one record's children; of a catalog's, besides one for each dataset that is listed."""

NO_SUCH_ENDPOINT = frozenset({400, 401, 403, 404, 405, 406, 410, 501})
"""Answers to a first page that mean: there is no page endpoint here, or not for this visitor."""

GIVE_UP_AFTER = 100
"""Documents in a row that a host could not give, before the rest is not even asked for: with the
waits between attempts, a server that went away would else keep a job busy for days."""

_OUTCOMES = {
    401: ReadOutcome.FORBIDDEN,
    403: ReadOutcome.FORBIDDEN,
    404: ReadOutcome.GONE,
    410: ReadOutcome.GONE,
}

_AWAY = frozenset({408, 429, 502, 503, 504})
"""Statuses of a host that cannot serve anything at the moment."""


@dataclass(slots=True)
class FetchedDocument:
    """A document that answered 200: its bytes, and what is known of them."""

    url: str
    base: str
    body: bytes
    content_type: str | None
    digest: str
    """Hash of bytes and media type: the same bytes under another label may be no RDF."""
    parser: RdfParser
    following: str | None = None
    """The next page (RFC 8288, rel="next")."""
    is_paged: bool = False
    """It says where the first or the last page is: its server counts pages."""
    _graph: Graph | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Many records of one page ask for its graph at the same time."""

    @property
    def is_html(self) -> bool:
        """A page for people: what a user interface answers to any path that it does not know."""
        return rdf.media_type(self.content_type) == "text/html"

    async def parsed(self) -> Graph:
        """Return its graph, parsed when first asked for.

        :raises Unreadable: it cannot be understood.
        """
        async with self._lock:
            if self._graph is None:
                with understood(self.url):
                    self._graph = await self.parser.parse(self.body, self.content_type, self.base)
        return self._graph


class UnreadableDocument(Exception):
    """A document that could not be had or understood; ``str()`` is one line for people, with its URL."""

    def __init__(
        self,
        url: str,
        outcome: ReadOutcome,
        words: str,
        *,
        status: int | None = None,
        told: bool = False,
    ) -> None:
        """
        :param told: another failure of this crawl has said already what is wrong.
        """
        super().__init__(f"{display_url(url)}: {words}")
        self.url = url
        self.outcome = outcome
        self.words = words
        self.status = status
        self.told = told


@contextlib.contextmanager
def understood(url: str) -> Iterator[None]:
    """Give a DocumentError the URL of its document.

    :raises Unreadable: in place of a DocumentError.
    """
    try:
        yield
    except DocumentError as error:
        raise UnreadableDocument(url, ReadOutcome.MALFORMED, str(error)) from error


class DocumentReader:
    """Reads the documents of one source.

    What a whole host does is said once and not for each of its documents (``errors``).
    """

    def __init__(
        self,
        client: Client,
        source_url: str,
        memory: DocumentMemory,
        parser: RdfParser,
        *,
        allowed_hosts: Collection[str] = (),
        headers: Mapping[str, str] | None = None,
        salt: str = "",
    ) -> None:
        """
        :param memory: what earlier crawls learnt.
        :param allowed_hosts: that may be visited besides the source's own.
        :param headers: sent to the source's own origin (scheme, host and port) only: they may be
            secret, and a document may name any URL.
        :param salt: part of every hash.
        """
        self._client = client
        self.memory = memory
        self._salt = salt
        self._parser = parser
        self._reach = SourceHosts(source_url, allowed_hosts, headers)
        self._in_a_row: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        self._deferred: Counter[str] = Counter()
        self._said_pause: set[str] = set()

    @property
    def errors(self) -> list[str]:
        """One line for people for each host of which a part was not even asked for."""
        lines = [
            f"{host}: {GIVE_UP_AFTER} documents in a row could not be read; "
            f"{count} more were not asked for"
            for host, count in sorted(self._skipped.items())
        ]
        for host in sorted(self._deferred.keys() - self._said_pause):
            count = self._deferred[host]
            lines.append(f"{host} wants to be left alone; documents not asked for: {count}")
        return lines

    def may_visit(self, url: str) -> bool:
        """Whether a URL is one of this source's hosts, or of those that its configuration allows."""
        try:
            return parse_url(url).host in self._reach.hosts
        except FetchError:
            return False

    async def get(self, url: str) -> FetchedDocument:
        """A document.

        :raises Unreadable: any other answer than 200, or none.
        """
        answer = await self._fetch(url)
        body = answer.body or b""
        links = _links(answer)
        following = links.get("next")
        if following is not None:
            try:
                following = urljoin(answer.final_url, following)
            except ValueError as error:
                words = "its link to the next page is malformed"
                raise UnreadableDocument(url, ReadOutcome.FAILED, words) from error
        document = self.document(url, answer.final_url, answer.headers.get("Content-Type"), body)
        document.following = following
        document.is_paged = not links.keys().isdisjoint({"first", "last"})
        return document

    def document(
        self, url: str, base: str, content_type: str | None, body: bytes
    ) -> FetchedDocument:
        """Return a document of which the bytes are known.

        :param base: the URL that answered.
        """
        digest = self.hash(rdf.media_type(content_type), body)
        return FetchedDocument(url, base, body, content_type, digest, self._parser)

    async def outline(
        self, document: FetchedDocument, role: str, learn: Callable[[Graph], DocumentOutline]
    ) -> DocumentOutline:
        """What a document says, out of the memory if its bytes are as they were.

        :param role: what it was asked for as: one document may be read in several ways.
        :param learn: makes the outline of a graph, or raises DocumentError.
        :raises Unreadable: the document cannot be understood.
        """
        digest = self.hash(role, DocumentOutline.shape(), document.digest)
        text = self.memory.recall(document.url, digest)
        if text is not None:
            return DocumentOutline.from_json(text)
        graph = await document.parsed()
        with understood(document.url):
            outline = learn(graph)
        self.memory.remember(document.url, digest, outline.as_json())
        return outline

    def hash(self, *parts: str | bytes) -> str:
        """SHA-256 in hex of some parts and of the salt."""
        digest = hashlib.sha256(self._salt.encode())
        for part in parts:
            digest.update(b"\0")
            digest.update(part if isinstance(part, bytes) else part.encode())
        return digest.hexdigest()

    async def _fetch(self, url: str) -> Answer:
        try:
            target = parse_url(url)
        except FetchError as error:
            raise UnreadableDocument(url, ReadOutcome.FAILED, error.words) from error
        if self._in_a_row[target.host] >= GIVE_UP_AFTER:
            self._skipped[target.host] += 1
            words = "was not asked for: its host was given up"
            raise UnreadableDocument(url, ReadOutcome.FAILED, words, told=True)
        request = Request(
            url,
            accept=rdf.ACCEPT,
            headers=self._reach.headers_for(target),
            host_allowed=self._reach.hosts.__contains__,
        )
        try:
            answer = await self._client.fetch(request)
        except FetchError as error:
            if error.reason.theirs:
                self._in_a_row[target.host] += 1
            raise self._unanswered(url, error) from error
        if answer.status in _AWAY:
            self._in_a_row[target.host] += 1
        else:
            del self._in_a_row[target.host]
        if answer.status == 200:
            return answer
        outcome = _OUTCOMES.get(answer.status, ReadOutcome.FAILED)
        words = f"it answers {answer.status}{_tried(answer.attempts)}{self._pause(answer)}"
        raise UnreadableDocument(url, outcome, words, status=answer.status)

    def _unanswered(self, url: str, error: FetchError) -> UnreadableDocument:
        words, told = error.words + _tried(error.attempts), False
        if error.reason is FailureReason.HOST_NOT_ALLOWED:
            words += ' ("allowed_hosts" in the source\'s configuration names more)'
        elif error.reason is FailureReason.INSIDE_ADDRESS:
            words += (
                " (the site's option ckanext.freshness.allowed_networks names those that may be)"
            )
        elif error.reason is FailureReason.HOST_DEFERRED:
            self._deferred[parse_url(error.target or url).host] += 1
            told = True
        return UnreadableDocument(url, ReadOutcome.FAILED, words, told=told)

    def _pause(self, answer: Answer) -> str:
        """What there is to say of a host that wants to be left alone for longer than a job waits."""
        host = parse_url(answer.final_url).host
        seconds = self._client.hosts.of(host).closed_for
        if not seconds:
            return ""
        self._said_pause.add(host)
        return f" and asks to be left alone for {seconds:.0f} s: nothing more is asked of {host}"


class Pages:
    """The way from one page to the next, which must end somewhere."""

    def __init__(self, most: int) -> None:
        """
        :param most: pages that are read at most.
        """
        self._most = most
        self._urls: set[str] = set()
        self._digest = ""

    def after(self, page: FetchedDocument) -> str | None:
        """The URL of the page after this one; None after the last.

        :raises Unreadable: the pages have no end.
        """
        self._urls.add(page.url)
        if page.following is None:
            return None
        if page.following in self._urls or page.digest == self._digest:
            words = "its link to the next page leads to what was read before"
            raise UnreadableDocument(page.url, ReadOutcome.FAILED, words)
        if len(self._urls) >= self._most:
            words = f"there is another page after {self._most} pages"
            raise UnreadableDocument(page.url, ReadOutcome.FAILED, words)
        self._digest = page.digest
        return page.following


def first_page(url: str, kind: str) -> str | None:
    """The URL of a record's first page of children; None where it cannot have any.

    :param kind: of the children: ``dataset`` or ``distribution``.
    """
    if "?" in url or "#" in url:
        return None  # what is appended would change the query, or not be sent at all
    return f"{url.rstrip('/')}/page/{kind}?page=0&size={PAGE_SIZE}"


def _links(answer: Answer) -> dict[str, str]:
    """The targets of an answer's Link headers by relation."""
    found: dict[str, str] = {}
    for header in answer.headers.getall("Link", ()):
        for link in parse_header_links(header):
            for relation in link.get("rel", "").lower().split():
                found.setdefault(relation, link["url"])
    return found


def _tried(attempts: int) -> str:
    return f" (tried {attempts} times)" if attempts > 1 else ""
