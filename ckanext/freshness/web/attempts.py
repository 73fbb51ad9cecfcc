"""A request between its first attempt and its answer, and the reading of the answer's body."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from dataclasses import replace

import aiohttp
from multidict import CIMultiDict

from .connections import NETWORK_FAULTS, Circumstances, Exchange, fault_of
from .errors import FailureReason, Fault, FetchError
from .exchange import ERROR_BYTES, MIB, Answer, Body, Choose, Enough, Limits, Request
from .headers import Decoder, can_be_sent, decoder_of, illegal_header
from .hosts import Host
from .urls import Target, display_url, join_url, parse_url

_METHODS = frozenset({"GET", "HEAD"})
_DRAINED = 16 * 1024
"""Unwanted bodies up to this size are read to the end, so that the connection can be kept."""
_DRAIN_SECONDS = 0.2

Write = Callable[[bytes], object]


class RequestAttempts:
    """A request with the state of its attempts.

    :ivar start: the parsed URL of the request
    :ivar attempts: the number of attempts so far
    :ivar waited: seconds of all attempts in our own queues
    :ivar target: where the present attempt stands after redirects; ``hops``, ``seconds`` and ``insecure``
        also belong to the present attempt
    :ivar pause: seconds until the next step
    :ivar last: whether no other request to the host follows soon, so that its connection is closed
    """

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
        self.last = False
        self.attempts = 0
        self.waited = 0.0
        self.pause = 0.0
        self.host: Host | None = None
        self.hops: list[str] = []
        self.seconds = 0.0
        self.insecure = False

    def begin(self, target: Target | None = None) -> None:
        """Check the request, and prepare its first attempt.

        :param target: the parsed URL of the request, if the caller has it
        :raises FetchError: the URL is invalid, or the request cannot be sent
        """
        request = self.request
        self.start = self.target = parse_url(request.url) if target is None else target
        if request.method not in _METHODS:
            words = f"was not asked for: no method {request.method!r}"
            raise self.error(Fault(FailureReason.INVALID_REQUEST, words))
        common = {}
        if request.accept is not None:
            common["Accept"] = request.accept
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
        self.target = self.start
        self.hops = []
        self.seconds = 0.0
        self.insecure = False

    def once_more(self) -> None:
        """Prepare one last attempt at the present target, without following the redirects again."""
        self.limits = replace(self.limits, attempts=self.attempts)
        self.pause = 0.0
        self.seconds = 0.0

    def headers(self, target: Target) -> CIMultiDict[str]:
        """Return the headers of the request to ``target``; the request's own go to their origin only."""
        headers = CIMultiDict(self._common)
        if self.last:
            headers["Connection"] = "close"
        if target.authorization is not None:
            headers["Authorization"] = target.authorization
        if self.request.headers and target.origin == self.start.origin:
            headers.update(self.request.headers)
        return headers

    def redirected(self, target: Target, location: str) -> Target:
        """Follow a redirect of ``target``.

        :param location: the value of the ``Location`` header
        :returns: the new target
        :raises Fault: the location is invalid, has been requested before, or is one redirect too many
        """
        try:
            found = join_url(target, location)
        except FetchError as error:
            raise Fault(error.reason, f"redirects to {error.url}, which {error.words}") from error
        self.hops.append(target.url)
        if found.url in self.hops:
            raise Fault(FailureReason.REDIRECT_LOOP, "redirects in a circle")
        if len(self.hops) > self.limits.redirects:
            words = f"redirects more than {self.limits.redirects} times"
            raise Fault(FailureReason.TOO_MANY_REDIRECTS, words)
        self.target = found
        return found

    def answer(self, target: Target, response: Exchange) -> Answer:
        """Return the answer without its body."""
        return Answer(
            status=response.status,
            url=self.start.url,
            final_url=target.url,
            headers=response.headers,
            waited=self.waited,
            attempts=self.attempts,
            insecure=self.insecure,
        )

    def circumstances(self, answered: bool) -> Circumstances:
        """Return the details that :func:`fault_of` needs."""
        return Circumstances(self.limits, answered)

    def error(self, fault: Fault) -> FetchError:
        """Return a fault as the error that callers get."""
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
    if pending.attempts >= pending.limits.attempts:
        return None
    jitter = pending.limits.jitter
    if asked_for is not None:
        return asked_for + random.uniform(0, jitter) * backoff(pending)
    return backoff(pending) * random.uniform(1 - jitter, 1 + jitter)


async def take_body(pending: RequestAttempts, answer: Answer, response: Exchange) -> None:
    """Read the body of ``response`` as the caller's ``choose`` decides.

    :raises Fault: the body breaks off, or is larger than allowed
    """
    choice = Body.COLLECT if pending.choose is None else pending.choose(answer)
    if choice is Body.SKIP:
        answer.complete = response.content.is_eof()
        await drain(response)
        answer.on_wire = _on_wire(response.content)
    elif choice is Body.COLLECT:
        pieces: list[bytes] = []
        await _collect(pending, answer, response, pieces.append)
        answer.body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    else:
        try:
            await _read(pending, answer, response, choice.write, pending.limits.max_bytes)
        except Enough:
            answer.complete = False
        except Fault:
            choice.restart()
            raise


async def _collect(
    pending: RequestAttempts, answer: Answer, response: Exchange, write: Write
) -> None:
    if answer.status < 300:
        await _read(pending, answer, response, write, pending.limits.max_bytes)
        return
    # The status says all: a fault in the error page itself is no failure.
    try:
        await _read(pending, answer, response, write, min(pending.limits.max_bytes, ERROR_BYTES))
    except Fault:
        answer.complete = False


async def _read(
    pending: RequestAttempts, answer: Answer, response: Exchange, write: Write, most: int
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
                raise fault_of(error, pending.circumstances(answered=True)) from error
            if not piece:
                if decoder is not None:
                    decoder.end()
                return
            if not has_begun:
                # Only here: answers without a body may name an encoding, too.
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
    # aiohttp's reader of empty bodies has no total_raw_bytes.
    return content.total_raw_bytes if content.total_bytes else 0


async def drain(response: Exchange) -> None:
    """Read a small unwanted body to its end, so that the connection can be kept."""
    content = response.content
    if content.is_eof():
        return
    length = response.headers.get("Content-Length", "")
    if not (length.isascii() and length.isdigit() and int(length[:9]) <= _DRAINED):
        return
    with contextlib.suppress(*NETWORK_FAULTS):
        await asyncio.wait_for(content.wait_eof(), _DRAIN_SECONDS)


def _size(count: int) -> str:
    """Return a number of bytes as people read it."""
    for unit, name in ((MIB, "MiB"), (1024, "KiB")):
        if count >= unit:
            return f"{count / unit:g} {name}"
    return f"{count} bytes"
