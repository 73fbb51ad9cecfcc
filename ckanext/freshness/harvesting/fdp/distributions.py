"""How the documents of a dataset's distributions are had: in pages, or else one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..strategy import ReadOutcome
from .documents import ListedDataset
from .reader import (
    MOST_PAGES,
    NO_SUCH_ENDPOINT,
    DocumentReader,
    FetchedDocument,
    Pages,
    UnreadableDocument,
    first_page,
)


@dataclass(slots=True)
class DistributionDocuments:
    """The documents of a dataset's distributions, as far as they could be read."""

    pages: list[FetchedDocument] = field(default_factory=list)
    single: dict[str, FetchedDocument] = field(default_factory=dict)
    """By URL, the documents of distributions that were read one by one."""
    failed: dict[str, UnreadableDocument] = field(default_factory=dict)
    """By URL, the distributions that could not be read."""
    broken_page: UnreadableDocument | None = None
    """The page that could not be read: it and those after it may list further distributions."""
    all_pages: bool = False
    """The pages were read to the last one, and their server counts them: there are no others."""

    @property
    def listed_whole(self) -> bool:
        """Whether the pages say for sure which distributions they do not list."""
        return self.all_pages and self.broken_page is None

    @property
    def documents(self) -> list[FetchedDocument]:
        """All documents."""
        return [*self.pages, *self.single.values()]


class DistributionReader:
    """Reads the distributions of datasets.

    :ivar has_pages: the server has page endpoints, as far as anybody has seen
    """

    def __init__(self, reader: DocumentReader) -> None:
        self._reader = reader
        self.has_pages = True

    async def read(
        self, dataset: str, member: ListedDataset, *, had_pages: bool = False
    ) -> DistributionDocuments:
        """Read the documents of a dataset's distributions.

        :param had_pages: the dataset's pages have listed distributions that nothing else lists. They
            are read again, and if they cannot be, they are missed.
        """
        parts = DistributionDocuments()
        first = first_page(dataset, "distribution")
        may_have = self.has_pages and (member.distributions or member.contained)
        if first and (may_have or had_pages):
            missing = await self._read_pages(first, parts)
            if had_pages:
                parts.broken_page = parts.broken_page or missing
        if not parts.pages:
            await self.read_each([*member.distributions, *member.contained], parts)
        return parts

    async def read_each(self, urls: Iterable[str], parts: DistributionDocuments) -> None:
        """Read distributions one by one; what another host has to say is left out."""
        for url in filter(self._reader.may_visit, urls):
            if url in parts.single or url in parts.failed:
                continue
            try:
                parts.single[url] = await self._reader.get(url)
            except UnreadableDocument as failure:
                parts.failed[url] = failure

    async def _read_pages(
        self, first: str, parts: DistributionDocuments
    ) -> UnreadableDocument | None:
        """Read all pages; return why there are none, if there is no such endpoint."""
        pages = Pages(MOST_PAGES)
        url: str | None = first
        while url is not None:
            try:
                page = await self._reader.get(url)
                if not parts.pages and page.is_html:
                    self.has_pages = False
                    words = "it answers with a user interface"
                    return UnreadableDocument(first, ReadOutcome.FAILED, words)
                parts.pages.append(page)
                url = pages.after(page)
            except UnreadableDocument as failure:
                if parts.pages or failure.status not in NO_SUCH_ENDPOINT:
                    parts.broken_page = failure
                    return None
                if failure.outcome is not ReadOutcome.FORBIDDEN:
                    self.has_pages = False
                return failure
        parts.all_pages = bool(parts.pages) and parts.pages[-1].is_paged
        return None
