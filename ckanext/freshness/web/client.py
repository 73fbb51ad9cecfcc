"""The HTTP client: it sends requests, follows redirects, waits for hosts and retries.

Any HTTP status is an :class:`Answer`. A request without an answer raises a :class:`.errors.FetchError`. The
client follows redirects itself, because every hop needs the same checks: its URL, whether its host is
allowed, its address, and the limits of its host. Time limits hold for one attempt, and waiting in our own
queues does not count. Bodies are read in chunks. Their size is limited as received and as decompressed,
whatever the headers claim.

If a connection breaks before an answer begins, aiohttp sends the request once more, as part of the same attempt
(RFC 9112, section 9.3.1: kept connections end like that).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from datetime import datetime, timezone
from time import monotonic

from aiohttp.abc import AbstractResolver
from yarl import URL

from .address_guard import EVERYWHERE, Guard, InsideAddress
from .connections import Connections
from .encodings import ACCEPTED
from .errors import FailureReason, Fault, Meaning
from .exchange import (
    Answer,
    Choose,
    ClientSettings,
    Exchange,
    Hop,
    Request,
    RequestAttempts,
    backoff,
    pause_after,
    take_body,
)
from .faults import NO_NAMES, NameFault, fault_of
from .headers import can_be_sent, parse_http_date, parse_retry_after
from .hosts import Host, Hosts
from .resolver import Resolver, system_resolver
from .urls import Target, display_url, host_name

_REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
_FOR_EVER = frozenset({301, 308})
_OUTDATED_TLS = frozenset({FailureReason.TLS_FAILED, FailureReason.TLS_WEAK})
_SECOND_LOOKS = _OUTDATED_TLS | {FailureReason.MALFORMED}
_NOT_TAKEN = frozenset(
    {
        *(FailureReason.CONNECTION_REFUSED, FailureReason.CONNECT_TIMEOUT),
        *(FailureReason.CONNECTION_RESET, FailureReason.UNREACHABLE),
    }
)
"""Faults of machines that perhaps take ``https`` only."""
_FOR_GOOD = frozenset({501, 505})
"""Server errors that a retry would not change."""


class Client:
    """An HTTP client, used as ``async with Client(settings, hosts) as client``.

    :param hosts: limits and statistics of hosts; they may outlive the client
    :param resolver: creates the resolver of names
    :param concurrency: number of requests at the same time, at all hosts together; None for no limit
    :raises ValueError: a setting is invalid; the message names it
    """

    def __init__(
        self,
        settings: ClientSettings,
        hosts: Hosts,
        resolver: Callable[[], AbstractResolver] = system_resolver,
        *,
        concurrency: int | None = None,
    ) -> None:
        if not can_be_sent(settings.user_agent):
            raise ValueError("the user agent has characters that no header may have")
        self.settings = settings
        self.hosts = hosts
        self._places = asyncio.Semaphore(concurrency) if concurrency else contextlib.nullcontext()
        self._proxy = _proxy_url(settings.proxy)
        # Behind a proxy, all connections go to the proxy, which may be inside of the network.
        self._resolver = Resolver(EVERYWHERE if self._proxy else settings.guard, resolver)
        self._insecure = frozenset(map(host_name, settings.insecure_hosts))
        self._connections: Connections | None = None

    async def __aenter__(self) -> Client:
        settings = self.settings
        headers = {
            "Accept": "*/*",
            "Accept-Encoding": ACCEPTED,
            "User-Agent": settings.user_agent,
        }
        if settings.languages is not None:
            headers["Accept-Language"] = settings.languages
        self._connections = Connections(self._resolver, headers, self._proxy, settings.ca_bundle)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._connections is not None:
            await self._connections.close()
            self._connections = None
        await self._resolver.close()

    async def fetch(self, request: Request, choose: Choose | None = None) -> Answer:
        """Send a request, and retry until there is an answer or no attempt is left.

        Exceptions of ``choose``, of a sink and of ``host_allowed`` are passed on.

        :param choose: decides what happens to the body; by default it is collected in memory
        :raises FetchError: there is no answer
        """
        pending = self.begin(request, choose)
        while True:
            answer = await self.attempt(pending)
            if answer is not None:
                return answer
            await asyncio.sleep(pending.pause)

    def begin(
        self, request: Request, choose: Choose | None = None, target: Target | None = None
    ) -> RequestAttempts:
        """Prepare a request that the caller sends with :meth:`attempt`, waiting between the attempts.

        :param target: the parsed URL of the request, if the caller has it
        :raises FetchError: the request cannot be sent
        """
        return RequestAttempts(request, request.limits or self.settings.limits, choose, target)

    async def attempt(self, pending: RequestAttempts) -> Answer | None:
        """Send a request once, and follow its redirects.

        :returns: the answer. None if another attempt is needed, when ``pending.pause`` seconds have passed.
        :raises FetchError: there is no answer, and no attempt is left
        """
        try:
            found = await self._hops(pending)
        except Fault as fault:
            pause = pause_after(pending) if fault.reason.retriable else None
            if pause is None:
                # Without the cause: aiohttp's exceptions hold headers and the proxy's URL with secrets.
                raise pending.error(fault) from None
            found = pause
        if isinstance(found, Answer):
            found.seconds = pending.present.seconds
            # Breaks a reference cycle between the caller and its request.
            pending.choose = None
            return found
        pending.again(found)
        return None

    async def _hops(self, pending: RequestAttempts) -> Answer | float:
        """Send a request and follow its redirects; if a machine takes no ``http``, by ``https``."""
        found: Answer | Target | float = pending.present.target
        while isinstance(found, Target):
            before = pending.present.target
            try:
                found = await self._hop(pending)
            except Fault as fault:
                if fault.reason not in _NOT_TAKEN or not pending.over_tls():
                    raise
                try:
                    found = await self._hop(pending)
                except Fault as second:
                    if second.reason.meaning is not Meaning.FAILED:
                        raise
                    pending.present.target = before
                    raise fault from None
        return found

    def begin_last_round(self, name: str) -> None:
        """Allow requests again to a host that was given up for its silence, and look up its name again."""
        self._resolver.forget(name)
        self.hosts.of(name).begin_last_round()

    async def _hop(self, pending: RequestAttempts) -> Answer | Target | float:
        """Wait for a host, and send one request to it.

        :returns: the answer, the target of a redirect, or the seconds until the next attempt
        :raises Fault: there is no answer
        """
        target = pending.present.target
        host = self.hosts.of(target.host)
        host.refuse()
        try:
            guard = self.settings.guard if self._proxy else None
            await _admit(pending, target, self._resolver, guard)
            async with host, self._places:
                host.refuse()
                found = await self._ask(pending, target, host)
        except Fault as fault:
            host.ended(fault.silence, is_last=pending.is_last)
            raise
        host.ended(None, is_last=False)
        return found

    async def _ask(
        self, pending: RequestAttempts, target: Target, host: Host
    ) -> Answer | Target | float:
        """Send one request, and have a second look if its answer is malformed or TLS fails."""
        try:
            return await self._exchange(pending, target, host)
        except Fault as fault:
            # A proxy reads answers itself before it passes them on.
            if self._proxy is not None or fault.reason not in _SECOND_LOOKS:
                raise
            is_tls = fault.reason in _OUTDATED_TLS
            pending.present.outdated_tls |= is_tls
            try:
                return await self._exchange(pending, target, host, tolerant=True)
            except Fault as second:
                # If nobody can read the answer, the first look says why. With TLS, and if it met a limit of
                # ours, the second came further.
                is_further = second.reason.meaning is not Meaning.FAILED
                raise second if is_further or is_tls else fault from None

    async def _exchange(
        self, pending: RequestAttempts, target: Target, host: Host, *, tolerant: bool = False
    ) -> Answer | Target | float:
        assert self._connections is not None, "the client is used outside of its async with"
        host.requests += 1
        insecure = target.scheme == "https" and target.host.rstrip(".") in self._insecure
        pending.present.insecure |= insecure
        limits = pending.limits
        response: Exchange | None = None
        began = monotonic()
        try:
            hop = Hop(
                pending.request.method,
                target,
                pending.headers(target),
                limits,
                pending.seconds_left,
            )
            response = await self._connections.ask(hop, verify=not insecure, tolerant=tolerant)
            return await _judge(pending, target, host, response)
        except Fault as fault:
            fault.answered = response is not None
            raise
        finally:
            pending.present.seconds += monotonic() - began
            if response is not None:
                response.end()


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


async def _admit(
    pending: RequestAttempts, target: Target, resolver: Resolver, guard: Guard | None
) -> None:
    """Check, before there is a connection, that ``target`` may be requested.

    :param guard: judges the addresses of its name if a proxy makes the connection, else None
    :raises Fault: its host is not allowed, has no address, or has only internal addresses
    """
    allowed = pending.request.host_allowed
    if allowed is not None and not allowed(target.host):
        words = "was not requested: its host is not allowed"
        raise Fault(FailureReason.HOST_NOT_ALLOWED, words)
    try:
        # Before the request begins, so that a slow lookup uses up neither the host's connections nor the
        # attempt's time. The connector then finds the addresses in the cache.
        addresses = await resolver.of(target)
        if guard is not None:
            guard.admitted(addresses)
    except (NameFault, InsideAddress) as error:
        if guard is not None and isinstance(error, NameFault) and not resolver.has_found:
            # Sites behind a proxy may have no name servers for the Internet.
            raise Fault(FailureReason.NO_ROUTE, NO_NAMES) from error
        raise fault_of(error, pending.limits) from error


async def _judge(
    pending: RequestAttempts, target: Target, host: Host, response: Exchange
) -> Answer | Target | float:
    """Return what a response means: the answer, where it redirects, or the seconds until the next attempt."""
    status = response.status
    if status < 200:
        raise Fault(FailureReason.MALFORMED, f"answered {status}, which ends nothing")
    if status in _REDIRECTS and (location := response.headers.get("Location")):
        await response.skip()
        cookies = response.headers.getall("Set-Cookie", ())
        return pending.redirected(target, location, cookies, for_good=status in _FOR_EVER)
    if status >= 400 and (pause := _again(pending, host, response)) is not None:
        await response.skip()
        return pause
    answer = pending.answer(target, response)
    await take_body(pending, answer, response)
    return answer


def _again(pending: RequestAttempts, host: Host, response: Exchange) -> float | None:
    """Return the seconds until the next attempt; None if this status is final or no attempt is left.

    If the answer asks for a pause, no request to the host starts before it is over.
    """
    status = response.status
    if status not in (408, 429) and (not 500 <= status < 600 or status in _FOR_GOOD):
        return None
    # By the server's own clock if it sends a date: ours may differ.
    now = parse_http_date(response.headers.get("Date", "")) or datetime.now(timezone.utc)
    wait = parse_retry_after(response.headers.get("Retry-After"), now)
    if wait is not None and wait > pending.limits.retry_after_max:
        host.close(wait)
        return None
    if wait is not None or status == 429:
        host.defer(backoff(pending) if wait is None else wait)
    return pause_after(pending, wait)
