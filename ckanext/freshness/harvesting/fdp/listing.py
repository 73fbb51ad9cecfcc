"""Which datasets the containers of a source list, and where."""

from __future__ import annotations

import re
from collections.abc import Collection

from ...web.errors import FetchError
from ...web.urls import parse_url

_ESCAPE = re.compile("%[0-9a-f]{2}", re.IGNORECASE)


class Listing:
    """Dataset URLs, each with the containers that list it.

    The URL as it is listed is a record's identity; documents may spell it in another way
    (:meth:`listed_as`).
    """

    def __init__(self, limit: int) -> None:
        """
        :param limit: how many datasets are taken up.
        """
        self._limit = limit
        self._containers: dict[str, tuple[str, ...]] = {}
        self._spellings: dict[str, str] = {}
        self._claimed: set[str] = set()

    def add(self, dataset: str, container: str) -> bool:
        """Note that a container lists a dataset; False if there is no room for another one."""
        before = self._containers.get(dataset, ())
        if not before:
            if len(self._containers) >= self._limit:
                return False
            self._spellings.setdefault(_spelling(dataset), dataset)
        self._containers[dataset] = tuple(sorted({*before, container}))
        return True

    def leave_out(self, urls: Collection[str]) -> None:
        """Take URLs out that are no datasets."""
        for url in urls:
            self._containers.pop(url, None)
        self._spellings = {
            spelling: url for spelling, url in self._spellings.items() if url in self._containers
        }

    def containers_of(self, dataset: str) -> tuple[str, ...]:
        """The containers that list a dataset, sorted."""
        return self._containers[dataset]

    def listed_as(self, url: str) -> str | None:
        """The listed URL that is this one, or differs from it by percent-encoding or a last slash."""
        return url if url in self._containers else self._spellings.get(_spelling(url))

    def claim(self, dataset: str) -> bool:
        """Whether a dataset is still to be read; it counts as read from now on."""
        if dataset in self._claimed:
            return False
        self._claimed.add(dataset)
        return True

    def __contains__(self, url: object) -> bool:
        return url in self._containers

    def __len__(self) -> int:
        return len(self._containers)

    def urls(self) -> list[str]:
        """All listed datasets."""
        return list(self._containers)


def _spelling(url: str) -> str:
    try:
        url = parse_url(url).url
    except FetchError:
        return url
    return _ESCAPE.sub(lambda escape: escape[0].upper(), url).rstrip("/")
