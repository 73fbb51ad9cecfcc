"""Runs what asks the network, with little work beside it.

The collector is set for the whole process: one such run at a time is meant.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_NEW_OBJECTS = 10_000
"""The collector comes after so many: of more it takes longer each time, and nothing is gained."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run``, on uvloop where that is installed."""
    runner: Callable[[Coroutine[Any, Any, T]], T] = asyncio.run
    with contextlib.suppress(ImportError):
        import uvloop

        runner = uvloop.run
    # Outside of the block: what fails in here has nothing to do with uvloop.
    with _rare_collections():
        return runner(main)


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Python looks for cycles among the new objects alone, and seldom.

    A request makes many small objects, hardly any of them in a cycle: looking through them after
    each 700, as Python does by itself, is an eighth of the CPU time of visits, and more where there
    are the many objects of CKAN to be looked through too.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
