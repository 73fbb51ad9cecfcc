"""A server that does each of the things which a checker of other people's URLs must live through.

Every misdeed has a path of its own, below any host name that leads here; every other path is a healthy
file with validators. `Canary` is what must not be found: a listener inside, which counts its visitors.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from aiohttp import web

from ckanext.freshness.tests.servers.base import Answer, Exchange, LoopbackServer, Request
from ckanext.freshness.tests.servers.faults import (
    BigBody,
    Body,
    Drip,
    EndlessBody,
    Fault,
    GzipBomb,
    Hang,
    Raw,
    Redirect,
    Reset,
    Status,
    Truncate,
    Written,
    WrongLength,
    html,
    huge_headers,
    malformed_headers,
)

if TYPE_CHECKING:
    from typing_extensions import Self

#: Loopback, but neither what `localhost` is nor what a test's other servers use.
ADDRESS = "127.0.0.9"
HEALTHY = b"year,cases\n2024,17\n2025,11\n" * 20
ETAG = '"healthy"'
MODIFIED = "Tue, 01 Sep 2026 10:00:00 GMT"

_OK = b"HTTP/1.1 200 OK\r\n"
_ENOUGH = 1 << 20


@dataclasses.dataclass(slots=True)
class Endless(Fault):
    """`begin`, then `piece` for ever."""

    begin: bytes = b""
    piece: bytes = b""

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        transport = exchange.transport
        transport.write(self.begin)
        while not transport.is_closing():
            if transport.get_write_buffer_size() < _ENOUGH:
                transport.write(self.piece)
            # Not as fast as can be: others have their misdeeds to do.
            await asyncio.sleep(0.001)
        return Written()


@dataclasses.dataclass(slots=True)
class Headers(Fault):
    """A good file under these headers, which aiohttp sends as they are."""

    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        return Answer(200, HEALTHY, {"Content-Type": "text/csv", **self.headers}).response()


@dataclasses.dataclass(slots=True)
class Counting(Fault):
    """Another file each time it is asked for."""

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        body = b"visits\n%d\n" % self.seen
        return Answer(200, body, {"Content-Type": "text/csv"}).response()


@dataclasses.dataclass(slots=True)
class OnceOnly(Fault):
    """A good file the first time, and `then` from there on."""

    then: Fault = dataclasses.field(default_factory=Status)

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        if self.seen > 1:
            return await self.then.respond(exchange)
        return Answer(200, HEALTHY, {"Content-Type": "text/csv"}).response()


@dataclasses.dataclass(slots=True)
class AgainstConditions(Fault):
    """This status to whoever asks conditionally, a good file to the others."""

    code: int = 412

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        asked = exchange.request.headers
        if "If-None-Match" in asked or "If-Modified-Since" in asked:
            return Answer(self.code, b"no conditions, please").response()
        return Answer(200, HEALTHY, {"Content-Type": "text/csv", "ETag": ETAG}).response()


def _ok(headers: bytes, body: bytes) -> Raw:
    return Raw(_OK + headers + b"\r\n\r\n" + body)


#: What happens at which path. A misdeed counts its visits, so each server makes its own.
MISDEEDS: Mapping[str, Callable[[], Fault]] = {
    # Without an end, or nearly
    "/endless-body": EndlessBody,
    "/endless-headers": lambda: Endless(_OK, b"X-Again: and again\r\n" * 100),
    "/endless-header": lambda: Endless(_OK + b"X-Long: ", b"x" * 4000),
    "/endless-continue": lambda: Endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "/endless-redirects": lambda: Redirect(to=lambda asked: f"{asked.target}/on"),
    "/slow-body": lambda: Drip(interval=1.0),
    "/slow-headers": lambda: Drip(interval=1.0, headers=True),
    "/dripping-body": lambda: Drip(interval=0.02),
    "/dripping-headers": lambda: Drip(interval=0.02, headers=True),
    "/silent": Hang,
    "/silent-halfway": lambda: Hang(keep=0.5),
    # Too much
    "/big-body": lambda: BigBody(size=8 << 20),
    "/gzip-bomb": lambda: GzipBomb(size=64 << 20),
    "/huge-header": huge_headers,
    # Broken off
    "/nothing": Raw,
    "/reset": lambda: Reset(moment=Reset.Moment.BEFORE),
    "/reset-in-headers": lambda: Reset(moment=Reset.Moment.HEADERS),
    "/reset-in-body": lambda: Reset(moment=Reset.Moment.BODY),
    "/truncated": Truncate,
    "/length-too-long": lambda: WrongLength(by=10),
    "/length-too-short": lambda: WrongLength(by=-10),
    "/length-negative": lambda: _ok(b"Content-Length: -1", HEALTHY),
    "/length-no-number": lambda: _ok(b"Content-Length: many", HEALTHY),
    "/lengths-that-differ": lambda: _ok(b"Content-Length: 5\r\nContent-Length: 6", b"12345"),
    "/chunk-cut-off": lambda: _ok(b"Transfer-Encoding: chunked", b"5\r\nab"),
    "/chunk-malformed": lambda: _ok(b"Transfer-Encoding: chunked", b"xyz\r\nab"),
    "/gzip-that-is-none": lambda: Headers({"Content-Encoding": "gzip", "X-Note": "plain"}),
    # Not HTTP, or hardly
    "/http-0.9": lambda: Raw(HEALTHY),
    "/html-0.9": lambda: Raw(b"<html>hello</html>"),
    "/noise": lambda: Raw(b"\x00\x01\x02\xff" * 50),
    "/ssh": lambda: Raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "/http-9.9": lambda: Raw(b"HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    "/illegal-header": malformed_headers,
    "/illegal-header-value": lambda: _ok(b"X-Odd: a\x00b\r\nContent-Length: 2", b"ok"),
    "/header-not-utf-8": lambda: _ok(b'ETag: "\xff\xfe"\r\nContent-Length: 2', b"ok"),
    "/type-not-utf-8": lambda: _ok(b"Content-Type: text/\xff\xfe\r\nContent-Length: 2", b"ok"),
    "/header-of-30-kb": lambda: Headers({"ETag": f'"{"e" * 30_000}"'}),
    "/status-999": lambda: Raw(b"HTTP/1.1 999 Denied\r\nContent-Length: 2\r\n\r\nno"),
    "/status-words": lambda: Raw(b"HTTP/1.1 OK 200\r\nContent-Length: 2\r\n\r\nok"),
    "/status-negative": lambda: Raw(b"HTTP/1.1 -1 No\r\nContent-Length: 2\r\n\r\nok"),
    "/status-103": lambda: Raw(b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    # HTTP, but
    "/not-modified-unasked": lambda: Raw(b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    "/partial-unasked": lambda: Raw(
        b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/9\r\nContent-Length: 2\r\n\r\nok"
    ),
    "/no-content": lambda: Raw(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "/reset-content": lambda: Raw(b"HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n"),
    "/good-and-closed": lambda: _ok(
        b"Content-Type: text/csv\r\nContent-Length: %d" % len(HEALTHY), HEALTHY
    ),
    "/against-conditions": AgainstConditions,
    "/afraid-of-conditions": lambda: AgainstConditions(500),
    "/changed-then-gone": lambda: OnceOnly(Status(404)),
    "/changed-then-inside": lambda: OnceOnly(Redirect(to="http://10.0.0.1/")),
    "/changed-then-silent": lambda: OnceOnly(Hang()),
    "/changed-then-a-page": lambda: OnceOnly(html("text/csv")),
    "/api": Counting,
    "/page": lambda: html("text/csv"),
    "/broken-archive": lambda: Body(b"PK\x03\x04" + b"\x00\xff" * 999, "text/csv"),
    "/broken-gzip": lambda: Body(b"\x1f\x8b\x08" + b"\xff" * 999, "text/csv"),
    "/empty": lambda: Body(b"", "text/csv"),
    "/dates-invalid": lambda: Headers({"Last-Modified": "yesterday, I think", "ETag": "no quotes"}),
    "/dates-overflowing": lambda: Headers(
        {"Last-Modified": "Fri, 99 Dec 99999 99:99:99 GMT", "Date": "Mon, 01 Jan 0000 00:00:00 GMT"}
    ),
    "/date-of-the-future": lambda: Headers({"Last-Modified": "Fri, 01 Jan 2100 00:00:00 GMT"}),
    "/secret-in-the-page": lambda: Status(500, b"password=geheim"),
    # Refusals
    **{
        f"/status-{code}": lambda code=code: Status(code)  # type: ignore[misc]
        for code in (400, 401, 403, 404, 407, 410, 429, 451, 500, 501, 503)
    },
    "/later": lambda: Status(503, headers={"Retry-After": "86400"}),
    "/much-later": lambda: Status(429, headers={"Retry-After": "9" * 400}),
    # Redirects
    "/loop": Redirect,
    "/loop-of-two": lambda: Redirect(to="/loop-of-two-back"),
    "/loop-of-two-back": lambda: Redirect(to="/loop-of-two"),
    "/redirect-nowhere": lambda: Status(302, b"", {}),
}

#: Where `/to/NAME` redirects to; `{port}` is the canary's.
REDIRECTS: Mapping[str, str] = {
    "file": "file:///etc/passwd",
    "ftp": "ftp://127.0.0.1/x",
    "data": "data:text/csv,a%2Cb",
    "gopher": "gopher://127.0.0.1:{port}/_QUIT",
    "loopback": "http://127.0.0.1:{port}/",
    "loopback-6": "http://[::1]:{port}/",
    "unspecified": "http://0.0.0.0:{port}/",
    "unspecified-6": "http://[::]:{port}/",
    "mapped-loopback": "http://[::ffff:127.0.0.1]:{port}/",
    "mapped-private": "http://[::ffff:10.0.0.1]:{port}/",
    "private": "http://10.0.0.1:{port}/",
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "nat64": "http://[64:ff9b::a00:1]:{port}/",
    "six-to-four": "http://[2002:7f00:1::]:{port}/",
    "cgnat": "http://100.64.0.1:{port}/",
    "decimal": "http://2130706433:{port}/",
    "octal": "http://0177.0.0.1:{port}/",
    "hexadecimal": "http://0x7f000001:{port}/",
    "short": "http://127.1:{port}/",
    "encoded": "http://%31%32%37.0.0.1:{port}/",
    "localhost": "http://localhost:{port}/",
    "userinfo": "http://example.org@127.0.0.1:{port}/",
    "without-scheme": "//127.0.0.1:{port}/",
    "backslash": "http://127.0.0.1:{port}\\@example.org/",
    "three-slashes": "http:///127.0.0.1:{port}/",
    "bad-host": "http://a..b/",
    "dead-name": "http://eve:geheim@gone.invalid/?token=geheim",
    "long": "/" + "x" * 20_000,
    "noise": "http://[:::{port}/",
}


class HostileServer(LoopbackServer):
    """Each path of `MISDEEDS` and each `/to/NAME` of `REDIRECTS`; what else is asked for is healthy.

    :param canary_port: where redirects to this machine's inside lead
    """

    def __init__(self, canary_port: int, *, port: int = 0, address: str = ADDRESS) -> None:
        super().__init__(port=port, address=address)
        self._canary_port = canary_port
        self.repent()

    def repent(self) -> None:
        """Every misdeed is as if it had not been asked for yet."""
        self.faults.clear()
        for path, misdeed in MISDEEDS.items():
            self.faults[path] = misdeed()
        endless = self.faults["/endless-redirects"]
        self.faults[lambda asked: asked.path.startswith("/endless-redirects/")] = endless
        for name, to in REDIRECTS.items():
            self.faults[f"/to/{name}"] = Redirect(to=to.replace("{port}", str(self._canary_port)))

    def answer(self, request: Request) -> Answer:
        """A small table; 304 to whom has it."""
        headers = {"Content-Type": "text/csv", "ETag": ETAG, "Last-Modified": MODIFIED}
        return Answer(200, HEALTHY, headers).unless_known(request)


class Canary:
    """A listener on 127.0.0.1 and, where there is IPv6, on ::1, that nobody may connect to.

    Nobody accepts: the kernel completes connections by itself and keeps them until they are counted.
    """

    def __init__(self) -> None:
        self._sockets = [socket.create_server(("127.0.0.1", 0), backlog=128)]
        self.port: int = self._sockets[0].getsockname()[1]
        # Without IPv6 there is no ::1 to connect to either.
        with contextlib.suppress(OSError):
            self._sockets.append(
                socket.create_server(("::1", self.port), family=socket.AF_INET6, backlog=128)
            )
        for listener in self._sockets:
            listener.setblocking(False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for listener in self._sockets:
            listener.close()

    def visitors(self) -> int:
        """How many connections were made since the last call."""
        count = 0
        for listener in self._sockets:
            with contextlib.suppress(BlockingIOError):
                while True:
                    listener.accept()[0].close()
                    count += 1
        return count
