"""Visits many URLs, each host at its own pace and none waiting for another.

Hosts that give no answer are given up for a while; their URLs are tried once more when all other URLs are
done, in a last round.

A queue per host, and a few hundred runners who serve whichever host may be asked now. A runner only ever
waits for answers: while a host's rate, a pause that it asked for, a name to be looked up, the delay
before another attempt or before a second download holds a URL up, no runner knows of it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic

from ..copies.store import StagedBody
from ..web.client import Client, FetchError
from ..web.errors import FailureReason
from ..web.hosts import Host
from ..web.urls import Target, parse_url
from .check import Begin, Check, F, NextStep, V
from .container_sandbox import ContainerSandbox
from .content import DETECTORS
from .detectors import Detector
from .hdx_check import HdxCheck, HdxTools
from .results import CheckedResource, CheckResult

_WORTH_A_CONNECTION = 0.1
"""Seconds of waiting for a host that a further connection to it is worth: one costs a handshake, and
its host a place."""

_AT_LEAST = 0.01
"""Seconds that a request is taken to last before the host has answered one."""

_KEPT = 10.0
"""Seconds that a connection is kept for a request which is certain to come; the client keeps it for 15."""

_LOOKUPS = 20_000
"""Names that are looked up at the same time, with two questions each: name servers tell 65,536 apart."""

_PATIENCE = 0.05
"""Seconds until a host is looked at again, if its places were taken by others than us."""


def _everywhere(_: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How visits are made; limits of time, size and attempts are the client's.

    :ivar runners: requests at the same time, at all hosts together
    :ivar confirm_after: seconds between the two downloads that prove a change
    :ivar mine: whether a host (normalised name) is visited by this worker. Visits that are redirected
        to another's are handed back with the URL to go on at.
    :ivar stage: makes a place for bytes that are put aside for a copy; None: nothing is
    """

    runners: int = 200
    confirm_after: float = 30.0
    mine: Callable[[str], bool] = _everywhere
    detectors: Sequence[type[Detector]] = DETECTORS
    stage: Callable[[], StagedBody] | None = None


async def check(
    visits: Iterable[CheckedResource],
    client: Client,
    sandbox: ContainerSandbox,
    options: EngineOptions,
    sink: Callable[[CheckResult], None],
    *,
    now: Callable[[], datetime],
) -> None:
    """Visit all by the policy ``hdx``; see :func:`converse`.

    :param now: the time, aware
    """
    tools = HdxTools(client, sandbox, now, options.detectors, options.stage)

    def begin(visit: CheckedResource, host: str, target: Target | None) -> HdxCheck:
        return HdxCheck(tools, visit, host, target)

    await converse(visits, client, begin, options, sink)


async def converse(
    visits: Iterable[V],
    client: Client,
    begin: Begin[V, F],
    options: EngineOptions,
    sink: Callable[[F], None],
) -> None:
    """Visit all by any policy; each visit gives the sink one finding, whatever its server does.

    URLs that several visits share are asked once, where they ask the same. What the sink raises ends
    everything at once and is raised; so is a fault of ours.

    :param visits: taken up before the first request is made
    :param begin: the policy
    """
    await _Engine(client, begin, options, sink).run(visits)


@dataclass(slots=True, eq=False)
class _Queue(Generic[V, F]):
    """What is to be asked of one host.

    :ivar places: how often it stands in the line of those who may be asked, or is being asked
    :ivar timer: set while it may not be asked
    :ivar looked_up: set for whoever comes next when the name has just been looked up
    :ivar put_off: how many conversations are to arrive later
    :ivar due: when the last of these does, by the loop's clock
    :ivar postponed: conversations that wait for the last round: the host was given up
    :ivar in_last_round: whether it has begun
    """

    host: Host
    waiting: deque[Check[V, F]] = field(default_factory=deque)
    places: int = 0
    timer: asyncio.TimerHandle | None = None
    looking_up: bool = False
    looked_up: bool = False
    put_off: int = 0
    due: float = 0.0
    postponed: list[Check[V, F]] = field(default_factory=list)
    in_last_round: bool = False

    @property
    def patience(self) -> float:
        """Seconds of waiting for this host that are still to come, by what it took so far."""
        seen = self.host.statistics
        return len(self.waiting) * (seen.seconds / seen.requests if seen.seconds else _AT_LEAST)


class _Engine(Generic[V, F]):
    def __init__(
        self, client: Client, begin: Begin[V, F], options: EngineOptions, sink: Callable[[F], None]
    ) -> None:
        self._client = client
        self._begin = begin
        self._options = options
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._queues: dict[str, _Queue[V, F]] = {}
        self._line: deque[_Queue[V, F]] = deque()
        self._idle: list[asyncio.Future[None]] = []
        self._woken = 0
        self._free = 0
        self._delayed: dict[Check[V, F], asyncio.TimerHandle] = {}
        self._names: deque[tuple[_Queue[V, F], Target]] = deque()
        self._lookups: set[asyncio.Task[None]] = set()
        self._open = 0
        self._postponed = 0
        self._ended: asyncio.Future[None] = self._loop.create_future()

    async def run(self, visits: Iterable[V]) -> None:
        """Until there is a finding for each."""
        self._take_up(visits)
        if not self._open:
            return
        runners = [
            self._loop.create_task(self._runner())
            for _ in range(min(self._options.runners, self._open))
        ]
        try:
            # Nobody is free yet: each host gets one connection. Those who are left have time for more.
            for queue in self._queues.values():
                self._offer(queue)
            self._free = len(runners)
            for queue in self._queues.values():
                self._offer(queue)
            await self._ended
        finally:
            for timer in self._timers():
                timer.cancel()
            for task in (*runners, *self._lookups):
                task.cancel()
            await asyncio.gather(*runners, *self._lookups, return_exceptions=True)

    def _take_up(self, visits: Iterable[V]) -> None:
        of_url: dict[str, Check[V, F]] = {}
        for visit in visits:
            talk = of_url.get(visit.url)
            if talk is not None and talk.takes(visit):
                continue
            try:
                target = first = parse_url(visit.url)
                if visit.start_at is not None:
                    first = parse_url(visit.start_at)
            except FetchError as error:
                self._begin(visit, "", None).failed(error, self._sink)
                continue
            host = target.host.rstrip(".")
            talk = of_url[visit.url] = self._begin(visit, host, first)
            self._queue(first.host).waiting.append(talk)
            self._open += 1

    def _queue(self, name: str) -> _Queue[V, F]:
        host = self._client.hosts.of(name)
        queue = self._queues.get(host.name)
        if queue is None:
            queue = self._queues[host.name] = _Queue(host)
        return queue

    # The line of hosts

    def _offer(self, queue: _Queue[V, F]) -> None:
        """Put a host into the line, as often as it may be asked."""
        while queue.waiting and queue.timer is None and queue.places < self._most(queue):
            if wait := queue.host.opens_in:
                self._close_for(queue, wait)
            elif self._named(queue):
                queue.places += 1
                self._line.append(queue)
            else:
                return

    def _most(self, queue: _Queue[V, F]) -> int:
        """How many connections the host gets: more than one if somebody has time, and it pays."""
        if len(self._line) >= self._free or queue.patience < _WORTH_A_CONNECTION:
            return 1
        return queue.host.policy.connections

    def _close_for(self, queue: _Queue[V, F], seconds: float) -> None:
        if queue.timer is None:
            queue.timer = self._later(seconds, self._opened, queue)

    def _opened(self, queue: _Queue[V, F]) -> None:
        queue.timer = None
        self._offer(queue)
        self._wake()

    def _wake(self, besides: int = 0) -> None:
        """A runner for each place in the line.

        :param besides: runners who are awake, and come to the line next
        """
        while self._idle and self._woken + besides < len(self._line):
            self._woken += 1
            self._idle.pop().set_result(None)

    def _later(
        self, seconds: float, act: Callable[..., None], *arguments: object
    ) -> asyncio.TimerHandle:
        def guarded() -> None:
            try:
                act(*arguments)
            except BaseException as error:
                self._fail(error)

        return self._loop.call_later(seconds, guarded)

    def _timers(self) -> Iterator[asyncio.TimerHandle]:
        yield from self._delayed.values()
        yield from (queue.timer for queue in self._queues.values() if queue.timer is not None)

    def _fail(self, error: BaseException) -> None:
        if not self._ended.done():
            self._ended.set_exception(error)

    # Names

    def _named(self, queue: _Queue[V, F]) -> bool:
        """Whether the name of what is next is known; if not it will be, and the host offered then."""
        if queue.looking_up:
            return False
        if queue.looked_up:
            # Even if the name is forgotten by now: otherwise it might be looked up for ever.
            queue.looked_up = False
            return True
        target = queue.waiting[0].begin().target
        if self._client.knows(target):
            return True
        queue.looking_up = True
        self._names.append((queue, target))
        if len(self._lookups) < _LOOKUPS:
            self._lookups.add(self._loop.create_task(self._look_up()))
        return False

    async def _look_up(self) -> None:
        """Look names up until none is left to be."""
        try:
            while self._names:
                queue, target = self._names.popleft()
                await self._client.look_up(target)
                queue.looking_up = False
                queue.looked_up = True
                self._offer(queue)
                self._wake()
        except Exception as error:
            self._fail(error)
        finally:
            self._lookups.discard(asyncio.current_task())  # type: ignore[arg-type]

    # Conversations

    async def _runner(self) -> None:
        try:
            while True:
                while not self._line:
                    waiter = self._loop.create_future()
                    self._idle.append(waiter)
                    await waiter
                    self._woken -= 1
                self._free -= 1
                await self._serve(self._line.popleft())
                self._wake(besides=1)
        except Exception as error:
            self._fail(error)

    async def _serve(self, queue: _Queue[V, F]) -> None:
        try:
            if not queue.waiting:
                return
            if wait := queue.host.opens_in:
                self._close_for(queue, wait)
                return
            talk = queue.waiting.popleft()
            try:
                await self._converse(queue, talk)
            except BaseException:
                talk.close()
                raise
        finally:
            queue.places -= 1
            self._free += 1
        self._offer(queue)

    async def _converse(self, queue: _Queue[V, F], talk: Check[V, F]) -> None:
        """One step of a conversation."""
        asking = talk.begin()
        # The others who are at this host take what is left, or nobody does.
        asking.last = len(queue.waiting) < queue.places and not self._comes_soon(queue)
        before = asking.target
        try:
            answer = await self._client.step(asking)
        except FetchError as error:
            if error.reason is FailureReason.HOST_SILENT and not queue.in_last_round:
                self._postpone(queue, talk)
            else:
                self._go_on(talk, talk.failed(error, self._sink))
            return
        if answer is None:
            if asking.pause:
                self._delay(talk, asking.pause)
                return
            if asking.target is before:
                self._close_for(queue, queue.host.opens_in or _PATIENCE)
            self._arrive(talk)
            return
        self._go_on(talk, await talk.answered(answer, self._sink))

    def _go_on(self, talk: Check[V, F], then: NextStep) -> None:
        if then is NextStep.END:
            self._end()
        elif then is NextStep.ASK_NOW:
            self._arrive(talk)
        else:
            self._delay(talk, self._options.confirm_after)

    def _comes_soon(self, queue: _Queue[V, F]) -> bool:
        """Whether a conversation that was put off arrives while a connection can be kept."""
        return queue.put_off > 0 and queue.due - self._loop.time() < _KEPT

    def _delay(self, talk: Check[V, F], seconds: float) -> None:
        queue = self._queue(talk.begin().target.host)
        queue.put_off += 1
        queue.due = max(queue.due, self._loop.time() + seconds)
        self._delayed[talk] = self._later(seconds, self._arrive, talk)

    def _arrive(self, talk: Check[V, F]) -> None:
        """A conversation that has begun goes on, before those that have not."""
        queue = self._queue(talk.begin().target.host)
        if self._delayed.pop(talk, None) is not None:
            queue.put_off -= 1
        if not self._options.mine(queue.host.name):
            talk.handed(self._sink)
            self._end()
            return
        queue.waiting.appendleft(talk)
        self._offer(queue)
        self._wake()

    def _end(self) -> None:
        self._open -= 1
        if not self._open:
            if not self._ended.done():
                self._ended.set_result(None)
        elif self._open == self._postponed:
            self._begin_last_round()

    # The last round

    def _postpone(self, queue: _Queue[V, F], talk: Check[V, F]) -> None:
        queue.postponed.append(talk)
        self._postponed += 1
        if self._open == self._postponed:
            self._begin_last_round()

    def _begin_last_round(self) -> None:
        """Try what was postponed once more, now that nothing else is left to do."""
        self._postponed = 0
        for queue in list(self._queues.values()):
            if not queue.postponed:
                continue
            queue.in_last_round = True
            self._client.begin_last_round(queue.host)
            for talk in queue.postponed:
                talk.begin().once_more()
            # The last ones first: those that come next are neighbours of those that failed.
            queue.waiting.extend(reversed(queue.postponed))
            queue.postponed.clear()
            self._offer(queue)
        self._wake()
