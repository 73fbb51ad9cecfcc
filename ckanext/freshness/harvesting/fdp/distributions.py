"""How the documents of a dataset's distributions are had: in pages, or else one by one."""

from __future__ import annotations

from ..strategy import Outcome
from .reader import MOST_PAGES, NO_SUCH_ENDPOINT, Document, Pages, Reader, Unreadable, first_page


class Distributions:
    """Reads the distributions of datasets.

    :ivar has_pages: the server has page endpoints, as far as anybody has seen
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.has_pages = True

    async def read(self, dataset: str, urls: list[str]) -> tuple[list[Document], bool]:
        """The documents of a dataset's distributions, and whether they are pages of them.

        :param urls: the distributions that the dataset names.
        :raises Unreadable: one of them is; without it the dataset would look as if it had lost a
            resource.
        """
        first = first_page(dataset, "distribution")
        if urls and first and self.has_pages:
            try:
                found = await self._read_pages(first)
            except Unreadable as failure:
                if failure.status not in NO_SUCH_ENDPOINT:
                    raise
                if failure.outcome is not Outcome.FORBIDDEN:
                    self.has_pages = False
            else:
                if found:
                    return found, True
        return await self.read_each(urls), False

    async def read_each(self, urls: list[str]) -> list[Document]:
        """The documents of distributions one by one.

        Left out are drafts and what is gone (401, 403, 404, 410), and what another host has to say.

        :raises Unreadable: any other failure.
        """
        found = []
        for url in filter(self._reader.may_visit, urls):
            try:
                found.append(await self._reader.get(url))
            except Unreadable as failure:
                if failure.outcome is Outcome.FAILED:
                    raise
        return found

    async def _read_pages(self, first: str) -> list[Document]:
        """All pages; none if what answers is a user interface."""
        pages = Pages(MOST_PAGES)
        found: list[Document] = []
        url: str | None = first
        while url is not None:
            page = await self._reader.get(url)
            if not found and page.is_html:
                self.has_pages = False
                break
            found.append(page)
            url = pages.after(page)
        return found
