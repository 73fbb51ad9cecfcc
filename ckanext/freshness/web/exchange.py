"""What is asked and what is answered: plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from multidict import CIMultiDictProxy

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """How long, how much and how often; seconds and bytes.

    :ivar connect: until a connection stands, TLS included
    :ivar read: without a single byte
    :ivar total: one attempt from its first to its last byte, redirects included. Waiting in our own
        queues and for names does not count.
    :ivar max_bytes: of a body, as received and as decompressed
    :ivar max_header_bytes: of one header line
    :ivar redirects: followed in one attempt
    :ivar attempts: in all
    :ivar backoff: between attempts; the last one is repeated
    :ivar jitter: part of a wait by which it is made longer or shorter at random
    :ivar retry_after_max: a host that asks for a longer pause is not asked again
    :raises ValueError: a limit that would never let anything pass
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


# Not frozen, as all that is made for each request: freezing costs a microsecond and more.
@dataclass(slots=True)
class Request:
    """What to ask for.

    :ivar method: ``GET`` or ``HEAD``
    :ivar etag: of what we hold; the server says 304 if that is still it
    :ivar last_modified: likewise, as the server wrote it
    :ivar headers: more headers. They may be secret: they go to the origin of ``url`` (scheme, host
        and port) only, never to where it redirects
    :ivar limits: instead of the client's
    :ivar host_allowed: whether a host (normalised name) may be visited; asked at every hop
    :ivar last: the last request to its host for now: the server is asked to close the connection
    """

    url: str
    method: str = "GET"
    accept: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    limits: Limits | None = None
    host_allowed: Callable[[str], bool] | None = None
    last: bool = False


@dataclass(frozen=True, slots=True)
class Hop:
    """A redirect that was followed."""

    url: str
    status: int


@dataclass(slots=True)
class Answer:
    """What came back: any HTTP status is an answer.

    :ivar url: what was asked for, normalised, without user and password
    :ivar final_url: what answered, after redirects
    :ivar body: None if it went into a sink or was skipped. Of an error page at most
        :data:`ERROR_BYTES`.
    :ivar complete: whether the body was read to its end
    :ivar received: bytes of the body, decompressed
    :ivar on_wire: bytes of the body as they came over the wire
    :ivar seconds: the last attempt, without waiting in our own queues
    :ivar waited: seconds in our own queues, all attempts
    :ivar insecure: whether a certificate on the way was not verified, by the site's settings
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
    hops: tuple[Hop, ...] = ()
    insecure: bool = False


ERROR_BYTES = 64 * 1024
"""How much of the body of an error page is read: its status has said what there is to say."""


class Enough(Exception):
    """What a sink raises who has seen all that it wants of a body: the rest is left where it is."""


class Sink(Protocol):
    """Takes a body piece by piece, so that no body need fit into memory."""

    def write(self, data: bytes, /) -> object:
        """The next piece.

        :raises Enough: no more are wanted. The answer is then given, and not complete.
        """

    def restart(self) -> object:
        """Forget what was written: the body broke off. Another attempt may follow, or not."""


class Body(Enum):
    """What may be done with a body other than writing it into a sink."""

    COLLECT = "collect"
    SKIP = "skip"


Choose = Callable[[Answer], "Sink | Body"]
"""Decides what happens to a body when its headers are there; asked anew in each attempt.

It is not asked for redirects, nor for statuses after which there will be another attempt.
"""
