"""The event loop of network runs, and batches from one in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import closing
from itertools import chain

import pytest

from ckanext.freshness.web.event_loop import in_batches


async def _count(tell: Callable[[int], None], up_to: int) -> None:
    for number in range(up_to):
        tell(number)
        await asyncio.sleep(0)


def test_what_came_is_not_held_back() -> None:
    """Results do not wait for a whole batch: a slow server may take an hour."""
    go_on = threading.Event()

    async def produce(tell: Callable[[int], None]) -> None:
        tell(1)
        while not go_on.is_set():
            await asyncio.sleep(0.01)
        tell(2)

    with closing(in_batches(produce, most=10, seconds=0.05)) as batches:
        assert next(batches) == [1]
        go_on.set()
        assert list(chain(*batches)) == [2]


def test_an_error_comes_after_all_that_was_found() -> None:
    async def produce(tell: Callable[[int], None]) -> None:
        await _count(tell, 3)
        raise ValueError("a fault")

    found: list[int] = []
    with pytest.raises(ValueError, match="a fault"):
        for batch in in_batches(produce):
            found += batch
    assert found == [0, 1, 2]


def test_who_stops_half_way_stops_the_loop() -> None:
    cancelled = threading.Event()

    async def produce(tell: Callable[[int], None]) -> None:
        tell(1)
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    before = set(threading.enumerate())
    with pytest.raises(KeyError), closing(in_batches(produce, seconds=0.05)) as batches:
        assert next(batches) == [1]
        raise KeyError
    assert cancelled.is_set()
    assert set(threading.enumerate()) <= before
