"""Name lookups, with a cache.

aiodns reads ``/etc/hosts`` and asks the name servers of ``/etc/resolv.conf``. It uses neither a thread
nor a socket for each name, so thousands of names with silent servers do not delay the others.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from time import monotonic

from aiodns.error import ARES_EBADNAME, ARES_ENODATA, ARES_ENOTFOUND, DNSError
from aiohttp import AsyncResolver
from aiohttp.abc import AbstractResolver, ResolveResult

from .address_guard import Guard
from .errors import FailureReason


class NameFault(OSError):
    """A name without an address. An OSError, because aiohttp wraps no other exceptions of a resolver."""

    def __init__(self, reason: FailureReason, host: str, words: str) -> None:
        super().__init__(None, f"{host}: {words}")
        self.reason = reason
        self.words = words


_DOES_NOT_EXIST = frozenset({ARES_ENOTFOUND, ARES_ENODATA, ARES_EBADNAME})

_FIRST_WAIT = 1.0
"""Seconds until the query to a silent name server is repeated; c-ares adapts the wait to each server."""
_QUESTIONS = 4
"""Queries to each name server; the wait doubles after each."""
_PAUSE = 1.0
"""Seconds for which a failed lookup is not repeated."""


@dataclass(frozen=True, slots=True)
class NameLimits:
    """The limits of name lookups.

    :ivar timeout: seconds to wait for a lookup
    :ivar ttl: seconds for which addresses are cached
    :raises ValueError: no lookup could succeed within these limits
    """

    timeout: float = 10.0
    ttl: float = 60.0

    def __post_init__(self) -> None:
        for name in ("timeout", "ttl"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class _KnownName:
    addresses: Sequence[str]
    until: float
    reason: FailureReason | None = None
    words: str = ""


def system_resolver() -> AsyncResolver:
    """Return a resolver for the names of the Internet and of this machine."""
    return AsyncResolver(timeout=_FIRST_WAIT, tries=_QUESTIONS)


class Names:
    """The looked-up names of a run.

    :param resolver: creates the resolver, in the running loop, when the first name is looked up
    """

    def __init__(
        self,
        resolver: Callable[[], AbstractResolver] = system_resolver,
        limits: NameLimits | None = None,
    ) -> None:
        self._make_resolver = resolver
        self._resolver: AbstractResolver | None = None
        self._limits = limits or NameLimits()
        self._known: dict[str, _KnownName] = {}
        self._tasks: dict[str, asyncio.Task[_KnownName]] = {}

    def known(self, host: str) -> bool:
        """Return whether :meth:`addresses` answers at once."""
        known = self._known.get(host)
        return known is not None and known.until > monotonic()

    def has_addresses(self, host: str) -> bool:
        """Return whether :meth:`addresses` answers at once, and with addresses."""
        known = self._known.get(host)
        return known is not None and known.reason is None and known.until > monotonic()

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
        """Cancel all lookups, and release the resolver."""
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
        timeout = self._limits.timeout
        try:
            lookup = self._resolver.resolve(host, family=socket.AF_UNSPEC)
            found = await asyncio.wait_for(lookup, timeout)
        except asyncio.TimeoutError:
            known = _failed(f"could not be looked up within {timeout:g} s")
        except OSError as error:
            cause = error.__cause__
            if isinstance(cause, DNSError) and cause.args[0] in _DOES_NOT_EXIST:
                words = "has a host name that does not exist"
                known = _KnownName((), inf, FailureReason.NAME_NOT_FOUND, words)
            else:
                known = _failed(f"could not be looked up: {error.strerror or error}")
        else:
            addresses = dict.fromkeys(entry["host"] for entry in found)
            known = _KnownName(list(addresses), monotonic() + self._limits.ttl)
        self._known[host] = known
        return known


def _failed(words: str) -> _KnownName:
    return _KnownName((), monotonic() + _PAUSE, FailureReason.NAME_LOOKUP_FAILED, words)


class GuardedResolver(AbstractResolver):
    """The resolver of aiohttp's connector: known addresses, without those that the guard refuses."""

    def __init__(self, names: Names, guard: Guard) -> None:
        self._names = names
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of ``host``.

        :raises NameFault: it has none
        :raises InsideAddress: it has none that may be connected to
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
            for address in self._guard.admitted(await self._names.addresses(host))
        ]

    async def close(self) -> None:
        """Keep the names: they outlive the connector."""
