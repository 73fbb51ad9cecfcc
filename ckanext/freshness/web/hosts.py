"""Hosts: one object per host has its connections, its rate, its pauses and its statistics.

A host is the name in a URL, without scheme and port: limits protect a machine, and all ports of a name
lead to the same machine. (Several names may lead to it, too; shared addresses do not tell that with
certainty.) First requests, redirects, second downloads and copies use the same object. Waiting for it
counts in no time limit.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from protego import Protego

from .errors import FailureReason, FetchError
from .exchange import MIB, Answer
from .urls import Target, host_name


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """The limits of requests to a host.

    :ivar connections: requests at the same time
    :ivar per_second: requests per second, evenly spaced; ``math.inf`` for no limit
    :ivar robots: whether to read and obey robots.txt (RFC 9309)
    :ivar failures: URLs in a row without an answer after which requests stop; 0 for no limit
    :ivar pause: seconds after which one more request is then sent
    :ivar last_round: seconds without an answer after which the last round of a run skips the rest
    :raises ValueError: a limit would let no request be sent
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
"""The limits for hosts that did not ask for requests."""

CRAWL = HostPolicy(connections=8, per_second=50.0)
"""The limits for a source that is registered to be harvested."""


@dataclass(slots=True)
class Statistics:
    """The numbers of one run for a host, redirects and failed attempts included.

    :ivar seconds: the duration of all requests, without the time in our queues
    """

    requests: int = 0
    seconds: float = 0.0


class Circuit(Enum):
    """The state of a :class:`Breaker`."""

    CLOSED = "closed"
    """Requests are sent."""
    OPEN = "open"
    """No request is sent until the pause is over."""
    HALF_OPEN = "half-open"
    """One request is under way, and its outcome decides."""
    GIVEN_UP = "given up"
    """No request is sent until the last round; within the last round, until the end of the run."""


_PROBE_PATIENCE = 1.0
"""Seconds between two looks at a half-open circuit."""


@dataclass(slots=True)
class Breaker:
    """A circuit breaker, so that a host with thousands of hanging URLs does not make a run last for days.

    Moments are seconds of a monotonic clock.

    :ivar limit: URLs in a row without an answer after which it opens; 0 if it never opens
    :ivar pause: seconds for which it stays open
    :ivar failures: URLs in a row without an answer after all their attempts
    :ivar retry_at: when the next request may be sent
    :ivar patience: in the last round, seconds without an answer after which the host is given up; None
        before
    :ivar answered_at: in the last round, when it began or when the last answer came
    """

    limit: int = 0
    pause: float = 120.0
    circuit: Circuit = Circuit.CLOSED
    failures: int = 0
    retry_at: float = 0.0
    patience: float | None = None
    answered_at: float = 0.0

    def opens_in(self, now: float) -> float:
        """Return the seconds until a request may be sent; also 0 if the host was given up."""
        if self.circuit is Circuit.OPEN:
            return max(0.0, self.retry_at - now)
        return _PROBE_PATIENCE if self.circuit is Circuit.HALF_OPEN else 0.0

    def begin(self, now: float) -> bool:
        """Decide whether a request may be sent now.

        If the circuit is half-open afterwards, this request decides, and its caller reports how it ended.
        """
        if self.circuit is Circuit.OPEN and now >= self.retry_at:
            self.circuit = Circuit.HALF_OPEN
            return True
        return self.circuit is Circuit.CLOSED

    def begin_last_round(self, now: float, patience: float) -> None:
        """Allow requests again until the host has given no answer for a time.

        :param now: seconds of a monotonic clock
        :param patience: seconds without an answer after which the host is given up
        """
        self.circuit = Circuit.CLOSED
        self.patience = patience
        self.answered_at = now

    def ended(
        self, reason: FailureReason | None, now: float, *, is_last: bool, decides: bool
    ) -> None:
        """Record how a request ended.

        :param reason: why there was no answer; None if there was one
        :param is_last: whether the URL has no attempt left
        :param decides: whether :meth:`begin` had half-opened the circuit for this request
        """
        if reason is None or (reason.theirs and not reason.silence):
            # Any answer shows that the host is alive.
            self.circuit = Circuit.CLOSED
            self.failures = 0
            self.answered_at = now
        elif self.patience is not None:
            if reason.silence and now - self.answered_at >= self.patience:
                self.circuit = Circuit.GIVEN_UP
        elif decides:
            # A fault on our side says nothing about the host: the next request decides.
            self.circuit = Circuit.GIVEN_UP if reason.silence else Circuit.OPEN
        elif reason.silence and self.circuit is Circuit.CLOSED:
            if is_last or not reason.retriable:
                self.failures += 1
            if self.limit and self.failures >= self.limit:
                self.circuit = Circuit.OPEN
                self.retry_at = now + self.pause


class Host:
    """A host. ``async with host:`` waits until a request may be sent, and counts it.

    Requests start in the order of their arrival, at most ``policy.connections`` at a time and ``1 /
    policy.per_second`` seconds apart.

    :ivar robots: the rules of its robots.txt by origin, if the policy reads them
    """

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
        """Start no request for some seconds, also none that is waiting already."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    def slow_down(self, seconds: float) -> None:
        """Leave at least ``seconds`` between two requests from now on."""
        self._interval = max(self._interval, seconds)

    def close(self, seconds: float) -> None:
        """Refuse requests for some seconds, because the host asked for a pause that is too long to wait
        for."""
        self._closed_until = max(self._closed_until, time.monotonic() + seconds)

    @property
    def closed_for(self) -> float:
        """Return the seconds for which the host still refuses requests; 0 if it takes them."""
        if not self._closed_until:
            return 0.0
        return max(0.0, self._closed_until - time.monotonic())

    @property
    def opens_in(self) -> float:
        """Return the seconds until rate, pauses and breaker allow a request; 0 if they do now."""
        until = self._next_at if self._next_at > self._paused_until else self._paused_until
        now = time.monotonic()
        left = until - now
        if self.breaker.circuit is not Circuit.CLOSED:
            left = max(left, self.breaker.opens_in(now))
        return left if left > 0 else 0.0

    @property
    def open(self) -> bool:
        """Decide whether a request could start now."""
        free = self._active < self.policy.connections and not self._waiting
        return free and not self.opens_in

    def enter_now(self, now: float) -> bool:
        """Begin a request if it may start now, and return whether it did. Then call :meth:`leave` at its
        end.

        :param now: the present value of ``time.monotonic``
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
        """Wait for the requests that came before and for the host's limits, then begin a request."""
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
                # The turn came in the moment of the cancellation: pass it on.
                self.leave()
            raise

    def leave(self) -> None:
        """End a request, so that the next one can begin."""
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
                    # The host asked another request for a pause meanwhile.
                    continue
            return


class Hosts:
    """All hosts of a run.

    :param default: the policy of hosts that ``policies`` does not name
    :param policies: policies by host name, in any spelling
    :raises ValueError: a name in ``policies`` is no host name
    """

    def __init__(
        self, default: HostPolicy = CHECK, policies: Mapping[str, HostPolicy] | None = None
    ) -> None:
        self._default = default
        self._policies = {host_name(n): p for n, p in (policies or {}).items()}
        self._hosts: dict[str, Host] = {}

    def of(self, name: str) -> Host:
        """Return the host of a normalised name."""
        host = self._hosts.get(name)
        if host is None:
            key = name.rstrip(".")
            host = self._hosts.get(key)
            if host is None:
                host = self._hosts[key] = Host(key, self._policies.get(key, self._default))
        return host

    def __iter__(self) -> Iterator[Host]:
        return iter(self._hosts.values())


# robots.txt (RFC 9309): the URLs of a host that we may request, and how fast

MAX_ROBOTS_BYTES = MIB
"""Twice the size that RFC 9309 requires a reader to accept. A longer file sets no rules."""

MAX_CRAWL_DELAY = 30.0
"""The longest pause between two requests, in seconds, that a host can ask for."""

_MAX_RULES = 1_000_000
"""Protego copies each rule to every user agent of its group: lines times user agents must stay below
this."""


def robots_url(target: Target) -> str:
    """Return the URL of the robots.txt that applies to ``target``."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{target.scheme}://{host}:{target.port}/robots.txt"


def rules_of(found: Answer | FetchError) -> Protego:
    """Return the rules that follow from the request for robots.txt (RFC 9309, section 2.3.1).

    A client error means that there are no rules. A server error means that nothing may be requested. If
    there was no answer at all, everything may be requested: the request itself fails with a better message.
    """
    text = ""
    if isinstance(found, Answer) and 200 <= found.status < 300:
        text = (found.body or b"").decode("utf-8", "replace")
    elif isinstance(found, Answer) and found.status >= 500:
        text = "User-agent: *\nDisallow: /"
    if text.lower().count("agent") * len(text.splitlines()) > _MAX_RULES:
        text = ""
    return Protego.parse(text)


def crawl_delay(rules: Protego, user_agent: str) -> float:
    """Return the seconds to leave between two requests; 0 if robots.txt does not say."""
    rate = rules.request_rate(user_agent)
    spaced = rate.seconds / rate.requests if rate else 0.0
    return min(MAX_CRAWL_DELAY, max(rules.crawl_delay(user_agent) or 0.0, spaced))
