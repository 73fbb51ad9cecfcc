"""The list of one container: all its pages, read again if they do not fit each other."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urljoin

from ..listings import NO_END
from . import documents
from .documents import DocumentOutline
from .listing import DatasetListing
from .reader import DocumentReader, FetchedDocument, Pages, UnreadableDocument


class ListReader:
    """A reader of the lists of a source's containers.

    :ivar paged: containers whose lists have several pages
    """

    def __init__(self, reader: DocumentReader, listing: DatasetListing, *, most_pages: int) -> None:
        """
        :param listing: receives the containers that are not proved.
        :param most_pages: the most pages that are read of one list.
        """
        self._reader = reader
        self._listing = listing
        self._most_pages = most_pages
        self.paged: set[str] = set()

    async def read(self, url: str, *, is_catalog: bool) -> tuple[DocumentOutline, FetchedDocument]:
        """Read a container's document and the further pages of its list.

        If the pages do not fit each other, because the list changed, they are read once more. What either
        reading lists is listed; if the second one does not fit either, the container is not proved.

        :param is_catalog: it is the root or listed as a catalog, and not as a record of any type.
        :returns: what all pages list, and the first page.
        :raises UnreadableDocument: the first page cannot be read.
        """
        whole, document, why = await self._read_pages(url, is_catalog)
        if why:
            again, document, why = await self._read_pages(url, is_catalog)
            whole = _united(again, whole)
        if why:
            self._listing.mark_unproved(url, f"its list was not read whole: {why}")
        return whole, document

    async def _read_pages(
        self, url: str, is_catalog: bool
    ) -> tuple[DocumentOutline, FetchedDocument, str]:
        """Read a container's pages once; the text says why they do not make a whole list, if so."""
        pages = Pages(url, self._most_pages)
        whole: DocumentOutline | None = None
        first: FetchedDocument | None = None
        try:
            while (page_url := pages.next()) is not None:
                page = await self._reader.get(page_url)
                learn = partial(
                    documents.outline_of_container,
                    url=url,
                    is_root=url == self._listing.containers.root,
                    is_part=not is_catalog,
                    final_url=page.base,
                )
                outline = await self._reader.outline(
                    page, "container" if is_catalog else "part", learn
                )
                whole, first = _together(whole, outline), first or page
                if not page.has_end:
                    self._listing.mark_unproved(page_url, NO_END, reported=True)
                nameless = range(outline.blank + outline.texts)
                members = outline.datasets + [f"{page_url} {n}" for n in nameless]
                pages.add(
                    page,
                    members,
                    links=[urljoin(page.base, link) for link in outline.next_pages],
                    further=[*outline.catalogs, *outline.parts],
                    total=outline.total,
                    others=outline.services,
                    ends=_ends(page, outline),
                )
            pages.end()
        except UnreadableDocument as failure:
            if whole is None or first is None:
                raise
            return whole, first, failure.message
        finally:
            if len(pages) > 1:
                self.paged.add(url)
        assert whole is not None and first is not None
        return whole, first, ""


def _together(pages: DocumentOutline | None, page: DocumentOutline) -> DocumentOutline:
    """Return one outline of the pages of a list."""
    if pages is None:
        return page
    return replace(
        _united(pages, page),
        states_list=pages.states_list or page.states_list,
        services=pages.services + page.services,
        blank=pages.blank + page.blank,
        texts=pages.texts + page.texts,
    )


def _united(first: DocumentOutline, second: DocumentOutline) -> DocumentOutline:
    """Return the first outline with what the second one lists besides."""
    names = ("catalogs", "datasets", "parts", "described", "refused", "refused_catalogs")
    united: dict[str, Any] = {
        name: sorted({*getattr(first, name), *getattr(second, name)}) for name in names
    }
    return replace(first, **united)


def _ends(page: FetchedDocument, outline: DocumentOutline) -> list[str]:
    """Return the URLs of other pages that a page names as the last one."""
    ends = {urljoin(page.base, link) for link in outline.last_pages}
    if page.last_url is not None:
        ends.add(page.last_url)
    return sorted(ends - {page.url, page.base})
