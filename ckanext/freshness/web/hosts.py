"""Hosts: one object per host has its connections, its rate, its pauses, its silence and its statistics.

A host is the name in a URL, without scheme and port: limits protect a machine, and all ports of a name
lead to the same machine. (Several names may lead to it, too; shared addresses do not tell that with
certainty.) First requests, redirects, second downloads and copies use the same object. Waiting for it
counts in no time limit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .errors import FailureReason, Fault
from .urls import host_name


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """The limits of requests to a host.

    :ivar connections: requests at the same time
    :ivar per_second: requests per second, evenly spaced; ``math.inf`` for no limit
    :ivar failures: URLs in a row without an answer after which requests stop; 0 for no limit
    :ivar last_round: seconds without an answer after which the last round of a run skips the rest
    """

    connections: int = 2
    per_second: float = 4.0
    failures: int = 0
    last_round: float = 600.0


CHECK = HostPolicy()
"""The limits for hosts that did not ask for requests."""


class Host:
    """A host. ``async with host:`` waits until a request may be sent.

    Requests start in the order of their arrival, at most ``policy.connections`` at a time and ``1 /
    policy.per_second`` seconds apart.

    :ivar requests: number of requests so far, redirects and failed attempts included
    """

    def __init__(self, name: str, policy: HostPolicy) -> None:
        self.name = name
        self.policy = policy
        self.requests = 0
        self._interval = 1.0 / policy.per_second
        self._connections = asyncio.Semaphore(policy.connections)
        self._next_at = 0.0
        self._paused_until = 0.0
        self._closed_until = 0.0
        self._silent = 0
        """URLs in a row without an answer after all their attempts."""
        self._last_round_from: float | None = None
        """In the last round of a run, when it began or when the last answer came."""

    def defer(self, seconds: float) -> None:
        """Start no request for some seconds, also none that is waiting already."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    def close(self, seconds: float) -> None:
        """Refuse requests for some seconds, because the host asked for a pause that is too long to wait
        for."""
        self._closed_until = max(self._closed_until, time.monotonic() + seconds)

    def refuse(self) -> None:
        """Refuse a request if the host asked for a long pause, or was given up for its silence.

        :raises Fault: ``HOST_DEFERRED`` or ``HOST_SILENT``
        """
        # Most hosts ask for no pause, and the clock need not be asked.
        if self._closed_until and (closed := self._closed_until - time.monotonic()) > 0:
            words = f"was not requested: its host asked for a pause of {closed:.0f} s"
            raise Fault(FailureReason.HOST_DEFERRED, words)
        if self.is_given_up:
            words = f"was not requested: its host gave no answer {self._silent} times in a row"
            raise Fault(FailureReason.HOST_SILENT, words)

    @property
    def is_given_up(self) -> bool:
        """Whether the host gave no answer so often, or in the last round for so long, that it gets no
        request.

        Otherwise a host with thousands of hanging URLs would make a run last for days.
        """
        if not self.policy.failures or not self._silent:
            return False
        if self._last_round_from is None:
            return self._silent >= self.policy.failures
        return time.monotonic() - self._last_round_from >= self.policy.last_round

    def begin_last_round(self) -> None:
        """Allow requests again, until the host has given no answer for a time."""
        self._last_round_from = time.monotonic()

    def ended(self, reason: FailureReason | None, *, is_last: bool) -> None:
        """Record how a request ended.

        :param reason: why there was no answer; None if there was one
        :param is_last: whether the URL has no attempt left
        """
        if reason is None or (reason.theirs and not reason.silence):
            # Any answer shows that the host is alive.
            self._silent = 0
            if self._last_round_from is not None:
                self._last_round_from = time.monotonic()
        elif reason.silence and (is_last or not reason.retriable):
            self._silent += 1

    async def __aenter__(self) -> Host:
        await self._connections.acquire()
        try:
            await self._pace()
        except BaseException:
            self._connections.release()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._connections.release()

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
        key = name.rstrip(".")
        host = self._hosts.get(key)
        if host is None:
            host = self._hosts[key] = Host(key, self._policies.get(key, self._default))
        return host

    def __iter__(self) -> Iterator[Host]:
        return iter(self._hosts.values())
