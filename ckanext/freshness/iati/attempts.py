"""Attempts: single requests for an IATI file, and why they failed, as they are stored and published. Pure.

An attempt has the fields of the Bulk Data Service's index files (``datetime``, ``http_status``,
``error_occurred``, ``error_details``), and ``method`` and ``insecure``: the site's settings skipped the
verification of a certificate. Error details hold nothing that may not be published.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from http import HTTPStatus
from typing import Any

from ..dates import exact_text
from ..web.errors import FailureReason, FetchError
from ..web.exchange import storable
from ..web.urls import display_url

Attempt = Mapping[str, Any]
ErrorDetails = Mapping[str, Any]


class ErrorType(Enum):
    """Types of errors in the Bulk Data Service's index files; ``store_error`` is our addition."""

    SSL_ERROR = "ssl_error"
    CONNECTION_TIMEOUT = "connection_timeout"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    CONNECTION_ERROR = "connection_error"
    HTTP_NON_200 = "http_non_200"
    NOT_IATI_CONTENT = "not_iati_content"
    OTHER_ERROR = "other_error"
    STORE_ERROR = "store_error"


_SUMMARIES: Mapping[ErrorType, str] = {
    ErrorType.SSL_ERROR: "The {} request failed because of the server's TLS certificate or protocol.",
    ErrorType.CONNECTION_TIMEOUT: "The {} request was not answered in time.",
    ErrorType.TOO_MANY_REDIRECTS: "The {} request was redirected too often.",
    ErrorType.CONNECTION_ERROR: "The {} request failed because of the connection to the server.",
    ErrorType.HTTP_NON_200: "The {} request was answered with a status other than 200.",
    ErrorType.NOT_IATI_CONTENT: "The {} request returned a file that is not IATI XML.",
    ErrorType.OTHER_ERROR: "The {} request failed.",
    ErrorType.STORE_ERROR: "The {} request returned a file that could not be stored.",
}

_REASONS: Mapping[ErrorType, tuple[FailureReason, ...]] = {
    ErrorType.SSL_ERROR: (
        FailureReason.TLS_EXPIRED,
        FailureReason.TLS_SELF_SIGNED,
        FailureReason.TLS_WRONG_NAME,
        FailureReason.TLS_UNTRUSTED,
        FailureReason.TLS_FAILED,
    ),
    ErrorType.CONNECTION_TIMEOUT: (
        FailureReason.CONNECT_TIMEOUT,
        FailureReason.READ_TIMEOUT,
        FailureReason.TOTAL_TIMEOUT,
        FailureReason.UNFINISHED,
    ),
    ErrorType.TOO_MANY_REDIRECTS: (FailureReason.REDIRECT_LOOP, FailureReason.TOO_MANY_REDIRECTS),
    ErrorType.CONNECTION_ERROR: (
        FailureReason.NAME_NOT_FOUND,
        FailureReason.NAME_LOOKUP_FAILED,
        FailureReason.CONNECTION_REFUSED,
        FailureReason.CONNECTION_RESET,
        FailureReason.UNREACHABLE,
        FailureReason.NO_ROUTE,
        FailureReason.TRUNCATED,
        FailureReason.PROXY,
        FailureReason.OUT_OF_SOCKETS,
        FailureReason.HOST_SILENT,
    ),
}
_TYPES = {reason: error_type for error_type, some in _REASONS.items() for reason in some}
"""Error types by reason; every other reason is ``other_error``."""

OUR_FAULTS = frozenset(
    {
        FailureReason.NO_ROUTE,
        FailureReason.PROXY,
        FailureReason.OUT_OF_SOCKETS,
        FailureReason.HOST_DEFERRED,
        FailureReason.UNFORESEEN,
    }
)
"""Reasons that say nothing about the URL, so they do not count as its failures.

``HOST_SILENT`` is not among them: if the whole host is silent, the file cannot be downloaded, and its copy
expires.
"""

_SECRET_NAME = re.compile(
    r"(?i)cookie|auth|token|secret|key|passw|credential|signature|session|csrf"
)
_MAX_HEADERS = 50


def attempt(
    at: datetime,
    method: str,
    http_status: int | None,
    error: ErrorDetails | None = None,
    *,
    insecure: bool = False,
) -> Attempt:
    """Return one request and its result.

    :param at: when it ended, aware
    :param method: ``HEAD`` or ``GET``
    :param http_status: None without an answer
    :param error: None if it succeeded
    """
    return {
        "datetime": exact_text(at),
        "method": method,
        "http_status": http_status,
        "insecure": insecure,
        "error_occurred": error is not None,
        "error_details": error,
    }


def fetch_error(error: FetchError, method: str, url: str) -> ErrorDetails:
    """Describe a request that got no answer."""
    return _details(_TYPES.get(error.reason, ErrorType.OTHER_ERROR), str(error), method, url)


def status_error(status: int, headers: Mapping[str, str], method: str, url: str) -> ErrorDetails:
    """Describe an answer whose status is not the expected one."""
    message = f"{display_url(url)} answered {status}"
    if phrase := _phrase(status):
        message = f"{message} ({phrase})"
    return _details(ErrorType.HTTP_NON_200, message, method, url, status, headers)


def content_error(problem: str, headers: Mapping[str, str], url: str) -> ErrorDetails:
    """Describe a downloaded file that is no IATI file.

    :param problem: a phrase that follows "the file", such as "is empty"
    """
    message = f"The file at {display_url(url)} {problem}"
    return _details(ErrorType.NOT_IATI_CONTENT, message, "GET", url, 200, headers)


def store_error(message: str, url: str) -> ErrorDetails:
    """Describe a downloaded file that could not be stored.

    :param message: a sentence without secrets
    """
    return _details(ErrorType.STORE_ERROR, message, "GET", url, 200)


def _details(
    error_type: ErrorType,
    message: str,
    method: str,
    url: str,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> ErrorDetails:
    return {
        "error_type": error_type.value,
        "summary_message": _SUMMARIES[error_type].format(method),
        "detailed_message": storable(message),
        "http_method": method,
        "http_reason": None if status is None else _phrase(status),
        "http_headers": public_headers(headers or {}),
        "source_url": storable(display_url(url)),
    }


def public_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that may be published, with the secrets in their URLs masked."""
    public: dict[str, str] = {}
    for name, value in headers.items():
        if len(public) == _MAX_HEADERS:
            break
        if not _SECRET_NAME.search(name) and name.isprintable():
            value = storable(display_url(value)) if value.strip() else ""
            public[name] = f"{public[name]}, {value}" if name in public else value
    return public


def _phrase(status: int) -> str | None:
    """Return the standard phrase (RFC 9110, section 15): a server's own phrase can be anything."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return None
