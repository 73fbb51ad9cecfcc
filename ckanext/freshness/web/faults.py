"""What the errors of names, connections and answers mean."""

from __future__ import annotations

import asyncio
import errno
import ssl

import aiohttp
from aiohttp import http_exceptions

from .address_guard import InsideAddress
from .errors import FailureReason, Fault
from .exchange import Limits

MAX_HEADER_BYTES = 32 * 1024
"""The longest line of an answer's headers."""


class NameFault(OSError):
    """A name without an address. An OSError, because aiohttp wraps no other exceptions of a resolver."""

    def __init__(self, reason: FailureReason, host: str, words: str) -> None:
        super().__init__(None, f"{host}: {words}")
        self.reason = reason
        self.words = words


NETWORK_FAULTS = (
    aiohttp.ClientError,
    http_exceptions.HttpProcessingError,
    asyncio.TimeoutError,
    OSError,
)
"""The exceptions that :func:`fault_of` explains. All others are bugs of ours and are not caught."""

BROKE_OFF = "broke the connection off"
NO_ANSWER = "closed the connection without an answer"
TRUNCATED = "ended before the body was complete"
NO_NAMES = "was not requested: this machine finds no name, and must judge addresses before the proxy is asked"
PROXY_AWAY = "could not be asked through the proxy: it cannot be reached"

_ERRNO: dict[int | None, tuple[FailureReason, str]] = {
    errno.ECONNREFUSED: (FailureReason.CONNECTION_REFUSED, "refused the connection"),
    errno.ECONNRESET: (FailureReason.CONNECTION_RESET, BROKE_OFF),
    errno.ECONNABORTED: (FailureReason.CONNECTION_RESET, BROKE_OFF),
    errno.EPIPE: (FailureReason.CONNECTION_RESET, BROKE_OFF),
    errno.ETIMEDOUT: (FailureReason.CONNECT_TIMEOUT, "did not accept a connection in time"),
    errno.ENETUNREACH: (
        FailureReason.NO_ROUTE,
        "cannot be reached: there is no way to its network",
    ),
    errno.EHOSTUNREACH: (
        FailureReason.UNREACHABLE,
        "cannot be reached: there is no way to its host",
    ),
    errno.EADDRNOTAVAIL: (
        FailureReason.NO_ROUTE,
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

_UNKNOWN_ISSUER = (
    "has a TLS certificate of an unknown issuer: perhaps an intermediate certificate is missing"
)
_WEAK_KEY = "has a TLS certificate with a weak key"
# The codes of OpenSSL's X509_verify_cert_error_string.
_CERTIFICATE: dict[int, tuple[FailureReason, str]] = {
    2: (FailureReason.TLS_UNTRUSTED, _UNKNOWN_ISSUER),
    9: (FailureReason.TLS_EXPIRED, "has a TLS certificate that is not valid yet"),
    10: (FailureReason.TLS_EXPIRED, "has a TLS certificate that has expired"),
    18: (FailureReason.TLS_SELF_SIGNED, "has a self-signed TLS certificate"),
    19: (
        FailureReason.TLS_UNTRUSTED,
        "has a TLS certificate of an authority that is not known",
    ),
    20: (FailureReason.TLS_UNTRUSTED, _UNKNOWN_ISSUER),
    21: (FailureReason.TLS_UNTRUSTED, _UNKNOWN_ISSUER),
    62: (FailureReason.TLS_WRONG_NAME, "has a TLS certificate for another host name"),
    64: (FailureReason.TLS_WRONG_NAME, "has a TLS certificate for another address"),
    66: (FailureReason.TLS_WEAK, _WEAK_KEY),
    67: (FailureReason.TLS_WEAK, _WEAK_KEY),
    68: (FailureReason.TLS_WEAK, "has a TLS certificate with a weak signature, such as of SHA-1"),
}


def fault_of(error: BaseException, limits: Limits, *, answered: bool = False) -> Fault:
    """Return the fault for an exception of :data:`NETWORK_FAULTS`.

    :param answered: whether status and headers had arrived
    """
    reasons = FailureReason
    # Narrower classes come first.
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        words = f"did not accept a connection within {limits.connect:g} s (connect timeout)"
        return Fault(reasons.CONNECT_TIMEOUT, words)
    if isinstance(error, aiohttp.SocketTimeoutError):
        did = "sent nothing more for" if answered else "did not answer within"
        return Fault(reasons.READ_TIMEOUT, f"{did} {limits.read:g} s (read timeout)")
    if isinstance(error, (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError)):
        status = getattr(error, "status", None)
        refused = f"could not be asked through the proxy: it answered {status}"
        return Fault(reasons.PROXY, refused if status else PROXY_AWAY)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return _certificate(error.certificate_error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate(error)
    if isinstance(error, (aiohttp.ClientConnectorSSLError, ssl.SSLError)):
        problem = getattr(error, "os_error", error)
        why = str(getattr(problem, "reason", None) or _brief(problem)).replace("_", " ").lower()
        return Fault(reasons.TLS_FAILED, f"could not be spoken to over TLS: {why}")
    if isinstance(error, aiohttp.ClientPayloadError):
        return _payload(error.__cause__)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        words = BROKE_OFF if answered else NO_ANSWER
        return Fault(reasons.CONNECTION_RESET, words)
    if isinstance(error, (http_exceptions.HttpProcessingError, aiohttp.ClientResponseError)):
        words = f"did not answer in HTTP: {_brief(error)}"
        if _has_cause(error, http_exceptions.LineTooLong):
            words = f"sent headers longer than {MAX_HEADER_BYTES} bytes"
        return Fault(reasons.MALFORMED, words)
    # Since Python 3.11 asyncio's TimeoutError is also the system's ETIMEDOUT.
    if isinstance(error, asyncio.TimeoutError) and not getattr(error, "errno", None):
        if answered:
            words = f"was not finished within {limits.total:g} s (total timeout)"
            return Fault(reasons.UNFINISHED, words)
        words = f"did not answer within {min(limits.head, limits.total):g} s (total timeout)"
        return Fault(reasons.TOTAL_TIMEOUT, words)
    if isinstance(error, OSError):
        return _os_error(error)
    if answered:
        return Fault(reasons.MALFORMED, "sent a malformed body")
    return Fault(reasons.MALFORMED, f"gave no usable answer: {_brief(error)}")


def _certificate(problem: Exception) -> Fault:
    why = _brief(problem)
    if isinstance(problem, ssl.SSLCertVerificationError):
        if problem.verify_code in _CERTIFICATE:
            return Fault(*_CERTIFICATE[problem.verify_code])
        why = problem.verify_message
    return Fault(FailureReason.TLS_REFUSED, f"has a TLS certificate that is not accepted: {why}")


def _payload(cause: BaseException | None) -> Fault:
    is_malformed = isinstance(cause, http_exceptions.TransferEncodingError)
    if is_malformed and "Not enough" not in str(cause):
        return Fault(FailureReason.MALFORMED, f"sent a malformed body: {_brief(cause)}")
    return Fault(FailureReason.TRUNCATED, TRUNCATED)


def _os_error(error: OSError) -> Fault:
    cause = getattr(error, "os_error", error)
    if isinstance(cause, InsideAddress):
        words = f"was not requested: {cause.strerror}, which this portal does not contact"
        return Fault(FailureReason.INSIDE_ADDRESS, words)
    if isinstance(cause, NameFault):
        return Fault(cause.reason, cause.words)
    if known := _ERRNO.get(cause.errno):
        return Fault(*known)
    return Fault(FailureReason.CONNECTION_RESET, f"could not be connected to: {_brief(cause)}")


def _has_cause(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None and not isinstance(error, kind):
        error = error.__cause__
    return error is not None


def _brief(error: BaseException | None) -> str:
    """Return the first line of an exception's message in ASCII, or its class name."""
    text = str(getattr(error, "message", "") or getattr(error, "strerror", "") or error)
    line = text.strip().partition("\n")[0][:120].rstrip(" :")
    return line.encode("ascii", "backslashreplace").decode() or type(error).__name__
