"""Checks: ours, hdx-data-freshness 2.0.0 and bare aiohttp, and the choice among a million resources.

All ask a file server that runs in a process of its own. Ours is a whole run on a site with its database,
without its updates of the index; HDX's is its retrieval alone, called as its ``check_urls`` calls it, in an
environment of its own; aiohttp sends conditional requests and hashes, without rules or database. All are
warm when they are measured.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import statistics
import subprocess
import time
import venv
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, Remote, Result, Taken, timed
from benchmarks.servers import File, FileHost, addresses
from ckanext.freshness.checking.decisions import CheckResult, KnownContent, ResourceToCheck
from ckanext.freshness.web.address_guard import Guard
from ckanext.freshness.web.exchange import ClientSettings, Limits
from ckanext.freshness.web.hosts import HostPolicy, Hosts

PEER = ("hdx-data-freshness==2.0.0", "hdx-python-database==1.2.3")
"""Later versions of the second give tables other names than the first expects."""
PEER_HOME = ROOT / ".dev" / "peers" / "hdx-data-freshness"
HOSTS, REPEATS = 400, 3
OPTIONS = {
    "ckanext.freshness.allowed_networks": "127.0.0.0/8",
    "ckanext.freshness.requests_per_second": "50",
    "ckanext.freshness.check.policy": "hdx",
}
GOALS = {"first run": 0.65, "second run": 1.0}
"""Of the processor time of HDX's retrieval, which reads no tables."""
TABLES = "ours, with tables"

Say = Callable[[str], None]
Run = Callable[[], float]
"""A run over all URLs; returns its processor seconds."""


def measure(say: Say, size: int = 2_000, choice: int = 1_000_000) -> Iterator[Result]:
    """Yield the costs of two runs over ``size`` files, the rate over them, and the cost of a choice."""
    found: dict[str, list[list[float]]] = defaultdict(list)
    subjects: dict[str, Callable[[list[str]], Run]] = {"aiohttp": _floor, "HDX": _hdx}
    with Remote(CheckedSite, options=OPTIONS) as site:
        subjects["ours"] = subjects[TABLES] = lambda urls: _ours(site, urls)
        for _ in range(REPEATS):
            for name, subject in subjects.items():
                say(f"two runs: {name}")
                found[name].append(_two_runs(subject, size, has_names=name == TABLES))
        for number, (run, goal) in enumerate(GOALS.items()):
            ours, tables, hdx, bare = (
                statistics.median(two[number] for two in found[name])
                for name in ("ours", TABLES, "HDX", "aiohttp")
            )
            yield Result(run, ours, "HDX's retrieval", hdx, goal)
            yield Result(run, ours, "aiohttp", bare)
            yield Result(f"{run}, with tables", tables, "HDX's retrieval", hdx)
        yield _rate(say, size)
        say(f"choosing among {choice} resources")
        site.call("write_known", choice)
        taken = site.measure("choose")[1]
        yield Result("choice among a million", taken.cpu + taken.postgres, goal=30.0)
        yield Result("its memory", taken.extra_mb, goal=200.0, unit="MB")


def _two_runs(subject: Callable[[list[str]], Run], size: int, *, has_names: bool) -> list[float]:
    """Return the processor seconds of a first run, and of a second one after some files have changed.

    Half of the files have validators; of the others, a fifth differs at each download.

    :param has_names: whether the files are tables with names of columns, whose dates are read
    """
    chance = random.Random(2026)
    files = {
        f"/{number}.csv": File(
            chance.randint(1024, 50 * 1024),
            validators=number % 2 == 0,
            differs=number % 10 == 1,
            has_names=has_names,
        )
        for number in range(size)
    }
    hosts = addresses(HOSTS)
    with Remote(FileHost, files, hosts) as server:
        port = server.call("port")
        run = subject([f"http://{hosts[n % HOSTS]}:{port}{path}" for n, path in enumerate(files)])
        first = run()
        server.call("change", [path for n, path in enumerate(files) if n % 100 in (0, 3)])
        return [first, run()]


# Ours


def _ours(site: Remote, urls: list[str]) -> Run:
    site.call("make", urls)
    days = iter((0, 2))

    def run() -> float:
        index_seconds, taken = site.measure("run", next(days))
        return float(taken.cpu - index_seconds)

    return run


class CheckedSite:
    """A site whose datasets have five resources each and are updated daily, so that each run checks all."""

    def __init__(self) -> None:
        from benchmarks.site import Site
        from ckanext.freshness import settings

        settings.CONFIRM_AFTER = 0.5
        self._site = Site()
        self._urls = 0

    def make(self, urls: list[str]) -> None:
        from ckanext.freshness.status.refresh import refresh

        self._urls = len(urls)
        self._site.empty()
        url = "(CAST(:urls AS text[]))[k + 1]"
        extras = {"data_update_frequency": "1"}
        self._site.write(len(urls) // 5, len(urls), url, extras, urls=urls)
        # Their resources are as old as their numbers.
        refresh(datetime.now(timezone.utc) + timedelta(days=30), everything=True)

    def run(self, days: int) -> float:
        """Check all resources some days from now, and return the processor seconds of the index."""
        from ckanext.freshness.runs import check_run
        from ckanext.freshness.status import indexing

        later = timedelta(days=30 + days)
        with timed(indexing, "index") as index:
            scope = check_run.CheckScope(everything=True)
            _, done = check_run.check(scope, lambda: datetime.now(timezone.utc) + later)
        if done.counts.checks != self._urls or done.counts.errors or done.solr_away:
            raise SystemExit(f"The run did not do what was to be measured: {done}")
        return index.cpu

    def write_known(self, resources: int) -> None:
        """Write resources, five to a dataset, and their checks as many runs have left them."""
        from benchmarks.site import execute, settle, without_indexes

        self._site.empty()
        url = "'http://' || k % 7000 || '.example.org/' || k || '.csv'"
        self._site.write(resources // 5, resources, url, {"data_update_frequency": "30"})
        with without_indexes("freshness_dataset", "freshness_check"):
            execute(_JUDGED)
            execute(_CHECKED)
        settle()

    def choose(self) -> None:
        from ckanext.freshness.runs import check_run

        scope = check_run.CheckScope(policy="learned")
        check_run.plan(scope, datetime.now(timezone.utc)).chosen()


_JUDGED = """
INSERT INTO freshness_dataset (package_id, status, frequency_days, last_modified, due, judge_anew)
SELECT id, 'fresh', 30, now() - n % 40 * interval '1 day', now() + (30 - n % 40) * interval '1 day', false
FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM package WHERE type = 'dataset') p"""
_CHECKED = """
INSERT INTO freshness_check (resource_id, package_id, url, host, first_seen, known, hashed_at, checked_at,
    tried_at, succeeded_at, seen_changes, watched_days)
SELECT id, package_id, url, split_part(url, '/', 3), now() - interval '90 days',
    jsonb_build_object('etag', '"v1"', 'hash', 'sha256:' || n), visited, visited, visited, visited, n % 3, 60
FROM (SELECT *, now() - (1 + n % 30) * interval '1 day' AS visited
    FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM resource) r) v"""


# aiohttp


def _floor(urls: list[str]) -> Run:
    floor = Floor(per_host=1)

    def run() -> float:
        before = time.process_time()
        floor.visit(urls)
        return time.process_time() - before

    return run


class Floor:
    """Bare aiohttp, which remembers the validators and hashes of URLs.

    :param per_host: connections to each host
    """

    def __init__(self, per_host: int = 2) -> None:
        self._per_host = per_host
        self._validators: dict[str, str] = {}
        self._hashes: dict[str, str] = {}

    def visit(self, urls: list[str]) -> None:
        """Request all URLs."""
        asyncio.run(self._visit(urls))

    async def _visit(self, urls: list[str]) -> None:
        import aiohttp

        queues: Mapping[str, deque[str]] = defaultdict(deque)
        for url in urls:
            queues[url.split("/")[2]].append(url)
        connector = aiohttp.TCPConnector(limit=0, use_dns_cache=False)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def runner(queue: deque[str]) -> None:
                while queue:
                    await self._one(session, queue.popleft())

            runners = (runner(one) for one in queues.values() for _ in range(self._per_host))
            await asyncio.gather(*runners)

    async def _one(self, session: Any, url: str) -> None:
        headers = {"If-None-Match": self._validators[url]} if url in self._validators else {}
        async with session.get(url, headers=headers) as response:
            if response.status == 304:
                return
            self._validators[url] = response.headers.get("ETag", "")
            digest = hashlib.sha256()
            async for chunk in response.content.iter_any():
                digest.update(chunk)
            self._hashes[url] = digest.hexdigest()


# HDX


def _hdx(urls: list[str]) -> Run:
    hashes: dict[str, str] = {}

    def run() -> float:
        question = {"resources": [[url, url, "csv"] for url in urls], "hashes": hashes}
        answer = subprocess.run(
            [peer_python(), Path(__file__).with_name("hdx_retrieval.py")],
            input=json.dumps(question).encode(),
            stdout=subprocess.PIPE,
            check=True,
        )
        found = json.loads(answer.stdout)
        if found["errors"]:
            raise SystemExit(f"HDX's retrieval failed: {found['errors']}")
        hashes.update(found["hashes"])
        return float(found["cpu_seconds"])

    return run


def peer_python() -> Path:
    """Return the Python of HDX's environment. Make the environment if it is missing."""
    python, done = PEER_HOME / "bin" / "python", PEER_HOME / "installed"
    if not done.exists() or done.read_text() != str(PEER):
        venv.create(PEER_HOME, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEER], check=True, stdout=2)
        done.write_text(str(PEER))
    return python


# The rate of clean URLs


def _rate(say: Say, size: int) -> Result:
    """Compare the time of our engine with aiohttp's: hosts that answer after 50 ms, two connections each."""
    hosts = addresses(100)
    files = {f"/{number}.csv": File(1024) for number in range(size)}
    found: dict[str, list[Taken]] = defaultdict(list)
    with (
        Remote(FileHost, files, hosts, 0.05) as server,
        Remote(Engine) as ours,
        Remote(Floor) as floor,
    ):
        port = server.call("port")
        urls = [f"http://{hosts[n % 100]}:{port}{path}" for n, path in enumerate(files)]
        for _ in range(REPEATS + 1):
            for name, subject in (("ours", ours), ("aiohttp", floor)):
                say(f"clean URLs: {name}")
                found[name].append(subject.measure("visit", urls)[1])
    engine, bare = (
        statistics.median(one.seconds for one in found[name][1:]) for name in ("ours", "aiohttp")
    )
    return Result("clean URLs", engine, "aiohttp", bare, 1 / 0.85, unit="s")


class Engine:
    """Our engine without database, which remembers what it knows of each URL."""

    def __init__(self) -> None:
        self._known: dict[str, KnownContent] = {}

    def visit(self, urls: list[str]) -> None:
        from ckanext.freshness.web.event_loop import run

        run(lambda: self._visit(urls))

    async def _visit(self, urls: list[str]) -> None:
        from ckanext.freshness.checking.hasher import ContentSandbox
        from ckanext.freshness.checking.hdx_check import HdxTools, check_resources
        from ckanext.freshness.web.client import Client

        resources = [
            ResourceToCheck(
                *(url, "bench", url, self._known.get(url, KnownContent())),
                format="CSV",
                has_shape=url in self._known,
            )
            for url in urls
        ]
        settings = ClientSettings("bench", limits=Limits(), guard=Guard(["127.0.0.0/8"]))
        found: list[CheckResult] = []
        with ContentSandbox() as sandbox:
            async with Client(settings, Hosts(HostPolicy(2, 50.0))) as client:
                tools = HdxTools(client, sandbox, lambda: datetime.now(timezone.utc))
                await check_resources(resources, tools, found.append, confirm_after=0.5)
        self._known = {result.resource.url: result.known for result in found}
        if failed := [result for result in found if result.attempt.status not in (200, 304)]:
            raise SystemExit(f"A check failed: {failed[0]}")
