"""The meaning of aiohttp's exceptions: a table of their reasons and messages."""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp
from aiohttp import http_exceptions

from .address_guard import InsideAddress
from .dns import NameFault
from .errors import FailureReason
from .exchange import Limits

_TIMEOUTS = frozenset({FailureReason.READ_TIMEOUT, FailureReason.TOTAL_TIMEOUT})


class Fault(Exception):
    """A failure inside the client, which callers get as a FetchError.

    :ivar answered: whether status and headers had arrived
    """

    def __init__(self, reason: FailureReason, words: str, retry_after: float | None = None) -> None:
        super().__init__(reason, words)
        self.reason = reason
        self.words = words
        self.retry_after = retry_after
        self.answered = False

    @property
    def silence(self) -> FailureReason | None:
        """Return the reason if the host gave no answer, else None. An answer that does not end in time
        does not count as an answer."""
        return None if self.answered and self.reason not in _TIMEOUTS else self.reason


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
