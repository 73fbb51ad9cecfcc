"""Runs a coroutine in a thread with an event loop of its own, and returns its results in batches.

CKAN, its sessions and its plugins belong to the command's thread. Writing to the database in the loop's thread
would delay every connection of the loop.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from ..web.event_loop import run

T = TypeVar("T")


def in_batches(
    produce: Callable[[Callable[[T], None]], Coroutine[Any, Any, None]],
    *,
    most: int = 500,
    seconds: float = 2.0,
) -> Generator[list[T], None, None]:
    """Yield what a coroutine hands over, in batches.

    Closing the generator cancels the coroutine. Use :func:`contextlib.closing` if you may stop early.

    :param produce: makes the coroutine; its argument is the function that hands over one item
    :param most: items in a batch, at most
    :param seconds: time after which a smaller batch is yielded, even an empty one, so that the caller can do
        other work
    :raises BaseException: whatever the coroutine raises, after the last batch
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
        super().__init__(name="checks", daemon=True)
        self._produce = produce
        self._most = most
        self._seconds = seconds
        self._batches: queue.SimpleQueue[tuple[list[T], bool]] = queue.SimpleQueue()
        """Batches, each with whether it is the last."""
        self._batch: list[T] = []
        self._lock = threading.Lock()
        self._cancelled = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle
        self.ended = False
        """Whether the last batch was taken."""
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
            self._timer = self._start_timer()
            await self._produce(self._take)
        finally:
            with self._lock:
                self._loop = None

    # The loop's thread makes the batches: each batch wakes the other thread, which interrupts this one.

    def _take(self, item: T) -> None:
        self._batch.append(item)
        if len(self._batch) >= self._most:
            self._timer.cancel()
            self._tick()

    def _hand_over(self, *, last: bool = False) -> None:
        self._batches.put((self._batch, last))
        self._batch = []

    def _tick(self) -> None:
        self._hand_over()
        self._timer = self._start_timer()

    def _start_timer(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(self._seconds, self._tick)

    def batch(self) -> list[T]:
        batch, self.ended = self._batches.get()
        return batch

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._loop is not None and self._task is not None:
                self._loop.call_soon_threadsafe(self._task.cancel)
