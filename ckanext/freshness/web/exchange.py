"""One request and its answer: what is asked, within which limits, how often, and what becomes of the body.

:mod:`.connections` sends a request, and :mod:`.client` decides when.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Protocol

from multidict import CIMultiDict, CIMultiDictProxy

from .address_guard import Guard
from .encodings import Decoder
from .errors import FailureReason, Fault, FetchError
from .headers import can_be_sent, illegal_header
from .redirects import Redirects
from .urls import DEFAULT_PORTS, Target, display_url, parse_url

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a request, in seconds and bytes.

    :ivar connect: seconds until the connection is made, TLS included
    :ivar read: seconds without a single byte; twice as many in the last of several attempts
    :ivar head: seconds until status and headers have arrived, whatever comes before them
    :ivar total: seconds of one attempt from its first to its last byte, redirects included. Time in our
        own queues and for name lookups does not count.
    :ivar all_attempts: the same of all attempts together, and of the requests that they follow
    :ivar max_bytes: the size of a body, as received and as decompressed
    :ivar redirects: the number of redirects in one attempt
    :ivar attempts: the number of attempts
    :ivar backoff: seconds between attempts; the last value is repeated
    :ivar jitter: the fraction by which a wait is made longer or shorter at random
    :ivar retry_after_max: seconds. If a host asks for a longer pause, the request fails.
    """

    connect: float = 10.0
    read: float = 30.0
    head: float = 120.0
    total: float = 120.0
    all_attempts: float = math.inf
    max_bytes: int = 50 * MIB
    redirects: int = 20
    attempts: int = 3
    backoff: tuple[float, ...] = (5.0, 20.0)
    jitter: float = 0.25
    retry_after_max: float = 600.0


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The settings of a client.

    :ivar user_agent: the ``User-Agent`` header: the site's address, and one for complaints
    :ivar plain_agent: the same for servers that keep out all that is called Mozilla; None if there is none
    :ivar proxy: the URL of the proxy for all requests; its user and password are never shown
    :ivar ca_bundle: a file of certificate authorities that are trusted besides the system's
    :ivar insecure_hosts: hosts whose certificates are not verified; see :attr:`Answer.insecure`
    :ivar languages: the ``Accept-Language`` header; None to send none
    """

    user_agent: str
    limits: Limits = field(default_factory=Limits)
    guard: Guard = field(default_factory=Guard)
    proxy: str | None = field(default=None, repr=False)
    ca_bundle: Path | None = None
    insecure_hosts: frozenset[str] = frozenset()
    languages: str | None = None
    plain_agent: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A request.

    :ivar method: ``GET`` or ``HEAD``
    :ivar etag: the ETag of the content that we know; the server answers 304 if it has not changed
    :ivar last_modified: the ``Last-Modified`` header of the content that we know, as the server wrote it
    :ivar cached: whether a cache on the way may answer without asking the server
    :ivar headers: more headers, which may be secret. They are sent to the origin of ``url`` (scheme, host
        and port) only, never to another host after a redirect.
    :ivar public_headers: more headers without secrets, which are sent to all hosts
    :ivar limits: limits in place of the client's
    :ivar host_allowed: decides whether a host (normalised name) may be requested; called at every hop
    """

    url: str
    method: str = "GET"
    accept: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    cached: bool = True
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    public_headers: Mapping[str, str] = field(default_factory=dict)
    limits: Limits | None = None
    host_allowed: Callable[[str], bool] | None = None


@dataclass(slots=True)
class Answer:
    """An answer, of any HTTP status.

    :ivar url: the requested URL, normalised, without user and password
    :ivar final_url: the URL that answered, after redirects
    :ivar moved_to: where the first redirects led, as far as they are for good; None if the first is not
    :ivar body: the body; at most :data:`ERROR_BYTES` of an error page. None if a sink took it or it was
        skipped.
    :ivar complete: whether the body was read to its end
    :ivar received: the size of the body in bytes, decompressed
    :ivar on_wire: the size of the body in bytes, as received
    :ivar seconds: the duration of the last attempt, without the time in our own queues
    :ivar insecure: whether a certificate was not verified because the site's settings say so
    :ivar outdated_tls: whether the server speaks only TLS that OpenSSL refuses by default
    """

    status: int
    url: str
    final_url: str
    headers: CIMultiDictProxy[str]
    moved_to: str | None = None
    body: bytes | None = None
    complete: bool = True
    received: int = 0
    on_wire: int = 0
    seconds: float = 0.0
    attempts: int = 1
    insecure: bool = False
    outdated_tls: bool = False


ERROR_BYTES = 64 * 1024
"""The most bytes that are read of an error page: its status suffices."""


class Enough(Exception):
    """Raised by a sink that needs no more of a body."""


class Sink(Protocol):
    """A receiver of a body, chunk by chunk, so that a body need not fit into memory."""

    def write(self, data: bytes, /) -> object:
        """Take the next chunk.

        :raises Enough: the sink needs no more. The answer is returned as not complete.
        """

    def restart(self) -> object:
        """Discard all chunks, because the body broke off. Another attempt may follow."""


class Body(Enum):
    """The treatment of a body that no sink takes."""

    COLLECT = "collect"
    SKIP = "skip"


Choose = Callable[[Answer], "Sink | Body"]
"""Decides what happens to a body when its headers have arrived; called in each attempt.

It is not called for redirects, nor for statuses that are retried.
"""


@dataclass(frozen=True, slots=True)
class Hop:
    """One request to one server: an attempt, or a redirect of it.

    :ivar headers: besides those that the client sends with all requests
    :ivar limits: those of the request, in seconds and bytes
    :ivar total: seconds until the last byte must have been read
    """

    method: str
    target: Target
    headers: CIMultiDict[str]
    limits: Limits
    total: float


class Exchange(Protocol):
    """A response whose status and headers have arrived and whose body is still to be read.

    Always call :meth:`end`.
    """

    status: int
    headers: CIMultiDictProxy[str]

    @property
    def is_whole(self) -> bool:
        """Whether the whole body has arrived."""

    @property
    def received(self) -> int:
        """The number of bytes of the body that have arrived."""

    async def read(self) -> bytes:
        """Return the next bytes of the body, as received; none at its end.

        :raises Fault: the body breaks off
        """

    async def skip(self) -> None:
        """Read a small unwanted body to its end, so that the connection can be kept."""

    def end(self) -> None:
        """Close the connection if the body was not read to its end; otherwise keep it."""


# The attempts of a request


@dataclass(slots=True)
class AttemptState:
    """The state of one attempt.

    :ivar target: where it stands after redirects
    :ivar seconds: that its requests have taken, without the time in our own queues
    :ivar insecure: see :attr:`Answer.insecure`
    :ivar outdated_tls: see :attr:`Answer.outdated_tls`
    """

    target: Target
    redirects: Redirects = field(default_factory=Redirects)
    seconds: float = 0.0
    insecure: bool = False
    outdated_tls: bool = False


class RequestAttempts:
    """A request with the state of its attempts.

    :param target: the parsed URL of the request, if the caller has it
    :raises FetchError: the URL is invalid, or the request cannot be sent

    :ivar start: the parsed URL of the request
    :ivar attempts: the number of attempts so far
    :ivar present: the present attempt
    :ivar spent: seconds of earlier attempts, and of the requests that this one follows
    :ivar pause: seconds until the next attempt
    :ivar last: whether no other request to the host follows soon, so that its connection is closed
    """

    def __init__(
        self,
        request: Request,
        limits: Limits,
        choose: Choose | None = None,
        target: Target | None = None,
    ) -> None:
        self.request = request
        self.limits = limits
        self.choose = choose
        self.last = False
        self.attempts = 0
        self.pause = 0.0
        self.spent = 0.0
        self.start = parse_url(request.url) if target is None else target
        self.present = AttemptState(self.start)
        common = dict(request.public_headers)
        if request.accept is not None:
            common["Accept"] = request.accept
        if not request.cached:
            common["Cache-Control"] = "no-cache"
        # Validators come from the server and may hold bytes that no header may have.
        if request.etag and can_be_sent(request.etag):
            common["If-None-Match"] = request.etag
        if request.last_modified and can_be_sent(request.last_modified):
            common["If-Modified-Since"] = request.last_modified
        given = {**request.headers, "Accept": request.accept} if request.accept else request.headers
        if given and (name := illegal_header(given)) is not None:
            words = f"was not asked for: the header {name} has characters that no header may have"
            raise self.error(Fault(FailureReason.INVALID_REQUEST, words))
        self._common = common
        self.attempts = 1

    def again(self, pause: float) -> None:
        """Prepare the next attempt, which is due in ``pause`` seconds."""
        self.attempts += 1
        self.pause = pause
        self.spent += self.present.seconds
        if self.attempts == self.limits.attempts:
            # Browsers wait longer, too: some files are made when they are asked for.
            self.limits = replace(self.limits, read=2 * self.limits.read)
        self.present = AttemptState(self.start)

    def over_tls(self) -> bool:
        """Turn from a URL with ``http`` to the same with ``https``, as browsers do. Return whether it was done.

        Only in the first attempt, and only at the usual port. Secrets are only sent where they were meant for.
        """
        target = self.present.target
        is_plain = target.scheme == "http" and target.port == DEFAULT_PORTS["http"]
        if self.attempts > 1 or not is_plain or self.request.headers:
            return False
        url = "https" + target.url[len("http") :]
        port = DEFAULT_PORTS["https"]
        self.present.target = replace(target, url=url, scheme="https", port=port)
        return True

    def once_more(self) -> None:
        """Prepare one last attempt at the present target, without following the redirects again."""
        self.limits = replace(self.limits, attempts=self.attempts)
        self.pause = 0.0
        self.spent += self.present.seconds
        self.present.seconds = 0.0

    @property
    def seconds_left(self) -> float:
        """The seconds until the last byte of the present attempt must have arrived."""
        limits = self.limits
        return min(limits.total, limits.all_attempts - self.spent) - self.present.seconds

    @property
    def is_last(self) -> bool:
        """Whether neither time nor number allows another attempt."""
        limits = self.limits
        has_time = self.spent + self.present.seconds < limits.all_attempts
        return self.attempts >= limits.attempts or not has_time

    def headers(self, target: Target) -> CIMultiDict[str]:
        """Return the headers of the request to ``target``; the request's own go to their origin only."""
        headers = CIMultiDict(self._common)
        # A few servers break off the answer to a request with this header.
        if self.last and self.attempts == 1:
            headers["Connection"] = "close"
        if cookies := self.present.redirects.cookies_for(target):
            headers["Cookie"] = cookies
        if target.authorization is not None:
            headers["Authorization"] = target.authorization
        if self.request.headers and target.origin == self.start.origin:
            headers.update(self.request.headers)
        return headers

    def follow(self, before: RequestAttempts) -> None:
        """Share the limit of time with the request that this one follows."""
        self.spent = before.spent + before.present.seconds

    def take_cookies(self, before: RequestAttempts, page: Answer) -> None:
        """Send the cookies of another request, whose answer was a page that leads here."""
        redirects = self.present.redirects
        redirects.take_over(before.present.redirects)
        redirects.take_cookies(page.final_url, page.headers.getall("Set-Cookie", ()))

    def redirected(
        self, target: Target, location: str, cookies: Sequence[str], *, for_good: bool
    ) -> Target:
        """Follow a redirect of ``target``, and return the new target.

        :raises Fault: see :meth:`.redirects.Redirects.follow`, or it is one redirect too many
        """
        redirects = self.present.redirects
        found = redirects.follow(target, location, cookies, for_good=for_good)
        if len(redirects) > self.limits.redirects:
            words = f"redirects more than {self.limits.redirects} times"
            raise Fault(FailureReason.TOO_MANY_REDIRECTS, words)
        self.present.target = found
        return found

    def answer(self, target: Target, response: Exchange) -> Answer:
        """Return the answer without its body."""
        present = self.present
        return Answer(
            status=response.status,
            url=self.start.url,
            final_url=target.url,
            moved_to=present.redirects.moved_to,
            headers=response.headers,
            attempts=self.attempts,
            insecure=present.insecure,
            outdated_tls=present.outdated_tls,
        )

    def error(self, fault: Fault) -> FetchError:
        """Return a fault as the error that callers get."""
        words, target = fault.words, self.present.target
        if target is not self.start and fault.reason not in _ABOUT_REDIRECTS:
            words = f"redirects to {display_url(target.url)}, which {words}"
        return FetchError(
            fault.reason,
            display_url(self.request.url),
            words,
            target=target.url,
            attempts=self.attempts,
            seconds=self.present.seconds,
        )


_ABOUT_REDIRECTS = frozenset({FailureReason.REDIRECT_LOOP, FailureReason.TOO_MANY_REDIRECTS})


def backoff(pending: RequestAttempts) -> float:
    """Return the seconds to wait after the present attempt by the configured steps."""
    steps = pending.limits.backoff
    return steps[min(pending.attempts, len(steps)) - 1] if steps else 0.0


def pause_after(pending: RequestAttempts, asked_for: float | None = None) -> float | None:
    """Return the seconds until the next attempt; None if no attempt is left.

    The wait varies at random, so that requests that failed together are not retried together. A pause
    that the host asked for is never shortened.

    :param asked_for: the pause that the host asked for
    """
    if pending.is_last:
        return None
    jitter = pending.limits.jitter
    if asked_for is not None:
        return asked_for + random.uniform(0, jitter) * backoff(pending)
    return backoff(pending) * random.uniform(1 - jitter, 1 + jitter)


# Bodies

Write = Callable[[bytes], object]


async def take_body(pending: RequestAttempts, answer: Answer, response: Exchange) -> None:
    """Read the body of ``response`` as the caller's ``choose`` decides.

    :raises Fault: the body breaks off, or is larger than allowed
    """
    choice = Body.COLLECT if pending.choose is None else pending.choose(answer)
    most = pending.limits.max_bytes
    if choice is Body.SKIP:
        answer.complete = response.is_whole
        await response.skip()
        answer.on_wire = response.received
    elif choice is Body.COLLECT:
        chunks: list[bytes] = []
        is_error = answer.status >= 300
        try:
            await _read(
                answer, response, chunks.append, min(most, ERROR_BYTES) if is_error else most
            )
        except Fault:
            if not is_error:
                raise
            # The status says all: a fault in the error page itself is no failure.
            answer.complete = False
        answer.body = b"".join(chunks)
    else:
        try:
            await _read(answer, response, choice.write, most)
        except Enough:
            answer.complete = False
        except Fault:
            if answer.status < 400:
                choice.restart()
                raise
            # As above. But a file may also come with the status of a redirect.
            answer.complete = False


async def _read(answer: Answer, response: Exchange, write: Write, most: int) -> None:
    decoder: Decoder | None = None
    has_begun = False
    try:
        while chunk := await response.read():
            if not has_begun:
                # Only here: answers without a body may name an encoding, too.
                encoding = response.headers.get("Content-Encoding")
                decoder = Decoder(encoding) if encoding else None
                has_begun = True
            for part in (chunk,) if decoder is None else decoder.chunks(chunk):
                answer.received += len(part)
                if answer.received > most or response.received > most:
                    write(part[: len(part) - max(0, answer.received - most)])
                    raise Fault(FailureReason.TOO_LARGE, f"is larger than {_size(most)}")
                write(part)
        if decoder is not None:
            decoder.end()
    except Fault as fault:
        # Some servers name the length of what they compress, and browsers accept that.
        is_named = response.headers.get("Content-Length") == str(answer.received)
        is_cut = fault.reason is FailureReason.TRUNCATED
        if not (is_cut and is_named and decoder is not None and decoder.is_complete):
            raise
    finally:
        answer.on_wire = response.received


def _size(count: int) -> str:
    """Return a number of bytes as people read it."""
    for unit, name in ((MIB, "MiB"), (1024, "KiB")):
        if count >= unit:
            return f"{count / unit:g} {name}"
    return f"{count} bytes"
