"""The event loop of network runs: uvloop if installed, and fewer garbage collections.

The settings of the garbage collector hold for the whole process, so use one run at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_NEW_OBJECTS = 10_000
"""New objects after which the garbage collector runs. With a higher number each collection takes longer,
and no time is gained."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine as ``asyncio.run`` does, on uvloop if it is installed."""
    runner: Callable[[Coroutine[Any, Any, T]], T] = asyncio.run
    with contextlib.suppress(ImportError):
        import uvloop

        runner = uvloop.run
    # Outside the block: an ImportError of the coroutine is no missing uvloop.
    with _rare_collections():
        return runner(main)


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect garbage more rarely, and only among objects made inside the block.

    A request makes many small objects, and hardly any of them is part of a cycle. With Python's own
    setting, a collection after every 700 objects, the collector takes an eighth of the CPU time of
    checks, and more in a process that has CKAN's many objects.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
