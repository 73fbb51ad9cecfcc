"""The client of a crawl: which hosts it may contact, and which of them receives the source's headers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import ckan.plugins.toolkit as tk

from .. import settings
from ..web.errors import FetchError
from ..web.urls import Target, normal_host, parse_url
from .source_config import OPTION, read_headers
from .source_type import Source

if TYPE_CHECKING:
    from ..web.client import Client
    from ..web.hosts import Hosts


class SourceHosts:
    """The hosts that a crawl of one source may contact, and the origin that receives its headers.

    A source URL that cannot be used is no error here: the first request reports it.

    :ivar hosts: normalised host names: the source's own and the allowed ones
    """

    def __init__(
        self,
        source_url: str,
        allowed_hosts: Collection[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """
        :param allowed_hosts: hosts that may be contacted besides the source's own.
        :param headers: sent only to the source's own origin (scheme, host and port), because they may be
            secret and a document may name any URL.
        """
        self.hosts: set[str] = set()
        self._headers = headers or {}
        self._origin: tuple[str, str, int] | None = None
        for host in allowed_hosts:
            with contextlib.suppress(ValueError):
                self.hosts.add(normal_host(host))
        with contextlib.suppress(FetchError):
            source = parse_url(source_url)
            self._origin = source.origin
            self.hosts.add(source.host)

    def sends_headers_to(self, url: str) -> bool:
        """Return whether requests for a URL carry the configured headers."""
        with contextlib.suppress(FetchError):
            return bool(self.headers_for(parse_url(url)))
        return False

    def headers_for(self, target: Target) -> Mapping[str, str]:
        """Return the configured headers for a URL: none outside the source's own origin."""
        return self._headers if target.origin == self._origin else {}


@dataclass(frozen=True, slots=True)
class SourceClient:
    """A client for one crawl of a source."""

    client: Client
    hosts: Hosts
    concurrency: int
    """How many requests may be under way at a time."""
    headers: Mapping[str, str]
    """For the source's own origin only; see :class:`SourceHosts`."""

    @property
    def requests(self) -> int:
        """The number of requests so far."""
        return sum(host.requests for host in self.hosts)


@contextlib.asynccontextmanager
async def source_client(
    source: Source, *, max_bytes: int | None = None
) -> AsyncIterator[SourceClient]:
    """Open a client by the configuration of a source and the options of the site.

    :param max_bytes: the longest answer, if it may be longer than the site's option says.
    :raises ConfigError: the value of a header cannot be read.
    """
    # Web workers import this module, too, and need no HTTP library.
    from ..web.client import Client
    from ..web.hosts import Hosts

    config = source.config
    policy = settings.harvest_policy(config)
    host = urlsplit(source.url).hostname or ""
    headers = read_headers(config.headers, host, tk.config.get(OPTION))
    hosts = Hosts(policy)
    limits = settings.harvest_limits(config)
    limits = replace(limits, max_bytes=max(limits.max_bytes, max_bytes or 0))
    async with Client(settings.web(limits), hosts) as client:
        yield SourceClient(client, hosts, policy.connections, headers)


Item = TypeVar("Item")


async def for_each(
    limit: int, work: Callable[[Item], Awaitable[None]], items: Iterable[Item]
) -> None:
    """Call a function with each item, a limited number of calls at a time, and wait for all.

    :raises Exception: the first exception of a call; the other calls are cancelled.
    """
    waiting = iter(items)

    async def take() -> None:
        for item in waiting:
            await work(item)

    tasks = [asyncio.create_task(take()) for _ in range(limit)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
