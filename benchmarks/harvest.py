"""Harvests of a FAIR Data Point and its catalogue: ours, ckanext-dcat's ``dcat_rdf``, and the floor below.

All write the same datasets into the same CKAN with the same plugins. The floor is the same package dicts
through ``package_create`` with one Solr commit per 50. Rate limits are raised so far that they slow nothing
down.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import Remote, Result, Taken, cpu_seconds, measured, write_ini
from benchmarks.servers import FairDataPoint

OPTIONS = {
    "ckan.plugins": "freshness fdp_harvester dcat_catalog_harvester harvest activity dcat dcat_rdf_harvester",
    "ckanext.freshness.allowed_networks": "127.0.0.0/8",
    "ckanext.dcat.max_file_size": "500",
}
POLITE = {"concurrency": 32, "requests_per_second": 10_000}
WARM_UP = 30
ROUNDS = 3
OURS, FLOOR = "ours", "package_create alone"
POLL = 0.2
_DONE = """
SELECT gather_finished IS NOT NULL AND NOT EXISTS (SELECT FROM harvest_object
    WHERE harvest_job_id = j.id AND state NOT IN ('COMPLETE', 'ERROR'))
FROM harvest_job j WHERE id = :job"""


def measure(say: Callable[[str], None], size: int = 200) -> Iterator[Result]:
    """Yield the costs of harvests of ``size`` datasets."""
    with warm(say, OPTIONS, "fdp", FairDataPoint, size) as (subject, many, url):
        one, dcat_rdf = f"{url}/all.ttl", {"rdf_format": "text/turtle"}
        found = in_turn(
            say,
            {
                **beside_floor(subject, partial(subject.jobs, "fdp", many, url, POLITE, size)),
                "one document": partial(subject.jobs, "dcat_catalog", many, one, POLITE, size),
                "ckanext-dcat": partial(subject.jobs, "dcat_rdf", many, one, dcat_rdf, size),
            },
        )
    yield floor(found, 1.15)
    for name, mine, faster in (
        ("a FAIR Data Point", OURS, 1.1),
        ("one document", "one document", 1.15),
    ):
        yield from compared(name, found[mine], "ckanext-dcat", found["ckanext-dcat"], faster)


@contextmanager
def warm(
    say: Callable[[str], None], options: Mapping[str, str], source_type: str, make: Any, size: int
) -> Iterator[tuple[Harvests, Remote, str]]:
    """Yield a site on which one harvest has warmed up PostgreSQL and Solr, a server, and its URL.

    :param make: the class of the server
    """
    with TemporaryDirectory() as folder:
        os.environ["CKAN_INI"] = str(write_ini(Path(folder), options))
        with Remote(make, WARM_UP) as few, Remote(make, size) as many:
            subject = Harvests(Path(folder))
            say("warming up PostgreSQL and Solr")
            subject.jobs(source_type, few, few.call("url"), POLITE, WARM_UP)
            yield subject, many, many.call("url")


def in_turn(
    say: Callable[[str], None], subjects: Mapping[str, Callable[[], list[Taken]]]
) -> dict[str, list[Taken]]:
    """Return the costs of each subject's jobs, for each job the median of all rounds.

    No subject is always the first, for which the caches of PostgreSQL and Solr are cold.
    """
    rounds: dict[str, list[list[Taken]]] = {name: [] for name in subjects}
    names = list(subjects)
    for number in range(ROUNDS):
        for name in reversed(names) if number % 2 else names:
            say(f"round {number + 1} of {ROUNDS}: {name}")
            rounds[name].append(subjects[name]())
    return {
        name: [
            sorted(job, key=lambda one: one.total)[ROUNDS // 2] for job in zip(*jobs, strict=True)
        ]
        for name, jobs in rounds.items()
    }


def beside_floor(
    subject: Harvests, jobs: Callable[[], list[Taken]]
) -> dict[str, Callable[[], list[Taken]]]:
    """Return two subjects: our jobs, and the creation of the packages that the last of them has left."""
    packages: list[dict[str, Any]] = []

    def ours() -> list[Taken]:
        taken = jobs()
        packages[:] = subject.packages()
        return taken

    def alone() -> list[Taken]:
        with Remote(Floor) as floor:
            return [floor.measure("create", packages)[1]]

    return {OURS: ours, FLOOR: alone}


def floor(found: Mapping[str, list[Taken]], goal: float) -> Result:
    """Return the cost of our first job beside that of creating the same packages."""
    return Result("first harvest", found[OURS][0].total, FLOOR, found[FLOOR][0].total, goal)


def compared(
    name: str, ours: list[Taken], peer: str, theirs: list[Taken], faster: float
) -> Iterator[Result]:
    """Yield the costs of a first job, one without changes and one with 1 % changed, beside a peer's.

    :param faster: how many times as fast the first job is to be.
    """
    jobs = ("first harvest", 1 / faster), ("unchanged harvest", 1 / 50), ("1 % changed", 1 / 30)
    for (job, goal), one, other in zip(jobs, ours, theirs, strict=True):
        yield Result(f"{name}, {job}", one.total, peer, other.total, goal)
        yield Result(f"{name}, {job}", one.seconds, peer, other.seconds, unit="s")


class Harvests:
    """Jobs through the queues, with a gather consumer and a fetch consumer."""

    def __init__(self, folder: Path) -> None:
        from benchmarks.site import Site

        self._site = Site()
        self._log = folder / "consumers.log"

    def jobs(
        self, source_type: str, server: Remote, url: str, config: Mapping[str, Any], size: int
    ) -> list[Taken]:
        """Return the costs of a first job on an empty site, then of one without and one with changes (1 %).

        The consumers update for the first time in a job before the last one: some peers do so without changes.
        """
        from ckanext.harvest import queue

        queue.purge_queues()
        self._site.empty()
        source = self._site.call(
            "harvest_source_create",
            name=source_type.replace("_", "-"),
            title=source_type,
            url=url,
            source_type=source_type,
            owner_org="bench",
            config=json.dumps(config),
        )["id"]
        with self._consumers() as pids:
            taken = [self._job(source, pids, added) for added in (size, 0)]
            for _ in range(2):
                server.call("change", size // 100)
                changed = self._job(source, pids, updated=size // 100)
            return [*taken, changed]

    def packages(self) -> list[dict[str, Any]]:
        """Return the dicts of all datasets, as package_create takes them."""
        found = (self._site.call("package_show", id=one) for one in self._site.call("package_list"))
        shown = [one for one in found if one["type"] == "dataset"]
        for one in shown:
            one["extras"] = [
                extra
                for extra in one["extras"]
                if not extra["key"].startswith(("harvest_", "freshness"))
            ]
        kept = ("name", "title", "notes", "url", "license_id", "tags", "extras", "resources")
        return [{key: one[key] for key in kept} for one in shown]

    @contextmanager
    def _consumers(self) -> Iterator[list[int]]:
        """Start both consumers, wait until they wait for jobs, and yield their process ids."""
        from ckanext.harvest import queue

        with self._log.open("ab") as out:
            started = [
                subprocess.Popen(["ckan", "harvester", kind], stdout=out, stderr=out)
                for kind in ("gather-consumer", "fetch-consumer")
            ]
        redis = queue.get_connection()
        database = str(redis.connection_pool.connection_kwargs.get("db", 0))
        try:
            waiting = 0
            while waiting < len(started):
                time.sleep(POLL)
                if any(one.poll() is not None for one in started):
                    raise SystemExit(f"A consumer ended: {self._log.read_text()[-2000:]}")
                clients = (one for one in redis.client_list() if one["db"] == database)
                waiting = sum(one["cmd"] == "blpop" for one in clients)
            yield [one.pid for one in started]
        finally:
            for one in started:
                one.terminate()
                one.wait()

    def _job(self, source: str, pids: list[int], added: int = 0, updated: int = 0) -> Taken:
        from benchmarks.site import execute

        with measured(lambda: cpu_seconds(pids)) as taken:
            job = self._site.call("harvest_job_create", source_id=source)["id"]
            while not execute(_DONE, job=job)[0]:
                time.sleep(POLL)
            self._site.call("harvest_jobs_run", source_id=source)
        stats = self._site.call("harvest_job_show", id=job)["stats"]
        counts = stats["added"], stats["errored"], stats["deleted"]
        # Some peers update datasets that did not change.
        if counts != (added, 0, 0) or stats["updated"] < updated:
            raise SystemExit(f"The job failed: {stats}\n{self._log.read_text()[-3000:]}")
        return taken


class Floor:
    """Creates packages with as little as possible beside."""

    def __init__(self) -> None:
        from benchmarks.site import Site

        self._site = Site()

    def create(self, packages: list[dict[str, Any]]) -> None:
        import ckan.plugins.toolkit as tk
        from ckan.lib import search

        self._site.empty()
        tk.config["ckan.search.solr_commit"] = False
        create = tk.get_action("package_create")
        for number, package in enumerate(packages, 1):
            create(
                {"user": self._site.user, "ignore_auth": True}, {**package, "owner_org": "bench"}
            )
            if number % 50 == 0 or number == len(packages):
                search.commit()
