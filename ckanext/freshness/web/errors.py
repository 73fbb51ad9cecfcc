"""The reasons of failed requests, what each means, and the exceptions that carry them."""

from __future__ import annotations

from enum import Enum


class Meaning(Enum):
    """What an answer, or no answer, says about a link."""

    WORKS = "works"
    FAILED = "failed"
    CANNOT_TELL = "cannot tell"
    OURS = "ours"
    """The cause is on our side. People see "couldn't be checked", as for ``CANNOT_TELL``."""


_, _FAILED, _CANNOT_TELL, _OURS = Meaning


class FailureReason(Enum):
    """The reason why a request has no answer. The value is stored and counted.

    :ivar meaning: what it says about the link
    :ivar why: the same, in words for the documentation
    """

    meaning: Meaning
    why: str

    def __new__(cls, value: str, meaning: Meaning, why: str) -> FailureReason:
        self = object.__new__(cls)
        self._value_ = value
        self.meaning, self.why = meaning, why
        return self

    # The URL itself
    INVALID_URL = "invalid url", _FAILED, "no program can open it"
    SCHEME_REFUSED = "scheme refused", _CANNOT_TELL, "only http and https are asked for"

    # Requests that we refuse to send
    INSIDE_ADDRESS = "inside address", _OURS, "this site sends nothing into private networks"
    HOST_NOT_ALLOWED = "host not allowed", _OURS, "the site's settings do not allow the host"
    HOST_DEFERRED = "host asked for a pause", _CANNOT_TELL, "the server asked for a long pause"
    HOST_SILENT = "host gave no answer", _CANNOT_TELL, "its server gave no answer to other requests"
    """Other requests to the host failed again and again. This URL was not requested."""
    TOO_LARGE = "too large", _OURS, "the file is larger than this site reads"
    NO_ROOM = "no room", _OURS, "this site had no room for the file at that moment"
    INVALID_REQUEST = "invalid request", _OURS, "the request cannot be sent"
    UNFORESEEN = "unforeseen", _OURS, "this site met an error that nobody foresaw"
    """An exception that nobody expected, probably because of a bug of ours."""

    # Names and connections
    NAME_NOT_FOUND = "name not found", _FAILED, "its host name does not exist"
    NAME_LOOKUP_FAILED = "name lookup failed", _FAILED, "its host name cannot be looked up"
    CONNECTION_REFUSED = "connection refused", _FAILED, "nothing answers at its address"
    CONNECTION_RESET = "connection reset", _FAILED, "the server breaks the connection off"
    UNREACHABLE = "unreachable", _FAILED, "its machine cannot be reached"
    NO_ROUTE = "no route", _OURS, "this machine has no way to its network"
    PROXY = "proxy", _OURS, "the proxy of this site gives no answer"
    OUT_OF_SOCKETS = "out of sockets", _OURS, "this machine has too many open files"

    TLS_EXPIRED = "certificate expired", _FAILED, "browsers warn of an expired certificate"
    TLS_SELF_SIGNED = (
        "certificate self-signed",
        _FAILED,
        "browsers warn of a certificate that nobody signed",
    )
    TLS_WRONG_NAME = (
        "certificate for another name",
        _FAILED,
        "browsers warn of a certificate for another name",
    )
    TLS_UNTRUSTED = (
        "certificate not trusted",
        _CANNOT_TELL,
        "its issuer is not known here, perhaps because an intermediate certificate is missing",
    )
    TLS_WEAK = (
        "certificate too weak",
        _CANNOT_TELL,
        "its key or a signature is too weak for this site, but perhaps not for browsers",
    )
    TLS_REFUSED = (
        "certificate refused",
        _CANNOT_TELL,
        "it breaks another rule, which browsers may not apply",
    )
    TLS_FAILED = "TLS failed", _FAILED, "not even outdated encryption is understood"

    CONNECT_TIMEOUT = "connect timeout", _FAILED, "the server takes no connection in time"
    READ_TIMEOUT = "read timeout", _FAILED, "the server falls silent"
    TOTAL_TIMEOUT = "total timeout", _FAILED, "no answer begins in time"
    UNFINISHED = (
        "unfinished",
        _CANNOT_TELL,
        "the file arrives, but too slowly for the limits of this site",
    )
    """The time was over while the body still arrived: a slow file is no broken one."""

    # The answer
    REDIRECT_LOOP = "redirect loop", _FAILED, "it redirects in a circle"
    TOO_MANY_REDIRECTS = "too many redirects", _FAILED, "it redirects too often"
    TRUNCATED = "truncated", _FAILED, "the file breaks off"
    DAMAGED = (
        "damaged compression",
        _CANNOT_TELL,
        "its compression is cut short or has a wrong checksum, which some browsers ignore",
    )
    MALFORMED = "malformed answer", _FAILED, "not even browsers can read the answer"

    @property
    def retriable(self) -> bool:
        """Decide whether a retry soon may succeed.

        A total timeout is not retried: a URL that needs more time needs it every time.
        """
        return self in _RETRIABLE

    @property
    def silence(self) -> bool:
        """Decide whether the host gave no answer at all, so that its other URLs probably fail, too."""
        return self.theirs and self not in _NOT_SILENT

    @property
    def theirs(self) -> bool:
        """Decide whether the host was asked, so that the reason says something about it."""
        return self.meaning is not Meaning.OURS and self not in _NOT_ASKED


_RETRIABLE = frozenset(
    {
        FailureReason.NO_ROOM,
        FailureReason.NAME_LOOKUP_FAILED,
        FailureReason.CONNECTION_REFUSED,
        FailureReason.CONNECTION_RESET,
        FailureReason.UNREACHABLE,
        FailureReason.NO_ROUTE,
        FailureReason.PROXY,
        FailureReason.OUT_OF_SOCKETS,
        FailureReason.CONNECT_TIMEOUT,
        FailureReason.READ_TIMEOUT,
        FailureReason.TRUNCATED,
        FailureReason.DAMAGED,
    }
)
_NOT_SILENT = frozenset(
    {
        FailureReason.INVALID_URL,
        FailureReason.SCHEME_REFUSED,
        FailureReason.REDIRECT_LOOP,
        FailureReason.TOO_MANY_REDIRECTS,
        FailureReason.TRUNCATED,
        FailureReason.DAMAGED,
        FailureReason.MALFORMED,
    }
)
_NOT_ASKED = frozenset({FailureReason.HOST_DEFERRED, FailureReason.HOST_SILENT})


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
