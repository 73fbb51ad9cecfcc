"""Crawls of healthy servers, their number of requests, and their parts."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from ckanext.freshness.harvesting.record import Containers, CurrentRecords, Sighting
from ckanext.freshness.harvesting.record import Record as Contents
from ckanext.freshness.harvesting.source_client import for_each
from ckanext.freshness.tests.harvesting.fdp.crawling import (
    Job,
    Site,
    catalogs_too,
    unchanged,
)
from ckanext.freshness.tests.servers.fdp import FdpServer

# Requests


def test_requests(fdp: FdpServer) -> None:
    """Each job sends one request for each document."""
    catalogs = [fdp.add_catalog() for _ in range(2)]
    for n in range(120):
        fdp.add_dataset(catalogs[n % 2], distributions=n % 3)
    fdp.shuffle = True
    site = Site(fdp)
    documents = 1 + 2 + 120 + 120
    assert site.job().requests == documents
    assert unchanged(site).requests == documents
    assert len(fdp.requests) == len({request.target for request in fdp.requests}) * 2


def test_bytes_as_last_time_are_not_parsed(fdp: FdpServer) -> None:
    catalog = fdp.add_catalog()
    for n in range(4):
        fdp.add_dataset(catalog, str(n))
    site = Site(fdp, config=catalogs_too)
    site.job()
    assert site.memory.recalled == set()
    parsed = {url for url in site.memory.rows if "#" not in url}
    assert len(parsed) == 6  # root, catalog, datasets
    job = unchanged(site)
    assert {url for url in site.memory.recalled if "#" not in url} == parsed
    # Nor are the records mapped.
    assert [one.contents for one in job.sightings.values()] == [None] * 5


# Parts


class Nowhere(dict[str, Any]):
    """Holds nothing of what is put in it."""

    def __setitem__(self, key: str, value: Any) -> None:
        pass


def test_memory_does_not_grow_with_the_source(fdp: FdpServer) -> None:
    """The crawl keeps no contents of records that it has handed on."""
    catalog = fdp.add_catalog()
    for _ in range(200):
        fdp.add_dataset(catalog, distributions=0)
    handed_on, alive = 0, []

    def contents() -> int:
        return sum(isinstance(one, Contents) for one in gc.get_objects())

    # Those of other tests.
    before = contents()

    def count(sighting: Sighting, containers: Containers) -> None:
        nonlocal handed_on
        handed_on += 1
        if handed_on % 50 == 0:
            alive.append(contents() - before)

    site = Site(fdp)
    crawl = site._crawl(Job(sightings=Nowhere()), site.given(CurrentRecords([])), count)
    asyncio.run(crawl)
    assert len(alive) == 4 and max(alive) < 60


def test_calls_for_each_item() -> None:
    async def main() -> None:
        under_way: list[int] = []
        done: list[int] = []
        most = 0

        async def work(number: int) -> None:
            nonlocal most
            under_way.append(number)
            most = max(most, len(under_way))
            await asyncio.sleep(0)
            under_way.remove(number)
            if number == 20:
                raise LookupError("first")
            done.append(number)

        await for_each(2, work, range(10))
        assert (sorted(done), most) == (list(range(10)), 2)
        with pytest.raises(LookupError, match="first"):
            await for_each(2, work, range(20, 30))
        assert len(done) < 15
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
