"""Crawls of healthy servers, their number of requests, and their parts."""

from __future__ import annotations

import asyncio

import pytest

from ckanext.freshness.harvesting.source_client import for_each
from ckanext.freshness.tests.harvesting.fdp.crawling import Site, catalogs_too, unchanged
from ckanext.freshness.tests.servers.fdp import FdpServer

# Requests


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
