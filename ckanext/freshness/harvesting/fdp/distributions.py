"""How the documents of a dataset's distributions are had: in pages, or else one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..strategy import Outcome
from .documents import Member
from .reader import MOST_PAGES, NO_SUCH_ENDPOINT, Document, Pages, Reader, Unreadable, first_page


@dataclass(slots=True)
class Parts:
    """The documents of a dataset's distributions, as far as they could be read."""

    pages: list[Document] = field(default_factory=list)
    single: dict[str, Document] = field(default_factory=dict)
    """By URL, the documents of distributions that were read one by one."""
    failed: dict[str, Unreadable] = field(default_factory=dict)
    """By URL, the distributions that could not be read."""
    broken_page: Unreadable | None = None
    """The page that could not be read: it and those after it may list further distributions."""

    @property
    def documents(self) -> list[Document]:
        """All documents."""
        return [*self.pages, *self.single.values()]


class Distributions:
    """Reads the distributions of datasets.

    :ivar has_pages: the server has page endpoints, as far as anybody has seen
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.has_pages = True

    async def read(self, dataset: str, member: Member) -> Parts:
        """Read the documents of a dataset's distributions."""
        parts = Parts()
        first = first_page(dataset, "distribution")
        if first and self.has_pages and (member.distributions or member.contained):
            await self._read_pages(first, parts)
        if not parts.pages:
            await self.read_each([*member.distributions, *member.contained], parts)
        return parts

    async def read_each(self, urls: Iterable[str], parts: Parts) -> None:
        """Read distributions one by one; what another host has to say is left out."""
        for url in filter(self._reader.may_visit, urls):
            if url in parts.single or url in parts.failed:
                continue
            try:
                parts.single[url] = await self._reader.get(url)
            except Unreadable as failure:
                parts.failed[url] = failure

    async def _read_pages(self, first: str, parts: Parts) -> None:
        """Read all pages; none if what answers is a user interface, or nothing."""
        pages = Pages(MOST_PAGES)
        url: str | None = first
        while url is not None:
            try:
                page = await self._reader.get(url)
                if not parts.pages and page.is_html:
                    self.has_pages = False
                    return
                parts.pages.append(page)
                url = pages.after(page)
            except Unreadable as failure:
                if parts.pages or failure.status not in NO_SUCH_ENDPOINT:
                    parts.broken_page = failure
                elif failure.outcome is not Outcome.FORBIDDEN:
                    self.has_pages = False
                return
