"""The reasons of failed requests, and the exceptions that carry them."""

from __future__ import annotations

from enum import Enum, Flag, auto


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
        return _Trait.RETRIABLE in _TRAITS.get(self, _Trait.NONE)

    @property
    def silence(self) -> bool:
        """Decide whether the host gave no answer at all, so that its other URLs probably fail, too."""
        return _Trait.SILENCE in _TRAITS.get(self, _Trait.NONE)

    @property
    def theirs(self) -> bool:
        """Decide whether the reason says something about the URL.

        Otherwise the cause is on our side (a limit, the proxy, a rule of the site), and does not mean
        that the URL is broken.
        """
        return _Trait.OURS not in _TRAITS.get(self, _Trait.NONE)


class _Trait(Flag):
    NONE = 0
    RETRIABLE = auto()
    SILENCE = auto()
    OURS = auto()


_TRAITS = {
    FailureReason.INSIDE_ADDRESS: _Trait.OURS,
    FailureReason.HOST_NOT_ALLOWED: _Trait.OURS,
    FailureReason.ROBOTS: _Trait.OURS,
    FailureReason.HOST_DEFERRED: _Trait.OURS,
    FailureReason.HOST_SILENT: _Trait.OURS,
    FailureReason.TOO_LARGE: _Trait.OURS,
    FailureReason.INVALID_REQUEST: _Trait.OURS,
    FailureReason.UNFORESEEN: _Trait.OURS,
    FailureReason.NAME_NOT_FOUND: _Trait.SILENCE,
    FailureReason.NAME_LOOKUP_FAILED: _Trait.RETRIABLE | _Trait.SILENCE,
    FailureReason.CONNECTION_REFUSED: _Trait.RETRIABLE | _Trait.SILENCE,
    FailureReason.CONNECTION_RESET: _Trait.RETRIABLE | _Trait.SILENCE,
    FailureReason.UNREACHABLE: _Trait.RETRIABLE | _Trait.SILENCE,
    FailureReason.NO_ROUTE: _Trait.RETRIABLE | _Trait.OURS,
    FailureReason.PROXY: _Trait.RETRIABLE | _Trait.OURS,
    FailureReason.OUT_OF_SOCKETS: _Trait.RETRIABLE | _Trait.OURS,
    FailureReason.TLS_EXPIRED: _Trait.SILENCE,
    FailureReason.TLS_SELF_SIGNED: _Trait.SILENCE,
    FailureReason.TLS_WRONG_NAME: _Trait.SILENCE,
    FailureReason.TLS_UNTRUSTED: _Trait.SILENCE,
    FailureReason.TLS_FAILED: _Trait.SILENCE,
    FailureReason.CONNECT_TIMEOUT: _Trait.RETRIABLE | _Trait.SILENCE,
    FailureReason.READ_TIMEOUT: _Trait.RETRIABLE | _Trait.SILENCE,
    FailureReason.TOTAL_TIMEOUT: _Trait.SILENCE,
    FailureReason.UNFINISHED: _Trait.SILENCE,
    FailureReason.TRUNCATED: _Trait.RETRIABLE,
}
"""What follows from each reason. The others say only that the URL failed."""


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
