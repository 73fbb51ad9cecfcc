"""The options of one crawl, and what its containers list."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ...web.urls import display_url
from ..messages import about
from ..rdf.record_graph import Mapper
from ..record import Containers, spelling, spellings


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """The options of one crawl."""

    mapper: Mapper
    now: datetime
    catalog_mapper: Mapper | None = None
    """None if catalogs are not harvested as records."""
    salt: str = ""
    """Part of every hash: what a record's contents depend on besides its bytes, such as the language."""
    max_records: int = 100_000
    max_catalogs: int = 10_000
    max_depth: int = 5
    """Levels of catalogs below the source's URL."""
    allowed_hosts: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent to the source's own origin only."""
    concurrency: int = 8
    requests_per_second: float = 50.0


class DatasetListing:
    """The listed datasets of a source, each with the containers that list it.

    A record's identity is its URL as listed. Documents may spell it differently (:meth:`listed_as`).

    :ivar containers: the containers, as the strategy needs them
    :ivar errors: one line for people, URL and reason, for each container that could not be read
    """

    def __init__(self, root: str, limit: int) -> None:
        """
        :param root: the source's URL.
        :param limit: the most datasets that are listed.
        """
        self.containers = Containers(root=root)
        self.errors: list[str] = []
        self._limit = limit
        self._found: dict[str, tuple[str, ...]] = {}
        self._spellings: dict[str, str] = {}
        self._claimed: set[str] = set()

    def add(self, dataset: str, container: str) -> None:
        """Add a dataset of a container. If the limit is reached, mark the container as unreadable."""
        before = self._found.get(dataset, ())
        if not before:
            if len(self._found) >= self._limit:
                reason = f"the source lists more than max_records ({self._limit}) datasets"
                self.mark_unreadable(container, reason)
                return
            # Listings may be long, and most URLs are in the plain spelling already.
            if (plain := spelling(dataset)) != dataset:
                self._spellings.setdefault(plain, dataset)
        self._found[dataset] = tuple(sorted({*before, container}))
        self.containers.listed.add(dataset)

    def mark_unreadable(self, container: str, reason: str, *, reported: bool = False) -> None:
        """Record that a container, or a page of it, was not read whole.

        :param reported: another error reports this failure, so add none.
        """
        if container not in self.containers.unreadable:
            self.containers.unreadable[container] = reason
            if not reported:
                self.errors.append(about(display_url(container), reason))

    def mark_unproved(self, container: str, reason: str, *, reported: bool = False) -> None:
        """Record that a container was not proved to be read whole. It protects only records that no list has.

        :param reported: another error reports it, or it is no error.
        """
        if container not in self.containers.unproved:
            self.containers.unproved[container] = reason
            if not reported:
                self.errors.append(about(display_url(container), reason))

    def remove(self, urls: Collection[str]) -> None:
        """Remove URLs that turned out to be containers."""
        for url in urls:
            self._found.pop(url, None)
        self._spellings = {kept: url for kept, url in self._spellings.items() if url in self._found}

    def containers_of(self, dataset: str) -> tuple[str, ...]:
        """Return the containers that list a dataset, sorted."""
        return self._found[dataset]

    def listed_as(self, url: str) -> str | None:
        """Return the listed URL that equals this URL or is another spelling of it."""
        if url in self._found:
            return url
        for plain in spellings(url):
            if plain in self._found:
                return plain
            if plain in self._spellings:
                return self._spellings[plain]
        return None

    def claim(self, dataset: str) -> bool:
        """Return True for the first claim of a dataset: the caller reads it. Return False afterwards."""
        if dataset in self._claimed:
            return False
        self._claimed.add(dataset)
        return True

    def members(self) -> dict[str, list[str]]:
        """Return the listed datasets by container."""
        found: dict[str, list[str]] = {}
        for dataset, containers in self._found.items():
            for container in containers:
                found.setdefault(container, []).append(dataset)
        return found

    def __contains__(self, url: object) -> bool:
        return url in self._found

    def __len__(self) -> int:
        return len(self._found)

    def urls(self) -> list[str]:
        return list(self._found)
