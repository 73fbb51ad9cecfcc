"""Checks many URLs at the same time, each host at its own pace.

Each host has a queue, and a worker for each of its connections, which does one check after the other. A check
that waits for its next attempt or its second download leaves its worker to the next check. The client waits
for the host's rate and pauses, and limits the requests to all hosts together.

A policy gives a factory (:data:`BeginCheck`) of objects with the methods of :class:`Check`. They decide which
request comes first, what an answer means, and whether another request follows. The engine decides when a
request is sent.

A host that answers no request is given up for a while. Its URLs are tried once more in a last round, when all
other URLs are done.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from ..web.errors import FailureReason, FetchError
from ..web.exchange import Answer, RequestAttempts
from ..web.urls import Target, display_url, parse_link

if TYPE_CHECKING:
    from ..web.client import Client

log = logging.getLogger(__name__)

# What a policy decides


class NextStep(Enum):
    """The next step of a check."""

    END = "end"
    ASK_NOW = "ask now"
    """:meth:`Check.begin` returns another request, to be sent at once."""
    CONFIRM = "confirm"
    """:meth:`Check.begin` returns another request, to be sent after the seconds between the two
    downloads that prove a change."""


ResultSink = Callable[[Any], None]
"""Receives the results of checks, which are of the policy's own type, as their inputs are."""


class Check(Protocol):
    """A check of one URL. However it ends, it gives the sink one result for each of its inputs.

    An exception of one of its methods costs no other check: it is logged, and given to :meth:`failed`.
    """

    def takes(self, item: Any, /) -> bool:
        """Add an input if its requests would be the same, and return whether it was added.

        Called before the first request, with inputs of the same ``url``.
        """

    def begin(self) -> RequestAttempts:
        """Return the request that is to be sent, or is being sent.

        :raises FetchError: no request can be made of the URL
        """

    async def answered(self, answer: Answer, sink: ResultSink, /) -> NextStep:
        """Evaluate an answer, whatever its status."""

    def failed(self, error: FetchError, sink: ResultSink, /) -> NextStep:
        """Evaluate the error of the last attempt, or of another method.

        If the URL is invalid, this is called in place of :meth:`begin`, and the check ends.
        """

    def close(self) -> None:
        """Remove temporary files: the check is interrupted."""


BeginCheck = Callable[[Any, str, "Target | None"], Check]
"""Begins a check of an input.

The other arguments are the normalised host of its URL (empty if the URL names none) and the parsed URL to ask
(None if it is invalid; :meth:`Check.failed` is called next).
"""


# When requests are sent

_WORTH_A_CONNECTION = 10
"""Waiting checks that justify one more connection to a host, which costs a handshake."""


async def check_all(
    inputs: Iterable[Any],
    client: Client,
    begin: BeginCheck,
    sink: ResultSink,
    *,
    confirm_after: float = 30.0,
) -> None:
    """Check all inputs by a policy. Each gives the sink one result, even if its server fails.

    Inputs with the same URL share one check if their requests are the same. An exception of the sink ends all
    checks at once and is raised.

    :param inputs: each with a ``url``; read to the end before the first request
    :param begin: the policy
    :param confirm_after: seconds between the two downloads that prove a change
    """
    engine = _Engine(client, sink, confirm_after)
    engine.add(inputs, begin)
    await engine.run()


@dataclass(slots=True, eq=False)
class _Queue:
    """The checks of one host.

    :ivar connections: the most workers
    :ivar delayed: number of checks that come back later
    """

    connections: int
    waiting: deque[Check] = field(default_factory=deque)
    workers: int = 0
    delayed: int = 0


class _Engine:
    def __init__(self, client: Client, sink: ResultSink, confirm_after: float) -> None:
        self._client = client
        self._sink = sink
        self._confirm_after = confirm_after
        self._queues: dict[str, _Queue] = {}
        self._postponed: list[tuple[_Queue, Check]] = []
        self._is_last_round = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def add(self, inputs: Iterable[Any], begin: BeginCheck) -> None:
        """Begin a check of each input, and put it into the queue of its host."""
        of_url: dict[str, Check] = {}
        for item in inputs:
            try:
                results = self._queue(item, begin, of_url)
            except Exception:
                log.exception("A check could not begin, and has no result")
                continue
            self._deliver(results)

    def _queue(self, item: Any, begin: BeginCheck, of_url: dict[str, Check]) -> Sequence[Any]:
        """Begin a check of an input; return its results if its URL is invalid."""
        check = of_url.get(item.url)
        if check is not None and check.takes(item):
            return ()
        try:
            target = parse_link(item.url)
        except Exception as error:
            return _failed(begin(item, "", None), error, item.url)[1]
        host = self._client.hosts.of(target.host)
        check = of_url[item.url] = begin(item, host.name, target)
        queue = self._queues.get(host.name)
        if queue is None:
            queue = self._queues[host.name] = _Queue(host.policy.connections)
        queue.waiting.append(check)
        return ()

    async def run(self) -> None:
        """Run until there is a result for each input."""
        try:
            await self._round()
            if self._postponed:
                self._begin_last_round()
                await self._round()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _round(self) -> None:
        self._ended = asyncio.get_running_loop().create_future()
        for queue in self._queues.values():
            self._serve(queue)
        if self._tasks:
            await self._ended

    def _begin_last_round(self) -> None:
        """Queue the postponed checks once more, now that all others are done."""
        self._is_last_round = True
        # In reverse order, since the checks behind the postponed ones may ask the same broken part of a site.
        for queue, check in reversed(self._postponed):
            request = check.begin()
            request.once_more()
            self._client.begin_last_round(request.present.target.host)
            queue.waiting.append(check)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._stopped)

    def _stopped(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if self._ended.done():
            return
        if error is not None:
            self._ended.set_exception(error)
        elif not self._tasks:
            self._ended.set_result(None)

    def _serve(self, queue: _Queue) -> None:
        """Start as many workers as a queue is worth."""
        waiting = len(queue.waiting)
        worth = min(waiting, queue.connections, 1 + waiting // _WORTH_A_CONNECTION)
        while queue.workers < worth:
            queue.workers += 1
            self._start(self._work(queue))

    async def _work(self, queue: _Queue) -> None:
        """Do the checks of a queue until none is waiting."""
        while queue.waiting:
            check = queue.waiting.popleft()
            try:
                await self._send(queue, check)
            except BaseException:
                check.close()
                raise
        queue.workers -= 1

    async def _send(self, queue: _Queue, check: Check) -> None:
        """Send one request of a check and evaluate its answer."""
        url = ""
        results: Sequence[Any]
        given: list[Any] = []
        try:
            request = check.begin()
            url = request.request.url
            # The connection is closed if the host's other workers suffice for the checks that wait.
            request.last = len(queue.waiting) < queue.workers and not queue.delayed
            answer = await self._client.attempt(request)
            if answer is None:
                self._start(self._come_back(queue, check, request.pause))
                return
            step = await check.answered(answer, given.append)
            results = given
        except Exception as error:
            is_silent = isinstance(error, FetchError) and error.reason is FailureReason.HOST_SILENT
            if is_silent and not self._is_last_round:
                self._postponed.append((queue, check))
                return
            step, results = _failed(check, error, url)
        self._deliver(results)
        if step is NextStep.ASK_NOW:
            queue.waiting.appendleft(check)
        elif step is NextStep.CONFIRM:
            self._start(self._come_back(queue, check, self._confirm_after))

    def _deliver(self, results: Iterable[Any]) -> None:
        for result in results:
            self._sink(result)

    async def _come_back(self, queue: _Queue, check: Check, seconds: float) -> None:
        """Put a check before those that have not begun, when some seconds have passed."""
        queue.delayed += 1
        await asyncio.sleep(seconds)
        queue.delayed -= 1
        queue.waiting.appendleft(check)
        self._serve(queue)


def _failed(check: Check, error: Exception, url: str) -> tuple[NextStep, Sequence[Any]]:
    """Let a check judge why it got no further; return its next step and its results."""
    try:
        if not isinstance(error, FetchError):
            log.error("The check of %s failed unexpectedly", display_url(url), exc_info=error)
            words = f"met an error of this site ({type(error).__name__}): its log says more"
            error = FetchError(FailureReason.UNFORESEEN, display_url(url), words)
        results: list[Any] = []
        return check.failed(error, results.append), results
    except Exception:
        log.exception("A check has no result")
        check.close()
        return NextStep.END, ()
