"""IATI's update cycle beside bare aiohttp that downloads, hashes, compresses and writes the same files.

The files have 5 to 100 KB, not all of it ASCII. The datasets are written by SQL, as a harvest would leave
them. What index files and bulk ZIPs cost is left out, since the floor makes none. No file is deleted before
the end: ext4 searches for each new file beyond all that were deleted within minutes.
"""

from __future__ import annotations

import asyncio
import hashlib
import statistics
import time
import zlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from benchmarks.measure import Remote, Result, timed
from benchmarks.servers import File, FileHost

CONNECTIONS, ROUNDS = 32, 3
ADDRESS = "127.0.0.1"
GOALS = {"first": 1.4, "unchanged": 2.5}


def measure(say: Callable[[str], None], size: int = 1_000) -> Iterator[Result]:
    """Yield the costs of a first cycle over ``size`` files, and of one without changes."""
    files = {f"/{n}.xml": File(5_000 + n * 7919 % 97_000, is_iati=True) for n in range(size)}
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    with TemporaryDirectory() as folder, Remote(FileHost, files, [ADDRESS]) as server:
        base = f"http://{ADDRESS}:{server.call('port')}"
        options = {
            "ckanext.freshness.allowed_networks": "127.0.0.0/8",
            "ckanext.freshness.check.host_limits": f"{ADDRESS}={CONNECTIONS},1000000",
            "ckanext.freshness.copies.location": f"{folder}/copies",
        }
        with Remote(Cycles, base, size, options=options) as ours, Remote(Floor, base) as floor:
            for _ in range(ROUNDS):
                ours.call("forget")
                for name, method in (("first", "download"), ("unchanged", "heads")):
                    say(f"{name} cycle")
                    _, bare = floor.measure(method, size, folder)
                    published, cycle = ours.measure("cycle")
                    found[name, "ours"].append(cycle.cpu - published)
                    found[name, "floor"].append(bare.cpu)
    for name, goal in GOALS.items():
        ours_s, floor_s = (statistics.median(found[name, one]) for one in ("ours", "floor"))
        yield Result(f"{name} cycle", ours_s, "aiohttp", floor_s, goal)


class Cycles:
    """A source and its cycles."""

    def __init__(self, base: str, size: int) -> None:
        from benchmarks.site import Site, execute

        self._now = datetime.now(timezone.utc)
        self._size = size
        site = Site()
        site.empty()
        site.write(size, size, f"'{base}/' || k || '.xml'", {})
        self._source: str = site.call(
            "harvest_source_create",
            name="iati",
            title="Bench",
            url=f"{base}/registry",
            source_type="iati_registry",
            owner_org="bench",
        )["id"]
        for statement in (_JOB, _OBJECTS):
            execute(statement, source=self._source)

    def forget(self) -> None:
        """Delete all that cycles wrote."""
        import ckan.plugins.toolkit as tk

        from benchmarks.site import execute, settle

        execute("TRUNCATE freshness_copy, freshness_iati")
        copies = Path(tk.config["ckanext.freshness.copies.location"])
        if copies.exists():
            copies.rename(f"{copies}-{time.time_ns()}")
        settle()

    def cycle(self) -> float:
        """Do a cycle an hour after the previous one; return the processor seconds of the published files."""
        from ckanext.harvest.model import HarvestSource

        from ckanext.freshness_iati import cycle, publication

        self._now += timedelta(hours=1)
        began, now = time.monotonic(), self._now
        source = HarvestSource.get(self._source)

        def clock() -> datetime:
            return now + timedelta(seconds=time.monotonic() - began)

        with timed(publication, "publish") as published:
            report = cycle.run_cycle(source, clock)
        figures = report.figures
        if not report.complete or figures["failed"] or figures["checked"] != self._size:
            raise SystemExit(f"The cycle did not do what was to be measured: {report}")
        return published.cpu


_JOB = """
INSERT INTO harvest_job (id, created, status, source_id) VALUES ('iati-bench', now(), 'Finished', :source)"""
_OBJECTS = """
INSERT INTO harvest_object (id, guid, current, state, harvest_source_id, harvest_job_id, package_id)
SELECT 'iati ' || id, 'iati ' || id, true, 'COMPLETE', :source, 'iati-bench', id
FROM package WHERE type = 'dataset'"""


class Floor:
    """Bare aiohttp."""

    def __init__(self, base: str) -> None:
        self._base = base

    def download(self, size: int, folder: str) -> None:
        made = Path(mkdtemp(dir=folder))

        async def one(session: Any, url: str, number: int) -> None:
            async with session.get(url) as answer:
                body = await answer.read()
            # Twice, as IATI has a second hash without the moment of generation.
            hashlib.sha1(body).hexdigest()
            hashlib.sha1(body).hexdigest()
            (made / f"{number}.xml").write_bytes(body)
            (made / f"{number}.z").write_bytes(zlib.compress(body, 6))

        asyncio.run(self._each(size, one))

    def heads(self, size: int, _folder: str) -> None:
        async def one(session: Any, url: str, _number: int) -> None:
            async with session.head(url):
                pass

        asyncio.run(self._each(size, one))

    async def _each(self, size: int, ask: Callable[[Any, str, int], Awaitable[None]]) -> None:
        import aiohttp

        numbers = iter(range(size))
        connector = aiohttp.TCPConnector(limit=CONNECTIONS)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def runner() -> None:
                for number in numbers:
                    await ask(session, f"{self._base}/{number}.xml", number)

            await asyncio.gather(*(runner() for _ in range(CONNECTIONS)))
