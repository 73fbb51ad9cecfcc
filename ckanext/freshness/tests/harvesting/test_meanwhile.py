"""Changes between a gather and its import: sources and packages are deleted or get another owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

import ckan.plugins as p
import pytest
import sqlalchemy as sa
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting import object_states, stages
from ckanext.freshness.harvesting.object_states import PendingObject
from ckanext.freshness.harvesting.packages.writer import PackageWriter
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source, stored, sysadmin
from ckanext.freshness.tests.harvesting.test_killed import (
    PATIENCE,
    engine,
    in_a_thread,
    waits_for_a_lock,
)
from ckanext.freshness.tests.processes import until
from ckanext.freshness.tests.servers.faults import Hold
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.harvest import queue
from ckanext.harvest.model import HarvestObject

pytestmark = pytest.mark.usefixtures("clean_site")

TITLES = ("One", "Two", "Three")
NEW = ("Four", "Five", "Six")


@pytest.fixture
def harvest(fdp: FdpServer) -> Harvest:
    """A harvested source with three datasets."""
    catalog = fdp.add_catalog()
    for title in TITLES:
        fdp.add_dataset(catalog, title=title, distributions=0)
    harvest = add_source(fdp.source_url)
    assert harvest.run().stats["added"] == 3
    return harvest


def end(harvest: Harvest) -> None:
    """Delete a source. Its packages stay."""
    call_action("harvest_source_delete", {"user": sysadmin()}, id=harvest.source["id"])


def ids(harvest: Harvest) -> dict[str, str]:
    return {one["title"]: one["id"] for one in harvest.datasets().values()}


def active() -> list[str]:
    """Return the titles of all active datasets."""
    model.Session.remove()
    rows = model.Session.query(model.Package.title).filter_by(type="dataset", state="active")
    return sorted(title for (title,) in rows)


def clear_source(harvest: Harvest) -> None:
    call_action("harvest_source_clear", {"user": sysadmin()}, id=harvest.source["id"])


def abort_job(harvest: Harvest) -> None:
    call_action("harvest_job_abort", {"user": sysadmin()}, id=harvest.source["id"])


@pytest.mark.parametrize(("stop", "left"), [(clear_source, 0), (abort_job, len(TITLES) + 1)])
@pytest.mark.parametrize("before", [True, False], ids=["before a record", "after a record"])
def test_a_page_that_is_stopped_meanwhile(
    fdp: FdpServer,
    harvest: Harvest,
    monkeypatch: pytest.MonkeyPatch,
    stop: Callable[[Harvest], None],
    left: int,
    before: bool,
) -> None:
    """The rest of the page is not imported. Of a cleared source, it would belong to no source."""
    for title in NEW:
        fdp.add_dataset(fdp.catalogs[0], title=title, distributions=0)
    harvest.start()
    harvest.gather()
    write, written = PackageWriter.write, []

    def stop_and_write(self: PackageWriter, pending: PendingObject) -> list[str]:
        written.append(pending.id)
        if before:
            in_a_thread(lambda: stop(harvest)).join(PATIENCE)
        warnings = write(self, pending)
        if not before:
            in_a_thread(lambda: stop(harvest)).join(PATIENCE)
        return warnings

    monkeypatch.setattr(PackageWriter, "write", stop_and_write)
    harvest.fetch()
    assert len(written) == 1
    assert len(active()) == left
    monkeypatch.undo()
    model.Session.remove()
    call_action("harvest_jobs_run")
    assert not queue.get_connection().llen(queue.get_fetch_routing_key())
    harvest.run()
    assert active() == sorted([*TITLES, *NEW])


def test_an_edit_of_a_dataset_that_a_batch_has_deleted(
    fdp: FdpServer, harvest: Harvest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Solr has not committed the batch yet."""
    deleted, confirm = ids(harvest)["One"], stages._confirm
    fdp.remove(fdp.datasets[0])

    def edit(marks: Mapping[str, datetime]) -> None:
        call_action("package_patch", {"user": sysadmin()}, id=deleted, maintainer="Somebody")
        confirm(marks)

    monkeypatch.setattr(stages, "_confirm", edit)
    assert harvest.run().stats["deleted"] == 1
    assert active() == ["Three", "Two"]


# The source is deleted


@pytest.mark.parametrize("late", [False, True], ids=["before its page", "in its page"])
def test_a_deletion_whose_source_is_deleted_meanwhile(
    fdp: FdpServer, harvest: Harvest, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """A deleted source's packages stay, so that a new source can take them over."""
    harvest.configure(delete_unlisted=True)
    before = ids(harvest)
    goes, (catalog,) = fdp.datasets[1], fdp.catalogs
    fdp.unlist(goes, catalog)
    harvest.run()
    harvest.wait_a_day()
    job_id = harvest.start()
    harvest.gather()
    if late:
        begin = object_states.begin

        def begin_late(object_id: str) -> bool:
            end(harvest)
            return begin(object_id)

        monkeypatch.setattr(object_states, "begin", begin_late)
    else:
        end(harvest)
    harvest.fetch()
    job = harvest.finish(job_id)
    assert job.errors == ["its source was deleted meanwhile, so its datasets stay"]
    assert job.stats["deleted"] == 0
    assert stored(before["Two"])["state"] == "active"
    assert len(harvest.current()) == 3

    fdp.list_also(goes, catalog)
    again = add_source(fdp.source_url, language="en")
    assert again.run().errors == []
    assert ids(again) == before
    assert active() == sorted(TITLES)


def test_a_source_that_was_deleted_meanwhile_writes_nothing(
    fdp: FdpServer, harvest: Harvest
) -> None:
    """Another source may have taken its packages over."""
    fdp.change(fdp.datasets[0], title="Changed")
    fdp.add_dataset(fdp.catalogs[0], title="New")
    harvest.start()
    harvest.gather()
    end(harvest)
    harvest.fetch()
    assert active() == sorted(TITLES)


# The job is aborted


def test_a_deletion_whose_job_is_aborted_while_its_consumer_waits(
    fdp: FdpServer, harvest: Harvest
) -> None:
    """The record may be back when the next job has its turn, which waits for this consumer."""
    harvest.configure(delete_unlisted=True)
    before = ids(harvest)
    goes, (catalog,) = fdp.datasets[1], fdp.catalogs
    fdp.unlist(goes, catalog)
    harvest.run()
    harvest.wait_a_day()
    job_id = harvest.start()
    harvest.gather()
    model.Session.remove()
    with engine().begin() as connection:
        connection.execute(sa.text("SELECT FROM package WHERE type = 'dataset' FOR UPDATE"))
        consumer = in_a_thread(harvest.fetch)
        until(waits_for_a_lock)
        call_action("harvest_job_abort", {"user": sysadmin()}, id=job_id)
        fdp.list_also(goes, catalog)
        model.Session.remove()
        later = harvest.start()
        gather = in_a_thread(harvest.gather)
        until(lambda: waits_for_a_lock(2))
    for thread in (consumer, gather):
        thread.join(PATIENCE)
    assert harvest.finish(later).stats["not modified"] == 3
    job = harvest.finish(job_id)
    assert job.codes == [{"code": "aborted", "values": {}}]
    (deletion,) = harvest.objects(job).values()
    # As ``ckan harvester import`` does.
    p.get_plugin("fdp_harvester").import_stage(HarvestObject.get(deletion.id))
    for (words,) in (job.object_errors.values(), harvest.finish(job_id).object_errors.values()):
        assert all("aborted meanwhile" in one for one in words)
    assert ids(harvest) == before
    assert len(harvest.current()) == 3
    assert active() == sorted(TITLES)


# Another source has the package


def two_new_sources(fdp: FdpServer) -> tuple[Harvest, Harvest]:
    return add_source(fdp.source_url, language="en"), add_source(fdp.source_url, language="nl")


def each_has_its_own(before: dict[str, str], one: Harvest, other: Harvest) -> None:
    ours, theirs = ids(one), ids(other)
    assert set(ours) == set(theirs) == set(TITLES)
    assert not set(ours.values()) & set(theirs.values())
    for title, package_id in before.items():
        assert package_id in (ours[title], theirs[title])
    holders = [package_id for harvest in (one, other) for _, package_id in harvest.current()]
    assert len(holders) == len(set(holders)) == 6
    assert active() == sorted(TITLES * 2)


def test_two_consumers_adopt_a_package_once(fdp: FdpServer, harvest: Harvest) -> None:
    """They run at the same time: neither has the package when both look."""
    before = ids(harvest)
    end(harvest)
    for record in fdp.datasets:
        fdp.change(record, description="Edited")  # so that there is something to write
    one, other = two_new_sources(fdp)
    jobs = {id(source): source.start() for source in (one, other)}
    one.gather()
    model.Session.remove()
    with engine().connect() as connection:
        transaction = connection.begin()
        connection.execute(sa.text("SELECT 1 FROM package WHERE type = 'dataset' FOR UPDATE"))
        consumers = [in_a_thread(one.fetch) for _ in range(2)]
        until(lambda: waits_for_a_lock(2))
        transaction.rollback()
    for thread in consumers:
        thread.join(PATIENCE)
    for source in (one, other):
        assert source.finish(jobs[id(source)]).errors == []
    each_has_its_own(before, one, other)


def test_a_source_that_is_cleared_while_it_is_gathered(fdp: FdpServer, harvest: Harvest) -> None:
    path = fdp.catalogs[0].path
    before = fdp.count(path)
    fault = fdp.faults[path] = Hold()
    harvest.start()
    ended_well: list[bool] = []

    def consume() -> None:
        harvest.gather()
        ended_well.append(True)

    consumer = in_a_thread(consume)
    fdp.wait_for(path, before + 1)
    clear_source(harvest)
    model.Session.remove()
    fault.release()
    consumer.join(PATIENCE)
    assert ended_well
    assert active() == []
    assert harvest.run().stats["added"] == 3
