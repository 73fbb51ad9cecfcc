"""Names of hosts and their addresses.

aiodns reads ``/etc/hosts`` and asks the name servers of ``/etc/resolv.conf``. It uses neither a thread nor a
socket for each name, so thousands of names with silent servers do not delay the others.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from math import inf
from time import monotonic
from typing import NamedTuple

import aiohttp
from aiodns.error import ARES_EBADNAME, ARES_ENODATA, ARES_ENOTFOUND, DNSError
from aiohttp.abc import AbstractResolver, ResolveResult

from .address_guard import Guard
from .errors import FailureReason
from .faults import NameFault
from .urls import Target

_DOES_NOT_EXIST = frozenset({ARES_ENOTFOUND, ARES_ENODATA, ARES_EBADNAME})

_FIRST_WAIT = 1.0
"""Seconds until the query to a silent name server is repeated; c-ares adapts the wait to each server."""
_QUESTIONS = 4
"""Queries to each name server; the wait doubles after each."""
_LOOKUPS = 2_000
"""Names looked up at the same time: name servers drop queries when they are overloaded."""
_KEPT = 60.0
"""Seconds for which addresses are kept."""
_PAUSE = 1.0
"""Seconds for which a failed lookup is not repeated."""


class _KnownName(NamedTuple):
    addresses: Sequence[str]
    until: float
    reason: FailureReason | None = None
    words: str = ""


def system_resolver() -> AbstractResolver:
    """Return a resolver for the names of the Internet and of this machine."""
    return aiohttp.AsyncResolver(timeout=_FIRST_WAIT, tries=_QUESTIONS)


class Resolver(AbstractResolver):
    """The resolver of a client, around aiohttp's.

    It looks each name up once, and gives the connector no address that the guard refuses.

    :ivar guard: the rules for addresses to connect to
    :ivar has_found: whether the name of a request's host was found so far
    """

    def __init__(
        self,
        guard: Guard,
        resolver: Callable[[], AbstractResolver] = system_resolver,
        *,
        timeout: float = 10.0,
    ) -> None:
        """
        :param resolver: creates aiohttp's resolver, in the running loop, when the first name is looked up
        :param timeout: seconds to wait for a lookup
        """
        self.guard = guard
        self.has_found = False
        self._make_resolver = resolver
        self._resolver: AbstractResolver | None = None
        self._timeout = timeout
        self._lookups = asyncio.Semaphore(_LOOKUPS)
        self._known: dict[str, _KnownName] = {}
        self._tasks: dict[str, asyncio.Task[_KnownName]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of ``host`` to which the connector may connect.

        :raises NameFault: it has none
        :raises InsideAddress: the guard refuses all of them
        """
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self.guard.admitted(await self.addresses(host))
        ]

    async def of(self, target: Target) -> Sequence[str]:
        """Return the addresses of the host of ``target``, which may be one itself.

        :raises NameFault: as :meth:`addresses`
        """
        if target.is_address:
            return [target.host]
        found = await self.addresses(target.host)
        self.has_found = True
        return found

    async def addresses(self, host: str) -> Sequence[str]:
        """Return the addresses of ``host``, at least one.

        :raises NameFault: ``NAME_NOT_FOUND`` or ``NAME_LOOKUP_FAILED``
        """
        known = self._known.get(host)
        if known is None or known.until <= monotonic():
            task = self._tasks.get(host)
            if task is None:
                task = self._tasks[host] = asyncio.create_task(self._find(host))
                task.add_done_callback(lambda _: self._tasks.pop(host))
            # If one waiting task is cancelled, the others still get the result.
            known = await asyncio.shield(task)
        if known.reason is not None:
            raise NameFault(known.reason, host, known.words)
        return known.addresses

    def forget(self, host: str) -> None:
        """Look ``host`` up again the next time."""
        self._known.pop(host, None)

    async def close(self) -> None:
        """Cancel all lookups, and release aiohttp's resolver."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._resolver is not None:
            await self._resolver.close()
            self._resolver = None

    async def _find(self, host: str) -> _KnownName:
        if self._resolver is None:
            self._resolver = self._make_resolver()
        try:
            async with self._lookups:
                lookup = self._resolver.resolve(host, family=socket.AF_UNSPEC)
                found = await asyncio.wait_for(lookup, self._timeout)
        except asyncio.TimeoutError:
            known = _failed(f"could not be looked up within {self._timeout:g} s")
        except OSError as error:
            cause = error.__cause__
            if isinstance(cause, DNSError) and cause.args[0] in _DOES_NOT_EXIST:
                words = "has a host name that does not exist"
                known = _KnownName((), inf, FailureReason.NAME_NOT_FOUND, words)
            else:
                known = _failed(f"could not be looked up: {error.strerror or error}")
        else:
            addresses = dict.fromkeys(entry["host"] for entry in found)
            known = _KnownName(list(addresses), monotonic() + _KEPT)
        self._known[host] = known
        return known


def _failed(words: str) -> _KnownName:
    return _KnownName((), monotonic() + _PAUSE, FailureReason.NAME_LOOKUP_FAILED, words)
