"""Checks many URLs at the same time, each host at its own pace.

There is a queue for each host, and a few hundred runners that serve the hosts that may be asked now. A runner
waits for answers only. It never waits for a host's rate or a pause that a host asked for, a name lookup, or the
delay before another attempt or a second download.

A policy gives a factory (:data:`BeginCheck`) of objects with the methods of :class:`Check`. They decide which
request comes first, what an answer means, and whether another request follows. The engine decides when a
request is sent, how long a host is waited for, and how often a request is repeated.

A host that answers no request is given up for a while. Its URLs are tried once more in a last round, when all
other URLs are done.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from ..web.errors import FailureReason, FetchError
from ..web.exchange import Answer
from ..web.hosts import Host
from ..web.urls import Target, parse_url

if TYPE_CHECKING:
    from ..web.attempts import RequestAttempts
    from ..web.client import Client

# What a policy decides


class NextStep(Enum):
    """The next step of a check."""

    END = "end"
    ASK_NOW = "ask now"
    """:meth:`Check.begin` returns another request, to be sent at once."""
    CONFIRM = "confirm"
    """:meth:`Check.begin` returns another request, to be sent after
    :attr:`EngineOptions.confirm_after`."""


class CheckInput(Protocol):
    """A URL to be checked."""

    @property
    def url(self) -> str: ...


InputT = TypeVar("InputT", bound=CheckInput)
ResultT = TypeVar("ResultT")
InputT_contra = TypeVar("InputT_contra", bound=CheckInput, contravariant=True)
ResultT_co = TypeVar("ResultT_co", covariant=True)


class Check(Protocol[InputT_contra, ResultT_co]):
    """A check of one URL. However it ends, it gives the sink one result for each of its inputs."""

    def takes(self, item: InputT_contra, /) -> bool:
        """Add an input if its requests would be the same, and return whether it was added.

        Called before the first request, with inputs of the same ``url``.
        """

    def begin(self) -> RequestAttempts:
        """Return the request that is to be sent, or is being sent.

        :raises FetchError: no request can be made of the URL. This ends the run, as a bug
        """

    async def answered(self, answer: Answer, sink: Callable[[ResultT_co], None], /) -> NextStep:
        """Evaluate an answer, whatever its status."""

    def failed(self, error: FetchError, sink: Callable[[ResultT_co], None], /) -> NextStep:
        """Evaluate the error of the last attempt.

        If the URL is invalid, this is called in place of :meth:`begin`, and the check ends.
        """

    def close(self) -> None:
        """Remove temporary files: the check is interrupted."""


BeginCheck = Callable[[InputT, str, "Target | None"], Check[InputT, ResultT]]
"""Begins a check of an input.

The other arguments are the normalised host of its URL (empty if the URL names none) and the parsed URL to ask
(None if it is invalid; :meth:`Check.failed` is called next).
"""


# When requests are sent

_WORTH_A_CONNECTION = 0.1
"""Seconds of waiting for a host that justify another connection to it, which costs a handshake and
occupies the host."""

_SHORTEST_REQUEST = 0.01
"""Assumed seconds of a request until the host has answered one."""

_KEEP_ALIVE = 10.0
"""Seconds for which a connection is kept for a delayed check; the client closes it after 15."""

_LOOKUPS = 2_000
"""Names looked up at the same time: name servers drop queries when they are overloaded."""

_RETRY_BUSY = 0.05
"""Seconds until a host is tried again if other users of the client occupy all its connections."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The options of the engine. The client has the limits on time, size and attempts.

    :ivar runners: number of requests at the same time, at all hosts together
    :ivar confirm_after: seconds between the two downloads that prove a change
    """

    runners: int = 200
    confirm_after: float = 30.0


async def check_all(
    inputs: Iterable[InputT],
    client: Client,
    begin: BeginCheck[InputT, ResultT],
    options: EngineOptions,
    sink: Callable[[ResultT], None],
) -> None:
    """Check all inputs by a policy. Each gives the sink one result, even if its server fails.

    Inputs with the same URL share one check if their requests are the same. An exception of the sink, or a bug
    in a policy, ends all checks at once and is raised.

    :param inputs: read to the end before the first request
    :param begin: the policy
    """
    await _Engine(client, begin, options, sink).run(inputs)


@dataclass(slots=True, eq=False)
class _Queue(Generic[InputT, ResultT]):
    """The checks of one host.

    :ivar places: how often the host is in the line of hosts to be asked, or is being asked
    :ivar timer: set while the host may not be asked
    :ivar looked_up: whether its name has just been looked up, for the next check
    :ivar delayed: number of checks that come back later
    :ivar due: when the last of these comes back, by the loop's clock
    :ivar postponed: checks that wait for the last round, since the host was given up
    """

    host: Host
    waiting: deque[Check[InputT, ResultT]] = field(default_factory=deque)
    places: int = 0
    timer: asyncio.TimerHandle | None = None
    looking_up: bool = False
    looked_up: bool = False
    delayed: int = 0
    due: float = 0.0
    postponed: list[Check[InputT, ResultT]] = field(default_factory=list)
    in_last_round: bool = False

    @property
    def expected_wait(self) -> float:
        """Seconds that the host's answers are expected to take, by the requests so far."""
        seen = self.host.statistics
        per_request = seen.seconds / seen.requests if seen.seconds else _SHORTEST_REQUEST
        return len(self.waiting) * per_request


class _Engine(Generic[InputT, ResultT]):
    def __init__(
        self,
        client: Client,
        begin: BeginCheck[InputT, ResultT],
        options: EngineOptions,
        sink: Callable[[ResultT], None],
    ) -> None:
        self._client = client
        self._begin = begin
        self._options = options
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._queues: dict[str, _Queue[InputT, ResultT]] = {}
        self._line: deque[_Queue[InputT, ResultT]] = deque()
        self._idle: list[asyncio.Future[None]] = []
        self._woken = 0
        self._free = 0
        self._delayed: dict[Check[InputT, ResultT], asyncio.TimerHandle] = {}
        self._names: deque[tuple[_Queue[InputT, ResultT], Target]] = deque()
        self._lookups: set[asyncio.Task[None]] = set()
        self._open = 0
        self._postponed = 0
        self._ended: asyncio.Future[None] = self._loop.create_future()

    async def run(self, inputs: Iterable[InputT]) -> None:
        """Run until there is a result for each input."""
        self._begin_all(inputs)
        if not self._open:
            return
        runners = [
            self._loop.create_task(self._runner())
            for _ in range(min(self._options.runners, self._open))
        ]
        try:
            # With no runner free, each host gets one connection; the second pass hands out what is left.
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

    def _begin_all(self, inputs: Iterable[InputT]) -> None:
        of_url: dict[str, Check[InputT, ResultT]] = {}
        for item in inputs:
            check = of_url.get(item.url)
            if check is not None and check.takes(item):
                continue
            try:
                target = parse_url(item.url)
            except FetchError as error:
                self._begin(item, "", None).failed(error, self._sink)
                continue
            host = target.host.rstrip(".")
            check = of_url[item.url] = self._begin(item, host, target)
            self._queue(target.host).waiting.append(check)
            self._open += 1

    def _queue(self, name: str) -> _Queue[InputT, ResultT]:
        host = self._client.hosts.of(name)
        queue = self._queues.get(host.name)
        if queue is None:
            queue = self._queues[host.name] = _Queue(host)
        return queue

    # The line of hosts

    def _offer(self, queue: _Queue[InputT, ResultT]) -> None:
        """Put a host into the line once for each connection that it may get now."""
        while queue.waiting and queue.timer is None and queue.places < self._connections(queue):
            if wait := queue.host.opens_in:
                self._close_for(queue, wait)
            elif self._knows_name(queue):
                queue.places += 1
                self._line.append(queue)
            else:
                return

    def _connections(self, queue: _Queue[InputT, ResultT]) -> int:
        """Return how many connections a host gets: more than one if a runner is free and it saves time."""
        if len(self._line) >= self._free or queue.expected_wait < _WORTH_A_CONNECTION:
            return 1
        return queue.host.policy.connections

    def _close_for(self, queue: _Queue[InputT, ResultT], seconds: float) -> None:
        if queue.timer is None:
            queue.timer = self._later(seconds, self._opened, queue)

    def _opened(self, queue: _Queue[InputT, ResultT]) -> None:
        queue.timer = None
        self._offer(queue)
        self._wake()

    def _wake(self, awake: int = 0) -> None:
        """Wake a runner for each place in the line.

        :param awake: number of runners that are already awake and about to look at the line
        """
        while self._idle and self._woken + awake < len(self._line):
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

    def _knows_name(self, queue: _Queue[InputT, ResultT]) -> bool:
        """Return whether the name of the next request is known.

        If it is not, start a lookup that offers the host again.
        """
        if queue.looking_up:
            return False
        if queue.looked_up:
            # Even if the client has forgotten the name by now: otherwise lookups might never end.
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
        """Look up names until none is left."""
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
            if task := asyncio.current_task():
                self._lookups.discard(task)

    # Checks

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
                self._wake(awake=1)
        except Exception as error:
            self._fail(error)

    async def _serve(self, queue: _Queue[InputT, ResultT]) -> None:
        try:
            if not queue.waiting:
                return
            if wait := queue.host.opens_in:
                self._close_for(queue, wait)
                return
            check = queue.waiting.popleft()
            try:
                await self._send(queue, check)
            except BaseException:
                check.close()
                raise
        finally:
            queue.places -= 1
            self._free += 1
        self._offer(queue)

    async def _send(self, queue: _Queue[InputT, ResultT], check: Check[InputT, ResultT]) -> None:
        """Send one request of a check and evaluate its answer."""
        request = check.begin()
        # The connection is closed if the host's other runners suffice for the checks that wait.
        request.last = len(queue.waiting) < queue.places and not self._comes_soon(queue)
        before = request.target
        try:
            answer = await self._client.step(request)
        except FetchError as error:
            if error.reason is FailureReason.HOST_SILENT and not queue.in_last_round:
                self._postpone(queue, check)
            else:
                self._continue(check, check.failed(error, self._sink))
            return
        if answer is None:
            if request.pause:
                self._delay(check, request.pause)
                return
            if request.target is before:
                self._close_for(queue, queue.host.opens_in or _RETRY_BUSY)
            self._arrive(check)
            return
        self._continue(check, await check.answered(answer, self._sink))

    def _continue(self, check: Check[InputT, ResultT], step: NextStep) -> None:
        if step is NextStep.END:
            self._end()
        elif step is NextStep.ASK_NOW:
            self._arrive(check)
        else:
            self._delay(check, self._options.confirm_after)

    def _comes_soon(self, queue: _Queue[InputT, ResultT]) -> bool:
        """Return whether a delayed check comes back while the connection can be kept."""
        return queue.delayed > 0 and queue.due - self._loop.time() < _KEEP_ALIVE

    def _delay(self, check: Check[InputT, ResultT], seconds: float) -> None:
        queue = self._queue(check.begin().target.host)
        queue.delayed += 1
        queue.due = max(queue.due, self._loop.time() + seconds)
        self._delayed[check] = self._later(seconds, self._arrive, check)

    def _arrive(self, check: Check[InputT, ResultT]) -> None:
        """Put a check that has begun before those that have not."""
        queue = self._queue(check.begin().target.host)
        if self._delayed.pop(check, None) is not None:
            queue.delayed -= 1
        queue.waiting.appendleft(check)
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

    def _postpone(self, queue: _Queue[InputT, ResultT], check: Check[InputT, ResultT]) -> None:
        queue.postponed.append(check)
        self._postponed += 1
        if self._open == self._postponed:
            self._begin_last_round()

    def _begin_last_round(self) -> None:
        """Try the postponed checks once more, now that all others are done."""
        self._postponed = 0
        for queue in list(self._queues.values()):
            if not queue.postponed:
                continue
            queue.in_last_round = True
            self._client.begin_last_round(queue.host)
            for check in queue.postponed:
                check.begin().once_more()
            # In reverse order, since the checks behind the postponed ones may ask the same broken part of a
            # site.
            queue.waiting.extend(reversed(queue.postponed))
            queue.postponed.clear()
            self._offer(queue)
        self._wake()
