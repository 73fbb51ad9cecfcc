"""The event loop of network runs: uvloop if installed, and fewer garbage collections; and a thread for it.

The settings of the garbage collector hold for the whole process, so use one run at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")

_NEW_OBJECTS = 10_000
"""New objects after which the garbage collector runs. With a higher number each collection takes longer,
and no time is gained."""


def run(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine as ``asyncio.run`` does, on uvloop if it is installed.

    :param main: makes the coroutine. An error before it starts would leave a coroutine of the caller behind
    """
    runner: Callable[[Coroutine[Any, Any, T]], T] = asyncio.run
    with contextlib.suppress(ImportError):
        import uvloop

        runner = uvloop.run
    # Outside the block: an ImportError of the coroutine is no missing uvloop.
    with rare_collections(), contextlib.closing(main()) as coroutine:
        return runner(coroutine)


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage more rarely, and only among objects made inside the block.

    Requests and choices make many small objects, and hardly any of them is part of a cycle. With Python's
    own setting, a collection after every 700 objects, the collector takes an eighth of the CPU time of
    checks and a third of a choice's, in which it reads CKAN's many objects again and again.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def in_batches(
    produce: Callable[[Callable[[T], None]], Coroutine[Any, Any, None]],
    *,
    most: int = 500,
    seconds: float = 2.0,
) -> Generator[list[T], None, None]:
    """Run a coroutine in a thread of its own, and yield what it hands over, in batches.

    CKAN, its sessions and its plugins belong to the command's thread. Writing to the database in the loop's
    thread would delay every connection of the loop.

    Closing the generator cancels the coroutine. Use :func:`contextlib.closing` if you may stop early.

    :param produce: makes the coroutine; its argument is the function that hands over one item
    :param most: items in a batch, at most
    :param seconds: time after which the items so far are yielded, or an empty batch, so that the caller can do
        other work
    :raises BaseException: whatever the coroutine raises, after the last batch
    """
    # Not a queue, which would wake this thread for each item and interrupt the loop's thread.
    items: deque[T] = deque()
    cancel: Future[Callable[[], object]] = Future()

    async def main() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        cancel.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        await produce(items.append)

    with ThreadPoolExecutor(1, "checks") as pool:
        work = pool.submit(run, main)
        try:
            while items or not work.done():
                if len(items) < most:
                    wait([work], seconds)
                yield [items.popleft() for _ in range(min(len(items), most))]
        finally:
            if not work.done():
                # The loop may have ended by itself.
                with contextlib.suppress(RuntimeError):
                    cancel.result()()
    work.result()
