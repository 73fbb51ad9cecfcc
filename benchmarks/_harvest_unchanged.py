"""A large source that has not changed: the gather's speed and memory, and a gather that is killed in between.

A first harvest of 100,000 datasets takes hours of CKAN's own work. Therefore the first job is only gathered,
and its objects are made current by SQL, with packages without resources.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from ckan import model
from ckanext.harvest import queue

from benchmarks._meter import Services
from benchmarks._processes import Child, start
from ckanext.freshness.ckan_adapter.harvest import publish_jobs

PER_SECOND = 1_000
"""Unchanged records that a gather reads in a second, at least."""
MEMORY = 200.0
"""MB at most that a gather needs beyond a consumer that waits."""


class Unchanged:
    """One run of everything.

    :param server: the source, which answers ``ask``
    """

    def __init__(self, site: Any, server: Any, folder: Path, say: Callable[[str], None]) -> None:
        self.site = site
        self._server = server
        self._log = folder / "gather.log"
        self._say = say
        self._services = Services.of_site()

    def measure(self, datasets: int, config: dict[str, Any]) -> dict[str, Any]:
        """Return the figures of an unchanged job, and of another one that is killed half way.

        :raises SystemExit: a job did not find all datasets unchanged
        """
        self.site.empty()
        source = self.site.add_source(
            "fdp", self._server.url, {**config, "max_records": 2 * datasets}
        )
        self._say(f"gathering {datasets} datasets for the first time")
        first = self._gathered(source)
        self._adopt(first.pop("job"))
        self._say("the same source unchanged")
        whole = self._gathered(source)
        self._judge(whole.pop("job"), datasets)
        self._say("once more, killed half way")
        killed = self._killed(source, datasets // 2)
        self._judge(killed.pop("job"), datasets)
        return {
            "datasets": datasets,
            "first": first,
            "unchanged": {**whole, "per_second": datasets / whole["seconds"]},
            "killed": killed,
            "goals": {
                "per_second": {"found": datasets / whole["seconds"], "goal": PER_SECOND},
                "per_cpu_second": {"found": datasets / whole["cpu_seconds"], "goal": PER_SECOND},
                "extra_mb": {"found": whole["extra_mb"], "goal": MEMORY},
            },
        }

    def _gathered(self, source: str) -> dict[str, Any]:
        """Gather a job by a consumer of its own, and drop its objects from the queue."""
        with self._consumer() as consumer:
            idle, cpu = consumer.peak_mb, consumer.cpu_seconds
            servers = self._services.cpu_seconds()
            job = self.site._start(source)
            self._wait(job)
            figures = {
                "job": job,
                "seconds": self._seconds(job),
                "cpu_seconds": consumer.cpu_seconds - cpu,
                "postgres_s": self._services.cpu_seconds()["postgres_s"] - servers["postgres_s"],
                "peak_mb": consumer.peak_mb,
                "extra_mb": consumer.peak_mb - idle,
            }
        queue.purge_queues()
        return figures

    def _killed(self, source: str, count: int) -> dict[str, Any]:
        """Kill the consumer when a number of records are written, and let another one resume the job."""
        with self._consumer() as consumer:
            job = self.site._start(source)
            while self._written(job) < count:
                time.sleep(0.05)
            consumer.process.kill()
            consumer.process.wait()
        written = self._written(job)
        queue.purge_queues()
        with self._consumer():
            # As the queue sends it again after two hours.
            publish_jobs([job])
            before = time.perf_counter()
            self._wait(job)
        return {"job": job, "written": written, "resumed_s": time.perf_counter() - before}

    def _consumer(self) -> Child:
        child = start(["ckan", "harvester", "gather-consumer"], self._log)
        self.site.wait_for_consumers(1, [child], self._log)
        return child

    def _wait(self, job: str) -> None:
        while self.site._job(job).gather_finished is None:
            if any(child.process.poll() is not None for child in self.site.consumers):
                raise SystemExit(f"The consumer ended: {self._log.read_text()[-2000:]}")
            time.sleep(0.2)

    def _seconds(self, job: str) -> float:
        row = self.site._job(job)
        return float((row.gather_finished - row.gather_started).total_seconds())

    def _written(self, job: str) -> int:
        found = model.Session.execute(sa.text(_WRITTEN), {"job": job}).scalar_one()
        model.Session.commit()
        return int(found)

    def _adopt(self, job: str) -> None:
        """Make the objects of a job current, with a package for each."""
        for statement in _ADOPT:
            values = {"job": job, "organization": self.site.organization}
            model.Session.execute(sa.text(statement), values)
        model.Session.commit()
        model.Session.execute(sa.text("ANALYZE"))
        model.Session.commit()

    def _judge(self, job: str, datasets: int) -> None:
        self.site.call("harvest_jobs_run")
        shown = self.site.call("harvest_job_show", id=job)
        expected = {"added": 0, "updated": 0, "deleted": 0, "errored": 0, "not modified": datasets}
        if shown["status"] != "Finished" or {k: shown["stats"][k] for k in expected} != expected:
            raise SystemExit(f"The job's report is wrong: {shown['status']}, {shown['stats']}")


_WRITTEN = "SELECT count(*) FROM harvest_object WHERE harvest_job_id = :job"
_ADOPT = (
    """
    INSERT INTO package (id, name, title, type, state, private, owner_org, metadata_created,
        metadata_modified)
    SELECT md5(id)::uuid::text, md5(id)::uuid::text, guid, 'dataset', 'active', false, :organization,
        now(), now()
    FROM harvest_object WHERE harvest_job_id = :job""",
    """
    UPDATE harvest_object SET state = 'COMPLETE', current = true, report_status = 'added',
        import_finished = now() AT TIME ZONE 'utc', package_id = md5(id)::uuid::text
    WHERE harvest_job_id = :job""",
    "UPDATE harvest_job SET status = 'Finished', finished = now() AT TIME ZONE 'utc' WHERE id = :job",
)
