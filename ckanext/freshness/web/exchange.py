"""Requests, answers and their limits, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol

from multidict import CIMultiDictProxy

from .address_guard import Guard

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a request, in seconds and bytes.

    :ivar connect: seconds until the connection is made, TLS included
    :ivar read: seconds without a single byte
    :ivar total: seconds of one attempt from its first to its last byte, redirects included. Time in our
        own queues and for name lookups does not count.
    :ivar max_bytes: the size of a body, as received and as decompressed
    :ivar max_header_bytes: the length of one header line
    :ivar redirects: the number of redirects in one attempt
    :ivar attempts: the number of attempts
    :ivar backoff: seconds between attempts; the last value is repeated
    :ivar jitter: the fraction by which a wait is made longer or shorter at random
    :ivar retry_after_max: seconds. If a host asks for a longer pause, the request fails.
    :raises ValueError: a limit would let no request succeed
    """

    connect: float = 10.0
    read: float = 30.0
    total: float = 120.0
    max_bytes: int = 50 * MIB
    max_header_bytes: int = 32 * 1024
    redirects: int = 5
    attempts: int = 3
    backoff: tuple[float, ...] = (5.0, 20.0)
    jitter: float = 0.25
    retry_after_max: float = 600.0

    def __post_init__(self) -> None:
        for name in ("connect", "read", "total", "max_bytes", "max_header_bytes", "attempts"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}")
        if min((self.redirects, self.jitter, self.retry_after_max, *self.backoff)) < 0:
            raise ValueError("redirects, jitter, backoff and retry_after_max cannot be negative")


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The settings of a client.

    :ivar user_agent: the ``User-Agent`` header: the site's name and an address for complaints
    :ivar proxy: the URL of the proxy for all requests; its user and password are never shown
    :ivar proxy_resolves: send requests for names that cannot be looked up here to the proxy, although the
        guard cannot judge their addresses
    :ivar ca_bundle: a file of certificate authorities that are trusted besides the system's
    :ivar insecure_hosts: hosts whose certificates are not verified; see :attr:`Answer.insecure`
    """

    user_agent: str
    limits: Limits = field(default_factory=Limits)
    guard: Guard = field(default_factory=Guard)
    proxy: str | None = field(default=None, repr=False)
    proxy_resolves: bool = False
    ca_bundle: Path | None = None
    insecure_hosts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Request:
    """A request.

    :ivar method: ``GET`` or ``HEAD``
    :ivar etag: the ETag of the content that we know; the server answers 304 if it has not changed
    :ivar last_modified: the ``Last-Modified`` header of the content that we know, as the server wrote it
    :ivar headers: more headers, which may be secret. They are sent to the origin of ``url`` (scheme, host
        and port) only, never to another host after a redirect.
    :ivar limits: limits in place of the client's
    :ivar host_allowed: decides whether a host (normalised name) may be requested; called at every hop
    """

    url: str
    method: str = "GET"
    accept: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    limits: Limits | None = None
    host_allowed: Callable[[str], bool] | None = None


@dataclass(slots=True)
class Answer:
    """An answer, of any HTTP status.

    :ivar url: the requested URL, normalised, without user and password
    :ivar final_url: the URL that answered, after redirects
    :ivar body: the body; at most :data:`ERROR_BYTES` of an error page. None if a sink took it or it was
        skipped.
    :ivar complete: whether the body was read to its end
    :ivar received: the size of the body in bytes, decompressed
    :ivar on_wire: the size of the body in bytes, as received
    :ivar seconds: the duration of the last attempt, without the time in our own queues
    :ivar waited: seconds of all attempts in our own queues
    :ivar insecure: whether a certificate was not verified because the site's settings say so
    """

    status: int
    url: str
    final_url: str
    headers: CIMultiDictProxy[str]
    body: bytes | None = None
    complete: bool = True
    received: int = 0
    on_wire: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    attempts: int = 1
    insecure: bool = False


ERROR_BYTES = 64 * 1024
"""The most bytes that are read of an error page: its status suffices."""


class Enough(Exception):
    """Raised by a sink that needs no more of a body."""


class Sink(Protocol):
    """A receiver of a body, piece by piece, so that a body need not fit into memory."""

    def write(self, data: bytes, /) -> object:
        """Take the next piece.

        :raises Enough: the sink needs no more. The answer is returned as not complete.
        """

    def restart(self) -> object:
        """Discard all pieces, because the body broke off. Another attempt may follow."""


class Body(Enum):
    """The treatment of a body that no sink takes."""

    COLLECT = "collect"
    SKIP = "skip"


Choose = Callable[[Answer], "Sink | Body"]
"""Decides what happens to a body when its headers have arrived; called in each attempt.

It is not called for redirects, nor for statuses that are retried.
"""
