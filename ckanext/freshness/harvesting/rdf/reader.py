"""Requests for the RDF documents of one crawl, and the words for each failure."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import re
from collections.abc import (
    Callable,
    Iterator,
)
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urljoin

from rdflib import Graph
from requests.utils import parse_header_links
from sqlalchemy.exc import SQLAlchemyError

from ...web.exchange import Answer
from ...web.urls import display_url, parse_url
from ..record import ReadOutcome
from ..source_client import SourceHosts, SourceReader, UnreadableDocument, unexpected
from . import parsing as rdf
from .paging import PageOutline
from .parsing import DocumentError, RdfParser

if TYPE_CHECKING:
    from ...web.client import Client
    from ..source_memory import SourceMemory

log = logging.getLogger(__name__)

Outline = TypeVar("Outline", bound=PageOutline)

_LAST_PART = re.compile("[/#]")
"""What separates the last part of a URL from the others."""


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
    next_url: str | None = None
    """URL of the next page (RFC 8288, rel="next")."""
    last_url: str | None = None
    """URL of the last page (rel="last"), if there are several."""
    has_marks: bool = False
    """Its Link headers say something of pages, even if only that this one is the first and the last."""
    seconds: float = 0.0
    """How long the server took."""
    has_end: bool = True
    """The server said where the document ends: without that, a part of it looks like the whole."""
    _graph: Graph | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Tasks of many records of one page need its graph at the same time."""

    @property
    def is_html(self) -> bool:
        """True for HTML, with which user interfaces answer any path that they do not know."""
        return rdf.media_type(self.content_type) == "text/html"

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
        client: Client,
        reach: SourceHosts,
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
        super().__init__(client, reach)
        self.memory = memory
        self._salt = salt
        self._parser = parser
        self._accept = accept
        self._content_type = content_type

    async def get(self, url: str) -> FetchedDocument:
        """Fetch a document.

        :raises UnreadableDocument: no answer, or a status other than 200.
        """
        answer = await self.fetch(url, self._accept)
        body = answer.body or b""
        links = _links(answer)
        try:
            joined = {relation: urljoin(answer.final_url, link) for relation, link in links.items()}
        except ValueError as error:
            reason = "its link to another page is malformed"
            raise UnreadableDocument(url, reason) from error
        content_type = self._content_type or answer.headers.get("Content-Type")
        document = self.document(url, answer.final_url, content_type, body)
        document.next_url, document.last_url = joined.get("next"), joined.get("last")
        document.has_marks = not joined.keys().isdisjoint(("first", "last", "next", "prev"))
        if document.last_url == joined.get("first"):
            document.last_url = None  # this is the only page, whatever its own URL
        document.seconds = answer.seconds
        document.has_end = not answer.headers.keys().isdisjoint(
            ("Content-Length", "Transfer-Encoding")
        )
        return document

    def document(
        self, url: str, base: str, content_type: str | None, body: bytes
    ) -> FetchedDocument:
        """Return the document that these bytes make.

        :param base: the URL that answered.
        """
        form = rdf.media_type(content_type), rdf.charset(content_type)
        redirected_to = "" if base == parse_url(url).url else base
        digest = self.hash(*form, body, redirected_to)
        return FetchedDocument(url, base, body, content_type, digest, self._parser)

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
        digest = self.hash(role, kind.shape(), document.digest)
        text = self.memory.recall(document.url, digest)
        if text is not None:
            return kind.from_json(text)
        graph = await document.parsed()
        with understood(document.url):
            outline = learn(graph)
        if "\\u0000" not in (text := outline.as_json()):  # PostgreSQL stores no NUL
            self.memory.remember(document.url, digest, text)
        return outline

    def hash(self, *parts: str | bytes) -> str:
        """Return the SHA-256 of the salt and the parts, in hex."""
        digest = hashlib.sha256(self._salt.encode())
        for part in parts:
            digest.update(b"\0")
            digest.update(part if isinstance(part, bytes) else part.encode())
        return digest.hexdigest()


def _links(answer: Answer) -> dict[str, str]:
    """Return the targets of an answer's Link headers, by relation."""
    targets: dict[str, str] = {}
    for header in answer.headers.getall("Link", ()):
        for link in parse_header_links(header):
            # Names of parameters are in any case, and a relation may be a URL (RFC 8288, sections 2.1 and 3).
            relations = next((text for name, text in link.items() if name.lower() == "rel"), "")
            for relation in relations.lower().split():
                targets.setdefault(_LAST_PART.split(relation)[-1], link["url"])
    return targets
