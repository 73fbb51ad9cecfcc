"""Politeness: one object per host owns its connections, its rate, its pauses and its statistics.

A host is what a URL names, without scheme and port: politeness is due to a machine, and the ports
of one name lead to one machine. (Several names may lead there too; that cannot be known without
guessing about shared addresses.) First visits, redirects, confirmations and copies go through the
same object. Waiting here is our own affair: it counts into no timeout.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from protego import Protego

from .errors import FailureReason
from .urls import host_name


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """How often a host may be asked.

    :ivar connections: requests at the same time
    :ivar per_second: requests a second, evenly spaced; ``math.inf`` for no limit
    :ivar robots: whether robots.txt is asked for and obeyed (RFC 9309)
    :ivar failures: visits in a row without an answer after which nobody asks; 0 for no limit
    :ivar pause: seconds after which one request more is made then
    :ivar last_round: seconds without an answer after which the last round of a run leaves the rest
    :raises ValueError: a limit that would never let anything pass
    """

    connections: int = 2
    per_second: float = 4.0
    robots: bool = False
    failures: int = 0
    pause: float = 120.0
    last_round: float = 600.0

    def __post_init__(self) -> None:
        if self.connections < 1:
            raise ValueError(f"connections must be at least 1, not {self.connections}")
        if not self.per_second > 0:
            raise ValueError(f"per_second must be above 0, not {self.per_second}")
        if self.failures < 0 or not self.pause >= 0:
            raise ValueError("failures and pause cannot be negative")


CHECK = HostPolicy()
"""For hosts that did not ask to be visited."""

CRAWL = HostPolicy(connections=8, per_second=50.0)
"""For a source that somebody registered to be harvested."""


@dataclass(slots=True)
class Statistics:
    """What one run did to a host, redirects and failed attempts included.

    :ivar received: bytes of bodies, as they came over the wire
    :ivar seconds: summed time of requests, without waiting in our queues
    :ivar statuses: how often each HTTP status came
    """

    requests: int = 0
    received: int = 0
    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    errors: Counter[FailureReason] = field(default_factory=Counter)
    last_status: int | None = None


class Circuit(Enum):
    """How a :class:`Breaker` stands."""

    CLOSED = "closed"
    """Requests are made."""
    OPEN = "open"
    """None is, until the pause is over."""
    HALF_OPEN = "half-open"
    """One is on its way, which decides."""
    GIVEN_UP = "given up"
    """None is any more, until the last round or, in it, until the end of the run."""


_PROBE_PATIENCE = 1.0
"""Seconds after which those who wait for the deciding request look again."""


@dataclass(slots=True)
class Breaker:
    """A circuit breaker: a host with thousands of URLs that all hang must not make a run last for days.

    Moments are seconds of any clock that does not go back.

    :ivar limit: visits in a row without an answer after which it opens; 0: it never does
    :ivar pause: seconds for which it stays open
    :ivar failures: visits in a row without an answer, attempts and all
    :ivar retry_at: when the next request may be made
    :ivar patience: in the last round, seconds without an answer after which it opens for good; None before
    :ivar answered_at: in the last round, when it began or an answer came
    """

    limit: int = 0
    pause: float = 120.0
    circuit: Circuit = Circuit.CLOSED
    failures: int = 0
    retry_at: float = 0.0
    patience: float | None = None
    answered_at: float = 0.0

    def opens_in(self, now: float) -> float:
        """Seconds until a request may be made; 0 also if none ever may be."""
        if self.circuit is Circuit.OPEN:
            return max(0.0, self.retry_at - now)
        return _PROBE_PATIENCE if self.circuit is Circuit.HALF_OPEN else 0.0

    def begin(self, now: float) -> bool:
        """Whether a request may be made now. If it is one that decides, the circuit is half-open then,
        and whoever makes it says how it ended."""
        if self.circuit is Circuit.OPEN and now >= self.retry_at:
            self.circuit = Circuit.HALF_OPEN
            return True
        return self.circuit is Circuit.CLOSED

    def begin_last_round(self, now: float, patience: float) -> None:
        """Let requests be made once more. Single failures are no reason to stop now: what counts is how
        long the host has given no answer."""
        self.circuit = Circuit.CLOSED
        self.patience = patience
        self.answered_at = now

    def ended(
        self, reason: FailureReason | None, now: float, *, is_last: bool, decides: bool
    ) -> None:
        """Note how a request ended.

        :param reason: why there was no answer; None if there was one
        :param is_last: whether its visit has no attempt left
        :param decides: whether it was made when :meth:`begin` had half-opened the circuit
        """
        if reason is None or (reason.theirs and not reason.silence):
            # Whatever the host said: it speaks.
            self.circuit = Circuit.CLOSED
            self.failures = 0
            self.answered_at = now
        elif self.patience is not None:
            if reason.silence and now - self.answered_at >= self.patience:
                self.circuit = Circuit.GIVEN_UP
        elif decides:
            # Faults of ours tell nothing: the next request decides.
            self.circuit = Circuit.GIVEN_UP if reason.silence else Circuit.OPEN
        elif reason.silence and self.circuit is Circuit.CLOSED:
            if is_last or not reason.retriable:
                self.failures += 1
            if self.limit and self.failures >= self.limit:
                self.circuit = Circuit.OPEN
                self.retry_at = now + self.pause


class Host:
    """One host. ``async with host:`` is one request to it, once it may be made.

    Requests start in the order in which they came, at most ``policy.connections`` at a time and
    ``1 / policy.per_second`` apart.

    :ivar robots: the rules of its robots.txt, by origin, where the policy asks for them
    """

    __slots__ = (
        "_active",
        "_closed_until",
        "_interval",
        "_next_at",
        "_paused_until",
        "_waiting",
        "breaker",
        "name",
        "policy",
        "robots",
        "statistics",
    )

    def __init__(self, name: str, policy: HostPolicy) -> None:
        self.name = name
        self.policy = policy
        self.statistics = Statistics()
        self.breaker = Breaker(policy.failures, policy.pause)
        self.robots: dict[tuple[str, str, int], asyncio.Task[Protego]] = {}
        self._interval = 1.0 / policy.per_second
        self._active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._next_at = 0.0
        self._paused_until = 0.0
        self._closed_until = 0.0

    def defer(self, seconds: float) -> None:
        """Start no request for ``seconds`` from now; those that wait, and come, wait on."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    def slow_down(self, seconds: float) -> None:
        """From now on leave at least ``seconds`` between two requests."""
        self._interval = max(self._interval, seconds)

    def close(self, seconds: float) -> None:
        """The host wants to be left alone for longer than anybody will wait."""
        self._closed_until = max(self._closed_until, time.monotonic() + seconds)

    @property
    def closed_for(self) -> float:
        """Seconds for which the host still wants to be left alone; 0 if it may be asked."""
        if not self._closed_until:
            return 0.0
        return max(0.0, self._closed_until - time.monotonic())

    @property
    def opens_in(self) -> float:
        """Seconds until its rate, its pauses and its breaker let a request start; 0 if they do now."""
        until = self._next_at if self._next_at > self._paused_until else self._paused_until
        now = time.monotonic()
        left = until - now
        if self.breaker.circuit is not Circuit.CLOSED:
            left = max(left, self.breaker.opens_in(now))
        return left if left > 0 else 0.0

    @property
    def open(self) -> bool:
        """Whether a request that comes now starts now."""
        free = self._active < self.policy.connections and not self._waiting
        return free and not self.opens_in

    def enter_now(self, now: float) -> bool:
        """Begin a request if it may start now; whoever began it calls :meth:`leave`.

        :param now: of ``time.monotonic``
        """
        if (
            self._active >= self.policy.connections
            or self._waiting
            or now < self._next_at
            or now < self._paused_until
        ):
            return False
        breaker = self.breaker
        if breaker.circuit is not Circuit.CLOSED and breaker.opens_in(now):
            return False
        self._active += 1
        self._next_at = now + self._interval
        return True

    async def enter(self) -> None:
        """Begin a request as soon as it may start, after those that came before."""
        if self._active < self.policy.connections and not self._waiting:
            self._active += 1
        else:
            await self._turn()
        try:
            await self._pace()
        except BaseException:
            self.leave()
            raise

    async def __aenter__(self) -> Host:
        await self.enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    async def _turn(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # It was given in the moment of the cancellation: it goes to the next.
                self.leave()
            raise

    def leave(self) -> None:
        """A request has ended."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._active -= 1

    async def _pace(self) -> None:
        while True:
            now = time.monotonic()
            start = max(now, self._next_at, self._paused_until)
            self._next_at = start + self._interval
            if start > now:
                await asyncio.sleep(start - now)
                if self._paused_until > time.monotonic():
                    # Somebody was told to wait while we slept: that holds for us too.
                    continue
            return


class Hosts:
    """All hosts of a run.

    :param default: the policy of hosts that ``policies`` does not name
    :param policies: by host name, in any spelling
    :raises ValueError: a name in ``policies`` is none
    """

    def __init__(
        self, default: HostPolicy = CHECK, policies: Mapping[str, HostPolicy] | None = None
    ) -> None:
        self._default = default
        self._policies = {host_name(n): p for n, p in (policies or {}).items()}
        self._hosts: dict[str, Host] = {}

    def of(self, name: str) -> Host:
        """The host of that (normalised) name."""
        host = self._hosts.get(name)
        if host is None:
            key = name.rstrip(".")
            host = self._hosts.get(key)
            if host is None:
                host = self._hosts[key] = Host(key, self._policies.get(key, self._default))
        return host

    def __iter__(self) -> Iterator[Host]:
        return iter(self._hosts.values())
