"""Containers whose own documents have pages, as DCAT catalogues serve them.

The page endpoints of FAIR Data Points are another thing: they have whole records, and the catalog's own
document still lists everything.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Sequence

from ckanext.freshness.tests.servers.fdp_model import Kind, Record

_HYDRA = "http://www.w3.org/ns/hydra/core#"


class Paging(enum.Enum):
    """How a document says that there is another page."""

    NEXT_PAGE = enum.auto()
    """``hydra:PagedCollection`` with ``hydra:nextPage``, as ckanext-dcat has it: the URLs are texts."""
    VIEW = enum.auto()
    """``hydra:view`` of the container leads to a ``hydra:PartialCollectionView`` with ``hydra:next``."""
    PARTIAL = enum.auto()
    """A ``hydra:PartialCollectionView`` with ``hydra:next``, and nothing leads to it."""
    LINK = enum.auto()
    """An HTTP header, ``Link: <...>; rel="next"``, besides those to the first and the last page."""
    BARE_LINK = enum.auto()
    """The same without links to the first and the last page."""


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """A page of a container: the children that its document lists.

    Attributes:
        url: the container's, without a query; page 1 has no query either.
        number: from 1.
        last: the number of the last page, at least 1.
        total: what the document says of the number of all children.
    """

    url: str
    number: int
    last: int
    total: int
    children: Sequence[Record | str]

    @classmethod
    def of(
        cls, url: str, number: int, size: int, children: Sequence[Record | str], total_off: int = 0
    ) -> Page:
        """A page of these children, at most `size` of them."""
        last = max(1, -(-len(children) // size))
        shown = children[(number - 1) * size : number * size]
        return cls(url, number, last, len(children) + total_off, shown)

    def url_of(self, number: int) -> str:
        """The URL of a page as pages call each other."""
        return f"{self.url}?page={number}"

    def _others(self) -> Iterator[tuple[str, str]]:
        """Relations to other pages, with their URLs."""
        yield "first", self.url_of(1)
        if self.number > 1:
            yield "previous", self.url_of(self.number - 1)
        if self.number < self.last:
            yield "next", self.url_of(self.number + 1)
        yield "last", self.url_of(self.last)

    def block(self, paging: Paging, container: str) -> str:
        """What the document says of its pages, in Turtle."""
        if paging in (Paging.LINK, Paging.BARE_LINK):
            return ""
        this = self.url_of(self.number)
        if paging is Paging.NEXT_PAGE:
            links = "".join(f';\n  <{_HYDRA}{name}Page> "{url}"' for name, url in self._others())
            return (
                f"\n<{this}> a <{_HYDRA}PagedCollection>;\n"
                f"  <{_HYDRA}totalItems> {self.total}{links} .\n"
            )
        links = "".join(f";\n  <{_HYDRA}{name}> <{url}>" for name, url in self._others())
        block = f"\n<{this}> a <{_HYDRA}PartialCollectionView>{links} .\n"
        if paging is Paging.VIEW:
            block += (
                f"\n<{container}> <{_HYDRA}totalItems> {self.total};\n  <{_HYDRA}view> <{this}> .\n"
            )
        return block

    def link_header(self, paging: Paging) -> str:
        """The Link header; empty if documents say it otherwise."""
        if paging not in (Paging.LINK, Paging.BARE_LINK):
            return ""
        return ", ".join(
            f'<{url}>; rel="{"prev" if name == "previous" else name}"'
            for name, url in self._others()
            if paging is Paging.LINK or name == "next"
        )


CONTAINERS = frozenset({Kind.ROOT, Kind.CATALOG, Kind.BIOBANK})
"""Kinds of records whose documents may have pages."""
