"""Attempts: single requests for an IATI file, and why they failed, as they are stored and published. Pure.

An attempt has the fields of the Bulk Data Service's index files (``datetime``, ``http_status``,
``error_occurred``, ``error_details``), and ``method`` and ``insecure``: the site's settings skipped the
verification of a certificate. Error details hold nothing that may not be published.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from http import HTTPStatus
from typing import Any

from ckanext.freshness.dates import exact_text
from ckanext.freshness.translation import N_
from ckanext.freshness.web.errors import FailureReason
from ckanext.freshness.web.headers import storable
from ckanext.freshness.web.urls import display_url

KEPT = 5
"""How many attempts are kept of a file, besides its last HEAD and its last GET."""

Attempt = Mapping[str, Any]
ErrorDetails = Mapping[str, Any]


class ErrorType(Enum):
    """Types of errors in the Bulk Data Service's index files; ``store_error`` is our addition.

    :ivar sentence: for people, marked for translation
    """

    sentence: str

    def __new__(cls, value: str, sentence: str) -> ErrorType:
        self = object.__new__(cls)
        self._value_, self.sentence = value, sentence
        return self

    SSL_ERROR = "ssl_error", N_("A secure connection to the server failed.")
    CONNECTION_TIMEOUT = "connection_timeout", N_("The server took too long to answer.")
    TOO_MANY_REDIRECTS = "too_many_redirects", N_("The link redirects too often.")
    CONNECTION_ERROR = "connection_error", N_("The connection to the server failed.")
    # Pages name the status in place of this sentence.
    HTTP_NON_200 = "http_non_200", "The server answered with a status other than 200."
    NOT_IATI_CONTENT = "not_iati_content", N_("The file is not IATI XML.")
    OTHER_ERROR = "other_error", N_("The file could not be read.")
    STORE_ERROR = "store_error", N_("This portal could not store the file.")


def error_type(reason: FailureReason) -> ErrorType:
    """Return the type of a request that got no answer."""
    if reason.name.startswith("TLS_"):
        return ErrorType.SSL_ERROR
    if reason is FailureReason.UNFINISHED or reason.name.endswith("_TIMEOUT"):
        return ErrorType.CONNECTION_TIMEOUT
    if reason in (FailureReason.REDIRECT_LOOP, FailureReason.TOO_MANY_REDIRECTS):
        return ErrorType.TOO_MANY_REDIRECTS
    is_connection = reason.silence or reason in _CONNECTION
    return ErrorType.CONNECTION_ERROR if is_connection else ErrorType.OTHER_ERROR


_OUR_CONNECTION = (FailureReason.NO_ROUTE, FailureReason.PROXY, FailureReason.OUT_OF_SOCKETS)
_CONNECTION = (*_OUR_CONNECTION, FailureReason.TRUNCATED, FailureReason.HOST_SILENT)
"""Reasons of connection errors besides those that the host gave no answer at all."""

OUR_FAULTS = (
    *_OUR_CONNECTION,
    *(FailureReason.NO_ROOM, FailureReason.HOST_DEFERRED, FailureReason.UNFORESEEN),
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


def last_of(attempts: Sequence[Attempt], method: str) -> Attempt | None:
    """Return the last attempt by a method, ``HEAD`` or ``GET``.

    :param attempts: newest first
    """
    return next((each for each in attempts if each["method"] == method), None)


def kept(attempts: tuple[Attempt, ...]) -> tuple[Attempt, ...]:
    """Return the attempts that are kept of a file, newest first: the last ones, and the last by each method."""
    found = list(attempts[:KEPT])
    methods = {each["method"] for each in found}
    for each in attempts[KEPT:]:
        if each["method"] not in methods:
            methods.add(each["method"])
            found.append(each)
    return tuple(found)


def error_details(
    kind: ErrorType,
    message: str,
    method: str,
    url: str,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> ErrorDetails:
    """Describe a request that got no answer, or an answer that cannot be used.

    :param message: what happened, a sentence without secrets
    :param status: None without an answer
    """
    return {
        "error_type": kind.value,
        "summary_message": kind.sentence,
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
