"""The ways in which a server misbehaves, one class each.

A fault is put into a server's table under a request target (`/dataset/1?x=y`), a path
(`/dataset/1`, whatever the query) or a predicate of the request, and taken out again, at any time,
from any thread:

    server.faults["/catalog/1"] = Status(503, headers={"Retry-After": "1"}, times=2)
    server.faults[lambda request: request.method == "HEAD"] = Status(405)
    del server.faults["/catalog/1"]

A fault counts its own requests, so one object under two keys counts both together.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import http
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from typing import ClassVar

from aiohttp import web

from ckanext.freshness.tests.servers.base import Answer, Exchange, Request

#: What a fault is set for: a target or path as on the wire, or a predicate of the request.
FaultKey = str | Callable[[Request], bool]

HTML_PAGE = (
    b"<!DOCTYPE html><html><head><title>Sorry</title></head>"
    b"<body><h1>We are down for maintenance &amp; back soon</h1></body></html>\n"
)


@dataclasses.dataclass(slots=True, kw_only=True)
class Fault:
    """A way to misbehave. It strikes `times` requests (None: all) after `after` healthy ones."""

    is_honest: ClassVar[bool] = False
    """The answer is the healthy one all the same."""
    times: int | None = None
    after: int = 0
    seen: int = dataclasses.field(default=0, init=False)

    def strikes(self) -> bool:
        """Count a request that matches; whether it is one of those to be answered wrongly."""
        self.seen += 1
        return self.seen > self.after and (
            self.times is None or self.seen <= self.after + self.times
        )

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        """Answer wrongly."""
        raise NotImplementedError


# Past aiohttp, byte by byte


class Written(web.StreamResponse):
    """Stands for an answer that is on the wire already, so that aiohttp adds nothing to it."""

    def __init__(self) -> None:
        super().__init__()
        self.force_close()

    async def prepare(self, request: web.BaseRequest) -> None:
        """Nothing is left to prepare."""

    async def write_eof(self, data: bytes = b"") -> None:
        """Nothing is left to write."""


def written(exchange: Exchange, *parts: bytes) -> Written:
    """Write these bytes to the connection, then end it in good order."""
    exchange.transport.write(b"".join(parts))
    exchange.transport.close()
    return Written()


def parts(exchange: Exchange, answer: Answer | None = None) -> tuple[bytes, bytes]:
    """Head and body of the healthy (or this) answer; no body where the request is HEAD."""
    answer = answer or exchange.healthy()
    body = b"" if exchange.request.method == "HEAD" else answer.body
    return head(answer.status, answer.headers, len(answer.body)), body


def head(status: int, headers: Mapping[str, str], length: int) -> bytes:
    """Status line, headers, Content-Length, and the empty line after them."""
    lines = [
        f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}",
        *(f"{key}: {value}" for key, value in headers.items()),
        f"Content-Length: {length}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def label(answer: Answer) -> str:
    """The Content-Type of an answer; text/turtle if it has none."""
    return next(
        (value for key, value in answer.headers.items() if key.lower() == "content-type"),
        "text/turtle",
    )


# Well-formed HTTP with the wrong content


@dataclasses.dataclass(slots=True)
class Status(Fault):
    """Another status, with a short text, an own body and headers such as Retry-After."""

    code: int = 500
    body: bytes | None = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        body = http.HTTPStatus(self.code).phrase.encode() if self.body is None else self.body
        return Answer(self.code, body, {"Content-Type": "text/plain", **self.headers}).response()


@dataclasses.dataclass(slots=True)
class Body(Fault):
    """200 with these bytes, labelled as the healthy answer unless `content_type` says more."""

    body: bytes = b""
    content_type: str | None = None

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        content_type = self.content_type or label(exchange.healthy())
        return Answer(200, self.body, {"Content-Type": content_type}).response()


def empty() -> Body:
    """200 and not a byte, labelled like the healthy answer."""
    return Body(b"")


def html(content_type: str = "text/html; charset=utf-8") -> Body:
    """A page for people with status 200, labelled truly or, say, as text/turtle."""
    return Body(HTML_PAGE, content_type)


@dataclasses.dataclass(slots=True)
class Cut(Fault):
    """Only the first part of the body, with a Content-Length that is right for that part."""

    keep: float = 0.5

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        healthy = exchange.healthy()
        body = healthy.body[: int(len(healthy.body) * self.keep)]
        return dataclasses.replace(healthy, body=body).response()


@dataclasses.dataclass(slots=True)
class Redirect(Fault):
    """A redirect to `to` (URL or path, or made from the request); None: to itself, a loop."""

    to: str | Callable[[Request], str] | None = None
    code: int = 302

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        to = exchange.request.target if self.to is None else self.to
        location = to if isinstance(to, str) else to(exchange.request)
        return Answer(self.code, b"", {"Location": location}).response()


@dataclasses.dataclass(slots=True)
class Another(Fault):
    """The healthy answer to another target, say to an earlier page."""

    target: str = "/"

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        asked = dataclasses.replace(exchange.request, target=self.target)
        return exchange.server.healthy(asked).response()


@dataclasses.dataclass(slots=True)
class Meanwhile(Fault):
    """The healthy answer. Then `act` changes what the server has, before it looks at another request."""

    is_honest: ClassVar[bool] = True
    act: Callable[[], object] = object

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        response = exchange.healthy().response()
        self.act()
        return response


# Time


@dataclasses.dataclass(slots=True)
class Hang(Fault):
    """No answer until the client or the server ends; with `keep`, after that part of the body."""

    keep: float | None = None

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        if self.keep is not None:
            start, body = parts(exchange)
            exchange.transport.write(start + body[: int(len(body) * self.keep)])
        await asyncio.Event().wait()
        raise AssertionError("an event that nobody sets")


@dataclasses.dataclass(slots=True)
class Hold(Fault):
    """Requests wait until `release` is called, from any thread; then they are answered well."""

    _gate: threading.Event = dataclasses.field(default_factory=threading.Event, init=False)
    _waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = dataclasses.field(
        default_factory=list, init=False
    )

    def release(self) -> None:
        """Let go of all that wait and hold nobody any more."""
        self._gate.set()
        for loop, opened in self._waiting:
            loop.call_soon_threadsafe(opened.set)

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        opened = asyncio.Event()
        # Appended before the look at the gate: a release in between is then seen one way or the
        # other.
        self._waiting.append((asyncio.get_running_loop(), opened))
        if not self._gate.is_set():
            await opened.wait()
        return exchange.healthy().response()


@dataclasses.dataclass(slots=True)
class Drip(Fault):
    """The healthy answer, a byte every `interval` seconds; with `headers`, these drip too."""

    interval: float = 0.1
    headers: bool = False

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        start, body = parts(exchange)
        at_once, slowly = (b"", start + body) if self.headers else (start, body)
        exchange.transport.write(at_once)
        for byte in slowly:
            exchange.transport.write(bytes((byte,)))
            await asyncio.sleep(self.interval)
        return written(exchange)


# Size


@dataclasses.dataclass(slots=True)
class EndlessBody(Fault):
    """A body in chunks that never ends, as fast as the client takes it; by default valid Turtle.

    `sent` counts the bytes given away.
    """

    chunk: bytes = b"# and so on\n" * 5000
    sent: int = dataclasses.field(default=0, init=False)

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        response = web.StreamResponse(status=200, headers={"Content-Type": "text/turtle"})
        try:
            await response.prepare(exchange.received)
            while exchange.request.method != "HEAD":
                await response.write(self.chunk)
                self.sent += len(self.chunk)
                # A client that reads fast would otherwise keep everybody else's requests waiting.
                await asyncio.sleep(0)
        except ConnectionError:
            # The client has had enough, which is what this fault is for.
            response.force_close()
        return response


# Broken HTTP


@dataclasses.dataclass(slots=True)
class Reset(Fault):
    """A reset connection: before any byte, in the headers, or with `keep` of the body sent."""

    class Moment(enum.Enum):
        """How far the answer came before the reset."""

        BEFORE = enum.auto()
        HEADERS = enum.auto()
        BODY = enum.auto()

    moment: Moment = Moment.HEADERS
    keep: float = 0.5

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        start, body = parts(exchange)
        sent = {
            Reset.Moment.BEFORE: b"",
            Reset.Moment.HEADERS: start[: len(start) // 2],
            Reset.Moment.BODY: start + body[: int(len(body) * self.keep)],
        }
        exchange.transport.write(sent[self.moment])
        # With a linger time of zero the kernel sends RST in place of FIN.
        connection = exchange.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        exchange.transport.abort()
        return Written()


@dataclasses.dataclass(slots=True)
class Truncate(Fault):
    """The Content-Length of the whole body, a part of its bytes, then the end."""

    keep: float = 0.5

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        start, body = parts(exchange)
        return written(exchange, start, body[: int(len(body) * self.keep)])


@dataclasses.dataclass(slots=True)
class Raw(Fault):
    """These bytes in place of an HTTP answer, then the end; none at all by default."""

    data: bytes = b""

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        return written(exchange, self.data)


def malformed_headers() -> Raw:
    """Two lengths of one body: not even a browser reads it."""
    return Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 3\r\n\r\nbody")
