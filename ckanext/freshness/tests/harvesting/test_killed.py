"""Consumers that are killed: doctor reports what they left, and other consumers finish it exactly once."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
import sqlalchemy as sa
from ckan.tests.helpers import call_action

from ckanext.freshness import doctor
from ckanext.freshness.ckan_adapter import database
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.database import is_held
from ckanext.freshness.ckan_adapter.harvest import harvest_queue_connection, harvest_routing_keys
from ckanext.freshness.dates import utc_now
from ckanext.freshness.harvesters import harvest_here
from ckanext.freshness.harvesting import object_states, stages
from ckanext.freshness.harvesting import preview as previews
from ckanext.freshness.harvesting.holds import source_lock
from ckanext.freshness.harvesting.object_writer import GATHERED, ObjectWriter
from ckanext.freshness.tests.harvesting.conftest import TITLES, Harvest, Job, Published
from ckanext.freshness.tests.harvesting.stumbling import StumblingPlugin
from ckanext.freshness.tests.harvesting.test_away import age_messages, cron
from ckanext.freshness.tests.processes import CkanProcess, until, until_locks_are_free
from ckanext.freshness.tests.servers.ckan_portal import PortalServer
from ckanext.freshness.tests.servers.faults import Hold
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.harvest import queue
from ckanext.harvest.model import HarvestJob, HarvestObject

pytestmark = pytest.mark.usefixtures("clean_site", "clean_redis")

PATIENCE = 120.0
"""Seconds after which something that is awaited does not come any more."""


@pytest.fixture
def consumer(tmp_path: Path) -> Iterator[Callable[[str], CkanProcess]]:
    """Start ckanext-harvest's consumers as separate processes."""
    begun = []

    def begin(stage: str) -> CkanProcess:
        ini = tk.config["__file__"]
        process = CkanProcess(("harvester", f"{stage}-consumer"), tmp_path, CKAN_INI=ini)
        begun.append(process)
        return process

    yield begin
    for process in begun:
        process.kill()


def kill(process: CkanProcess) -> None:
    assert process.returncode is None, "the consumer has ended by itself"
    process.kill()


def waits_for_a_lock(at_least: int = 1) -> bool:
    """Return whether a number of connections wait for locks in this database."""
    with engine().connect() as connection:
        return at_least <= (
            connection.execute(
                sa.text(
                    "SELECT count(*) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND wait_event_type = 'Lock'"
                )
            ).scalar()
            or 0
        )


def engine() -> Any:
    return model.Session.get_bind()


def send_again(stage: str) -> None:
    """Resend messages as ``ckan harvester run`` does once they are old enough."""
    connection: Any = harvest_queue_connection()
    keys = list(connection.scan_iter(f"{harvest_routing_keys()[stage]}:*"))
    assert keys, "nothing was taken"
    for key in keys:
        old = datetime.now() - timedelta(hours=3)
        connection.set(key, f"{old:%Y-%m-%d %H:%M:%S.%f}")
    call_action("harvest_jobs_run")
    assert not list(connection.scan_iter(f"{harvest_routing_keys()[stage]}:*"))


def complete(harvest: Harvest, job: Job) -> None:
    """Check that every dataset exists, and exists once."""
    assert job.errors == []
    assert job.stats["added"] == 3
    found = call_action("package_search", rows=10)
    assert sorted(one["title"] for one in found["results"]) == TITLES
    packages = model.Session.query(model.Package).filter_by(type="dataset", state="active")
    assert packages.count() == found["count"] == 3
    assert len({guid for guid, _ in harvest.current()}) == len(harvest.current()) == 3


def stuck(check: Callable[[datetime], Any], job_id: str) -> str:
    """Return the doctor's advice, half an hour later."""
    found = list(check(datetime.now(timezone.utc) + timedelta(minutes=30)))
    (one,) = (one for one in found if job_id in one.text)
    model.Session.rollback()
    return one.advice


def test_gather(published: Published, consumer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ObjectWriter, "BATCH", 1)
    harvest, server = published.harvest, published.server
    fault = server.faults[published.place] = Hold()
    job_id = harvest.start()
    process = consumer("gather")
    server.wait_for(published.place, timeout=PATIENCE)
    assert is_held(source_lock(harvest.source["id"]))
    kill(process)
    until_locks_are_free()
    fault.release()

    assert f"ckan harvester job-abort {job_id}" in stuck(doctor.harvests.sources, job_id)
    call_action("harvest_jobs_run")
    harvest.gather()
    harvest.fetch()
    complete(harvest, harvest.finish(job_id))


def test_a_preview_begins_again(fdp: FdpServer, harvest: Harvest, tmp_path: Path) -> None:
    """RQ's worker forks a process for each job: the preview's is killed."""
    source_id, path = harvest.source["id"], fdp.datasets[0].path
    fault = fdp.faults[path] = Hold()
    previews.start(source_id, "A source", "somebody", utc_now())
    worker = CkanProcess(("jobs", "worker", "--burst"), tmp_path, CKAN_INI=tk.config["__file__"])
    fdp.wait_for(path, timeout=PATIENCE)
    (child,) = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
    fdp.reset()
    os.kill(int(child), signal.SIGKILL)
    fdp.wait_for(path, timeout=PATIENCE)
    fault.release()
    assert worker.wait(PATIENCE) == 0
    assert len(previews.progress(source_id, utc_now())["preview"]["new"]) == len(fdp.datasets)


def test_gather_that_has_written_a_part(
    fdp: FdpServer, harvest: Harvest, consumer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second attempt replaces the incomplete one. Objects of earlier jobs stay."""
    monkeypatch.setattr(ObjectWriter, "BATCH", 10)
    harvest.run()
    before = harvest.current()
    harvest.configure(requests_per_second=10_000)
    (catalog,) = fdp.catalogs
    for _ in range(ObjectWriter.BATCH + 1):
        fdp.break_turtle(fdp.add_dataset(catalog, distributions=0))
    fault = fdp.faults[fdp.datasets[0].path] = Hold()
    job_id = harvest.start()
    process = consumer("gather")
    until(lambda: written_by(job_id) == ObjectWriter.BATCH)
    kill(process)
    until_locks_are_free()
    fault.release()

    send_again("gather")
    harvest.gather()
    job = harvest.finish(job_id)
    assert len(harvest.objects(job)) == written_by(job_id) == ObjectWriter.BATCH + 1
    assert (job.stats["not modified"], job.stats["errored"]) == (3, ObjectWriter.BATCH + 1)
    assert harvest.current() == before


def written_by(job_id: str) -> int:
    """Return how many objects a job has."""
    with engine().connect() as connection:
        statement = sa.text("SELECT count(*) FROM harvest_object WHERE harvest_job_id = :job")
        return connection.execute(statement, {"job": job_id}).scalar() or 0


def test_import_in_the_middle_of_a_page(published: Published, consumer: Any) -> None:
    """The first record is a dataset already; the second is being written."""
    harvest = published.harvest
    job_id = harvest.start()
    harvest.gather()
    model.Session.remove()
    with engine().connect() as connection:
        transaction = connection.begin()
        # An uncommitted dataset with the same name: another transaction must wait for the name.
        second = harvest_order(job_id)[1]
        connection.execute(
            sa.text(
                "INSERT INTO package (id, name, type, state) VALUES ('other', :name, 'other', 'draft')"
            ),
            {"name": second},
        )
        process = consumer("fetch")
        until(waits_for_a_lock)
        kill(process)
        transaction.rollback()
    until_locks_are_free()
    assert len(harvest.current()) == 1
    assert f"ckan harvester job-abort {job_id}" in stuck(doctor.harvests.sources, job_id)
    send_again("fetch")
    harvest.fetch_all()
    complete(harvest, harvest.finish(job_id))
    if isinstance(published.server, PortalServer):
        # The first attempt has not taken the ids from the second.
        assert {package_id for _, package_id in harvest.current()} == {*published.server.datasets}


def test_redis_is_emptied_while_a_consumer_is_killed(
    fdp: FdpServer, harvest: Harvest, consumer: Any
) -> None:
    """No message stands for the source any more, and one of its objects was begun."""
    job_id = harvest.start()
    harvest.gather()
    connection: Any = harvest_queue_connection()
    with held_up(job_id):
        process = consumer("fetch")
        until(waits_for_a_lock)
        kill(process)
    until_locks_are_free()
    connection.flushdb()
    # By itself, since with RabbitMQ ckanext-harvest sends nothing again.
    object_states.resume()
    assert connection.llen(harvest_routing_keys()["fetch"]) == 1
    harvest.fetch_all()
    complete(harvest, harvest.finish(job_id))


def harvest_order(job_id: str) -> list[str]:
    """Return the names that the job's datasets will have, in the order of import."""
    (source_id,) = model.Session.query(HarvestJob.source_id).filter_by(id=job_id).one()
    page = object_states.load(object_states.waiting(source_id, 10))
    model.Session.remove()
    titles = [json.loads(item.content or "")["fields"]["title"] for item in page]
    return [title.lower().replace(" ", "-") for title in titles]


@contextlib.contextmanager
def held_up(job_id: str) -> Iterator[None]:
    """Let whoever begins the import of a job's objects wait, as if it were at work."""
    model.Session.remove()
    with engine().begin() as connection:
        statement = "SELECT FROM harvest_object WHERE harvest_job_id = :job FOR NO KEY UPDATE"
        connection.execute(sa.text(statement), {"job": job_id})
        yield


def in_a_thread(work: Callable[[], object]) -> threading.Thread:
    """Call a function as another consumer would, with a database session of its own."""

    def alone() -> None:
        try:
            work()
        finally:
            model.Session.remove()

    thread = threading.Thread(target=alone)
    thread.start()
    return thread


def test_a_gather_sent_again_while_the_first_goes_on(fdp: FdpServer, harvest: Harvest) -> None:
    """It waits for the end of the first, and finds everything done."""
    fault = fdp.faults[fdp.catalogs[0].path] = Hold()
    job_id = harvest.start()
    first = in_a_thread(harvest.gather)
    fdp.wait_for(fdp.catalogs[0].path)
    queue.get_gather_publisher().send({"harvest_job_id": job_id})
    second = in_a_thread(harvest.gather)
    until(waits_for_a_lock)
    fault.release()
    for thread in (first, second):
        thread.join(PATIENCE)
    assert fdp.count(f"{fdp.catalogs[0].path}") == fdp.count(f"{fdp.catalogs[0].path}/page") + 1
    harvest.fetch()
    complete(harvest, harvest.finish(job_id))


def test_a_message_that_two_consumers_have(
    stumbling: StumblingPlugin, fdp: FdpServer, harvest: Harvest
) -> None:
    """The queue sends a message again while its page is being imported. It has no effect.

    Records that fail are not tried again: the next job does that.
    """
    job_id = harvest.start()
    harvest.gather()
    connection: Any = harvest_queue_connection()
    key = harvest_routing_keys()["fetch"]
    (message,) = connection.lrange(key, 0, -1)
    for name in harvest_order(job_id)[:2]:
        stumbling.writes[name.replace("-", " ").capitalize()] = 1
    with held_up(job_id):
        first = in_a_thread(harvest.fetch)
        until(waits_for_a_lock)
        connection.rpush(key, message)
        harvest.fetch()
        assert harvest.current() == [] and not connection.llen(key)
        model.Session.remove()
    first.join(PATIENCE)
    cron()
    harvest.fetch_all()
    job = harvest.finish(job_id)
    assert (job.stats["added"], job.stats["errored"], len(job.errors)) == (1, 2, 2)
    assert len(harvest.current()) == 1
    assert harvest.run().stats["added"] == 2


def test_each_page_is_followed_by_a_message(
    harvest: Harvest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "PAGE_SIZE", 2)
    job_id = harvest.start()
    harvest.gather()
    harvest.fetch()
    complete(harvest, harvest.finish(job_id))


@pytest.mark.parametrize("in_queue", [True, False], ids=["consumers", "harvest_here"])
@pytest.mark.parametrize("position", [0, 1], ids=["first", "second"])
def test_a_record_that_ends_its_processes(
    stumbling: StumblingPlugin, harvest: Harvest, position: int, in_queue: bool
) -> None:
    """It costs its own import only, and says so after three times, whatever its place in the page."""
    job_id = harvest.start()
    harvest.gather()
    deadly = harvest_order(job_id)[position].replace("-", " ").capitalize()
    ends = []

    def end() -> None:
        ends.append(1)
        stumbling.during[deadly] = end
        raise SystemExit

    stumbling.during[deadly] = end
    model.Session.remove()
    while call_action("harvest_job_show", id=job_id)["status"] == "Running":
        with contextlib.suppress(SystemExit):
            if in_queue:
                harvest.fetch()
            else:
                harvest_here(harvest.source["id"])
        age_messages()
        cron()
    assert len(ends) == 3
    stumbling.during.clear()
    job = harvest.finish(job_id)
    assert len(harvest.current()) == len(harvest.datasets()) == 2
    assert (job.stats["added"], job.stats["errored"]) == (2, 1)
    (error,) = job.errors
    assert "its import has ended the program three times" in error
    again = harvest.run()
    assert (again.stats["added"], again.errors) == (1, [])


def test_a_gather_that_cannot_begin_discards_what_a_killed_one_has_written(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    harvest = published.harvest
    job_id = harvest.start()
    harvest.gather()
    killed = {"gather_finished": None}
    model.Session.query(HarvestJob).filter_by(id=job_id).update(killed)
    model.Session.query(HarvestObject).filter_by(harvest_job_id=job_id).update({"state": GATHERED})
    model.Session.commit()

    def refuse() -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(database, "refuse_missing_tables", refuse)
        call_action("harvest_jobs_run")
        harvest.gather()
    assert "ended early" in harvest.finish(job_id).errors[0]
    job = harvest.run()
    complete(harvest, job)


@pytest.mark.parametrize("state", ["WAITING", "FETCH", "BATCH"])
def test_objects_in_the_states_of_another_version(published: Published, state: str) -> None:
    harvest = published.harvest
    job_id = harvest.start()
    harvest.gather()
    objects = model.Session.query(HarvestObject).filter_by(harvest_job_id=job_id)
    objects.update({"state": state})
    model.Session.commit()
    call_action("harvest_jobs_run")
    harvest.fetch()
    complete(harvest, harvest.finish(job_id))


def test_an_object_that_waits_although_its_job_has_ended(published: Published) -> None:
    """ckanext-harvest ends it, and sends no message for it any more."""
    harvest = published.harvest
    job_id = harvest.start()
    harvest.gather()
    ended = {"status": "Finished"}
    model.Session.query(HarvestJob).filter_by(id=job_id).update(ended)
    model.Session.query(HarvestObject).filter_by(harvest_job_id=job_id).update({"state": "WAITING"})
    model.Session.commit()
    call_action("harvest_jobs_run")
    harvest.fetch_all()
    model.Session.remove()
    states = model.Session.query(HarvestObject.state).filter_by(harvest_job_id=job_id)
    assert {state for (state,) in states} == {"ERROR"}
    assert call_action("package_search")["count"] == 0
