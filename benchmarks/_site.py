"""The CKAN site that a benchmark works on, from inside."""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from ckan import model
from ckan.cli import load_config
from ckan.config.middleware import make_app
from ckan.lib import search
from ckanext.harvest import model as harvest_model
from ckanext.harvest import queue

from benchmarks._processes import Child

PATIENCE = 3600


class Site:
    """CKAN, loaded in this process; the settings are those of CKAN_INI."""

    def __init__(self) -> None:
        self._app = make_app(load_config())
        self._flask = self._app._wsgi_app if hasattr(self._app, "_wsgi_app") else self._app
        self._redis = queue.get_connection()
        self.consumers: list[Child] = []

    def empty(self) -> None:
        """Delete everything, and make an organisation anew."""
        queue.purge_queues()
        model.Session.remove()
        tables = sa.inspect(model.meta.engine).get_table_names()
        kept = [name for name in tables if name.endswith("alembic_version")]
        names = ", ".join(f'"{name}"' for name in tables if name not in kept)
        model.Session.execute(sa.text(f"TRUNCATE {names} CASCADE"))
        model.Session.commit()
        search.clear_all()
        self.user = _site_user()
        self.organization = self.call("organization_create", name="bench")["id"]

    def take(self) -> None:
        """Use the site as an earlier run has left it."""
        self.user = _site_user()
        self.organization = self.call("organization_show", id="bench")["id"]

    def add_source(self, source_type: str, url: str, config: dict[str, Any]) -> str:
        """Create a harvest source, and return its id."""
        return self.call(
            "harvest_source_create",
            name=f"{source_type.replace('_', '-')}-{time.time_ns()}",
            title=source_type,
            url=url,
            source_type=source_type,
            owner_org=self.organization,
            config=json.dumps(config),
        )["id"]

    def harvest(self, source_id: str, *, added: int = 0, updated: int = 0) -> float:
        """Run one job through the queues, and return the seconds from its creation to its end."""
        before = time.perf_counter()
        job = self._start(source_id)
        self._wait(job)
        self.call("harvest_jobs_run", source_id=source_id)
        seconds = time.perf_counter() - before
        stats = self.call("harvest_job_show", id=job)["stats"]
        done = (stats["added"], stats["errored"], stats["deleted"]) == (added, 0, 0)
        if not done or stats["updated"] < updated:
            report = self.call("harvest_job_report", id=job)
            raise SystemExit(
                f"The job did not do what was to be measured: {stats}, {report}\n"
                f"{self._log.read_text()[-3000:]}"
            )
        return seconds

    def gather(self, source_id: str) -> None:
        """Gather a job, then drop its objects from the queue."""
        job = self._start(source_id)
        while self._job(job).gather_finished is None:
            time.sleep(0.2)
        queue.purge_queues()

    def gather_seconds(self, source_id: str) -> float:
        """Return the seconds of the gather of a source's only job."""
        job = model.Session.query(harvest_model.HarvestJob).filter_by(source_id=source_id).one()
        return (job.gather_finished - job.gather_started).total_seconds()

    def survey(self, url: str, config: dict[str, Any]) -> None:
        """Crawl in this process without writing anything."""
        from ckanext.freshness.harvesting.document_memory import DocumentMemory
        from ckanext.freshness.harvesting.fdp.source_type import FAIR_DATA_POINT
        from ckanext.freshness.harvesting.record import CurrentRecords
        from ckanext.freshness.harvesting.source_config import parse
        from ckanext.freshness.harvesting.sources import Source

        settings, _warnings = parse(json.dumps(config))
        source = Source("bench", url, "fdp", "bench", settings)
        memory = DocumentMemory("bench", read_only=True)
        now = datetime.now(timezone.utc)
        FAIR_DATA_POINT.crawl(
            source, CurrentRecords([]), memory, lambda sighting, containers: None, now
        )

    def packages(self) -> list[dict[str, Any]]:
        """Return the dicts of all datasets, as package_create takes them."""
        found = []
        for (package_id,) in model.Session.query(model.Package.id).filter_by(type="dataset"):
            shown = self.call("package_show", id=package_id)
            ours = {"harvest_object_id", "harvest_source_id", "harvest_source_title"}
            found.append(
                {
                    **{
                        key: shown[key]
                        for key in ("name", "title", "notes", "url", "version", "license_id")
                        if shown.get(key)
                    },
                    "owner_org": "bench",
                    "tags": [{"name": tag["name"]} for tag in shown["tags"]],
                    "extras": [
                        {"key": one["key"], "value": one["value"]}
                        for one in shown["extras"]
                        if one["key"] not in ours
                    ],
                    "resources": [
                        {
                            key: value
                            for key, value in resource.items()
                            if key
                            not in ("id", "package_id", "created", "metadata_modified", "state")
                            and value is not None
                        }
                        for resource in shown["resources"]
                    ],
                }
            )
        return found

    def floor(self, packages: list[dict[str, Any]]) -> float:
        """Create a package from each dict, with one Solr commit per 50. Return the seconds it takes."""
        create = tk.get_action("package_create")
        tk.config["ckan.search.solr_commit"] = False
        before = time.perf_counter()
        try:
            for number, package in enumerate(packages, 1):
                context = {
                    "model": model,
                    "session": model.Session,
                    "user": self.user,
                    "ignore_auth": True,
                }
                create(context, package)
                if number % 50 == 0 or number == len(packages):
                    search.commit()
        finally:
            tk.config["ckan.search.solr_commit"] = True
        seconds = time.perf_counter() - before
        stored = (
            model.Session.query(model.Package).filter_by(type="dataset", state="active").count()
        )
        indexed = self.call("package_search", rows=0)["count"]
        if not stored == indexed == len(packages):
            raise SystemExit(f"The floor lost datasets: {len(packages)}, {stored}, {indexed}")
        return seconds

    def wait_for_consumers(self, number: int, children: list[Child], log: Path) -> None:
        """Wait until ``number`` consumers wait at Redis."""
        self.consumers, self._log = children, log
        until = time.monotonic() + 120
        while time.monotonic() < until:
            if any(child.process.poll() is not None for child in children):
                raise SystemExit(f"A consumer ended: {log.read_text()[-2000:]}")
            waiting = [one for one in self._redis.client_list() if one["cmd"] == "blpop"]
            database = self._redis.connection_pool.connection_kwargs.get("db", 0)
            if sum(int(one["db"]) == int(database) for one in waiting) >= number:
                return
            time.sleep(0.1)
        raise SystemExit(f"The consumers did not start: {log.read_text()[-2000:]}")

    def client(self) -> Any:
        """Return a client for the site's pages, in this process."""
        return self._flask.test_client()

    def _start(self, source_id: str) -> str:
        return self.call("harvest_job_create", source_id=source_id)["id"]

    def _wait(self, job_id: str) -> None:
        """Wait until a job is done or a consumer has died."""
        until = time.monotonic() + PATIENCE
        objects = harvest_model.HarvestObject
        while time.monotonic() < until:
            if self._job(job_id).gather_finished is not None:
                running = (
                    model.Session.query(objects.id)
                    .filter(objects.harvest_job_id == job_id)
                    .filter(objects.state.not_in(["COMPLETE", "ERROR"]))
                    .limit(1)
                    .count()
                )
                if not running:
                    return
            if any(child.process.poll() is not None for child in self.consumers):
                raise SystemExit(f"A consumer ended: {self._log.read_text()[-2000:]}")
            time.sleep(0.02)
        raise SystemExit(f"Job {job_id} did not end within {PATIENCE} s")

    def _job(self, job_id: str) -> Any:
        model.Session.remove()
        return harvest_model.HarvestJob.get(job_id)

    def call(self, action: str, **data: Any) -> Any:
        """Call an action and return its result."""
        context = {
            "model": model,
            "session": model.Session,
            "user": self.user,
            "ignore_auth": True,
        }
        with self._flask.test_request_context():
            return tk.get_action(action)(context, data)


def _site_user() -> str:
    return tk.get_action("get_site_user")({"ignore_auth": True}, {})["name"]
