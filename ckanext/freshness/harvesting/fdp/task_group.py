"""A group of tasks that runs a limited number of them at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class TaskGroup:
    """A group of tasks of one event loop. It runs a limited number of them at a time.

    asyncio.TaskGroup has no limit, and Python 3.10 does not have it.
    """

    def __init__(self, size: int) -> None:
        """
        :param size: how many tasks run at a time, at least 1.
        """
        self._room = asyncio.Semaphore(size)
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None

    async def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task as soon as there is room for it.

        :raises BaseException: the exception of the first task that failed; the new task is not started.
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
        """Wait until all tasks have ended.

        :raises BaseException: the exception of the first task that failed, without waiting for others.
        """
        while self._tasks and self._failure is None:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        if self._failure is not None:
            raise self._failure

    async def cancel(self) -> None:
        """Cancel all tasks and wait until they have ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room.release()
        if self._failure is None:
            # A task can also be cancelled by what it awaits. Then its work was not done.
            self._failure = asyncio.CancelledError() if task.cancelled() else task.exception()
