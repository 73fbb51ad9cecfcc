"""How the documents of a dataset's distributions are had: in pages, or else one by one."""

from __future__ import annotations

from collections.abc import Collection

from ..strategy import Outcome
from .reader import MOST_PAGES, NO_SUCH_ENDPOINT, Document, Pages, Reader, Unreadable, first_page


class Distributions:
    """Reads the distributions of datasets.

    :ivar has_pages: the server has page endpoints, as far as anybody has seen
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.has_pages = True

    async def read(
        self, dataset: str, urls: list[str], object_id: str | None = None
    ) -> tuple[list[Document], bool]:
        """The documents of a dataset's distributions, and whether they are pages of them.

        :param urls: the distributions that the dataset names.
        :param object_id: the current harvest object of the dataset, if there is one.
        :raises Unreadable: one of them is; without it the dataset would look as if it had lost a
            resource. Or more than half of what it had answers 401 or 403: that is no withdrawal.
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
        refused: list[Unreadable] = []
        found = await self.read_each(urls, refused)
        if refused and object_id is not None:
            _look_for_a_wall(refused, self._reader.resources_of(object_id))
        return found, False

    async def read_each(
        self, urls: list[str], refused: list[Unreadable] | None = None
    ) -> list[Document]:
        """The documents of distributions one by one.

        Left out are drafts and what is gone (401, 403, 404, 410), and what another host has to say.

        :param refused: takes the failures of those that answer 401 or 403.
        :raises Unreadable: any other failure.
        """
        found = []
        for url in filter(self._reader.may_visit, urls):
            try:
                found.append(await self._reader.get(url))
            except Unreadable as failure:
                if failure.outcome is Outcome.FAILED:
                    raise
                if failure.outcome is Outcome.FORBIDDEN and refused is not None:
                    refused.append(failure)
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


def _look_for_a_wall(refused: list[Unreadable], had: Collection[str]) -> None:
    """Withdrawn, or a wall in front of everything? By the rule that there is for records.

    :param had: the distributions with which the dataset was harvested.
    :raises Unreadable: of these more than half answer 401 or 403 now.
    """
    lost = [one for one in refused if one.url in had]
    if len(lost) * 2 > len(had):
        words = f"{lost[0].words}, as more than half of the distributions do that the dataset had"
        raise Unreadable(lost[0].url, Outcome.FAILED, words)
