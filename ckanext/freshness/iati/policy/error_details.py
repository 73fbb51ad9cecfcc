"""Why a request failed, as it is published: in words, without secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus

from ...web.errors import FailureReason, FetchError
from ...web.urls import display_url
from .attempts import ErrorDetails, ErrorType

_TYPES: Mapping[FailureReason, ErrorType] = {
    FailureReason.TLS_EXPIRED: ErrorType.SSL_ERROR,
    FailureReason.TLS_SELF_SIGNED: ErrorType.SSL_ERROR,
    FailureReason.TLS_WRONG_NAME: ErrorType.SSL_ERROR,
    FailureReason.TLS_UNTRUSTED: ErrorType.SSL_ERROR,
    FailureReason.TLS_FAILED: ErrorType.SSL_ERROR,
    FailureReason.CONNECT_TIMEOUT: ErrorType.CONNECTION_TIMEOUT,
    FailureReason.READ_TIMEOUT: ErrorType.CONNECTION_TIMEOUT,
    FailureReason.TOTAL_TIMEOUT: ErrorType.CONNECTION_TIMEOUT,
    FailureReason.REDIRECT_LOOP: ErrorType.TOO_MANY_REDIRECTS,
    FailureReason.TOO_MANY_REDIRECTS: ErrorType.TOO_MANY_REDIRECTS,
    FailureReason.NAME_NOT_FOUND: ErrorType.CONNECTION_ERROR,
    FailureReason.NAME_LOOKUP_FAILED: ErrorType.CONNECTION_ERROR,
    FailureReason.CONNECTION_REFUSED: ErrorType.CONNECTION_ERROR,
    FailureReason.CONNECTION_RESET: ErrorType.CONNECTION_ERROR,
    FailureReason.UNREACHABLE: ErrorType.CONNECTION_ERROR,
    FailureReason.TRUNCATED: ErrorType.CONNECTION_ERROR,
    FailureReason.PROXY: ErrorType.CONNECTION_ERROR,
    FailureReason.OUT_OF_SOCKETS: ErrorType.CONNECTION_ERROR,
    FailureReason.HOST_SILENT: ErrorType.CONNECTION_ERROR,
}
"""Of all other reasons: ``other_error``."""

OURS = frozenset({FailureReason.PROXY, FailureReason.OUT_OF_SOCKETS, FailureReason.HOST_DEFERRED})
"""Nothing was learned of the URL: it was not its fault, and another day it may be otherwise.

A host that gave no answer to others is not among them: the file cannot be had, and its copy expires as
theirs do.
"""

_SUMMARIES: Mapping[ErrorType, str] = {
    ErrorType.SSL_ERROR: "The {} request failed because of the server's TLS certificate or protocol.",
    ErrorType.CONNECTION_TIMEOUT: "The {} request was not answered in time.",
    ErrorType.TOO_MANY_REDIRECTS: "The {} request was redirected too often.",
    ErrorType.CONNECTION_ERROR: "The {} request failed because of the connection to the server.",
    ErrorType.HTTP_NON_200: "The {} request was answered with a status other than 200.",
    ErrorType.NOT_IATI_CONTENT: "What the {} request brought is not an IATI XML file.",
    ErrorType.OTHER_ERROR: "The {} request failed.",
    ErrorType.STORE_ERROR: "What the {} request brought could not be stored.",
}

_SECRET_NAME = re.compile(
    r"(?i)cookie|auth|token|secret|key|passw|credential|signature|session|csrf"
)
_MOST_HEADERS = 50


def of_fault(error: FetchError, method: str, url: str) -> ErrorDetails:
    """There was no answer."""
    kind = _TYPES.get(error.reason, ErrorType.OTHER_ERROR)
    return _details(kind, str(error), method, url)


def of_status(status: int, headers: Mapping[str, str], method: str, url: str) -> ErrorDetails:
    """There was an answer, and its status was not 200."""
    words = f"{display_url(url)} answered {status}"
    if phrase := _phrase(status):
        words = f"{words} ({phrase})"
    return _details(ErrorType.HTTP_NON_200, words, method, url, status, headers)


def of_content(words: str, headers: Mapping[str, str], url: str) -> ErrorDetails:
    """What came is no IATI file.

    :param words: why not, a phrase that follows "the file"
    """
    detailed = f"The file at {display_url(url)} {words}"
    return _details(ErrorType.NOT_IATI_CONTENT, detailed, "GET", url, 200, headers)


def of_store(words: str, url: str) -> ErrorDetails:
    """What came could not be kept.

    :param words: why not, a sentence without secrets
    """
    return _details(ErrorType.STORE_ERROR, words, "GET", url, 200)


def shown_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers as they may be published: without those that are secret, and without secrets in URLs."""
    shown: dict[str, str] = {}
    for name, value in headers.items():
        if len(shown) == _MOST_HEADERS:
            break
        if not _SECRET_NAME.search(name) and name.isprintable():
            value = display_url(value) if value.strip() else ""
            shown[name] = f"{shown[name]}, {value}" if name in shown else value
    return shown


def _details(
    kind: ErrorType,
    detailed: str,
    method: str,
    url: str,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> ErrorDetails:
    return ErrorDetails(
        error_type=kind,
        summary_message=_SUMMARIES[kind].format(method),
        detailed_message=detailed,
        http_method=method,
        http_reason=None if status is None else _phrase(status),
        http_headers=shown_headers(headers or {}),
        source_url=display_url(url),
    )


def _phrase(status: int) -> str | None:
    """RFC 9110, section 15; what a server itself says there means nothing, and can be anything."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return None
