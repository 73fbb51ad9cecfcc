"""Name lookups that do not hold each other up.

The system's resolver blocks, for many seconds where a name's servers are silent, and cannot be
called off. Each lookup therefore has a thread of its own: a few lookups are begun at a time, and
one that takes longer than a living name does gives its place to the next while it is still waited
for. The threads are daemons, so that a lookup that hangs does not hold up the end of the process.

There is an end to threads. A name for which no place is free is therefore asked for in a packet first
(:mod:`.nameservers`): if nobody answers that, no thread is spent on it, and the names behind it go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from time import monotonic

from aiohttp.abc import AbstractResolver, ResolveResult

from .errors import Reason
from .guard import Guard
from .nameservers import NameServers

Lookup = Callable[[str], Sequence[str]]
"""Blocking: the addresses of a name. Raises OSError."""


def system_lookup(host: str) -> list[str]:
    """The addresses of ``host`` as the system finds them, in the system's order.

    :raises OSError: socket.gaierror
    """
    infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


class NameFault(OSError):
    """A name that has no address. An OSError, because aiohttp wraps those only."""

    def __init__(self, reason: Reason, host: str, words: str) -> None:
        super().__init__(None, f"{host}: {words}")
        self.reason = reason
        self.words = words


_GONE = frozenset(
    code
    for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY")
    if (code := getattr(socket, name, None)) is not None
)
"""The codes of socket.gaierror that mean: asked, and there is none."""


@dataclass(frozen=True, slots=True)
class NameLimits:
    """How names are looked up; seconds.

    :ivar places: lookups that are begun at the same time
    :ivar patience: how long a lookup keeps its place
    :ivar timeout: how long a lookup is waited for
    :ivar slow: lookups beyond their patience at the same time, a thread each
    :ivar ttl: how long addresses are believed
    :ivar tries: failed lookups after which a name counts as dead for the rest of the run
    :raises ValueError: a limit with which no name would ever be known
    """

    places: int = 32
    patience: float = 0.5
    timeout: float = 10.0
    slow: int = 224
    ttl: float = 60.0
    tries: int = 3

    def __post_init__(self) -> None:
        for name in ("places", "timeout", "ttl", "tries"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}")


_PAUSE = 1.0
"""Seconds before a failed lookup is tried again: all who ask in between get the same answer."""


@dataclass(frozen=True, slots=True)
class _Known:
    addresses: Sequence[str]
    until: float
    reason: Reason | None = None
    words: str = ""
    failures: int = 0


@dataclass(slots=True)
class _Running:
    answer: asyncio.Future[Sequence[str] | Exception]
    slow: bool = False


class Names:
    """The names of a run, each looked up once and remembered; dead ones for the whole run.

    :param servers: who tells in advance which names nobody answers for; without them nobody does
    """

    def __init__(
        self,
        lookup: Lookup = system_lookup,
        limits: NameLimits | None = None,
        servers: NameServers | None = None,
    ) -> None:
        self._lookup = lookup
        self._limits = limits or NameLimits()
        self._servers = servers
        self._known: dict[str, _Known] = {}
        self._tasks: dict[str, asyncio.Task[_Known]] = {}
        self._places = asyncio.Semaphore(self._limits.places)
        self._slow = 0

    def known(self, host: str) -> bool:
        """Whether :meth:`addresses` answers at once."""
        known = self._known.get(host)
        return known is not None and known.until > monotonic()

    def has_addresses(self, host: str) -> bool:
        """Whether :meth:`addresses` answers at once, and with addresses."""
        known = self._known.get(host)
        return known is not None and known.reason is None and known.until > monotonic()

    async def addresses(self, host: str) -> Sequence[str]:
        """The addresses of ``host``, at least one.

        :raises NameFault: ``NAME_NOT_FOUND`` or ``NAME_LOOKUP_FAILED``
        """
        known = self._known.get(host)
        if known is None or known.until <= monotonic():
            task = self._tasks.get(host)
            if task is None:
                task = self._tasks[host] = asyncio.create_task(self._find(host))
                task.add_done_callback(lambda _: self._tasks.pop(host))
            # One who gives up must not take the answer from the others who wait for it.
            known = await asyncio.shield(task)
        if known.reason is not None:
            raise NameFault(known.reason, host, known.words)
        return known.addresses

    def forget(self, host: str) -> None:
        """Look ``host`` up again when it is next asked for."""
        self._known.pop(host, None)

    def close(self) -> None:
        """Ask nobody any more."""
        if self._servers is not None:
            self._servers.close()

    async def _find(self, host: str) -> _Known:
        if await self._is_silent(host):
            known = self._known[host] = self._failed(host, "has no name server that answers")
            return known
        await self._places.acquire()
        running = self._begin(host)
        limits = self._limits
        await asyncio.wait({running.answer}, timeout=limits.patience)
        if not running.answer.done():
            if self._slow < limits.slow:
                self._slow += 1
                running.slow = True
                self._places.release()
            await asyncio.wait({running.answer}, timeout=limits.timeout - limits.patience)
        known = self._known[host] = self._judge(host, running.answer)
        return known

    async def _is_silent(self, host: str) -> bool:
        """Whether a lookup is known to hang; asked only where it would have to wait anyway."""
        if self._servers is None or not self._places.locked():
            return False
        return await self._servers.answer_for(host) is False

    def _begin(self, host: str) -> _Running:
        loop = asyncio.get_running_loop()
        running = _Running(loop.create_future())

        def end(result: Sequence[str] | Exception) -> None:
            running.answer.set_result(result)
            if running.slow:
                self._slow -= 1
            else:
                self._places.release()

        def work() -> None:
            result: Sequence[str] | Exception
            try:
                result = self._lookup(host)
            except Exception as error:  # handed to those who wait, in their thread
                result = error
            # The loop may be gone when a lookup comes back late.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(end, result)

        threading.Thread(target=work, name=f"lookup {host}", daemon=True).start()
        return running

    def _judge(self, host: str, answer: asyncio.Future[Sequence[str] | Exception]) -> _Known:
        limits = self._limits
        result = answer.result() if answer.done() else None
        if isinstance(result, Exception) and not isinstance(result, OSError):
            raise result
        if isinstance(result, OSError) and result.errno not in _GONE:
            words = f"could not be looked up: {result.strerror or result}"
        elif result is None:
            words = f"could not be looked up within {limits.timeout:g} s"
        elif isinstance(result, OSError) or not result:
            words = "has a host name that does not exist"
            return _Known((), inf, Reason.NAME_NOT_FOUND, words)
        else:
            return _Known(result, monotonic() + limits.ttl)
        return self._failed(host, words)

    def _failed(self, host: str, words: str) -> _Known:
        """It may be better later; not if it has failed often."""
        before = self._known.get(host)
        failures = 1 + (before.failures if before is not None else 0)
        until = inf if failures >= self._limits.tries else monotonic() + _PAUSE
        return _Known((), until, Reason.NAME_LOOKUP_FAILED, words, failures)


class GuardedResolver(AbstractResolver):
    """What aiohttp's connector asks: the known addresses, without those that the guard refuses."""

    def __init__(self, names: Names, guard: Guard) -> None:
        self._names = names
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Addresses of ``host``.

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
        """Nothing: the names outlive the connector."""
