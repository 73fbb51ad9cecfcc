"""Why there is no answer: one enum of reasons, one exception for people."""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """Why a URL gave no answer. The value is the word that is stored and counted.

    ``retriable`` says whether asking again soon makes sense. ``theirs`` says whether the reason
    tells something about the URL: where it is false the fault or the decision was ours (our limit,
    our proxy, our rules), and nobody may conclude that the URL is broken.
    """

    retriable: bool
    theirs: bool

    def __new__(cls, value: str, retriable: bool, theirs: bool) -> Reason:
        member = object.__new__(cls)
        member._value_ = value
        member.retriable = retriable
        member.theirs = theirs
        return member

    # The URL itself
    INVALID_URL = "invalid url", False, True
    SCHEME_REFUSED = "scheme refused", False, True

    # What we refuse to do
    INSIDE_ADDRESS = "inside address", False, False
    HOST_NOT_ALLOWED = "host not allowed", False, False
    ROBOTS = "refused by robots.txt", False, False
    HOST_DEFERRED = "host asked for a pause", False, False
    TOO_LARGE = "too large", False, False
    INVALID_REQUEST = "invalid request", False, False

    # Names and connections
    NAME_NOT_FOUND = "name not found", False, True
    NAME_LOOKUP_FAILED = "name lookup failed", True, True
    CONNECTION_REFUSED = "connection refused", True, True
    CONNECTION_RESET = "connection reset", True, True
    UNREACHABLE = "unreachable", True, True
    PROXY = "proxy", True, False
    OUT_OF_SOCKETS = "out of sockets", True, False

    # TLS: another attempt meets the same certificate
    TLS_EXPIRED = "certificate expired", False, True
    TLS_SELF_SIGNED = "certificate self-signed", False, True
    TLS_WRONG_NAME = "certificate for another name", False, True
    TLS_UNTRUSTED = "certificate not trusted", False, True
    TLS_FAILED = "TLS failed", False, True

    # Time. A total timeout is not tried again: whoever needs more than that needs it every time.
    CONNECT_TIMEOUT = "connect timeout", True, True
    READ_TIMEOUT = "read timeout", True, True
    TOTAL_TIMEOUT = "total timeout", False, True

    # What was sent
    REDIRECT_LOOP = "redirect loop", False, True
    TOO_MANY_REDIRECTS = "too many redirects", False, True
    TRUNCATED = "truncated", True, True
    MALFORMED = "malformed answer", False, True


class FetchError(Exception):
    """A URL gave no answer.

    ``reason`` is for programs, ``str(error)`` for people; neither ever holds a password.

    :ivar url: the URL that was asked for, fit to be shown
    :ivar target: the URL at which it ended, after redirects, without user and password (it can
        be visited; it is not made fit to be shown)
    :ivar words: what happened, a phrase that follows the URL
    :ivar attempts: how often it was tried; 0 if nothing was ever sent
    :ivar retry_after: seconds after which the host wants to be asked again, where it said so
    """

    def __init__(
        self,
        reason: Reason,
        url: str,
        words: str,
        *,
        target: str | None = None,
        attempts: int = 0,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(reason, url, words)
        self.reason = reason
        self.url = url
        self.words = words
        self.target = target
        self.attempts = attempts
        self.retry_after = retry_after

    def __str__(self) -> str:
        tried = f", tried {self.attempts} times" if self.attempts > 1 else ""
        return f"{self.url} {self.words}{tried}"
