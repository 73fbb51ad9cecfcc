"""Work that is under way together, with room for so much at a time; the first failure ends it all."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class TaskGroup:
    """A bounded group of tasks of one event loop.

    (asyncio.TaskGroup is bounded by nothing, and does not exist in Python 3.10.)
    """

    def __init__(self, size: int) -> None:
        """
        :param size: how many tasks may be under way, at least 1.
        """
        self._room = asyncio.Semaphore(size)
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None

    async def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin a task as soon as there is room for it.

        :raises BaseException: what an earlier task ended with; the work is then not begun.
        """
        try:
            await self._room.acquire()
        except BaseException:
            work.close()
            raise
        if self._failure is not None:
            self._room.release()
            work.close()
            raise self._failure
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def join(self) -> None:
        """Wait until nothing is under way.

        :raises BaseException: what the first task that failed ended with, as soon as it has.
        """
        while self._tasks and self._failure is None:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        if self._failure is not None:
            raise self._failure

    async def dismiss(self) -> None:
        """Cancel what is under way, and wait until that has ended too."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room.release()
        if not task.cancelled() and self._failure is None:
            self._failure = task.exception()
