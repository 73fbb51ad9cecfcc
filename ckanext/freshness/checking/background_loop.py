"""Runs a coroutine in a thread with an event loop of its own, and returns its results in batches.

CKAN, its sessions and its plugins belong to the command's thread. Writing to the database in the loop's thread
would delay every connection of the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

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
    :param seconds: time after which the items so far are yielded, or an empty batch, so that the caller can do
        other work
    :raises BaseException: whatever the coroutine raises, after the last batch
    """
    # Not a queue, which would wake this thread for each item and interrupt the loop's thread.
    items: deque[T] = deque()
    errors: list[BaseException] = []
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []
    has_begun, has_ended = threading.Event(), threading.Event()

    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        running.append((asyncio.get_running_loop(), task))
        has_begun.set()
        await produce(items.append)

    def work() -> None:
        try:
            run(main())
        except BaseException as error:
            errors.append(error)
        finally:
            has_begun.set()
            has_ended.set()

    thread = threading.Thread(target=work, name="checks", daemon=True)
    thread.start()
    try:
        while not has_ended.is_set() or items:
            if len(items) < most:
                has_ended.wait(seconds)
            yield [items.popleft() for _ in range(min(len(items), most))]
    finally:
        has_begun.wait()
        for loop, task in running:
            # The loop may have ended by itself.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)
        thread.join()
    if errors:
        raise errors[0]
