"""Connections, and single exchanges of request and response, by aiohttp.

This module closes four gaps of aiohttp. It sends a request over a kept connection on which the server has
already sent bytes. It accepts a body as complete although its connection was reset. It lets the reader of a
broken body wait until the time limit. It ignores bytes that follow a body at once.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

import aiohttp
from aiohttp import http_exceptions
from yarl import URL

from .address_guard import Guard
from .dns import GuardedResolver, Names
from .exchange import Limits
from .urls import Target

_NEEDS_CLEANUP = sys.version_info < (3, 12, 8) or (3, 13) <= sys.version_info < (3, 13, 1)
"""Since 3.12.8 and 3.13.1 Python cleans up half-closed TLS sockets, and aiohttp warns if it is told to do
so."""


class _Broken(Exception):
    """A connection that broke before the answer began; the cause is aiohttp's error."""


async def _without_retry(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending a request again, which would use another kept connection."""
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _Broken from error


_over_kept: ContextVar[bool] = ContextVar("over_kept")
"""Whether the request of this task was sent over a kept connection."""


class _Connector(aiohttp.TCPConnector):
    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self._used: WeakSet[Any] = WeakSet()

    async def connect(self, req: aiohttp.ClientRequest, *arguments: Any, **named: Any) -> Any:
        """Return a connection without unread bytes, which would be taken for the answer to the next
        request."""
        while True:
            connection = await super().connect(req, *arguments, **named)
            protocol = connection.protocol
            if protocol is None:
                return connection
            if not protocol.should_close:
                # Tracing would tell the same, at the price of a dozen calls for each request.
                _over_kept.set(protocol in self._used)
                self._used.add(protocol)
                if req.headers.get("Connection") == "close":
                    # Not every server that closes the connection as asked announces it in its answer.
                    protocol.force_close()
                return connection
            connection.close()


def _retrieve(closed: asyncio.Future[None]) -> None:
    """Retrieve a connection's exception, so that asyncio does not log it as never retrieved."""
    if not closed.cancelled():
        closed.exception()


class Exchange:
    """A response whose status and headers have arrived and whose body is still to be read.

    Always call :meth:`end`.

    :ivar content: the body as received
    """

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers = response.headers
        self.content = response.content
        # None if the whole body arrived together with the headers.
        connection = response.connection
        self._protocol = connection.protocol if connection is not None else None
        if self._protocol is not None and (closed := self._protocol.closed) is not None:
            closed.remove_done_callback(_retrieve)
            closed.add_done_callback(_retrieve)
            closed.add_done_callback(self._wake)

    @property
    def fault(self) -> BaseException | None:
        """The error that ended the body early; None if the body is complete."""
        error = self._protocol.exception() if self._protocol is not None else None
        if isinstance(error, http_exceptions.HttpProcessingError):
            return error
        has_length = "Content-Length" in self.headers or "Transfer-Encoding" in self.headers
        if isinstance(error, aiohttp.ClientOSError) and not has_length:
            return aiohttp.ClientPayloadError("the connection was reset")
        return None

    def end(self) -> None:
        """Close the connection if the body was not read to its end; otherwise aiohttp has kept it."""
        if self._protocol is not None and self._protocol.closed is not None:
            self._protocol.closed.remove_done_callback(self._wake)
        self._response.close()

    def _wake(self, _: asyncio.Future[None]) -> None:
        if not self.content.is_eof() and self.content.exception() is None:
            self.content.set_exception(self.fault or aiohttp.ClientPayloadError())


class Connections:
    """The connections of one client.

    :param headers: headers of every request that does not set them itself
    :param proxy: the proxy of all connections
    """

    def __init__(
        self,
        names: Names,
        guard: Guard,
        headers: Mapping[str, str],
        verify: Any,
        proxy: URL | None,
    ) -> None:
        self._sessions = [
            aiohttp.ClientSession(
                connector=_Connector(
                    ssl=verify,
                    resolver=GuardedResolver(names, guard),
                    use_dns_cache=False,
                    # Behind a proxy, all connections go to the proxy, which is an internal address.
                    socket_factory=None if proxy else guard.socket,
                    # Hosts limit the connections: waiting for one must not count as time of the request.
                    limit=0,
                    force_close=is_second,
                    enable_cleanup_closed=_NEEDS_CLEANUP,
                ),
                headers=headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                middlewares=(_without_retry,),
                proxy=proxy,
            )
            for is_second in (False, True)
        ]
        self._loop = asyncio.get_running_loop()

    async def ask(
        self,
        method: str,
        target: Target,
        headers: Mapping[str, str],
        limits: Limits,
        *,
        verify: bool,
        total: float,
    ) -> Exchange:
        """Send a request, and return the response with its headers.

        If a connection breaks before the answer begins, send the request again over a new connection (RFC
        9112, section 9.3.1: kept connections end like that).

        :param total: seconds until the last byte must have been read
        :raises Exception: one of :data:`.faults.NETWORK_FAULTS`
        """
        ends = self._loop.time() + total
        broken: BaseException | None = None
        for session in self._sessions:
            left = ends - self._loop.time()
            if left <= 0:
                raise asyncio.TimeoutError
            _over_kept.set(False)
            try:
                response = await session.request(
                    method,
                    URL(target.url, encoded=True),
                    headers=headers,
                    allow_redirects=False,
                    ssl=verify,
                    # "connect" and not "sock_connect", which starts again for each address of a name.
                    timeout=aiohttp.ClientTimeout(
                        total=left, connect=limits.connect, sock_read=limits.read
                    ),
                    max_line_size=limits.max_header_bytes,
                    max_field_size=limits.max_header_bytes,
                )
            except _Broken as error:
                broken = error.__cause__
            except aiohttp.ClientResponseError as error:
                # A kept connection may hold the rest of an earlier response.
                if not _over_kept.get():
                    raise
                broken = error
            else:
                return Exchange(response)
        assert broken is not None
        raise broken

    async def close(self) -> None:
        """Close all connections."""
        for session in self._sessions:
            await session.close()
