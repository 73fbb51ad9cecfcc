"""What is kept, and published, of one request to an IATI dataset's URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum
from typing import Any

from dateutil.parser import isoparse


class ErrorType(Enum):
    """Why a request failed, in the Bulk Data Service's words; ``store_error`` is ours."""

    SSL_ERROR = "ssl_error"
    CONNECTION_TIMEOUT = "connection_timeout"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    CONNECTION_ERROR = "connection_error"
    HTTP_NON_200 = "http_non_200"
    NOT_IATI_CONTENT = "not_iati_content"
    OTHER_ERROR = "other_error"
    STORE_ERROR = "store_error"


@dataclass(frozen=True, slots=True)
class ErrorDetails:
    """Why a request failed. Nothing here is secret.

    :ivar summary_message: one sentence, the same for all of a type
    :ivar detailed_message: what happened this time
    :ivar http_method: ``HEAD`` or ``GET``
    :ivar http_reason: the phrase of the status; None if there was no answer
    :ivar http_headers: of the answer; empty if there was none
    :ivar source_url: what was asked for, fit to be shown
    """

    error_type: ErrorType
    summary_message: str
    detailed_message: str
    http_method: str
    http_reason: str | None
    http_headers: Mapping[str, str] = field(hash=False)
    source_url: str

    def as_json(self) -> dict[str, Any]:
        """As it is stored and published."""
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
        """What :meth:`as_json` made.

        :raises KeyError: it made nothing like it
        """
        return cls(**{**value, "error_type": ErrorType(value["error_type"])})


@dataclass(frozen=True, slots=True)
class IatiAttempt:
    """One request.

    :ivar at: when it ended, aware
    :ivar method: ``HEAD`` or ``GET``
    :ivar http_status: None if there was no answer
    :ivar error_details: None if it did not fail
    :ivar insecure: whether a certificate on the way was not verified, by the site's settings
    """

    at: datetime
    method: str
    http_status: int | None
    error_details: ErrorDetails | None = None
    insecure: bool = False

    @property
    def error_occurred(self) -> bool:
        """Whether it failed."""
        return self.error_details is not None

    def as_json(self) -> dict[str, Any]:
        """As it is stored; the index files have neither ``method`` nor ``insecure``."""
        return {
            "datetime": self.at.astimezone(timezone.utc).isoformat().replace("+00:00", "Z"),
            "method": self.method,
            "http_status": self.http_status,
            "insecure": self.insecure,
            "error_occurred": self.error_occurred,
            "error_details": None if self.error_details is None else self.error_details.as_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> IatiAttempt:
        """What :meth:`as_json` made.

        :raises KeyError: it made nothing like it
        """
        details = value["error_details"]
        return cls(
            at=isoparse(value["datetime"]),
            method=value["method"],
            http_status=value["http_status"],
            error_details=None if details is None else ErrorDetails.from_json(details),
            insecure=value["insecure"],
        )
