"""An event loop in a thread of its own, whose results another thread takes in batches.

CKAN, its sessions and its plugins belong to the thread of the command, and writing them would hold up
every connection of a loop there.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from ..web.client import run

T = TypeVar("T")


def in_batches(
    produce: Callable[[Callable[[T], None]], Coroutine[Any, Any, None]],
    *,
    most: int = 500,
    seconds: float = 2.0,
) -> Generator[list[T], None, None]:
    """What a coroutine hands over, as it comes.

    The loop ends when the iterator is closed, whatever it was doing; whoever stops half-way does so with
    :func:`contextlib.closing`.

    :param produce: given a function to hand things over with, the coroutine to run.
    :param most: things in a batch.
    :param seconds: after which a smaller batch is handed over, too; empty ones are, so that whoever
        waits can see to other things.
    :raises BaseException: whatever the coroutine raises, once all that it handed over was taken.
    """
    thread = _Loop(produce, most, seconds)
    thread.start()
    try:
        while not thread.ended:
            yield thread.batch()
    finally:
        thread.cancel()
        thread.join()
    if thread.error is not None:
        raise thread.error


class _Loop(threading.Thread, Generic[T]):
    def __init__(
        self,
        produce: Callable[[Callable[[T], None]], Coroutine[Any, Any, None]],
        most: int,
        seconds: float,
    ) -> None:
        super().__init__(name="visits", daemon=True)
        self._produce = produce
        self._most = most
        self._seconds = seconds
        self._made: queue.SimpleQueue[tuple[list[T], bool]] = queue.SimpleQueue()
        """Batches, each with whether it is the last one."""
        self._part: list[T] = []
        self._lock = threading.Lock()
        self._cancelled = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle
        self.ended = False
        """Whether all that will ever come was taken."""
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            run(self._main())
        except BaseException as error:
            self.error = error
        finally:
            self._hand_over(last=True)

    async def _main(self) -> None:
        with self._lock:
            self._task = asyncio.current_task()
            self._loop = asyncio.get_running_loop()
            if self._cancelled:
                return
        try:
            self._timer = self._again()
            await self._produce(self._take)
        finally:
            with self._lock:
                self._loop = None

    # Batches are put together on this side: each that is handed over wakes the other thread, which
    # takes the interpreter from this one.

    def _take(self, one: T) -> None:
        self._part.append(one)
        if len(self._part) >= self._most:
            self._timer.cancel()
            self._now_and_then()

    def _hand_over(self, *, last: bool = False) -> None:
        self._made.put((self._part, last))
        self._part = []

    def _now_and_then(self) -> None:
        self._hand_over()
        self._timer = self._again()

    def _again(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(self._seconds, self._now_and_then)

    def batch(self) -> list[T]:
        part, self.ended = self._made.get()
        return part

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._loop is not None and self._task is not None:
                self._loop.call_soon_threadsafe(self._task.cancel)
