"""One reading of all pages of a list, however the source links them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Generic
from urllib.parse import urljoin, urlsplit

from rdflib import Graph

from ..listings import ListFacts, PagedList, doubt
from ..source_client import UnreadableDocument
from .reader import DocumentReader, FetchedDocument, Outline

if TYPE_CHECKING:
    from ..source_memory import SourceMemory

MOST_PAGES = 1000
"""The most pages of one list. A list may have one more for each current record of the source."""
MOST_DOUBTFUL = 3
"""Pages in a row that repeat others, after which no more are read: the server may invent pages without end."""


class ListReading(Generic[Outline]):
    """A reading of a list from its first page to the last.

    A document's own links come before its ``Link`` header, which may lead to the same pages by other
    parameters: the document states totals, too. The header counts where the document leads no further.

    When :meth:`pages` has ended, the attributes say whether the list was read whole.

    :ivar has_end: the server said of each page where it ends
    :ivar is_paged: the list has several pages
    """

    def __init__(self, reader: DocumentReader, url: str, most_pages: int) -> None:
        """
        :param url: the first page.
        """
        self._reader = reader
        self._url = url
        self._most = most_pages
        self._listed = PagedList()
        self.has_end = True
        self.is_paged = False
        self._is_bare = True
        self._first_page = 0
        self._has_links = False
        """A document of the list names further pages."""

    @property
    def misfit(self) -> str:
        """Why the pages do not make a whole list, for people; "" if they do."""
        return self._listed.misfit

    async def pages(
        self, role: str, kind: type[Outline], learn: Callable[[FetchedDocument, Graph], Outline]
    ) -> AsyncIterator[tuple[FetchedDocument, Outline]]:
        """Yield the pages with their outlines. A page that cannot be read ends them, as a misfit.

        :param role: see :meth:`.reader.DocumentReader.outline`, as for ``kind``.
        :param learn: makes the outline of a page and its graph, or raises DocumentError.
        :raises UnreadableDocument: the first page cannot be read.
        """
        waiting, met, listed = [self._url], {_plain(self._url)}, self._listed
        doubtful = 0
        while waiting and doubtful < MOST_DOUBTFUL:
            try:
                page = await self._reader.get(waiting.pop(0))
                outline = await self._reader.outline(page, role, kind, partial(learn, page))
            except UnreadableDocument as failure:
                if not len(listed):
                    raise
                listed.note(failure.message)
                return
            self.has_end &= page.has_end
            doubtful = 0 if self._add(page, outline) else doubtful + 1
            links = self._targets(page, outline.next_pages)
            if links.keys() <= met and page.next_url is not None:
                links = self._targets(page, [page.next_url])
                if links.keys() <= met:
                    listed.note("its link to the next page leads to a page that was read before")
            following = {plain: url for plain, url in links.items() if plain not in met}
            self.is_paged |= bool(following)
            self._is_bare &= not (page.has_marks or outline.has_marks)
            if len(listed) == 1:
                self._first_page = len(outline.identities) + outline.nameless
            yield page, outline
            if len(met) + len(following) > self._most:
                listed.note(f"there is another page after {self._most} pages")
                return
            waiting += sorted(following.values())
            met |= following.keys()
        listed.end()

    def note(self, facts: ListFacts) -> None:
        """Note in the facts about the list what this reading says of its pages."""
        facts.has_end &= self.has_end
        facts.page_size = self._first_page if self.is_paged else None
        facts.bare_size = self._first_page if self._is_bare else None

    def _add(self, page: FetchedDocument, outline: Outline) -> bool:
        """Add a page to the list, and return whether it fits those before."""
        nameless = [f"{page.url} {number}" for number in range(outline.nameless)]
        self._has_links |= bool(outline.next_pages or outline.last_pages)
        last_url = None if self._has_links else page.last_url
        ends = self._targets(page, [*outline.last_pages, *filter(None, [last_url])])
        return self._listed.add(
            _plain(page.url),
            [*outline.identities, *nameless],
            digest=page.digest,
            further=outline.further,
            totals=outline.totals,
            others=outline.others,
            ends=sorted(ends.keys() - {_plain(page.url), _plain(page.base)}),
        )

    def _targets(self, page: FetchedDocument, links: Iterable[str]) -> dict[str, str]:
        """Return the URLs to which links of a page lead, by their plain form."""
        targets = {}
        for link in links:
            try:
                url = urljoin(page.base, link)
                targets[_plain(url)] = url
            except ValueError:
                self._listed.note("its link to another page is malformed")
        return targets


def doubt_of_list(
    memory: SourceMemory, url: str, facts: ListFacts, *, is_missing: bool
) -> str | None:
    """Return why a list does not prove that a record is absent from it; None if it does.

    If it does, and has several pages, the memory keeps for the next job how long the first of them is.
    """
    key = f"{url}#pages"
    before = memory.recall(key, "pages") or "null"
    facts.is_cut = before == str(facts.bare_size)
    reason = doubt(facts, is_missing=is_missing)
    now = json.dumps(facts.page_size)
    if reason is None and now != before:
        memory.remember(key, "pages", now)
    return reason


def _plain(url: str) -> str:
    """Return a URL without fragment, and with its parameters in order: a page's links may differ in both."""
    parts = urlsplit(url)
    query = "&".join(sorted(parts.query.split("&")))
    return parts._replace(query=query, fragment="").geturl()
