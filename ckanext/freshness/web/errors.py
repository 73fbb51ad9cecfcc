"""The reasons of failed requests, what each means, and the exceptions that carry them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, Flag, auto
from typing import NamedTuple


class FailureReason(Enum):
    """The reason why a request has no answer. The value is stored and counted."""

    # The URL itself
    INVALID_URL = "invalid url"
    SCHEME_REFUSED = "scheme refused"

    # Requests that we refuse to send
    INSIDE_ADDRESS = "inside address"
    HOST_NOT_ALLOWED = "host not allowed"
    ROBOTS = "refused by robots.txt"
    HOST_DEFERRED = "host asked for a pause"
    HOST_SILENT = "host gave no answer"
    """Other requests to the host failed again and again. This URL was not requested."""
    TOO_LARGE = "too large"
    INVALID_REQUEST = "invalid request"
    UNFORESEEN = "unforeseen"
    """An exception that nobody expected, probably because of a bug of ours."""

    # Names and connections
    NAME_NOT_FOUND = "name not found"
    NAME_LOOKUP_FAILED = "name lookup failed"
    CONNECTION_REFUSED = "connection refused"
    CONNECTION_RESET = "connection reset"
    UNREACHABLE = "unreachable"
    NO_ROUTE = "no route"
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
    UNFINISHED = "unfinished"
    """The time was over while the body still arrived: a slow file is no broken one."""

    # The answer
    REDIRECT_LOOP = "redirect loop"
    TOO_MANY_REDIRECTS = "too many redirects"
    TRUNCATED = "truncated"
    MALFORMED = "malformed answer"

    @property
    def retriable(self) -> bool:
        """Decide whether a retry soon may succeed.

        A total timeout is not retried: a URL that needs more time needs it every time.
        """
        return _RETRY in FAILURES[self].host

    @property
    def silence(self) -> bool:
        """Decide whether the host gave no answer at all, so that its other URLs probably fail, too."""
        return _SILENT in FAILURES[self].host

    @property
    def theirs(self) -> bool:
        """Decide whether the host was asked, so that the reason says something about it."""
        return _UNASKED not in FAILURES[self].host


class Meaning(Enum):
    """What an answer, or no answer, says about a link."""

    WORKS = "works"
    FAILED = "failed"
    CANNOT_TELL = "cannot tell"
    OURS = "ours"
    """The cause is on our side. People see "couldn't be checked", as for ``CANNOT_TELL``."""


class _Trait(Flag):
    NONE = 0
    RETRY = auto()
    SILENT = auto()
    UNASKED = auto()


class Failure(NamedTuple):
    """A row of the table.

    :ivar why: the reason of the meaning, in words for the documentation
    :ivar host: what follows for the host; by default, that it gave an answer, which was of no use
    """

    meaning: Meaning
    why: str
    host: _Trait = _Trait.NONE


_, _FAILED, _CANNOT_TELL, _OURS = Meaning
_RETRY, _SILENT, _UNASKED = _Trait.RETRY, _Trait.SILENT, _Trait.UNASKED

FAILURES: Mapping[FailureReason, Failure] = {
    FailureReason.INVALID_URL: Failure(_FAILED, "no program can open it"),
    FailureReason.SCHEME_REFUSED: Failure(_CANNOT_TELL, "only http and https are asked for"),
    FailureReason.INSIDE_ADDRESS: Failure(
        _OURS, "this site sends nothing into private networks", _UNASKED
    ),
    FailureReason.HOST_NOT_ALLOWED: Failure(
        _OURS, "the site's settings do not allow the host", _UNASKED
    ),
    FailureReason.ROBOTS: Failure(
        _CANNOT_TELL, "the server's robots.txt forbids it to programs", _UNASKED
    ),
    FailureReason.HOST_DEFERRED: Failure(
        _CANNOT_TELL, "the server asked for a long pause", _UNASKED
    ),
    FailureReason.HOST_SILENT: Failure(
        _CANNOT_TELL, "its server gave no answer to other requests", _UNASKED
    ),
    FailureReason.TOO_LARGE: Failure(_OURS, "the file is larger than this site reads", _UNASKED),
    FailureReason.INVALID_REQUEST: Failure(_OURS, "the request cannot be sent", _UNASKED),
    FailureReason.UNFORESEEN: Failure(
        _OURS, "this site met an error that nobody foresaw", _UNASKED
    ),
    FailureReason.NAME_NOT_FOUND: Failure(_FAILED, "its host name does not exist", _SILENT),
    FailureReason.NAME_LOOKUP_FAILED: Failure(
        _FAILED, "its host name cannot be looked up", _SILENT | _RETRY
    ),
    FailureReason.CONNECTION_REFUSED: Failure(
        _FAILED, "nothing answers at its address", _SILENT | _RETRY
    ),
    FailureReason.CONNECTION_RESET: Failure(
        _FAILED, "the server breaks the connection off", _SILENT | _RETRY
    ),
    FailureReason.UNREACHABLE: Failure(_FAILED, "its machine cannot be reached", _SILENT | _RETRY),
    FailureReason.NO_ROUTE: Failure(
        _OURS, "this machine has no way to its network", _UNASKED | _RETRY
    ),
    FailureReason.PROXY: Failure(
        _OURS, "the proxy of this site gives no answer", _UNASKED | _RETRY
    ),
    FailureReason.OUT_OF_SOCKETS: Failure(
        _OURS, "this machine has too many open files", _UNASKED | _RETRY
    ),
    FailureReason.TLS_EXPIRED: Failure(_FAILED, "browsers warn of an expired certificate", _SILENT),
    FailureReason.TLS_SELF_SIGNED: Failure(
        _FAILED, "browsers warn of a certificate that nobody signed", _SILENT
    ),
    FailureReason.TLS_WRONG_NAME: Failure(
        _FAILED, "browsers warn of a certificate for another name", _SILENT
    ),
    FailureReason.TLS_UNTRUSTED: Failure(
        _CANNOT_TELL, "an intermediate certificate is missing, which browsers may know", _SILENT
    ),
    FailureReason.TLS_FAILED: Failure(
        _FAILED, "not even outdated encryption is understood", _SILENT
    ),
    FailureReason.CONNECT_TIMEOUT: Failure(
        _FAILED, "the server takes no connection in time", _SILENT | _RETRY
    ),
    FailureReason.READ_TIMEOUT: Failure(_FAILED, "the server falls silent", _SILENT | _RETRY),
    FailureReason.TOTAL_TIMEOUT: Failure(_FAILED, "no answer begins in time", _SILENT),
    FailureReason.UNFINISHED: Failure(
        _CANNOT_TELL, "the file arrives, but too slowly for the limits of this site", _SILENT
    ),
    FailureReason.REDIRECT_LOOP: Failure(_FAILED, "it redirects in a circle"),
    FailureReason.TOO_MANY_REDIRECTS: Failure(_FAILED, "it redirects too often"),
    FailureReason.TRUNCATED: Failure(_FAILED, "the file breaks off", _RETRY),
    FailureReason.MALFORMED: Failure(_FAILED, "not even browsers can read the answer"),
}
"""What a request without an answer means, and what follows for the host."""


class FetchError(Exception):
    """A request without an answer.

    ``reason`` is for programs, ``str(error)`` for people. Neither holds a password.

    :ivar url: the requested URL, with secrets masked
    :ivar target: the URL after redirects, without user and password. Other secrets in it are not masked.
    :ivar words: the end of a sentence that begins with the URL
    :ivar attempts: the number of attempts; 0 if the request was refused before the first
    :ivar seconds: the duration of the last attempt, without the time in our own queues
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
    ) -> None:
        super().__init__(reason, url, words)
        self.reason = reason
        self.url = url
        self.words = words
        self.target = target
        self.attempts = attempts
        self.seconds = seconds

    def __str__(self) -> str:
        tried = f", tried {self.attempts} times" if self.attempts > 1 else ""
        return f"{self.url} {self.words}{tried}"


_TIMEOUTS = frozenset(
    {FailureReason.READ_TIMEOUT, FailureReason.TOTAL_TIMEOUT, FailureReason.UNFINISHED}
)


class Fault(Exception):
    """A failure inside the client, which callers get as a FetchError.

    :ivar answered: whether status and headers had arrived
    """

    def __init__(self, reason: FailureReason, words: str) -> None:
        super().__init__(reason, words)
        self.reason = reason
        self.words = words
        self.answered = False

    @property
    def silence(self) -> FailureReason | None:
        """Return the reason if the host gave no answer, else None. An answer that does not end in time
        does not count as an answer."""
        return None if self.answered and self.reason not in _TIMEOUTS else self.reason
