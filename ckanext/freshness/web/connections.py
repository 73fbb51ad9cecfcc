"""Connections, single exchanges of request and response, and what their errors mean: all that aiohttp does.

This module closes three gaps of aiohttp. It sends a request over a kept connection on which the server has
already sent bytes. It accepts a body without a length as complete although its connection was reset. It lets
the reader of a broken body wait until the time limit.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import http_exceptions
from yarl import URL

from .address_guard import Guard, InsideAddress
from .dns import GuardedResolver, NameFault, Names
from .errors import FailureReason, Fault
from .exchange import Limits
from .urls import Target

_NEEDS_CLEANUP = sys.version_info < (3, 12, 8) or (3, 13) <= sys.version_info < (3, 13, 1)
"""Since 3.12.8 and 3.13.1 Python cleans up half-closed TLS sockets, and aiohttp warns if it is told to do
so."""


class _Connector(aiohttp.TCPConnector):
    async def connect(self, req: aiohttp.ClientRequest, *arguments: Any, **named: Any) -> Any:
        """Return a connection without unread bytes, which would be taken for the answer to the next
        request."""
        while True:
            connection = await super().connect(req, *arguments, **named)
            protocol = connection.protocol
            if protocol is None or not protocol.should_close:
                if protocol is not None and req.headers.get("Connection") == "close":
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

    If a kept connection turns out to be closed, aiohttp sends the request once more (RFC 9112, section 9.3.1).

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
        self._session = aiohttp.ClientSession(
            connector=_Connector(
                ssl=verify,
                resolver=GuardedResolver(names, guard),
                use_dns_cache=False,
                # Behind a proxy, all connections go to the proxy, which is an internal address.
                socket_factory=None if proxy else guard.socket,
                # Hosts limit the connections: waiting for one must not count as time of the request.
                limit=0,
                enable_cleanup_closed=_NEEDS_CLEANUP,
            ),
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            proxy=proxy,
        )

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

        :param total: seconds until the last byte must have been read
        :raises Exception: one of :data:`NETWORK_FAULTS`
        """
        if total <= 0:
            raise asyncio.TimeoutError
        response = await self._session.request(
            method,
            URL(target.url, encoded=True),
            headers=headers,
            allow_redirects=False,
            ssl=verify,
            # "connect" and not "sock_connect", which starts again for each address of a name.
            timeout=aiohttp.ClientTimeout(
                total=total, connect=limits.connect, sock_read=limits.read
            ),
            max_line_size=limits.max_header_bytes,
            max_field_size=limits.max_header_bytes,
        )
        return Exchange(response)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


# What errors mean


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The state of an attempt when it failed."""

    limits: Limits
    answered: bool
    """Whether status and headers had arrived."""


NETWORK_FAULTS = (
    aiohttp.ClientError,
    http_exceptions.HttpProcessingError,
    asyncio.TimeoutError,
    OSError,
)
"""The exceptions that :func:`fault_of` explains. All others are bugs of ours and are not caught."""

_ERRNO: dict[int, tuple[FailureReason, str]] = {
    errno.ECONNREFUSED: (FailureReason.CONNECTION_REFUSED, "refused the connection"),
    errno.ECONNRESET: (FailureReason.CONNECTION_RESET, "broke the connection off"),
    errno.ECONNABORTED: (FailureReason.CONNECTION_RESET, "broke the connection off"),
    errno.EPIPE: (FailureReason.CONNECTION_RESET, "broke the connection off"),
    errno.ETIMEDOUT: (FailureReason.CONNECT_TIMEOUT, "did not accept a connection in time"),
    errno.ENETUNREACH: (
        FailureReason.UNREACHABLE,
        "cannot be reached: there is no way to its network",
    ),
    errno.EHOSTUNREACH: (
        FailureReason.UNREACHABLE,
        "cannot be reached: there is no way to its host",
    ),
    errno.EADDRNOTAVAIL: (
        FailureReason.UNREACHABLE,
        "cannot be reached from this machine's addresses",
    ),
    errno.EMFILE: (
        FailureReason.OUT_OF_SOCKETS,
        "was not requested: this process has too many open files",
    ),
    errno.ENFILE: (
        FailureReason.OUT_OF_SOCKETS,
        "was not requested: this machine has too many open files",
    ),
}

# The codes of OpenSSL's X509_verify_cert_error_string.
_CERTIFICATE: dict[int, tuple[FailureReason, str]] = {
    9: (FailureReason.TLS_EXPIRED, "has a TLS certificate that is not valid yet"),
    10: (FailureReason.TLS_EXPIRED, "has a TLS certificate that has expired"),
    18: (FailureReason.TLS_SELF_SIGNED, "has a self-signed TLS certificate"),
    62: (FailureReason.TLS_WRONG_NAME, "has a TLS certificate for another host name"),
    64: (FailureReason.TLS_WRONG_NAME, "has a TLS certificate for another address"),
}


def fault_of(error: BaseException, at: Circumstances) -> Fault:
    """Return the fault for an exception of :data:`NETWORK_FAULTS`."""
    for kind, explain in _EXPLANATIONS:
        if isinstance(error, kind):
            return explain(error, at)
    return Fault(FailureReason.MALFORMED, f"gave no usable answer: {_brief(error)}")


def _connect_timeout(_: BaseException, at: Circumstances) -> Fault:
    words = f"did not accept a connection within {at.limits.connect:g} s (connect timeout)"
    return Fault(FailureReason.CONNECT_TIMEOUT, words)


def _read_timeout(_: BaseException, at: Circumstances) -> Fault:
    did = "sent nothing more for" if at.answered else "did not answer within"
    return Fault(FailureReason.READ_TIMEOUT, f"{did} {at.limits.read:g} s (read timeout)")


def _total_timeout(error: BaseException, at: Circumstances) -> Fault:
    if getattr(error, "errno", None):
        # Since Python 3.11 asyncio's TimeoutError is also the system's ETIMEDOUT.
        return _os_error(error, at)
    words = f"was not finished within {at.limits.total:g} s (total timeout)"
    return Fault(FailureReason.TOTAL_TIMEOUT, words)


def _proxy(error: BaseException, _: Circumstances) -> Fault:
    status = getattr(error, "status", None)
    what = f"it answered {status}" if status else "it cannot be reached"
    return Fault(FailureReason.PROXY, f"could not be asked through the proxy: {what}")


def _certificate(error: BaseException, _: Circumstances) -> Fault:
    problem = getattr(error, "certificate_error", error)
    if isinstance(problem, ssl.SSLCertVerificationError):
        if problem.verify_code in _CERTIFICATE:
            return Fault(*_CERTIFICATE[problem.verify_code])
        why = problem.verify_message
    else:
        why = _brief(problem)
    return Fault(FailureReason.TLS_UNTRUSTED, f"has a TLS certificate that is not trusted: {why}")


def _tls(error: BaseException, _: Circumstances) -> Fault:
    problem = getattr(error, "os_error", error)
    why = getattr(problem, "reason", None) or _brief(problem)
    why = str(why).replace("_", " ").lower()
    return Fault(FailureReason.TLS_FAILED, f"could not be spoken to over TLS: {why}")


def _os_error(error: BaseException, _: Circumstances) -> Fault:
    cause = getattr(error, "os_error", error)
    if isinstance(cause, InsideAddress):
        words = (
            f"was not requested: {cause.strerror}, inside of a network, "
            "and not in ckanext.freshness.allowed_networks"
        )
        return Fault(FailureReason.INSIDE_ADDRESS, words)
    if isinstance(cause, NameFault):
        return Fault(cause.reason, cause.words)
    known = _ERRNO.get(getattr(cause, "errno", None) or 0)
    if known is not None:
        return Fault(*known)
    return Fault(FailureReason.CONNECTION_RESET, f"could not be connected to: {_brief(cause)}")


def _disconnected(_: BaseException, at: Circumstances) -> Fault:
    words = "broke the connection off" if at.answered else "closed the connection without an answer"
    return Fault(FailureReason.CONNECTION_RESET, words)


def _payload(error: BaseException, _: Circumstances) -> Fault:
    cause = error.__cause__
    if isinstance(cause, http_exceptions.ContentEncodingError):
        words = f"sent a body that cannot be decompressed: {_brief(cause)}"
        return Fault(FailureReason.MALFORMED, words)
    if isinstance(cause, http_exceptions.TransferEncodingError) and "Not enough" not in str(cause):
        return Fault(FailureReason.MALFORMED, f"sent a malformed body: {_brief(cause)}")
    return Fault(FailureReason.TRUNCATED, "ended before the body was complete")


def _malformed(error: BaseException, at: Circumstances) -> Fault:
    if _has_cause(error, http_exceptions.LineTooLong):
        words = f"sent headers longer than {at.limits.max_header_bytes} bytes"
    else:
        words = f"did not answer in HTTP: {_brief(error)}"
    return Fault(FailureReason.MALFORMED, words)


# The first match counts, so narrower classes come first.
_EXPLANATIONS: tuple[
    tuple[type[BaseException], Callable[[BaseException, Circumstances], Fault]], ...
] = (
    (aiohttp.ConnectionTimeoutError, _connect_timeout),
    (aiohttp.SocketTimeoutError, _read_timeout),
    (aiohttp.ClientProxyConnectionError, _proxy),
    (aiohttp.ClientHttpProxyError, _proxy),
    (aiohttp.ClientConnectorCertificateError, _certificate),
    (aiohttp.ClientConnectorSSLError, _tls),
    (ssl.SSLError, _tls),
    (aiohttp.ClientPayloadError, _payload),
    (aiohttp.ServerDisconnectedError, _disconnected),
    (http_exceptions.HttpProcessingError, _malformed),
    (aiohttp.ClientResponseError, _malformed),
    (asyncio.TimeoutError, _total_timeout),
    (OSError, _os_error),
)


def _has_cause(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None and not isinstance(error, kind):
        error = error.__cause__
    return error is not None


def _brief(error: BaseException) -> str:
    """Return the first line of an exception's message in ASCII, or its class name."""
    text = str(getattr(error, "message", "") or getattr(error, "strerror", "") or error)
    line = text.strip().partition("\n")[0][:120].rstrip(" :")
    return line.encode("ascii", "backslashreplace").decode() or type(error).__name__
