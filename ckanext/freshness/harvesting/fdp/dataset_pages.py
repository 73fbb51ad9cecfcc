"""The page endpoints of containers: whole datasets, many at a time, on servers that have them.

Pages save requests, and tell which listed records are drafts. They prove nothing by themselves: a container's
own document lists its datasets, too.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Mapping

from ..record import CurrentRecords, ReadOutcome
from . import documents
from .documents import ListedDataset
from .listing import DatasetListing
from .page_sizes import PageSizes
from .reader import (
    MOST_PAGES,
    NO_SUCH_ENDPOINT,
    DocumentReader,
    FetchedDocument,
    Pages,
    UnreadableDocument,
    first_page,
)

_ONE_BY_ONE = "the datasets were read one by one"


class DatasetPages:
    """The pages of all containers of one crawl.

    :ivar found: listed URLs of the datasets that pages have
    :ivar only_there: by URL of a dataset that pages have and no container lists: the containers of these pages
    :ivar missed: pages that were not read, with the reasons; they matter to records that only pages listed
    :ivar exist: False as soon as the server turns out to have no page endpoints
    """

    def __init__(
        self,
        reader: DocumentReader,
        listing: DatasetListing,
        known: CurrentRecords,
        by_containers: Collection[str],
        subjects: Mapping[str, str],
        start: Callable[[str, FetchedDocument, ListedDataset], Awaitable[None]],
        seconds_alone: Callable[[str], Awaitable[float | None]],
    ) -> None:
        """
        :param by_containers: containers that name their datasets by LDP containers alone. Pages have none,
            so that the datasets in these pages lack their distributions.
        :param subjects: the listed URL of each dataset, by its URL in its document.
        :param start: starts to read a dataset of a page.
        :param seconds_alone: returns how long a dataset of a container takes by itself.
        """
        self._reader = reader
        self._listing = listing
        self._known = known
        self._by_containers = by_containers
        self._subjects = subjects
        self._start = start
        self._seconds_alone = seconds_alone
        self._counts: dict[str, int] = {}
        """How many pages of each container were read."""
        self._whole: set[str] = set()
        """Containers whose pages were read from the first to the last."""
        self._malformed: list[tuple[str, UnreadableDocument]] = []
        self._warnings: list[str] = []
        self.found: set[str] = set()
        self.only_there: dict[str, set[str]] = {}
        self.missed: dict[str, str] = {}
        self.exist = True

    def several(self) -> list[str]:
        """Return the containers with more than one page: their pages may shift while they are read."""
        return [container for container, count in self._counts.items() if count > 1]

    def leave_out(self, url: str, containers: Collection[str]) -> bool:
        """Return whether all pages of some containers were read and none has a dataset."""
        return url not in self.found and self._whole.issuperset(containers)

    def warnings(self, with_malformed_record: Collection[str]) -> list[str]:
        """Return one line for people for each page that could not be read.

        :param with_malformed_record: containers whose malformed page one of their records explains.
        """
        malformed = [
            f"{failure.message}; {_ONE_BY_ONE}"
            for container, failure in self._malformed
            if container not in with_malformed_record
        ]
        return [*self._warnings, *malformed]

    async def read(self, container: str) -> None:
        """Read the pages of a container's datasets, if the server has such pages.

        If a page is malformed, its datasets are read one by one later. If a page does not answer,
        that also applies to the pages after it. Neither is an error by itself: the container's own document
        lists the datasets, too.
        """
        first = first_page(container, "dataset")
        if first is None:
            return
        was_there = self._reader.memory.knows(first)
        pages, sizes, whole = Pages(first, MOST_PAGES + len(self._listing)), PageSizes(), True
        page = None
        try:
            while (url := pages.next()) is not None:
                begin = time.monotonic()
                try:
                    page = await self._reader.get(url)
                except UnreadableDocument as failure:
                    smaller = sizes.instead_of(url) if failure.too_much else None
                    if smaller is None:
                        raise
                    pages.instead(smaller)
                    continue
                seconds = time.monotonic() - begin
                if not pages and page.is_html:
                    self.exist = False
                    if was_there:
                        self.missed[first] = "it answers with a user interface"
                    return
                members = await self._read_page(container, page)
                whole = whole and members is not None
                page.next_url = sizes.after(url, page.next_url, seconds)
                pages.add(page, members or None)
                if sizes.is_slow and await self._is_slower_than_alone(container, sizes.per_record):
                    self.missed[first] = "its pages take longer than single documents"
                    return
            pages.end()
        except UnreadableDocument as failure:
            self._miss_pages(first, failure, was_there=was_there, is_first=not pages)
            return
        finally:
            self._counts[container] = max(len(pages), self._counts.get(container, 0))
        # Without links to the first or last page, the server may have sent only some datasets.
        if page is not None and page.is_paged:
            if whole:
                self._whole.add(container)
        elif was_there:
            self.missed[first] = "it does not say which page is the last one"

    def _miss_pages(
        self, first: str, failure: UnreadableDocument, *, was_there: bool, is_first: bool
    ) -> None:
        """Note that pages were not read whole, which matters if a current record is listed nowhere else."""
        if is_first and failure.status in NO_SUCH_ENDPOINT:
            if failure.outcome is not ReadOutcome.FORBIDDEN:
                self.exist = False
            if was_there:
                self.missed[first] = failure.reason
            return
        self.missed[first] = failure.reason
        self._warnings.append(f"{failure.message}; {_ONE_BY_ONE}")

    async def _read_page(self, container: str, page: FetchedDocument) -> list[str] | None:
        """Start to read the datasets of a page; return their URLs, or None if the page is malformed."""
        try:
            outline = await self._reader.outline(page, "page", documents.outline_of_page)
        except UnreadableDocument as failure:
            self.missed[page.url] = failure.reason
            self._malformed.append((container, failure))
            return None
        for subject, member in outline.members.items():
            url = self._listing.listed_as(subject)
            if url is not None:
                self.found.add(url)
                if container not in self._by_containers:
                    await self._start(url, page, member)
            elif subject in self._subjects:
                # A persistent URL of a listed record, whose own document is read.
                self.found.add(self._subjects[subject])
            elif member.part_of or self._known.at(subject):
                # Without dct:isPartOf, an unlisted dataset is only mentioned.
                self.only_there.setdefault(subject, set()).add(container)
        return list(outline.members)

    async def _is_slower_than_alone(self, container: str, seconds: float) -> bool:
        """Return whether a record takes more than twice as long in a page than by itself.

        Some servers look at all datasets for each page. To find out, one dataset is read by itself.
        """
        alone = await self._seconds_alone(container)
        return alone is not None and seconds > 2 * alone
