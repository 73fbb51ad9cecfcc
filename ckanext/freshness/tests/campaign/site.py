"""The CKAN site of a campaign: its consumers, its services, and the jobs that it runs amid all that happens."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from ckan import model
from ckan.cli import load_config
from ckan.config.middleware import make_app
from ckan.lib import search

from ckanext.freshness import doctor
from ckanext.freshness.ckan_adapter.harvest import (
    harvest_queue_connection,
    harvest_routing_keys,
    publish_jobs,
)
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.campaign.troubles import Blow
from ckanext.freshness.tests.processes import CkanProcess, disconnect
from ckanext.freshness.tests.servers.fdp import FdpServer
from stack.layout import Layout
from stack.service import Service
from stack.services import Services

ROOT = Path(__file__).parents[4]
RUN_EVERY = 0.3
"""Seconds between two calls of what a site calls by cron."""
STILL = 3.0
"""Seconds without any progress after which the queue is told that hours have passed."""
PATIENCE = 20
"""How many times hours pass before a job counts as endless."""
LONG_AGO = timedelta(hours=3)
"""The queue sends messages again that were taken so long ago."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job of the source.

    :ivar waits_for: if it has not ended, what it waits for
    :ivar blows: what happened to the site while it ran
    """

    id: str
    errors: list[str]
    waits_for: str | None
    blows: list[Blow]


class Site:
    """CKAN, loaded in this process; the settings are those of CKAN_INI.

    :ivar edit: lets an editor change a dataset
    """

    def __init__(self, server: FdpServer, logs: Path) -> None:
        layout = Layout(ROOT)
        self._services = Services(
            layout, layout.tools / "bin", for_tests=True, folder=layout.campaign
        )
        self._server = server
        self._logs = logs
        app = make_app(load_config())
        # What fails in this process fails because the campaign lets it. The consumers have logs of their own.
        for name in (None, "ckan", "ckanext"):
            logging.getLogger(name).handlers = [logging.NullHandler()]
        self._flask = app._wsgi_app if hasattr(app, "_wsgi_app") else app
        self._consumers: dict[str, CkanProcess] = {}
        self._user = self.call("get_site_user")["name"]
        self.source_id = ""
        self.edit: Callable[[], object] = lambda: None

    def call(self, action: str, **data: Any) -> Any:
        """Call an action as the site's own user, and return its result."""
        context = {"ignore_auth": True, "user": getattr(self, "_user", None)}
        with self._flask.test_request_context():
            try:
                return tk.get_action(action)(context, data)
            finally:
                model.Session.remove()

    def rows(self, statement: str, **values: Any) -> Sequence[Any]:
        """Return the rows of a query, which takes part in no transaction of CKAN's."""
        with model.meta.engine.connect() as connection:
            return connection.execute(sa.text(statement), values).all()

    def begin(self) -> None:
        """Empty the site, add the source and start the consumers."""
        self._queue.flushdb()
        tables = sa.inspect(model.meta.engine).get_table_names()
        names = ", ".join(f'"{name}"' for name in tables if "alembic_version" not in name)
        with model.meta.engine.begin() as connection:
            connection.execute(sa.text(f"TRUNCATE {names} CASCADE"))
        search.clear_all()
        self._user = self.call("get_site_user")["name"]
        owner = self.call("organization_create", name="campaign")["id"]
        self.source_id = self.call(
            "harvest_source_create",
            name="catalogue",
            title="A catalogue",
            url=self._server.source_url,
            source_type="fdp",
            owner_org=owner,
        )["id"]
        self._supervise()

    def end(self) -> None:
        """Stop the consumers."""
        for process in self._consumers.values():
            process.kill()

    # Jobs

    def harvest(self, blows: Sequence[Blow] = ()) -> Job:
        """Run a job until it has ended, or until it is clear that it never will."""
        self._server.reset()
        job_id = self.call("harvest_job_create", source_id=self.source_id)["id"]
        left, happened = list(blows), []
        seen, since, hours, ran = None, time.monotonic(), 0, 0.0
        while self._status(job_id) != "Finished":
            if left and self._is_due(left[0], job_id):
                happened.append(left.pop(0))
                self._strike(happened[-1].name, happened[-1].seconds, job_id)
            self._supervise()
            if time.monotonic() - ran > RUN_EVERY:
                self._run_jobs()
                ran = time.monotonic()
            progress = (len(self._server.requests), self._states(job_id))
            if progress != seen:
                seen, since = progress, time.monotonic()
            elif time.monotonic() - since > STILL:
                since, hours = time.monotonic(), hours + 1
                if hours > PATIENCE:
                    return Job(job_id, [], self._what_it_waits_for(job_id), happened)
                self._let_hours_pass()
            time.sleep(0.02)
        errors = [row.message for row in self.rows(_ERRORS, job=job_id)]
        return Job(job_id, errors, None, happened)

    def refresh(self) -> None:
        """Do what ``ckan freshness refresh`` does."""
        with self._flask.test_request_context():
            refresh(datetime.now(timezone.utc))
            model.Session.remove()

    def _status(self, job_id: str) -> str:
        return str(self.rows("SELECT status FROM harvest_job WHERE id = :job", job=job_id)[0][0])

    def _states(self, job_id: str) -> dict[str, int]:
        return {state: count for state, count in self.rows(_STATES, job=job_id)}

    def _run_jobs(self) -> None:
        """Do what ``ckan harvester run`` does, which may fail while a service is away."""
        with contextlib.suppress(Exception):
            self.call("harvest_jobs_run")

    def _is_due(self, blow: Blow, job_id: str) -> bool:
        if blow.in_gather:
            return len(self._server.requests) >= blow.after
        return self.rows(_IMPORTED, job=job_id)[0][0] >= blow.after

    def _strike(self, name: str, seconds: float, job_id: str) -> None:
        first, _, rest = name.partition(" ")
        if name == "Redis emptied":
            self._queue.flushdb()
        elif name == "messages sent twice":
            publish_jobs([job_id])
            for message in self._queue.lrange(harvest_routing_keys()["fetch"], 0, -1):
                self._queue.rpush(harvest_routing_keys()["fetch"], message)
        elif name == "dataset edited meanwhile":
            self.edit()
        elif name == "job aborted":
            self._consumers["fetch"].kill()
            self.call("harvest_job_abort", id=job_id)
        elif rest == "consumer killed":
            self._consumers[first].kill()
        else:
            (service,) = (one for one in self._services.all if one.name == first)
            self._stop_and_start(service, seconds)

    def _stop_and_start(self, service: Service, seconds: float) -> None:
        self._services.stop(service)
        time.sleep(seconds)
        self._run_jobs()
        self._services.start(service)
        disconnect()
        # Solr answers before it has loaded its cores.
        while service is self._services.solr and not search.is_available():
            time.sleep(0.1)

    def _supervise(self) -> None:
        """Start the consumers that do not run. The queue sends again what they had taken."""
        for stage in ("gather", "fetch"):
            process = self._consumers.get(stage)
            if process is None or process.returncode is not None:
                if process is not None:
                    self._let_hours_pass(stage)
                self._consumers[stage] = CkanProcess(("harvester", f"{stage}-consumer"), self._logs)

    @property
    def _queue(self) -> Any:
        return harvest_queue_connection()

    def _let_hours_pass(self, *stages: str) -> None:
        """Make the queue believe that all messages were taken hours ago."""
        for stage in stages or ("gather", "fetch"):
            for key in self._queue.scan_iter(f"{harvest_routing_keys()[stage]}:*"):
                self._queue.set(key, f"{datetime.now() - LONG_AGO:%Y-%m-%d %H:%M:%S.%f}", xx=True)

    def _what_it_waits_for(self, job_id: str) -> str:
        states = ", ".join(f"{count} {state}" for state, count in self._states(job_id).items())
        later = datetime.now(timezone.utc) + timedelta(minutes=30)
        checks = doctor.harvests.harvest_jobs(later)
        said = "; ".join(one.text for one in checks) or "nothing"
        model.Session.remove()
        return f"its records are {states or 'none'}; the doctor says: {said}"

    # For the comparison

    def held(self) -> dict[str, Any] | None:
        """Return the held deletions."""
        return self.call("freshness_harvest_hold_show", id=self.source_id)

    def release(self) -> None:
        """Approve the held deletions."""
        hold = self.held()
        if hold and not hold["released_at"]:
            self.call("freshness_harvest_release", id=self.source_id, list_id=hold["list_id"])

    def commit(self) -> None:
        """Let Solr show all documents that were sent to it."""
        search.commit()

    def documents(self) -> dict[str, dict[str, Any]]:
        """Return the datasets in Solr by id, as they were sent there."""
        found = search.common.make_connection().search(
            "*:*", fq="+dataset_type:dataset", fl="id,data_dict", rows=1000
        )
        return {one["id"]: json.loads(one["data_dict"]) for one in found.docs}


_STATES = """
SELECT state, count(*) FROM harvest_object WHERE harvest_job_id = :job GROUP BY 1 ORDER BY 1"""
_IMPORTED = """
SELECT count(*) FROM harvest_object WHERE harvest_job_id = :job
AND (current OR report_status = 'deleted')"""
_ERRORS = """
SELECT message FROM harvest_gather_error WHERE harvest_job_id = :job
UNION ALL
SELECT e.message FROM harvest_object_error e JOIN harvest_object o ON o.id = e.harvest_object_id
WHERE o.harvest_job_id = :job"""
