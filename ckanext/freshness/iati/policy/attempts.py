"""Attempts: single requests to an IATI dataset's URL, and why they failed, as they are stored and published."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from http import HTTPStatus
from typing import Any, NamedTuple

from dateutil.parser import isoparse

from ...dates import exact_text
from ...web.errors import FailureReason, FetchError
from ...web.urls import display_url


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
"""Error types by reason; every other reason is ``other_error``."""

OUR_FAULTS = frozenset(
    {FailureReason.PROXY, FailureReason.OUT_OF_SOCKETS, FailureReason.HOST_DEFERRED}
)
"""Reasons that say nothing about the URL, so they do not count as its failures.

``HOST_SILENT`` is not among them: if the whole host is silent, the file cannot be downloaded, and its copy
expires.
"""

_SECRET_NAME = re.compile(
    r"(?i)cookie|auth|token|secret|key|passw|credential|signature|session|csrf"
)
_MAX_HEADERS = 50


@dataclass(frozen=True, slots=True)
class ErrorDetails:
    """The reason why a request failed. Everything in it may be published.

    :ivar summary_message: one sentence, the same for all errors of a type
    :ivar detailed_message: the failure of this request
    :ivar http_method: ``HEAD`` or ``GET``
    :ivar http_reason: standard phrase of the status; None without an answer
    :ivar http_headers: of the answer; empty without one
    :ivar source_url: requested URL, without secrets
    """

    error_type: ErrorType
    summary_message: str
    detailed_message: str
    http_method: str
    http_reason: str | None
    http_headers: Mapping[str, str] = field(hash=False)
    source_url: str

    def as_json(self) -> dict[str, Any]:
        """Return the stored and published form."""
        return {
            "error_type": self.error_type.value,
            "summary_message": self.summary_message,
            "detailed_message": self.detailed_message,
            "http_method": self.http_method,
            "http_reason": self.http_reason,
            "http_headers": dict(self.http_headers),
            "source_url": self.source_url,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ErrorDetails:
        """Read the form that :meth:`as_json` returns.

        :raises KeyError: a field is missing
        """
        return cls(**{**value, "error_type": ErrorType(value["error_type"])})

    @classmethod
    def of_fetch_error(cls, error: FetchError, method: str, url: str) -> ErrorDetails:
        """Describe a request that got no answer."""
        error_type = _TYPES.get(error.reason, ErrorType.OTHER_ERROR)
        return cls._of(error_type, str(error), method, url)

    @classmethod
    def of_status(
        cls, status: int, headers: Mapping[str, str], method: str, url: str
    ) -> ErrorDetails:
        """Describe an answer whose status is not the expected one."""
        message = f"{display_url(url)} answered {status}"
        if phrase := _phrase(status):
            message = f"{message} ({phrase})"
        return cls._of(ErrorType.HTTP_NON_200, message, method, url, status, headers)

    @classmethod
    def of_content(cls, problem: str, headers: Mapping[str, str], url: str) -> ErrorDetails:
        """Describe a downloaded file that is no IATI file.

        :param problem: a phrase that follows "the file", such as "is empty"
        """
        message = f"The file at {display_url(url)} {problem}"
        return cls._of(ErrorType.NOT_IATI_CONTENT, message, "GET", url, 200, headers)

    @classmethod
    def of_store_error(cls, message: str, url: str) -> ErrorDetails:
        """Describe a downloaded file that could not be stored.

        :param message: a sentence without secrets
        """
        return cls._of(ErrorType.STORE_ERROR, message, "GET", url, 200)

    @classmethod
    def _of(
        cls,
        error_type: ErrorType,
        message: str,
        method: str,
        url: str,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ErrorDetails:
        return cls(
            error_type=error_type,
            summary_message=_SUMMARIES[error_type].format(method),
            detailed_message=message,
            http_method=method,
            http_reason=None if status is None else _phrase(status),
            http_headers=public_headers(headers or {}),
            source_url=display_url(url),
        )


class IatiAttempt(NamedTuple):
    """One request and its result.

    :ivar at: when it ended, aware
    :ivar method: ``HEAD`` or ``GET``
    :ivar http_status: None without an answer
    :ivar error_details: None if it succeeded
    :ivar insecure: the site's settings skipped the verification of a certificate
    """

    at: datetime
    method: str
    http_status: int | None
    error_details: ErrorDetails | None = None
    insecure: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the stored form; index files leave out ``method`` and ``insecure``."""
        return {
            "datetime": exact_text(self.at),
            "method": self.method,
            "http_status": self.http_status,
            "insecure": self.insecure,
            "error_occurred": self.error_details is not None,
            "error_details": None if self.error_details is None else self.error_details.as_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> IatiAttempt:
        """Read the form that :meth:`as_json` returns.

        :raises KeyError: a field is missing
        """
        details = value["error_details"]
        return cls(
            at=isoparse(value["datetime"]),
            method=value["method"],
            http_status=value["http_status"],
            error_details=None if details is None else ErrorDetails.from_json(details),
            insecure=value["insecure"],
        )


def public_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that may be published, with the secrets in their URLs masked."""
    public: dict[str, str] = {}
    for name, value in headers.items():
        if len(public) == _MAX_HEADERS:
            break
        if not _SECRET_NAME.search(name) and name.isprintable():
            value = display_url(value) if value.strip() else ""
            public[name] = f"{public[name]}, {value}" if name in public else value
    return public


def _phrase(status: int) -> str | None:
    """Return the standard phrase (RFC 9110, section 15): a server's own phrase can be anything."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return None
