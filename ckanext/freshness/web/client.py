"""The one HTTP client: asks, follows, waits, tries again, and never believes what it is told.

Any HTTP status is an answer (:class:`Answer`); no answer is a :class:`FetchError`. Redirects are
followed by hand, because each hop is another visit: its URL is checked, its host must be allowed,
its address is judged and its host's limits hold. Times are counted per attempt and without the
waiting in our own queues. Bodies are read in pieces, and both what comes over the wire and what it
decompresses to are bounded, whatever the headers claim.

A connection that breaks before anything was answered is replaced once at once (RFC 9112, section
9.3.1: kept-alive connections end like that); it counts as the same attempt.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from time import monotonic
from types import TracebackType

from protego import Protego
from yarl import URL

from .address_guard import Guard, InsideAddress
from .attempts import RequestAttempts, backoff, drain, pause_after, take_body
from .connections import Connections, Exchange
from .decoder import ENCODINGS
from .dns import NameFault, Names
from .errors import FailureReason, FetchError
from .event_loop import run
from .exchange import Answer, Body, Choose, Enough, Hop, Limits, Request, Sink
from .faults import NETWORK_FAULTS, Fault, fault_of
from .headers import can_be_sent, parse_http_date, parse_retry_after
from .hosts import Circuit, Host, Hosts
from .robots import MAX_BYTES, crawl_delay, robots_url, rules_of
from .urls import Target, display_url, host_name

__all__ = [
    "Answer",
    "Body",
    "Choose",
    "Client",
    "ClientSettings",
    "Enough",
    "FailureReason",
    "FetchError",
    "Hop",
    "Limits",
    "Request",
    "Sink",
    "run",
]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_FOR_GOOD = frozenset({501, 505})
"""Errors of a server that the next attempt would meet too."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What a client is set to once.

    :ivar user_agent: names the site and where to complain
    :ivar proxy: URL of the proxy for all visits; user and password in it are never shown
    :ivar proxy_resolves: behind a proxy, let it visit names that cannot be looked up here, which
        therefore nobody has judged
    :ivar ca_bundle: file of certificate authorities to be trusted beside the system's
    :ivar insecure_hosts: hosts whose certificates are not verified; answers say so
    """

    user_agent: str
    limits: Limits = field(default_factory=Limits)
    guard: Guard = field(default_factory=Guard)
    proxy: str | None = field(default=None, repr=False)
    proxy_resolves: bool = False
    ca_bundle: Path | None = None
    insecure_hosts: frozenset[str] = frozenset()


class Client:
    """Asks URLs. To be used as ``async with Client(settings, hosts) as client``.

    :param hosts: limits and statistics of hosts; they may outlive the client
    :param names: where names are looked up
    :raises ValueError: a setting is not usable; the message says which
    """

    def __init__(self, settings: ClientSettings, hosts: Hosts, names: Names | None = None) -> None:
        if not can_be_sent(settings.user_agent):
            raise ValueError("the user agent has characters that no header may have")
        self.settings = settings
        self.hosts = hosts
        self._names = names or Names()
        self._proxy = _proxy_url(settings.proxy)
        self._insecure = frozenset(map(host_name, settings.insecure_hosts))
        self._tasks: set[asyncio.Task[Protego]] = set()
        self._connections: Connections | None = None

    async def __aenter__(self) -> Client:
        settings = self.settings
        verify: ssl.SSLContext | bool = True
        if settings.ca_bundle is not None:
            verify = await asyncio.to_thread(_trusting, settings.ca_bundle)
        headers = {
            "Accept": "*/*",
            "Accept-Encoding": ENCODINGS,
            "User-Agent": settings.user_agent,
        }
        self._connections = Connections(self._names, settings.guard, headers, verify, self._proxy)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._connections is not None:
            await self._connections.close()
            self._connections = None
        await self._names.close()

    async def fetch(self, request: Request, choose: Choose | None = None) -> Answer:
        """Ask for ``request.url`` until there is an answer or no attempt is left.

        :param choose: what to do with the body; without it the body is collected
        :raises FetchError: there is no answer. What ``choose``, a sink or ``host_allowed`` raise is
            raised as it is.
        """
        return await self._fetch(self.begin(request, choose))

    def begin(
        self, request: Request, choose: Choose | None = None, target: Target | None = None
    ) -> RequestAttempts:
        """A request to be asked for with :meth:`step`, by a caller who owns the waiting.

        :param target: what its URL is, where the caller has parsed it
        :raises FetchError: it cannot be asked for
        """
        visit = RequestAttempts(request, request.limits or self.settings.limits, choose)
        visit.begin(target)
        return visit

    async def step(self, visit: RequestAttempts, *, patient: bool = False) -> Answer | None:
        """Ask once. Without an answer the visit goes on: at ``visit.target``, to which it was
        redirected or which is to be tried again, in ``visit.pause`` seconds at the earliest.

        :param patient: wait for the host's turn, rate and pauses. Otherwise a host that may not be
            asked at this moment is not asked.
        :raises FetchError: there is no answer, and no attempt is left
        """
        before = monotonic()
        target = visit.target
        host = visit.host = self.hosts.of(target.host)
        try:
            _refuse(host)
            # In the usual case nothing has to be waited for before the answer.
            if not self._is_admitted(visit, target):
                await self._admit_in_turn(visit, target, host)
            if host.policy.robots and visit.obeys_robots:
                await self._obey_robots(visit, target, host)
            if not host.enter_now(monotonic()):
                if not patient:
                    visit.pause = 0.0
                    return None
                await host.enter()
            try:
                found = await self._ask_in_turn(visit, target, host, before)
            finally:
                host.leave()
        except Fault as fault:
            host.statistics.errors[fault.reason] += 1
            pause = pause_after(visit) if fault.reason.retriable else None
            if pause is None:
                # Without the cause: aiohttp's exceptions carry headers and the proxy's URL, with
                # secrets.
                raise visit.error(fault) from None
            visit.again(pause)
            return None
        if isinstance(found, Answer):
            found.seconds = visit.seconds
            # Who asks holds the visit, and the visit him: without this the collector of cycles would
            # have each of them to find.
            visit.choose = None
            return found
        if isinstance(found, Target):
            visit.pause = 0.0
        else:
            visit.again(found)
        return None

    def knows(self, target: Target) -> bool:
        """Whether a step to ``target`` would not have to wait for its name to be looked up."""
        return target.is_address or self._names.known(target.host)

    async def look_up(self, target: Target) -> None:
        """Wait until the name is looked up. If that fails, the next step meets it and says so."""
        with contextlib.suppress(NameFault):
            await self._names.addresses(target.host)

    def begin_last_round(self, host: Host) -> None:
        """Ask a host again that was given up because it gave no answer; its name is looked up anew."""
        self._names.forget(host.name)
        host.breaker.begin_last_round(monotonic(), host.policy.last_round)

    async def _fetch(self, visit: RequestAttempts) -> Answer:
        while True:
            answer = await self.step(visit, patient=True)
            if answer is not None:
                return answer
            if visit.pause:
                await asyncio.sleep(visit.pause)

    async def _ask_in_turn(
        self, visit: RequestAttempts, target: Target, host: Host, before: float
    ) -> Answer | Target | float:
        """As :meth:`_ask`, and the host is told how it went."""
        began = monotonic()
        visit.waited += began - before
        _refuse(host)
        breaker = host.breaker
        decides = breaker.begin(began) and breaker.circuit is Circuit.HALF_OPEN
        reason: FailureReason | None = FailureReason.INVALID_REQUEST
        try:
            found = await self._ask(visit, target, host)
            reason = None
            return found
        except Fault as fault:
            reason = fault.silence
            raise
        finally:
            ended = monotonic()
            visit.seconds += ended - began
            host.statistics.seconds += ended - began
            is_last = visit.attempts >= visit.limits.attempts
            breaker.ended(reason, ended, is_last=is_last, decides=decides)

    async def _admit_in_turn(self, visit: RequestAttempts, target: Target, host: Host) -> None:
        """Call :meth:`_admit`, and tell the host if it fails: a name without an address is no answer."""
        try:
            await self._admit(visit, target)
        except Fault as fault:
            breaker = host.breaker
            decides = breaker.circuit is Circuit.OPEN
            is_last = visit.attempts >= visit.limits.attempts
            breaker.ended(fault.reason, monotonic(), is_last=is_last, decides=decides)
            raise

    def _is_admitted(self, visit: RequestAttempts, target: Target) -> bool:
        """Whether there is nothing to be asked or judged by :meth:`_admit`."""
        if self._proxy is not None or visit.request.host_allowed is not None:
            return False
        return target.is_address or self._names.has_addresses(target.host)

    async def _admit(self, visit: RequestAttempts, target: Target) -> None:
        """Whether ``target`` may be visited, as far as that can be known before a connection."""
        allowed = visit.request.host_allowed
        if allowed is not None and not allowed(target.host):
            words = "was not visited: its host is not among those that may be"
            raise Fault(FailureReason.HOST_NOT_ALLOWED, words)
        try:
            if not target.is_address:
                # Looked up now, so that neither the host's place nor the attempt's time is used up
                # by it; the connector then finds it known.
                addresses = await self._names.addresses(target.host)
            elif self._proxy:
                addresses = [target.host]
            if self._proxy:
                self.settings.guard.admitted(addresses)
        except NameFault as error:
            if not (self._proxy and self.settings.proxy_resolves):
                raise fault_of(error, visit.circumstances(answered=False)) from error
        except InsideAddress as error:
            raise fault_of(error, visit.circumstances(answered=False)) from error

    async def _obey_robots(self, visit: RequestAttempts, target: Target, host: Host) -> None:
        task = host.robots.get(target.origin)
        if task is None or task.cancelled():
            task = asyncio.create_task(self._robots(visit.request, target, host))
            host.robots[target.origin] = task
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        rules = await asyncio.shield(task)
        if not rules.can_fetch(target.url, self.settings.user_agent):
            words = "was not visited: its host's robots.txt does not want it to be"
            raise Fault(FailureReason.ROBOTS, words)

    async def _robots(self, request: Request, target: Target, host: Host) -> Protego:
        limits = replace(request.limits or self.settings.limits, max_bytes=MAX_BYTES)
        asked = Request(robots_url(target), host_allowed=request.host_allowed)
        found: Answer | FetchError
        try:
            visit = RequestAttempts(asked, limits, None, obeys_robots=False)
            visit.begin()
            found = await self._fetch(visit)
        except FetchError as error:
            found = error
        rules = rules_of(found)
        host.slow_down(crawl_delay(rules, self.settings.user_agent))
        return rules

    async def _ask(
        self, visit: RequestAttempts, target: Target, host: Host
    ) -> Answer | Target | float:
        """One request; a Target is where it redirects to, a number in how many seconds another
        attempt is due."""
        assert self._connections is not None, "the client is used outside of its async with"
        statistics = host.statistics
        statistics.requests += 1
        insecure = target.scheme == "https" and target.host.rstrip(".") in self._insecure
        visit.insecure = visit.insecure or insecure
        limits = visit.limits
        try:
            response = await self._connections.ask(
                visit.request.method,
                target,
                visit.headers(target),
                limits,
                verify=not insecure,
                total=limits.total - visit.seconds,
            )
        except NETWORK_FAULTS as error:
            raise fault_of(error, visit.circumstances(answered=False)) from error
        try:
            status = response.status
            statistics.statuses[status] += 1
            statistics.last_status = status
            if status < 200:
                raise Fault(FailureReason.MALFORMED, f"answered {status}, which ends nothing")
            if status in _REDIRECTS and (location := response.headers.get("Location")):
                await drain(response)
                return visit.redirected(target, status, location)
            if status >= 400 and (pause := self._again(visit, host, response)) is not None:
                await drain(response)
                return pause
            answer = visit.answer(target, response)
            try:
                await take_body(visit, answer, response)
            finally:
                statistics.received += answer.on_wire
            return answer
        except Fault as fault:
            fault.answered = True
            raise
        finally:
            response.end()

    def _again(self, visit: RequestAttempts, host: Host, response: Exchange) -> float | None:
        """Seconds until another attempt, if this status deserves one; the host gets the pause it
        asks for."""
        status = response.status
        if status not in (408, 429) and (not 500 <= status < 600 or status in _FOR_GOOD):
            return None
        # By the server's own clock, where it tells it: ours may differ.
        now = parse_http_date(response.headers.get("Date", "")) or datetime.now(timezone.utc)
        wait = parse_retry_after(response.headers.get("Retry-After"), now)
        if wait is not None and wait > visit.limits.retry_after_max:
            host.close(wait)
            return None
        if wait is not None or status == 429:
            host.defer(backoff(visit) if wait is None else wait)
        return pause_after(visit, wait)


def _refuse(host: Host) -> None:
    """Ask nothing of a host that does not want it, or does not do anything."""
    if closed := host.closed_for:
        words = f"was not visited: its host asked to be left alone for {closed:.0f} s"
        raise Fault(FailureReason.HOST_DEFERRED, words, closed)
    if host.breaker.circuit is Circuit.GIVEN_UP:
        words = (
            f"was not visited: its host gave no answer {host.breaker.failures + 1} times in a row"
        )
        raise Fault(FailureReason.HOST_SILENT, words)


def _trusting(bundle: Path) -> ssl.SSLContext:
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(cafile=bundle)
    except OSError as error:  # ssl.SSLError is one
        raise ValueError(
            f"the CA bundle {bundle} cannot be read ({error.strerror or error}): it must be a file"
            " of PEM certificates"
        ) from error
    return context


def _proxy_url(proxy: str | None) -> URL | None:
    if proxy is None:
        return None
    try:
        url = URL(proxy)
    except ValueError:
        url = URL()
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"the proxy {display_url(proxy)} is not an http:// or https:// URL")
    return url
