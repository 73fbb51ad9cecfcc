"""What every registry offers, and how registries are asked.

A registry is one class that reads two listings. :data:`KINDS` has them by the name that a source's
configuration gives them; one more is one more class and one more row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ...harvesting.record import Record
from ...harvesting.source_hosts import SourceHosts
from ...web.client import Client, FetchError, Request
from ...web.urls import display_url, parse_url


@dataclass(slots=True)
class RegistryEntry:
    """A reporting organisation or a dataset as a registry lists it."""

    id: str
    """The registry's id, which stays when the name changes."""
    record: Record | None
    """None if it could not be understood."""
    organisation_id: str | None = None
    """Of a dataset: whose it is."""
    error: str | None = None
    """Why it could not be understood, for people."""


MOST_VALUES = 2_000_000
"""Values in one answer: 50 MB of empty lists would take more than 1 GB when parsed, and this many values
take at most half of that. A dataset of an index file has about ten, one of CKAN's API about 200."""

Take = Callable[[RegistryEntry], None]
"""Takes each entry as it is read; the same one may come more than once."""


class UnreadableListing(Exception):
    """A listing that was not read whole; ``str()`` is one line for people, with its URL."""

    def __init__(self, url: str, words: str) -> None:
        super().__init__(f"{display_url(url)}: {words}")
        self.url = url
        self.words = words


def without_user(netloc: str) -> str:
    """Host and port of a URL: what is made of it is published, and user and password are secret."""
    return netloc.rpartition("@")[2]


class Registry(Protocol):
    """A registry of IATI's."""

    @property
    def organisations_url(self) -> str:
        """Of the listing of reporting organisations, for people."""

    @property
    def datasets_url(self) -> str:
        """Of the listing of datasets, for people."""

    def organisation_url(self, registry_id: str) -> str:
        """The registry's own URL of a reporting organisation: the same for the same id."""

    def dataset_url(self, registry_id: str) -> str:
        """The registry's own URL of a dataset: the same for the same id."""

    async def organisations(self, take: Take) -> None:
        """Read the listing of reporting organisations.

        :raises Unreadable: it was not read whole; what could be read has been handed on.
        """

    async def datasets(self, take: Take) -> None:
        """Read the listing of datasets.

        :raises Unreadable: it was not read whole; what could be read has been handed on.
        """


class Asker:
    """Asks one registry for JSON, politely, and goes nowhere else."""

    def __init__(
        self,
        client: Client,
        source_url: str,
        *,
        allowed_hosts: Collection[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """
        :param allowed_hosts: that it may redirect to besides its own.
        :param headers: sent to the source's own origin only: they may be secret.
        """
        self._client = client
        self._reach = SourceHosts(source_url, allowed_hosts, headers)

    async def json(self, url: str) -> Any:
        """What a URL answers, as plain data.

        :raises Unreadable: it answers anything but 200 and JSON, or not at all.
        """
        try:
            target = parse_url(url)
            answer = await self._client.fetch(
                Request(
                    url,
                    accept="application/json",
                    headers=self._reach.headers_for(target),
                    host_allowed=self._reach.hosts.__contains__,
                )
            )
        except FetchError as error:
            raise UnreadableListing(url, error.words) from error
        if answer.status != 200:
            raise UnreadableListing(url, f"answered {answer.status}")
        body = answer.body or b""
        if not body.strip():
            raise UnreadableListing(url, "answered nothing where JSON was expected")
        # Each value but the first of a list or object follows a comma, whatever the encoding.
        if sum(map(body.count, (b"[", b"{", b","))) > MOST_VALUES:
            raise UnreadableListing(url, f"answered with JSON of more than {MOST_VALUES:,} values")
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            if body.lstrip()[:1] == b"<":
                raise UnreadableListing(
                    url, "answered with a page for people, not with JSON"
                ) from error
            raise UnreadableListing(
                url, f"answered with JSON that cannot be read: {error}"
            ) from error


@dataclass(frozen=True, slots=True)
class Terms:
    """How much of a registry is read.

    :ivar max_records: how many datasets, and how many organisations, at most
    """

    max_records: int = 1_000_000
