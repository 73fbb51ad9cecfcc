"""Connections, and one exchange of request and answer over one of them.

aiohttp makes the connections (names, addresses, TLS, tunnels through a proxy) and parses what comes.
Its ClientSession is left out: what that does for each request beside (cookies, redirects, logins,
tracing, contexts of its timers) is more than half of the CPU time of a request, and nothing of it is
wanted here. So the request is written here, its time is limited here, and a connection that can be
used again is kept here.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from collections import deque
from time import monotonic
from typing import Any

import aiohttp
from aiohttp import hdrs, http_exceptions
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.streams import EMPTY_PAYLOAD
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from .urls import Target

NEEDS_CLEANUP = sys.version_info < (3, 12, 8) or (3, 13) <= sys.version_info < (3, 13, 1)
"""Sockets that TLS leaves half closed are cleaned up by Python itself since 3.12.8 and 3.13.1, and
aiohttp warns when it is asked to do so there."""

KEPT = 15.0
"""Seconds for which a connection is kept for another request."""

_NO_HEADERS: CIMultiDictProxy[str] = CIMultiDictProxy(CIMultiDict())


_Key = tuple[str, str, int, bool]
"""Scheme, host, port, and whether its certificate is verified: whom a connection leads to."""


class _Protocol(ResponseHandler):
    """Tells whoever reads a body what aiohttp tells of its connection alone: else a body that is broken
    would be waited for until the time is over, and one whose end is the connection's would be whole
    when that is reset."""

    def set_exception(self, exc: Any, *cause: Any) -> None:
        super().set_exception(exc, *cause)
        # What comes along with the end of a body, and is no HTTP, belongs to it: its length was a lie.
        self._break_body(exc, ended=isinstance(exc, http_exceptions.HttpProcessingError))

    def connection_lost(self, exc: BaseException | None) -> None:
        if exc is not None:
            self._break_body(aiohttp.ClientPayloadError("the connection was reset"))
        super().connection_lost(exc)

    def _break_body(self, error: Any, *, ended: bool = False) -> None:
        """Tell whoever reads the body.

        :param ended: even if all of it came that was announced
        """
        body = self._payload
        if body is not None and (ended or not body.is_eof()) and body.exception() is None:
            body.set_exception(error)


class _Line:
    """A connection that stands, and the time of what is on its way over it.

    :ivar through: the headers that the proxy in front of it wants of each request
    :ivar since: when its last exchange ended
    """

    __slots__ = (
        *("_due", "_exchange", "_loop", "_timer"),
        *("connection", "protocol", "since", "through", "transport"),
    )

    def __init__(
        self, connection: Connection, through: str, loop: asyncio.AbstractEventLoop
    ) -> None:
        protocol = connection.protocol
        assert protocol is not None and protocol.transport is not None
        self.connection = connection
        self.protocol = protocol
        self.transport = protocol.transport
        self.through = through
        self.since = 0.0
        self._loop = loop
        self._exchange: Exchange | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    @property
    def usable(self) -> bool:
        """Whether another request may go over it."""
        # A server that speaks without having been asked would answer the next request with that.
        return self.protocol.is_connected() and not self.protocol.should_close

    def carry(self, exchange: Exchange) -> None:
        """From now on it is that exchange whose time is limited."""
        self._exchange = exchange
        # A timer outlives the exchange that it was made for: setting and cancelling one for each costs
        # more than looking at it when it is due.
        if self._timer is None or exchange.ends < self._due:
            self._set_timer(exchange.ends)

    def rest(self) -> None:
        """Nothing is on its way."""
        self._exchange = None

    def close(self) -> None:
        """Nothing will be any more."""
        self._exchange = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.connection.close()

    def _set_timer(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._loop.call_at(due, self._look)

    def _look(self) -> None:
        self._timer = None
        exchange = self._exchange
        if exchange is None:
            return
        if exchange.ends > self._due:
            self._set_timer(exchange.ends)
        else:
            exchange.expire()


class Exchange:
    """One request and its answer: status and headers are there, the body is to be read.

    :meth:`end` it, whatever happens.

    :ivar ends: when the time for all of it is over, by the loop's clock
    :ivar content: the body, as it comes over the wire
    """

    __slots__ = ("_keep", "_key", "_line", "_of", "content", "ends", "headers", "status")

    def __init__(self, of: Connections, key: _Key, line: _Line, *, keep: bool, ends: float) -> None:
        self._of = of
        self._key = key
        self._keep = keep
        self._line: _Line | None = line
        self.ends = ends
        self.status = 0
        self.headers = _NO_HEADERS
        self.content: aiohttp.StreamReader = EMPTY_PAYLOAD
        line.carry(self)

    async def begin(self, head: bytes) -> None:
        """Ask, and wait until the answer's headers are there.

        :raises Exception: one of :data:`.faults.NETWORK_FAULTS`
        """
        assert self._line is not None
        protocol = self._line.protocol
        self._line.transport.write(head)
        while True:
            protocol.start_timeout()
            message, content = await protocol.read()
            # 103 and its like come before the answer; after 101 nothing in HTTP does.
            if not 100 <= message.code <= 199 or message.code == 101:
                break
        self.status = message.code
        self.headers = message.headers
        self.content = content

    def end(self) -> None:
        """Keep the connection if all of the answer has come, and it can be used again."""
        line, self._line = self._line, None
        if line is None:
            return
        # Over a connection on which an answer is still to come nobody else may ask.
        if self._keep and self.status and self.content.is_eof() and line.usable:
            line.rest()
            self._of.keep(self._key, line)
        else:
            line.close()

    def expire(self) -> None:
        """The time for all of it is over."""
        if self._line is not None:
            error = asyncio.TimeoutError()
            self._line.protocol.set_exception(error)
            self.content.set_exception(error)


class Connections:
    """Connections of one client.

    :param connector: makes them
    :param proxy: through which all lead
    """

    def __init__(self, connector: aiohttp.TCPConnector, proxy: URL | None) -> None:
        self._connector = connector
        factory: Any = functools.partial(_Protocol, loop=asyncio.get_running_loop())
        connector._factory = factory
        self._proxy = proxy
        self._loop = asyncio.get_running_loop()
        self._idle: dict[_Key, deque[_Line]] = {}
        self._sweep: asyncio.TimerHandle | None = None

    async def ask(
        self,
        method: str,
        target: Target,
        headers: str,
        *,
        keep: bool,
        verify: bool,
        connect: float,
        read: float,
        total: float,
        max_header_bytes: int,
    ) -> Exchange:
        """One request, and the answer's headers.

        A connection that breaks before anything was answered is replaced once by a new one (RFC 9112,
        section 9.3.1: kept ones end like that).

        :param headers: all lines, each of which can be sent
        :param keep: whether the connection may be kept afterwards
        :param connect: seconds until a connection stands
        :param read: seconds without a byte
        :param total: seconds until the last byte is read
        :raises Exception: one of :data:`.faults.NETWORK_FAULTS`
        """
        ends = self._loop.time() + total
        key = (target.scheme, target.host, target.port, verify)
        through_proxy = self._proxy is not None and target.scheme == "http"
        path = target.url if through_proxy else target.path
        head = f"{method} {path} HTTP/1.1\r\n{headers}"
        is_second = False
        while True:
            line = None if is_second else self._kept(key)
            was_kept = line is not None
            if line is None:
                line = await self._open(method, target, verify, connect, ends)
            line.protocol.set_response_params(
                skip_payload=method == "HEAD",
                read_until_eof=True,
                auto_decompress=False,
                read_timeout=read,
                max_line_size=max_header_bytes,
                max_field_size=max_header_bytes,
            )
            exchange = Exchange(self, key, line, keep=keep, ends=ends)
            try:
                await exchange.begin(f"{head}{line.through}\r\n".encode())
            except (
                aiohttp.ClientOSError,
                aiohttp.ServerDisconnectedError,
                http_exceptions.HttpProcessingError,
            ) as error:
                exchange.end()
                # What came over a kept connection may be left from the answer before.
                late = was_kept or not isinstance(error, http_exceptions.HttpProcessingError)
                if is_second or not late:
                    raise
                is_second = True
            except BaseException:
                exchange.end()
                raise
            else:
                return exchange

    async def close(self) -> None:
        """Close all that are kept, and those that are not."""
        if self._sweep is not None:
            self._sweep.cancel()
        for lines in self._idle.values():
            for line in lines:
                line.close()
        self._idle.clear()
        await self._connector.close()

    async def _open(
        self, method: str, target: Target, verify: bool, connect: float, ends: float
    ) -> _Line:
        request = aiohttp.ClientRequest(
            method,
            URL(target.url, encoded=True),
            loop=self._loop,
            proxy=self._proxy,
            ssl=verify,
        )
        left = ends - self._loop.time()
        if left <= 0:
            raise asyncio.TimeoutError
        # "connect" and not "sock_connect", which would begin anew for each address of a name.
        timeout = aiohttp.ClientTimeout(connect=min(connect, left))
        try:
            connection = await self._connector.connect(request, traces=[], timeout=timeout)
        except asyncio.TimeoutError as error:
            if left <= connect:
                raise
            raise aiohttp.ConnectionTimeoutError from error
        login = request.headers.get(hdrs.PROXY_AUTHORIZATION)
        through = f"{hdrs.PROXY_AUTHORIZATION}: {login}\r\n" if login else ""
        return _Line(connection, through, self._loop)

    def _kept(self, key: _Key) -> _Line | None:
        """A connection to be used again."""
        lines = self._idle.get(key)
        while lines:
            line = lines.pop()
            if line.usable and monotonic() - line.since <= KEPT:
                return line
            line.close()
        return None

    def keep(self, key: _Key, line: _Line) -> None:
        """Take a connection back."""
        line.since = monotonic()
        lines = self._idle.get(key)
        if lines is None:
            lines = self._idle[key] = deque()
        lines.append(line)
        if self._sweep is None:
            self._sweep = self._loop.call_later(KEPT, self._let_go)

    def _let_go(self) -> None:
        """Close what nobody has wanted for long."""
        oldest = monotonic() - KEPT
        for key, lines in list(self._idle.items()):
            while lines and (lines[0].since <= oldest or not lines[0].usable):
                lines.popleft().close()
            if not lines:
                del self._idle[key]
        self._sweep = self._loop.call_later(KEPT, self._let_go) if self._idle else None
