"""Which current record a listed URL is: the same URL, or another one of the same record.

A record's identity is its URL. Servers respell their URLs all the same: a last slash comes or goes,
escapes change their case, http becomes https. Others begin to list what their documents called the
record all along. Such a record is the one it was, and keeps its package.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator

from .strategy import KnownRecord
from .url_spelling import loose_spelling


class CurrentRecords:
    """The current records of a source."""

    def __init__(
        self, records: Iterable[KnownRecord], adoptable: Callable[[], Iterable[KnownRecord]] = tuple
    ) -> None:
        """
        :param adoptable: returns the records of deleted sources whose packages new records take over.
        """
        self._by_url = {record.url: record for record in records}
        self._by_spelling: dict[str, KnownRecord] | None = None
        self._load_adoptable = adoptable
        self._adoptable: CurrentRecords | None = None

    @property
    def adoptable(self) -> CurrentRecords:
        """The records of deleted sources whose packages new records take over."""
        if self._adoptable is None:
            self._adoptable = CurrentRecords(self._load_adoptable())
        return self._adoptable

    def __iter__(self) -> Iterator[KnownRecord]:
        return iter(self._by_url.values())

    def __len__(self) -> int:
        return len(self._by_url)

    def at(self, url: str) -> KnownRecord | None:
        """The record of exactly this URL."""
        return self._by_url.get(url)

    def of(self, url: str, listed: Container[str]) -> KnownRecord | None:
        """The record that a URL means: of exactly this URL, or else of another spelling of it, or else
        the one whose document calls it so.

        :param listed: all listed URLs. A record that is listed under its own URL is no other's.
        """
        exact = self._by_url.get(url)
        if exact is not None or not self._by_url:
            return exact
        if self._by_spelling is None:
            self._by_spelling = {loose_spelling(one.subject): one for one in self if one.subject}
            self._by_spelling |= {loose_spelling(one.url): one for one in self}
        found = self._by_spelling.get(loose_spelling(url))
        return None if found is None or found.url in listed else found
