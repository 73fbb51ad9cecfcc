"""New records that are imported while the gather goes on, and gathers that end in between."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import ckan.plugins.toolkit as tk
import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.ckan_core import model
from ckanext.freshness.ckan_adapter.harvest import harvest_queue_connection, harvest_routing_keys
from ckanext.freshness.ckan_adapter.locks import is_held
from ckanext.freshness.harvesting import stages
from ckanext.freshness.harvesting.object_writer import ObjectWriter
from ckanext.freshness.tests.harvesting.conftest import Harvest, Job, add_source
from ckanext.freshness.tests.harvesting.test_killed import in_a_thread, send_again, written_by
from ckanext.freshness.tests.processes import CkanProcess, until
from ckanext.freshness.tests.servers.faults import Hold
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.harvest import model as harvest_model

pytestmark = pytest.mark.usefixtures("clean_site", "clean_redis")

Begin = Callable[[], tuple[str, CkanProcess]]

ALL = 5
PAGE = 2
EARLY = 4
"""How many datasets are in full pages while the answer for one is awaited."""


@pytest.fixture
def harvest(fdp: FdpServer, monkeypatch: pytest.MonkeyPatch) -> Harvest:
    """A source whose datasets have no pages at the server."""
    monkeypatch.setattr(stages, "PAGE_SIZE", PAGE)
    fdp.layout.pages = False
    catalog = fdp.add_catalog()
    for number in range(ALL):
        fdp.add_dataset(catalog, title=f"Dataset {number}")
    return add_source(fdp.source_url, requests_per_second=10_000)


@pytest.fixture
def held(fdp: FdpServer, harvest: Harvest) -> Iterator[Hold]:
    """The answer for the first dataset, which the server holds back."""
    fault = fdp.faults[fdp.datasets[0].path] = Hold()
    yield fault
    fault.release()


@pytest.fixture
def gather(tmp_path: Path, harvest: Harvest, held: Hold) -> Iterator[Begin]:
    """Start a job, and a gather consumer in a process of its own, which releases its first pages."""
    begun: list[CkanProcess] = []

    def begin() -> tuple[str, CkanProcess]:
        job_id = harvest.start()
        ini = tk.config["__file__"]
        process = CkanProcess(("harvester", "gather-consumer"), tmp_path, CKAN_INI=ini)
        begun.append(process)
        until(lambda: waiting() == EARLY // PAGE)
        assert is_held(f"gather {job_id}")
        return job_id, process

    yield begin
    for process in begun:
        process.kill()


def import_early(harvest: Harvest) -> None:
    until(lambda: waiting() == EARLY // PAGE)
    harvest.fetch()
    assert len(harvest.current()) == len(harvest.datasets()) == EARLY
    model.Session.remove()


def waiting() -> int:
    """Return how many messages the fetch queue has."""
    return int(harvest_queue_connection().llen(harvest_routing_keys()["fetch"]))  # type: ignore[union-attr]


def released_by(job_id: str) -> set[str]:
    """Return the ids of a job's objects that consumers take, import or have imported."""
    rows = model.Session.query(harvest_model.HarvestObject.id).filter_by(harvest_job_id=job_id)
    found = {row.id for row in rows.filter(harvest_model.HarvestObject.state != "GATHER")}
    model.Session.remove()
    return found


def finished(harvest: Harvest, job_id: str) -> Job:
    """Import the rest; check that each dataset exists, and exists once."""
    harvest.fetch()
    job = harvest.finish(job_id)
    packages = model.Session.query(model.Package).filter_by(type="dataset", state="active")
    assert packages.count() == call_action("package_search", rows=0)["count"] == ALL
    assert len(harvest.current()) == len(harvest.datasets()) == ALL
    return job


def test_full_pages_do_not_wait_for_the_end(harvest: Harvest, held: Hold) -> None:
    job_id = harvest.start()
    gathering = in_a_thread(harvest.gather)
    import_early(harvest)
    held.release()
    gathering.join()
    assert waiting() == 1
    job = finished(harvest, job_id)
    assert (job.errors, job.stats["added"]) == ([], ALL)
    assert len(harvest.objects(job)) == ALL
    assert harvest.run().stats == {**dict.fromkeys(job.stats, 0), "not modified": ALL}


def test_changes_and_deletions_wait_for_the_end(
    fdp: FdpServer, harvest: Harvest, held: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ObjectWriter, "BATCH", 1)
    held.release()
    harvest.run()
    again = fdp.faults[fdp.datasets[0].path] = Hold()
    for record in fdp.datasets[1:4]:
        fdp.change(record, title=f"{record.label} again")
    fdp.remove(fdp.datasets[4])
    job_id = harvest.start()
    gathering = in_a_thread(harvest.gather)
    fdp.wait_for(fdp.datasets[0].path)
    until(lambda: written_by(job_id) == 3)
    assert waiting() == 0
    again.release()
    gathering.join()
    harvest.fetch()
    stats = harvest.finish(job_id).stats
    assert (stats["updated"], stats["deleted"], stats["not modified"]) == (3, 1, 1)


@pytest.mark.parametrize("imported", [True, False])
def test_a_gather_that_was_killed_goes_on(
    harvest: Harvest, held: Hold, gather: Begin, imported: bool
) -> None:
    """What is imported, or waits for its import, is not gathered once more."""
    job_id, process = gather()
    if imported:
        import_early(harvest)
    before = released_by(job_id)
    assert len(before) == EARLY
    process.kill()
    until(lambda: not is_held(f"gather {job_id}"))
    held.release()
    send_again("gather")
    harvest.gather()
    job = finished(harvest, job_id)
    assert (job.errors, job.stats["added"], job.stats["not modified"]) == ([], ALL, 0)
    assert len(harvest.objects(job)) == ALL
    assert before < released_by(job_id)


def test_a_gather_that_is_interrupted_keeps_its_datasets(
    harvest: Harvest, held: Hold, gather: Begin
) -> None:
    """ckanext-harvest deletes the objects of a job whose gather raises KeyboardInterrupt."""
    job_id, process = gather()
    import_early(harvest)
    before = harvest.current()
    os.kill(process.pid, signal.SIGINT)
    held.release()
    assert process.wait(30) == 130
    assert harvest.current() == before
    job = harvest.finish(job_id)
    assert (job.stats["added"], job.stats["deleted"]) == (EARLY, 0)
    next_job = harvest.start()
    harvest.gather()
    stats = finished(harvest, next_job).stats
    assert (stats["added"], stats["not modified"]) == (ALL - EARLY, EARLY)


def test_an_unexpected_error_keeps_datasets_and_is_reported(
    harvest: Harvest, held: Hold, gather: Begin
) -> None:
    job_id, _ = gather()
    import_early(harvest)
    with stages.reporting_errors(job_id):
        raise ZeroDivisionError
    (error,) = call_action("harvest_job_report", id=job_id)["gather_errors"]
    assert f"Harvest job {job_id} could not be gathered" in error["message"]
    assert len(harvest.current()) == EARLY
