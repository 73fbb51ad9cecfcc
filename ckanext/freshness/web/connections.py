"""Connections, and single exchanges of request and response: all that aiohttp does."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from . import second_look
from .errors import FailureReason, Fault
from .exchange import Exchange, Hop, Limits
from .faults import (
    MAX_HEADER_BYTES,
    NETWORK_FAULTS,
    PROXY_AWAY,
    TRUNCATED,
    fault_of,
)
from .resolver import Resolver

_DRAINED = 16 * 1024
"""Unwanted bodies up to this size are read to the end, so that the connection can be kept."""
_DRAIN_SECONDS = 0.2


class _Watch(asyncio.Protocol):
    """Watches the end of a connection, and passes everything on to aiohttp's protocol.

    aiohttp accepts a body without a length as complete although its connection was reset, and lets the reader
    of a malformed body wait until the time limit.

    :ivar response: the response that is being read
    :ivar error: by which the connection was lost
    """

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol
        self.response: aiohttp.ClientResponse | None = None
        self.error: Exception | None = None

    def data_received(self, data: bytes) -> None:
        self._protocol.data_received(data)

    def eof_received(self) -> bool | None:
        is_kept: bool | None = self._protocol.eof_received()
        return is_kept

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self.error = exc
        self._protocol.connection_lost(exc)
        if self.response is not None and not self.response.content.is_eof():
            # Wakes the reader.
            self.response.close()


def _watch(response: aiohttp.ClientResponse) -> _Watch | None:
    """Return the watch over the connection of a response; None if its whole body has arrived."""
    transport = response.connection and response.connection.transport
    if transport is None:
        return None
    watch = transport.get_protocol()
    if not isinstance(watch, _Watch):
        watch = _Watch(watch)
        transport.set_protocol(watch)
    watch.response = response
    return watch


class _HttpExchange:
    """See :class:`.exchange.Exchange`."""

    def __init__(self, response: aiohttp.ClientResponse, limits: Limits) -> None:
        self._response = response
        self._limits = limits
        self._watch = _watch(response)
        self.status = response.status
        self.headers = response.headers

    @property
    def is_whole(self) -> bool:
        return self._response.content.is_eof()

    @property
    def received(self) -> int:
        content = self._response.content
        # aiohttp's reader of empty bodies has no total_raw_bytes.
        return content.total_raw_bytes if content.total_bytes else 0

    async def read(self) -> bytes:
        try:
            chunk = await self._response.content.readany()
        except NETWORK_FAULTS as error:
            raise fault_of(error, self._limits, answered=True) from error
        if not chunk and self._watch is not None and self._watch.error is not None:
            headers = self.headers
            if "Content-Length" not in headers and "Transfer-Encoding" not in headers:
                raise Fault(FailureReason.TRUNCATED, TRUNCATED)
        return chunk

    async def skip(self) -> None:
        length = self.headers.get("Content-Length", "")
        is_small = length.isascii() and length.isdigit() and int(length[:9]) <= _DRAINED
        if is_small and not self.is_whole:
            with contextlib.suppress(*NETWORK_FAULTS):
                await asyncio.wait_for(self._response.content.wait_eof(), _DRAIN_SECONDS)

    def end(self) -> None:
        if self._watch is not None and self._watch.response is self._response:
            self._watch.response = None
        self._response.close()


_NEEDS_CLEANUP = sys.version_info < (3, 12, 8) or (3, 13) <= sys.version_info < (3, 13, 1)
"""Since 3.12.8 and 3.13.1 Python cleans up half-closed TLS sockets, and aiohttp warns if it is told to do
so."""


class _Connector(aiohttp.TCPConnector):
    async def connect(self, req: aiohttp.ClientRequest, *arguments: Any, **named: Any) -> Any:
        """Return a connection over which nothing came unasked: it would be taken for the next answer."""
        while True:
            connection = await super().connect(req, *arguments, **named)
            if connection.protocol is None or not connection.protocol.should_close:
                return connection
            connection.close()


class Connections:
    """The connections of one client.

    If a kept connection turns out to be closed, aiohttp sends the request once more (RFC 9112, section 9.3.1).

    :param headers: headers of every request that does not set them itself
    :param proxy: the proxy of all connections
    :param ca_bundle: a file of certificate authorities that are trusted besides the system's
    """

    def __init__(
        self,
        resolver: Resolver,
        headers: Mapping[str, str],
        proxy: URL | None,
        ca_bundle: Path | None,
    ) -> None:
        self._resolver = resolver
        self._headers = headers
        self._proxy = proxy
        self._ca_bundle = ca_bundle
        # aiohttp bounds no head as a whole. What is refused has a second look, but not behind a proxy.
        self._longest_field = MAX_HEADER_BYTES if proxy else MAX_HEADER_BYTES // 4
        self._most_fields = 128 if proxy else 64
        self._session = aiohttp.ClientSession(
            connector=_Connector(
                ssl=trusting(ca_bundle) if ca_bundle is not None else True,
                resolver=resolver,
                use_dns_cache=False,
                socket_factory=resolver.guard.socket,
                # Hosts limit the connections: waiting for one must not count as time of the request.
                limit=0,
                enable_cleanup_closed=_NEEDS_CLEANUP,
            ),
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            proxy=proxy,
        )

    async def ask(self, hop: Hop, *, verify: bool, tolerant: bool = False) -> Exchange:
        """Send a request, and return the response with its headers.

        :param tolerant: ask over a connection of its own, and read the response as browsers do; not behind a
            proxy, which reads answers itself
        :raises Fault: there is no response
        """
        try:
            if hop.total <= 0:
                raise asyncio.TimeoutError
            if tolerant:
                # As aiohttp merges them: names of headers have no case.
                headers = CIMultiDict(self._headers)
                headers.update(hop.headers)
                is_tls = hop.target.scheme == "https"
                return await second_look.ask(
                    replace(hop, headers=headers),
                    await self._resolver.of(hop.target),
                    self._resolver.guard,
                    _outdated_tls(self._ca_bundle, verify) if is_tls else None,
                )
            response = await self._head(hop, verify=verify)
        except NETWORK_FAULTS as error:
            if self._proxy is not None and await self._is_away(self._proxy, error, hop.limits):
                raise Fault(FailureReason.PROXY, PROXY_AWAY) from error
            raise fault_of(error, hop.limits) from error
        return _HttpExchange(response, hop.limits)

    async def _head(self, hop: Hop, *, verify: bool) -> aiohttp.ClientResponse:
        """Wait for status and headers, but not for ever.

        aiohttp reads empty lines and interim answers (1xx) without an end.

        :raises asyncio.TimeoutError: the time for them is over
        """
        task = asyncio.current_task()
        assert task is not None
        is_late = False

        def give_up() -> None:
            nonlocal is_late
            is_late = True
            task.cancel()

        # asyncio.timeout takes five times as long.
        timer = asyncio.get_running_loop().call_later(hop.limits.head, give_up)
        try:
            return await self._session.request(
                hop.method,
                URL(hop.target.url, encoded=True),
                headers=hop.headers,
                allow_redirects=False,
                ssl=verify,
                # "connect" and not "sock_connect", which starts again for each address of a name.
                timeout=aiohttp.ClientTimeout(
                    total=hop.total, connect=hop.limits.connect, sock_read=hop.limits.read
                ),
                max_line_size=MAX_HEADER_BYTES,
                max_field_size=self._longest_field,
                max_headers=self._most_fields,
            )
        except asyncio.CancelledError:
            # Somebody else may have cancelled the task at the same moment.
            if not is_late or (sys.version_info >= (3, 11) and task.uncancel()):
                raise
            raise asyncio.TimeoutError from None
        finally:
            timer.cancel()

    async def _is_away(self, proxy: URL, error: BaseException, limits: Limits) -> bool:
        """Decide whether it is the proxy that has no address or takes no connection, and not a server."""
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return True
        if not isinstance(error, aiohttp.ConnectionTimeoutError):
            return False
        try:
            connecting = asyncio.open_connection(proxy.host, proxy.port)
            _, writer = await asyncio.wait_for(connecting, limits.connect)
        except (OSError, asyncio.TimeoutError):
            return True
        writer.close()
        return False

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


def trusting(bundle: Path | None) -> ssl.SSLContext:
    """Return a context that trusts the authorities of a file besides the system's.

    :raises ValueError: the file cannot be read
    """
    context = ssl.create_default_context()
    try:
        if bundle is not None:
            context.load_verify_locations(cafile=bundle)
    except OSError as error:  # ssl.SSLError is one
        raise ValueError(
            f"the CA bundle {bundle} cannot be read ({error.strerror or error}): it must be a file"
            " of PEM certificates"
        ) from error
    return context


_LEGACY_RENEGOTIATION = getattr(ssl, "OP_LEGACY_SERVER_CONNECT", 0x4)
"""Python has a name for this option of OpenSSL since 3.12."""


@lru_cache(maxsize=8)
def _outdated_tls(bundle: Path | None, verify: bool) -> ssl.SSLContext:
    """Return a context that also speaks to servers whose TLS is outdated, as browsers do.

    They know no secure renegotiation (RFC 5746), or only ciphers and keys below OpenSSL's usual level of
    security. Certificates are verified as always.
    """
    context = trusting(bundle)
    context.set_ciphers("DEFAULT@SECLEVEL=1")
    context.options |= _LEGACY_RENEGOTIATION
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
