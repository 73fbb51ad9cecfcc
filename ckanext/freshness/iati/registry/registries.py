"""The interface of registries, and the requests to them.

A registry is a class that reads two listings. ``KINDS`` in :mod:`.source_type` has them by name: a new kind is
a class and a row there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ...harvesting.messages import HarvestMessage, MessageCode, about, no_answer
from ...harvesting.sources import SourceHosts
from ...web.errors import FetchError
from ...web.exchange import Request
from ...web.urls import display_url, parse_url
from .records import RegistryEntry

if TYPE_CHECKING:
    from ...web.client import Client

MOST_VALUES = 2_000_000
"""Values in one answer. 50 MB of empty lists would take more than 1 GB when parsed; this many values take at
most half of that. A dataset has about ten values in an index file, about 200 in CKAN's API."""

EntrySink = Callable[[RegistryEntry], None]
"""Gets each entry as it is read; the same entry may come more than once."""


class UnreadableListing(Exception):
    """A listing that was not read completely.

    :ivar message: one line for people, with the URL
    :ivar words: the same without the URL
    """

    def __init__(self, url: str, words: str) -> None:
        self.message = about(display_url(url), words)
        super().__init__(self.message)
        self.url = url
        self.words = words


def without_user(netloc: str) -> str:
    """Return host and port without user and password, for URLs that are published."""
    return netloc.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class RegistryLimits:
    """Limits of a crawl.

    :ivar max_records: most datasets, and most organisations
    """

    max_records: int = 1_000_000


class Registry(Protocol):
    """A registry of reporting organisations and their datasets."""

    @property
    def organisations_url(self) -> str:
        """URL of the listing of organisations, for people."""

    @property
    def datasets_url(self) -> str:
        """URL of the listing of datasets, for people."""

    def organisation_url(self, registry_id: str) -> str:
        """Return the registry's URL of an organisation, always the same for an id."""

    def dataset_url(self, registry_id: str) -> str:
        """Return the registry's URL of a dataset, always the same for an id."""

    async def organisations(self, sink: EntrySink) -> None:
        """Read the listing of organisations.

        :raises UnreadableListing: it was not read completely; the entries read so far were handed on
        """

    async def datasets(self, sink: EntrySink) -> None:
        """Read the listing of datasets.

        :raises UnreadableListing: it was not read completely; the entries read so far were handed on
        """


class RegistryClient:
    """A client that requests JSON from one registry, and follows redirects to allowed hosts only."""

    def __init__(
        self,
        client: Client,
        source_url: str,
        *,
        allowed_hosts: Collection[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """
        :param allowed_hosts: redirect targets besides the registry's own host
        :param headers: may be secret, so only the registry's own origin gets them
        """
        self._client = client
        self._source_hosts = SourceHosts(source_url, allowed_hosts, headers)

    async def json(self, url: str) -> Any:
        """Return the JSON at a URL.

        :raises UnreadableListing: no answer, a status other than 200, or no usable JSON
        """
        try:
            target = parse_url(url)
            answer = await self._client.fetch(
                Request(
                    url,
                    accept="application/json",
                    headers=self._source_hosts.headers_for(target),
                    host_allowed=self._source_hosts.hosts.__contains__,
                )
            )
        except FetchError as error:
            raise UnreadableListing(url, no_answer(error)) from error
        if answer.status != 200:
            status = answer.status
            words = HarvestMessage(f"answered {status}", MessageCode.ANSWERED, status=status)
            raise UnreadableListing(url, words)
        body = answer.body or b""
        if not body.strip():
            words = HarvestMessage("answered with an empty body instead of JSON", MessageCode.EMPTY)
            raise UnreadableListing(url, words)
        # Each value but the first of a list or object follows a comma, in any encoding.
        if sum(map(body.count, (b"[", b"{", b","))) > MOST_VALUES:
            raise UnreadableListing(url, f"answered with JSON of more than {MOST_VALUES:,} values")
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            words = HarvestMessage(
                f"answered with JSON that cannot be read: {error}", MessageCode.MALFORMED
            )
            if body.lstrip()[:1] == b"<":
                words = HarvestMessage(
                    "answered with a page for people, not with JSON", MessageCode.NOT_METADATA
                )
            raise UnreadableListing(url, words) from error
