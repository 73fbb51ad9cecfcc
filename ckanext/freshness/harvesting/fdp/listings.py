"""Which datasets the containers of a source list, and which containers could not be read."""

from __future__ import annotations

from collections.abc import Collection

from ...web.urls import display_url
from ..strategy import Containers
from ..url_spelling import spelling, spellings


class DatasetListing:
    """Dataset URLs, each with the containers that list it.

    The URL as it is listed is a record's identity; documents may spell it in another way
    (:meth:`listed_as`).

    :ivar containers: what is known of the containers themselves
    :ivar errors: a line for people, URL and reason, for each that could not be read
    """

    def __init__(self, root: str, limit: int) -> None:
        """
        :param root: the source's URL.
        :param limit: how many datasets are taken up.
        """
        self.containers = Containers(root=root)
        self.errors: list[str] = []
        self._limit = limit
        self._found: dict[str, tuple[str, ...]] = {}
        self._spellings: dict[str, str] = {}
        self._claimed: set[str] = set()

    def add(self, dataset: str, container: str) -> None:
        """Note that a container lists a dataset; it has not been read whole if that is one too many."""
        before = self._found.get(dataset, ())
        if not before:
            if len(self._found) >= self._limit:
                words = f"the source lists more than max_records ({self._limit}) datasets"
                self.unreadable(container, words)
                return
            # Most URLs are spelled as all would be, and there may be many.
            if (plain := spelling(dataset)) != dataset:
                self._spellings.setdefault(plain, dataset)
        self._found[dataset] = tuple(sorted({*before, container}))
        self.containers.listed.add(dataset)

    def unreadable(self, container: str, reason: str, *, told: bool = False) -> None:
        """Note that a container, or a page of it, could not be read whole.

        :param told: somebody says so already, or will.
        """
        if container not in self.containers.unreadable:
            self.containers.unreadable[container] = reason
            if not told:
                self.errors.append(f"{display_url(container)}: {reason}")

    def leave_out(self, urls: Collection[str]) -> None:
        """Take URLs out that are no datasets."""
        for url in urls:
            self._found.pop(url, None)
        self._spellings = {kept: url for kept, url in self._spellings.items() if url in self._found}

    def containers_of(self, dataset: str) -> tuple[str, ...]:
        """The containers that list a dataset, sorted."""
        return self._found[dataset]

    def listed_as(self, url: str) -> str | None:
        """The listed URL that is this one, or differs from it only in spelling."""
        if url in self._found:
            return url
        for plain in spellings(url):
            if plain in self._found:
                return plain
            if plain in self._spellings:
                return self._spellings[plain]
        return None

    def claim(self, dataset: str) -> bool:
        """Whether a dataset is still to be read; it counts as read from now on."""
        if dataset in self._claimed:
            return False
        self._claimed.add(dataset)
        return True

    def __contains__(self, url: object) -> bool:
        return url in self._found

    def __len__(self) -> int:
        return len(self._found)

    def urls(self) -> list[str]:
        """All listed datasets."""
        return list(self._found)
