"""Worker processes of a command.

They are forked, so use them only in commands, which have no other threads. Connections to the database
are closed before the fork and opened again when needed.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from .database import disconnect

P = TypeVar("P")
R = TypeVar("R")

Numbers = tuple[int, ...]
Tell = Callable[[Numbers], None]
"""Receives the progress of a part, as numbers whose meaning the caller defines."""


class WorkerError(Exception):
    """A worker that ended before its work was done."""


def share(
    parts: Sequence[P],
    work: Callable[[P, Tell], R],
    tell: Tell,
    errors: tuple[type[Exception], ...] = (),
) -> list[R]:
    """Run each part in a process of its own, and return the results in order.

    :param tell: receives the progress of all parts: each number is the sum over the parts
    :param errors: the exceptions of workers that are raised here
    :raises WorkerError: a worker ended before its work was done
    """
    disconnect()
    context = multiprocessing.get_context("fork")
    processes: list[Any] = []
    pipes: list[Connection] = []
    for part in parts:
        ours, theirs = context.Pipe(duplex=False)
        arguments = (part, work, errors, theirs, os.getpid())
        process = context.Process(target=_work, args=arguments, daemon=True)
        process.start()
        theirs.close()
        processes.append(process)
        pipes.append(ours)
    results: dict[Connection, R] = {}
    done: dict[Connection, Numbers] = {}
    still_open = list(pipes)
    while still_open:
        for pipe in wait(still_open):
            assert isinstance(pipe, Connection)
            try:
                message = pipe.recv()
            except EOFError:
                still_open.remove(pipe)
                continue
            if isinstance(message, Exception):
                raise message
            if isinstance(message, _Done):
                results[pipe] = message.result
            else:
                done[pipe] = message
                tell(tuple(map(sum, zip(*done.values(), strict=True))))
    for process, pipe in zip(processes, pipes, strict=True):
        process.join()
        if pipe not in results:
            raise WorkerError(f"A worker ended with exit code {process.exitcode} before its work")
    return [results[pipe] for pipe in pipes]


@dataclass(frozen=True, slots=True)
class _Done:
    """The last message of a worker, with its result."""

    result: Any


class _OrphanedError(Exception):
    """The parent process of this worker has ended."""


def _work(
    part: P,
    work: Callable[[P, Tell], R],
    errors: tuple[type[Exception], ...],
    pipe: Connection,
    parent: int,
) -> None:
    def tell(done: Numbers) -> None:
        if os.getppid() != parent:
            raise _OrphanedError
        pipe.send(done)

    try:
        pipe.send(_Done(work(part, tell)))
    except _OrphanedError:
        pass
    except errors as error:
        pipe.send(error)
    finally:
        pipe.close()
