"""How far a source reaches: which hosts its crawl may visit, and who gets its headers."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping

from ..web.errors import FetchError
from ..web.urls import Target, normal_host, parse_url


class SourceHosts:
    """The hosts and the origin of one source. What is wrong with its URL is said when it is asked for.

    :ivar hosts: normalised; the source's own and those that it may visit besides
    """

    def __init__(
        self,
        source_url: str,
        allowed_hosts: Collection[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """
        :param allowed_hosts: that may be visited besides the source's own.
        :param headers: sent to the source's own origin (scheme, host and port) only: they may be
            secret, and a document may name any URL.
        """
        self.hosts: set[str] = set()
        self._headers = headers or {}
        self._origin: tuple[str, str, int] | None = None
        for host in allowed_hosts:
            with contextlib.suppress(FetchError):
                self.hosts.add(normal_host(host))
        with contextlib.suppress(FetchError):
            source = parse_url(source_url)
            self._origin = source.origin
            self.hosts.add(source.host)

    def headers_for(self, target: Target) -> Mapping[str, str]:
        """What is sent to a URL beside the usual; nothing beyond the source's own origin."""
        return self._headers if target.origin == self._origin else {}
