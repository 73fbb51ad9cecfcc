"""The doctor's checks of harvests, queues, services and the site, on real services."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import ckan.plugins.toolkit as tk
import pytest

from ckanext.freshness import doctor
from ckanext.freshness.ckan_adapter.core import IS_2_12, model
from ckanext.freshness.ckan_adapter.database import is_held, locked
from ckanext.freshness.ckan_adapter.harvest import harvest_queue_connection, harvest_routing_keys
from ckanext.freshness.dates import utc
from ckanext.freshness.doctor import examine
from ckanext.freshness.doctor.findings import Severity, SiteFinding
from ckanext.freshness.harvesting.holds import source_lock
from ckanext.freshness.tests.doctor.conftest import findings
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness.tests.processes import until
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.harvest import model as harvest_model

CONSUMERS = [f"ckan harvester {stage}-consumer" for stage in ("gather", "fetch")]

pytestmark = pytest.mark.usefixtures("clean_site", "clean_redis")


def now() -> datetime:
    return datetime.now(timezone.utc)


def problems(check: Callable[[datetime], Any], after: timedelta = timedelta()) -> list[SiteFinding]:
    return [one for one in findings(check, now() + after) if one.severity is Severity.PROBLEM]


@pytest.fixture
def harvest() -> Harvest:
    """A source whose server is never contacted."""
    return add_source("http://127.0.0.1:9")


@pytest.fixture
def wait_on() -> Iterator[Callable[..., None]]:
    """Start idle consumers: connections that wait for a message of a stage's queue."""
    waiting: list[tuple[str, str, threading.Thread]] = []

    def begin(*stages: str) -> None:
        for stage in stages:
            own, key = connection(), f"{harvest_routing_keys()[stage]}.test"
            client = str(own.client_id())
            thread = threading.Thread(target=own.blpop, args=(key,))
            thread.start()
            waiting.append((key, client, thread))
        clients = {client for _, client, _ in waiting}
        until(
            lambda: (
                clients
                <= {one["id"] for one in connection().client_list() if one["cmd"] == "blpop"}
            )
        )

    yield begin
    for key, _, _ in waiting:
        connection().rpush(key, "end")
    for _, _, thread in waiting:
        thread.join(60)


def test_a_healthy_site(wait_on: Callable[..., None], fdp: FdpServer) -> None:
    """All services run, and a harvest has just ended."""
    fdp.add_dataset(fdp.add_catalog())
    add_source(fdp.source_url).run()
    wait_on("gather", "fetch")
    found = list(examine(datetime.now(timezone.utc)))
    assert [one for one in found if one.severity is Severity.PROBLEM] == []


# Consumers and queues


@pytest.mark.parametrize(
    ("alive", "words"), [((), "No consumer"), (("gather",), "Only one consumer")]
)
def test_consumers_that_are_not_there(
    wait_on: Callable[..., None], alive: tuple[str, ...], words: str
) -> None:
    wait_on(*alive)
    (one,) = problems(doctor.harvests.consumers)
    assert words in one.text
    assert all(command in one.advice for command in CONSUMERS)


def test_consumers_that_redis_py_ends(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    url = ckan_config["ckan.redis.url"].partition("?")[0]
    monkeypatch.setitem(ckan_config, "ckan.redis.url", url)
    (one,) = problems(doctor.harvests.consumers)
    assert ("end after 5 quiet seconds" in one.advice) == IS_2_12


@pytest.mark.parametrize("stage", ["gather", "fetch"])
def test_a_queue_that_nobody_serves(wait_on: Callable[..., None], stage: str) -> None:
    """The other consumer is idle, and is not mistaken for the missing one."""
    wait_on("fetch" if stage == "gather" else "gather")
    put(stage, "some-id")
    (one,) = problems(doctor.harvests.consumers)
    assert one.text == f"1 message waits in the {stage} queue, and no consumer takes any"
    assert f"ckan harvester {stage}-consumer" in one.advice
    take(stage, "another-id", timedelta(seconds=10))
    assert problems(doctor.harvests.consumers) == []


def put(stage: str, id: str) -> None:
    key = harvest_routing_keys()[stage]
    connection().rpush(key, json.dumps({key.rpartition(":")[2]: id}))


def take(stage: str, id: str, age: timedelta) -> None:
    """Leave behind the key of a killed consumer."""
    taken_at = (now() - age).astimezone().replace(tzinfo=None)
    connection().set(f"{harvest_routing_keys()[stage]}:{id}", f"{taken_at:%Y-%m-%d %H:%M:%S.%f}")


def connection() -> Any:
    return harvest_queue_connection()


def test_queues_that_are_unknown_or_need_a_library(
    ckan_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ckan_config, "ckan.harvest.mq.type", "rediss")
    (one,) = problems(doctor.harvests.consumers)
    assert "ckan.harvest.mq.type is rediss, which is unknown or needs" in one.text


# Jobs


def test_a_gather_whose_consumer_was_killed(harvest: Harvest) -> None:
    job = harvest.start()
    connection().delete(harvest_routing_keys()["gather"])
    model.Session.query(harvest_model.HarvestJob).filter_by(id=job).update(
        {"gather_started": utc(now() - timedelta(seconds=90))}
    )
    model.Session.commit()
    with locked(source_lock(harvest.source["id"])):
        assert is_held(source_lock(harvest.source["id"]))
        assert problems(doctor.harvests.sources) == []
    assert not is_held(source_lock(harvest.source["id"]))
    (one,) = problems(doctor.harvests.sources)
    assert f"Job {job} of the source {harvest.source['name']}" in one.text
    assert "was killed" in one.text
    assert f"ckan harvester job-abort {job}" in one.advice


@pytest.mark.parametrize(
    ("state", "minutes", "stuck"),
    [("WAITING", 19, False), ("WAITING", 21, True), ("IMPORT", 21, True), ("PAGE", 21, True)],
)
def test_records_that_are_not_imported(
    fdp: FdpServer, state: str, minutes: int, stuck: bool
) -> None:
    job = gathered(fdp, state)
    found = problems(doctor.harvests.sources, timedelta(minutes=minutes))
    assert len(found) == stuck
    if stuck:
        assert job in found[0].text
        assert "2 of its records are not imported" in found[0].text
        assert "ckan harvester run" in found[0].advice
        assert f"ckan harvester job-abort {job}" in found[0].advice


def gathered(fdp: FdpServer, state: str) -> str:
    """Gather a job with two records and set their state."""
    for _ in range(2 - len(fdp.datasets)):
        fdp.add_dataset((fdp.catalogs or [fdp.add_catalog()])[0])
    harvest = add_source(fdp.source_url, language="en" if state == "IMPORT" else "de")
    job = harvest.start()
    harvest.gather()
    model.Session.query(harvest_model.HarvestObject).filter_by(harvest_job_id=job).update(
        {"state": state, "gathered": utc(now())}
    )
    model.Session.commit()
    return job


# The site


def test_background_jobs_that_nobody_does(wait_on: Callable[..., None]) -> None:
    wait_on("gather", "fetch")
    assert [one.severity for one in findings(doctor.consumers)] == [Severity.WARNING]
    tk.enqueue_job(print, ["done"], queue="bulk")
    (one,) = problems(doctor.consumers)
    assert "1 background job waits in the queue bulk" in one.text
    assert "ckan jobs worker bulk" in one.advice
