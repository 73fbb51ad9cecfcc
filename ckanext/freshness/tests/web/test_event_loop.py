"""The event loop of network runs, and batches from one in a thread of its own."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
from collections.abc import Callable, Coroutine, Generator
from contextlib import closing
from itertools import chain
from typing import Any

import pytest

from ckanext.freshness.web.client import in_batches, run


async def _count(tell: Callable[[int], None], up_to: int) -> None:
    for number in range(up_to):
        tell(number)
        await asyncio.sleep(0)


def counting(up_to: int) -> Callable[[Callable[[int], None]], Coroutine[Any, Any, None]]:
    return lambda tell: _count(tell, up_to)


def test_everything_comes_in_order_and_in_batches() -> None:
    batches: list[list[int]] = list(in_batches(counting(25), most=10, seconds=5))
    assert [len(batch) for batch in batches] == [10, 10, 5]
    assert list(chain(*batches)) == list(range(25))


def test_nothing_at_all() -> None:
    assert list(chain(*in_batches(counting(0)))) == []


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

    before = threading.active_count()
    with pytest.raises(KeyError), closing(in_batches(produce, seconds=0.05)) as batches:
        assert next(batches) == [1]
        raise KeyError
    assert cancelled.is_set()
    assert threading.active_count() == before


def test_who_never_begins_starts_nothing() -> None:
    before = threading.active_count()
    batches: Generator[list[int], None, None] = in_batches(counting(3))
    batches.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("fails", [False, True])
def test_the_collector_is_as_it_was_once_a_run_has_ended(fails: bool) -> None:
    during: list[tuple[int, int]] = []

    async def main() -> None:
        during.append((gc.get_threshold()[0], gc.get_freeze_count()))
        if fails:
            raise LookupError

    before = gc.get_threshold()
    try:
        run(main)
    except LookupError:
        assert fails
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
    ((threshold, frozen),) = during
    assert threshold > before[0]
    assert frozen > 0


def test_no_coroutine_is_left_over_if_none_can_run() -> None:
    async def work() -> None: ...

    async def main() -> None:
        run(work)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match="running event loop"):
            run(main)
        gc.collect()
    assert told == []
