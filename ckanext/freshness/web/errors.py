"""Why there is no answer: one enum of reasons, one exception for people."""

from __future__ import annotations

from enum import Enum


class FailureReason(Enum):
    """Why a URL gave no answer. The value is the word that is stored and counted."""

    # The URL itself
    INVALID_URL = "invalid url"
    SCHEME_REFUSED = "scheme refused"

    # What we refuse to do
    INSIDE_ADDRESS = "inside address"
    HOST_NOT_ALLOWED = "host not allowed"
    ROBOTS = "refused by robots.txt"
    HOST_DEFERRED = "host asked for a pause"
    HOST_SILENT = "host gave no answer"
    """To other requests, again and again: this URL was not asked for."""
    TOO_LARGE = "too large"
    INVALID_REQUEST = "invalid request"

    # Names and connections
    NAME_NOT_FOUND = "name not found"
    NAME_LOOKUP_FAILED = "name lookup failed"
    CONNECTION_REFUSED = "connection refused"
    CONNECTION_RESET = "connection reset"
    UNREACHABLE = "unreachable"
    PROXY = "proxy"
    OUT_OF_SOCKETS = "out of sockets"

    TLS_EXPIRED = "certificate expired"
    TLS_SELF_SIGNED = "certificate self-signed"
    TLS_WRONG_NAME = "certificate for another name"
    TLS_UNTRUSTED = "certificate not trusted"
    TLS_FAILED = "TLS failed"

    CONNECT_TIMEOUT = "connect timeout"
    READ_TIMEOUT = "read timeout"
    TOTAL_TIMEOUT = "total timeout"

    # What was sent
    REDIRECT_LOOP = "redirect loop"
    TOO_MANY_REDIRECTS = "too many redirects"
    TRUNCATED = "truncated"
    MALFORMED = "malformed answer"

    @property
    def retriable(self) -> bool:
        """Whether asking again soon makes sense.

        A total timeout is not tried again: what needs more than that needs it every time.
        """
        return self in _RETRIABLE

    @property
    def silence(self) -> bool:
        """Whether the host gave no answer at all: its other URLs may well get none either."""
        return self in _SILENCE

    @property
    def theirs(self) -> bool:
        """Whether it tells something about the URL.

        Where it does not, fault or decision were ours (our limit, our proxy, our rules), and nobody
        may conclude that the URL is broken.
        """
        return self not in _OURS


_RETRIABLE = frozenset(
    {
        FailureReason.NAME_LOOKUP_FAILED,
        FailureReason.CONNECTION_REFUSED,
        FailureReason.CONNECTION_RESET,
        FailureReason.UNREACHABLE,
        FailureReason.PROXY,
        FailureReason.OUT_OF_SOCKETS,
        FailureReason.CONNECT_TIMEOUT,
        FailureReason.READ_TIMEOUT,
        FailureReason.TRUNCATED,
    }
)
_SILENCE = frozenset(
    {
        FailureReason.NAME_NOT_FOUND,
        FailureReason.NAME_LOOKUP_FAILED,
        FailureReason.TLS_EXPIRED,
        FailureReason.TLS_SELF_SIGNED,
        FailureReason.TLS_WRONG_NAME,
        FailureReason.TLS_UNTRUSTED,
        FailureReason.TLS_FAILED,
        FailureReason.CONNECTION_REFUSED,
        FailureReason.CONNECTION_RESET,
        FailureReason.UNREACHABLE,
        FailureReason.CONNECT_TIMEOUT,
        FailureReason.READ_TIMEOUT,
        FailureReason.TOTAL_TIMEOUT,
    }
)
_OURS = frozenset(
    {
        FailureReason.INSIDE_ADDRESS,
        FailureReason.HOST_NOT_ALLOWED,
        FailureReason.ROBOTS,
        FailureReason.HOST_DEFERRED,
        FailureReason.HOST_SILENT,
        FailureReason.TOO_LARGE,
        FailureReason.INVALID_REQUEST,
        FailureReason.PROXY,
        FailureReason.OUT_OF_SOCKETS,
    }
)


class FetchError(Exception):
    """A URL gave no answer.

    ``reason`` is for programs, ``str(error)`` for people; neither ever holds a password.

    :ivar url: the URL that was asked for, fit to be shown
    :ivar target: the URL at which it ended, after redirects, without user and password (it can
        be visited; it is not made fit to be shown)
    :ivar words: what happened, a phrase that follows the URL
    :ivar attempts: how often it was tried; 0 if the request itself was refused
    :ivar seconds: the last attempt, without waiting in our own queues
    :ivar retry_after: seconds after which the host wants to be asked again, where it said so
    """

    def __init__(
        self,
        reason: FailureReason,
        url: str,
        words: str,
        *,
        target: str | None = None,
        attempts: int = 0,
        seconds: float = 0.0,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(reason, url, words)
        self.reason = reason
        self.url = url
        self.words = words
        self.target = target
        self.attempts = attempts
        self.seconds = seconds
        self.retry_after = retry_after

    def __str__(self) -> str:
        tried = f", tried {self.attempts} times" if self.attempts > 1 else ""
        return f"{self.url} {self.words}{tried}"
