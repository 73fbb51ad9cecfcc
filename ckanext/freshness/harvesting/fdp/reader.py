"""What only documents of FAIR Data Points have: page endpoints, and drafts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from ..rdf.mapping import Mapper
from ..rdf.reader import DocumentReader, FetchedDocument
from ..record import ReadOutcome
from ..source_client import UnreadableDocument

if TYPE_CHECKING:
    pass

PAGE_SIZE = 50
"""Children per page, on servers that have page endpoints."""

NO_SUCH_ENDPOINT = frozenset({400, 401, 403, 404, 405, 406, 410, 501})
"""Statuses of a first page that mean: the server has no page endpoint, or none for us."""


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """The options of one crawl."""

    mapper: Mapper
    now: datetime
    catalog_mapper: Mapper | None = None
    """None if catalogs are not harvested as records."""
    max_records: int = 100_000
    max_catalogs: int = 10_000
    max_depth: int = 5
    """Levels of catalogs below the source's URL."""
    concurrency: int = 8


class FdpReader(DocumentReader):
    """A reader of the documents of one FAIR Data Point."""

    _has_pages: bool | None = None
    """Whether the server has page endpoints; None as long as it is not known."""

    async def pages(self, first: str, most: int) -> AsyncIterator[FetchedDocument]:
        """Yield the pages of a page endpoint, from the first to the last; none if the server has none.

        Whoever reads them must not rely on having all: the records have documents of their own, too.

        :raises UnreadableDocument: a page cannot be read, or the server seems to invent pages without end.
        """
        url: str | None = first
        digests: set[str] = set()
        while url is not None and self._has_pages is not False:
            try:
                page = await self.get(url)
            except UnreadableDocument as failure:
                if digests or failure.status not in NO_SUCH_ENDPOINT:
                    raise
                if failure.outcome is not ReadOutcome.FORBIDDEN:
                    self._has_pages = self._has_pages or False
                return
            if page.is_html and not digests:
                self._has_pages = self._has_pages or False
                return
            self._has_pages = True
            if page.digest in digests or len(digests) >= most:
                reason = f"it repeats an earlier page, or is the page after {most} pages"
                raise UnreadableDocument(url, reason)
            digests.add(page.digest)
            yield page
            url = page.next_url

    async def is_draft(self, url: str) -> bool:
        """Return whether a record is a draft that only the source's secret headers make readable.

        The reference implementation shows drafts to users, and tells their state at ``<record>/meta``. Other
        servers answer 404 there.

        :raises UnreadableDocument: the server does not tell.
        """
        if not self.reach.sends_headers_to(url) or "?" in url or "#" in url:
            return False
        meta = f"{url.rstrip('/')}/meta"
        try:
            answer = await self.fetch(meta, "application/json")
        except UnreadableDocument as failure:
            if failure.status in NO_SUCH_ENDPOINT:
                return False
            raise
        try:
            return str(json.loads(answer.body or b"")["state"]["current"]).upper() == "DRAFT"
        except (ValueError, TypeError, LookupError, RecursionError):
            return False


def first_page(url: str, kind: str) -> str | None:
    """Return the URL of a record's first page of children; None if its URL allows no page endpoint.

    :param kind: the kind of children, ``dataset`` or ``distribution``.
    """
    if "?" in url or "#" in url:
        return None  # the path cannot be appended
    return f"{url.rstrip('/')}/page/{kind}?page=0&size={PAGE_SIZE}"
