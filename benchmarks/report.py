"""What the plugins add to CKAN: to ``package_create``, to its pages and to a web worker.

Two web workers, one with our plugins and one without them, answer the same requests in turn. The processor
time of the worker and of PostgreSQL counts, not Solr's.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import Remote, Result

WITHOUT = {"ckan.plugins": "harvest activity"}
ROUNDS, TIMES = 12, 10
"""Rounds of so many requests to each worker."""
RESOURCES, FOUND = 9, 20
"""Resources of a typical dataset, and datasets on a page of search results."""
PAGES = {
    "search page": ("/dataset/?q=measurable", 1.08),
    "search results through the API": ("/api/action/package_search?q=measurable&rows=20", 1.05),
    "dataset page": ("/dataset/{name}", None),
}
"""The paths of CKAN's pages, and the most that they may take as a multiple of their time without us."""


def measure(say: Callable[[str], None], size: int = RESOURCES) -> Iterator[Result]:
    """Yield what the plugins add; a typical dataset has ``size`` resources."""
    with Remote(Worker) as ours, Remote(Worker, options=WITHOUT) as bare:
        ours.call("empty")
        names = {"ours": ours.call("prepare", size), "bare": bare.call("prepare", size)}
        for page, (path, goal) in PAGES.items():
            say(page)
            with_us, without = _in_turn(
                partial(ours.measure, "get", path.format(name=names["ours"]), TIMES),
                partial(bare.measure, "get", path.format(name=names["bare"]), TIMES),
            )
            yield Result(page, with_us, "without us", without, goal, unit="ms")
            if page == "dataset page":
                yield Result("added to it", with_us - without, goal=3.0, unit="ms")
        # Before datasets are created: most web workers show pages only.
        with_us, without = (one.call("own_mb") for one in (ours, bare))
        yield Result("added to a worker", with_us - without, goal=8.0, unit="MB")
        say("package_create")
        with_us, without = _in_turn(
            partial(ours.measure, "create", TIMES), partial(bare.measure, "create", TIMES)
        )
        yield Result("package_create", with_us, "without us", without, 1.12, unit="ms")


def _in_turn(ours: Callable[[], Any], bare: Callable[[], Any]) -> tuple[float, float]:
    """Return the median milliseconds of a request to each worker. Neither is always the first one."""
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS + 1):
        for which in (0, 1) if number % 2 else (1, 0):
            _, taken = (ours, bare)[which]()
            found[which].append((taken.cpu + taken.postgres) / TIMES * 1e3)
    # The first round warms up.
    with_us, without = (statistics.median(one[1:]) for one in found)
    return with_us, without


class Worker:
    """A web worker."""

    def __init__(self) -> None:
        from benchmarks.site import Site

        self._site = Site()
        self._made = 0

    def empty(self) -> None:
        self._site.empty()

    def prepare(self, resources: int) -> str:
        """Create datasets to be found, and return the name of a typical one."""
        for _ in range(FOUND // 2):
            self._create("A measurable dataset", 2)
        return self._create("A dataset", resources)

    def get(self, path: str, times: int = 1) -> None:
        self._site.get(path, times)

    def create(self, times: int) -> None:
        for _ in range(times):
            self._create("A dataset", 2)

    def _create(self, title: str, resources: int) -> str:
        self._made += 1
        name = f"made-{datetime.now(timezone.utc).timestamp()}-{self._made}".replace(".", "-")
        self._site.call(
            "package_create",
            name=name,
            title=title,
            notes="What was counted, by month.",
            owner_org="bench",
            resources=[
                {"url": f"http://example.org/{one}.csv", "name": f"Part {one}", "format": "CSV"}
                for one in range(resources)
            ],
            extras=[{"key": "data_update_frequency", "value": "30"}],
        )
        return name

    def own_mb(self) -> float:
        """Return the memory that this process shares with no other."""
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("Private_"))
