"""One request between its first attempt and its answer, and the body at its end."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from dataclasses import replace

import aiohttp
from multidict import CIMultiDict

from .connections import Exchange
from .decoder import Decoder, decoder_of
from .errors import FailureReason, FetchError
from .exchange import ERROR_BYTES, MIB, Answer, Body, Choose, Enough, Hop, Limits, Request
from .faults import NETWORK_FAULTS, Circumstances, Fault, fault_of
from .headers import can_be_sent, illegal_header
from .hosts import Host
from .urls import Target, display_url, join_url, parse_url

_METHODS = frozenset({"GET", "HEAD"})
_DRAINED = 16 * 1024
"""A body of no interest up to this size is waited for, so that the connection can be kept."""
_DRAIN_SECONDS = 0.2

Write = Callable[[bytes], object]


class RequestAttempts:
    """One request on its way: what was asked, and where it stands.

    ``start``, ``attempts`` and ``waited`` are of the whole visit; ``target``, ``hops``, ``seconds``
    and ``insecure`` of its present attempt; ``pause`` is the wait until the next step, in seconds.
    ``last`` says that no other request to its host is near: the connection is not to be kept.
    """

    __slots__ = (
        "_common",
        "attempts",
        "choose",
        "hops",
        "host",
        "insecure",
        "last",
        "limits",
        "obeys_robots",
        "pause",
        "request",
        "seconds",
        "start",
        "target",
        "waited",
    )

    def __init__(
        self,
        request: Request,
        limits: Limits,
        choose: Choose | None,
        obeys_robots: bool = True,
    ) -> None:
        self.request = request
        self.limits = limits
        self.choose = choose
        self.obeys_robots = obeys_robots
        self.last = request.last
        self.attempts = 0
        self.waited = 0.0
        self.pause = 0.0
        self.host: Host | None = None
        self.hops: list[Hop] = []
        self.seconds = 0.0
        self.insecure = False

    def begin(self, target: Target | None = None) -> None:
        """Look at the request itself.

        :param target: what its URL is, where the caller has parsed it

        :raises FetchError: the URL cannot be visited, or the request cannot be sent
        """
        request = self.request
        self.start = self.target = parse_url(request.url) if target is None else target
        if request.method not in _METHODS:
            words = f"was not asked for: no method {request.method!r}"
            raise self.error(Fault(FailureReason.INVALID_REQUEST, words))
        common = {}
        if request.accept is not None:
            common["Accept"] = request.accept
        # Validators are the server's own words, in bytes that perhaps nobody may send.
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
        """Begin the next attempt, due in ``pause`` seconds."""
        self.attempts += 1
        self.pause = pause
        self.target = self.start
        self.hops = []
        self.seconds = 0.0
        self.insecure = False

    def once_more(self) -> None:
        """Begin an attempt that is the last one, at the URL where the visit stands."""
        self.limits = replace(self.limits, attempts=self.attempts)
        self.pause = 0.0
        self.seconds = 0.0

    def headers(self, target: Target) -> CIMultiDict[str]:
        """Return what is sent to ``target`` beside the client's own headers; secrets only to their origin."""
        headers = CIMultiDict(self._common)
        if self.last:
            headers["Connection"] = "close"
        if target.authorization is not None:
            headers["Authorization"] = target.authorization
        if self.request.headers and target.origin == self.start.origin:
            headers.update(self.request.headers)
        return headers

    def redirected(self, target: Target, status: int, location: str) -> Target:
        """Where an answer of ``target`` leads to.

        :raises Fault: nowhere that can be visited
        """
        try:
            found = join_url(target, location)
        except FetchError as error:
            raise Fault(error.reason, f"redirects to {error.url}, which {error.words}") from error
        self.hops.append(Hop(target.url, status))
        if any(hop.url == found.url for hop in self.hops):
            raise Fault(FailureReason.REDIRECT_LOOP, "redirects in a circle")
        if len(self.hops) > self.limits.redirects:
            words = f"redirects more than {self.limits.redirects} times"
            raise Fault(FailureReason.TOO_MANY_REDIRECTS, words)
        self.target = found
        return found

    def answer(self, target: Target, response: Exchange) -> Answer:
        """The answer, still without its body."""
        return Answer(
            status=response.status,
            url=self.start.url,
            final_url=target.url,
            headers=response.headers,
            waited=self.waited,
            attempts=self.attempts,
            hops=tuple(self.hops),
            insecure=self.insecure,
        )

    def circumstances(self, answered: bool) -> Circumstances:
        """For the words of a fault."""
        return Circumstances(self.limits, answered)

    def error(self, fault: Fault) -> FetchError:
        """The fault as the caller gets it."""
        words = fault.words
        if self.target is not self.start and fault.reason not in _ABOUT_REDIRECTS:
            words = f"redirects to {display_url(self.target.url)}, which {words}"
        return FetchError(
            fault.reason,
            display_url(self.request.url),
            words,
            target=self.target.url,
            attempts=self.attempts,
            seconds=self.seconds,
            retry_after=fault.retry_after,
        )


_ABOUT_REDIRECTS = frozenset({FailureReason.REDIRECT_LOOP, FailureReason.TOO_MANY_REDIRECTS})


def backoff(visit: RequestAttempts) -> float:
    """Seconds due after the present attempt if nobody says otherwise."""
    steps = visit.limits.backoff
    return steps[min(visit.attempts, len(steps)) - 1] if steps else 0.0


def pause_after(visit: RequestAttempts, asked_for: float | None = None) -> float | None:
    """Seconds until the next attempt, or None if there is none.

    What a host asked for is never shortened; both are stretched at random, so that visits that
    failed together do not come back together.
    """
    if visit.attempts >= visit.limits.attempts:
        return None
    jitter = visit.limits.jitter
    if asked_for is not None:
        return asked_for + random.uniform(0, jitter) * backoff(visit)
    return backoff(visit) * random.uniform(1 - jitter, 1 + jitter)


async def take_body(visit: RequestAttempts, answer: Answer, response: Exchange) -> None:
    """Read the body of ``response`` into where it belongs.

    :raises Fault: it breaks off, or is larger than it may be
    """
    choice = Body.COLLECT if visit.choose is None else visit.choose(answer)
    if choice is Body.SKIP:
        answer.complete = response.content.is_eof()
        await drain(response)
        answer.on_wire = _on_wire(response.content)
    elif choice is Body.COLLECT:
        pieces: list[bytes] = []
        await _collect(visit, answer, response, pieces.append)
        answer.body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    else:
        try:
            await _read(visit, answer, response, choice.write, visit.limits.max_bytes)
        except Enough:
            answer.complete = False
        except Fault:
            choice.restart()
            raise


async def _collect(
    visit: RequestAttempts, answer: Answer, response: Exchange, write: Write
) -> None:
    if answer.status < 300:
        await _read(visit, answer, response, write, visit.limits.max_bytes)
        return
    # An error is an error, whatever becomes of the page that explains it.
    try:
        await _read(visit, answer, response, write, min(visit.limits.max_bytes, ERROR_BYTES))
    except Fault:
        answer.complete = False


async def _read(
    visit: RequestAttempts, answer: Answer, response: Exchange, write: Write, most: int
) -> None:
    content = response.content
    decoder: Decoder | None = None
    has_begun = False
    received = 0
    try:
        while True:
            try:
                piece = await content.readany()
                if not piece and (broken := response.fault) is not None:
                    raise broken
            except NETWORK_FAULTS as error:
                raise fault_of(error, visit.circumstances(answered=True)) from error
            if not piece:
                if decoder is not None:
                    decoder.end()
                return
            if not has_begun:
                # Answers without a body name the encoding that it would have.
                decoder = decoder_of(response.headers.get("Content-Encoding"))
                has_begun = True
            for part in (piece,) if decoder is None else decoder.pieces(piece):
                received += len(part)
                if received > most or content.total_raw_bytes > most:
                    write(part[: len(part) - max(0, received - most)])
                    raise Fault(FailureReason.TOO_LARGE, f"is larger than {_size(most)}")
                write(part)
    finally:
        answer.received = received
        answer.on_wire = _on_wire(content)


def _on_wire(content: aiohttp.StreamReader) -> int:
    # aiohttp's reader for answers without a body does not know the second number.
    return content.total_raw_bytes if content.total_bytes else 0


async def drain(response: Exchange) -> None:
    """Wait for the end of a body of no interest, if it is near; else the connection is lost."""
    content = response.content
    if content.is_eof():
        return
    length = response.headers.get("Content-Length", "")
    if not (length.isascii() and length.isdigit() and int(length[:9]) <= _DRAINED):
        return
    with contextlib.suppress(*NETWORK_FAULTS):
        await asyncio.wait_for(content.wait_eof(), _DRAIN_SECONDS)


def _size(count: int) -> str:
    """A number of bytes for people."""
    for unit, name in ((MIB, "MiB"), (1024, "KiB")):
        if count >= unit:
            return f"{count / unit:g} {name}"
    return f"{count} bytes"
