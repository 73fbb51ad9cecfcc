"""Held deletions and their release: for exactly the shown list, by editors, for the next job only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action, call_auth

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting import holds
from ckanext.freshness.harvesting.messages import HarvestMessage, MessageCode
from ckanext.freshness.harvesting.record import KnownRecord, ReadOutcome
from ckanext.freshness.harvesting.strategy import AbsentRecord, Decisions, HeldDeletions
from ckanext.freshness.reporting import harvests
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness.tests.harvesting.test_killed import waits_for_a_lock
from ckanext.freshness.tests.processes import until
from ckanext.freshness.tests.servers.base import Request
from ckanext.freshness.tests.servers.faults import Status
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.harvest.model import HarvestJob

pytestmark = pytest.mark.usefixtures("clean_site")


@pytest.fixture
def harvest(fdp: FdpServer) -> Harvest:
    """A harvested source with four datasets."""
    catalog = fdp.add_catalog()
    for number in range(4):
        fdp.add_dataset(catalog, title=f"Dataset {number}")
    harvest = add_source(fdp.source_url)
    harvest.run()
    return harvest


def empty(fdp: FdpServer) -> None:
    for record in fdp.datasets:
        fdp.remove(record)


def take_back(harvest: Harvest) -> dict[str, Any]:
    ids = {"id": harvest.source["id"], "list_id": harvest.hold()["list_id"]}
    hold: dict[str, Any] = call_action("freshness_harvest_take_back", **ids)
    return hold


def keep(harvest: Harvest) -> dict[str, Any]:
    ids = {"id": harvest.source["id"], "list_id": harvest.hold()["list_id"]}
    hold: dict[str, Any] = call_action("freshness_harvest_keep", **ids)
    return hold


def decisions(harvest: Harvest) -> Decisions:
    return holds.decisions(holds.hold_of(harvest.source["id"]))


def test_an_emptied_source_is_held_and_told_until_it_is_released(
    fdp: FdpServer, harvest: Harvest
) -> None:
    assert harvest.hold() is None
    datasets = harvest.datasets()
    empty(fdp)
    job = harvest.run()
    assert job.stats["deleted"] == 0
    assert harvest.datasets().keys() == datasets.keys()

    (error,) = job.gather_errors
    name = harvest.source["name"]
    assert "4 records of it are current" in error
    assert f"ckan freshness release {name}" in error
    assert job.codes == [{"code": "deletions held", "values": {"count": 4}}]

    shown = harvest.hold()
    assert shown["job_id"] == job.id
    assert shown["count"] == 4
    assert shown["reason"] in error
    assert shown["released_at"] is None
    assert {one["reason"] for one in shown["held"]} == {
        "The source says that it is gone: its own URL answers 404 or 410"
    }
    assert all(one["reason_code"]["code"] == "gone" for one in shown["held"])
    assert {
        one["url"]: (one["package_id"], one["title"], one["state"]) for one in shown["held"]
    } == {url: (dataset["id"], dataset["title"], "active") for url, dataset in datasets.items()}

    # Who released first stays.
    source = {"id": harvest.source["id"], "list_id": shown["list_id"]}
    editor, other = factories.Sysadmin(), factories.Sysadmin()
    for user in (editor, other):
        shown = call_action("freshness_harvest_release", {"user": user["name"]}, **source)
        assert shown["released_at"]
        assert shown["released_by"] == editor["name"]
    job = harvest.run()
    assert job.errors == []
    assert job.stats["deleted"] == 4
    assert harvest.datasets() == {}
    assert harvest.current() == []
    assert harvest.hold() is None


def test_a_job_that_has_read_a_release_applies_it(fdp: FdpServer, harvest: Harvest) -> None:
    """Nobody can take it back any more, from the moment when the job reads it."""
    empty(fdp)
    harvest.run()
    harvest.release()
    refusals: list[str] = []

    def undo(request: Request) -> bool:
        # In the server's thread, and in a session of its own, while the job reads the source.
        for decide in (take_back, keep):
            try:
                decide(harvest)
            except tk.ValidationError as error:
                refusals.extend(error.error_dict["list_id"])
            finally:
                model.Session.remove()
        return False

    fdp.faults[undo] = Status(500)
    assert harvest.run().stats["deleted"] == 4
    assert refusals
    assert set(refusals) == {refusals[0]}
    assert refusals[0].startswith("It is too late for this: a job is reading the source")


def test_a_decision_and_a_job_wait_for_each_other(fdp: FdpServer, harvest: Harvest) -> None:
    """A job that begins while somebody takes a release back does not see the release."""
    empty(fdp)
    harvest.run()
    harvest.release()
    source_id = harvest.source["id"]
    hold = holds.hold_of(source_id, for_update=True)
    holds.take_back(hold)
    with ThreadPoolExecutor(1) as other:
        read = other.submit(in_session_of_its_own, holds.decisions_for_job, source_id)
        until(waits_for_a_lock)
        assert not read.done()
        model.Session.commit()
        assert read.result(60).released == frozenset()


def in_session_of_its_own(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    finally:
        model.Session.remove()


def test_a_release_is_for_the_next_job_only(fdp: FdpServer, harvest: Harvest) -> None:
    """If the records have come back by then, there is no list any more. It is held again when they go."""
    gone = fdp.datasets
    empty(fdp)
    harvest.run()
    list_id = harvest.hold()["list_id"]
    harvest.release()
    for record in gone:
        fdp.add_dataset(fdp.catalogs[0], path=record.path, title=record.label)
    assert harvest.run().stats["deleted"] == 0
    assert harvest.hold() is None
    no_more = "no deletions of this source are on hold any more"
    with pytest.raises(tk.ValidationError, match=no_more):
        harvest.release(list_id)
    empty(fdp)
    assert harvest.run().stats["deleted"] == 0
    assert harvest.hold()["count"] == 4
    assert harvest.hold()["released_at"] is None


def test_a_release_is_for_these_only(fdp: FdpServer, harvest: Harvest) -> None:
    """Other records that are gone are held, and records that came back are not deleted."""
    harvest.configure(max_delete_fraction=0)
    for number in range(10):
        fdp.add_dataset(fdp.catalogs[0], title=f"More {number}")
    harvest.run()
    first, second, third = fdp.datasets[:3]
    fdp.remove(first)
    harvest.run()
    stale = harvest.hold()["list_id"]
    fdp.remove(second)
    assert harvest.run().stats["deleted"] == 0
    assert harvest.hold()["count"] == 2
    with pytest.raises(tk.ValidationError, match="the list has changed"):
        harvest.release(stale)
    assert harvest.hold()["released_at"] is None
    harvest.release()
    fdp.remove(third)
    fdp.add_dataset(fdp.catalogs[0], path=second.path, title="Back")
    job = harvest.run()
    assert job.stats["deleted"] == 1
    assert set(harvest.datasets()) == {fdp.iri_of(one) for one in (*fdp.datasets, third)}
    assert [one["url"] for one in harvest.hold()["held"]] == [fdp.iri_of(third)]


def test_a_release_is_not_for_records_that_answer_again(fdp: FdpServer, harvest: Harvest) -> None:
    """They seemed gone when they were released. The list still lacks them: the server is being restored."""
    restore = fdp.snapshot()
    empty(fdp)
    harvest.run()
    harvest.release()
    restore()
    for record in fdp.datasets:
        fdp.unlist(record, fdp.catalogs[0])
    for _ in range(2):
        assert harvest.run().stats["deleted"] == 0
    shown = harvest.hold()
    assert (shown["released_at"], shown["count"]) == (None, 4)
    assert {one["own_url"] for one in shown["held"]} == {"present"}
    harvest.release()
    assert harvest.run().stats["deleted"] == 4


def test_kept_records_stay_until_a_release_and_others_are_asked_about(
    fdp: FdpServer, harvest: Harvest
) -> None:
    first, second = fdp.datasets[:2]
    fdp.unlist(first, fdp.catalogs[0])
    harvest.run()
    harvest.release()
    # It decides about the same list, and ends the approval.
    shown = keep(harvest)
    assert (shown["count"], shown["released_at"]) == (1, None)
    # A record that is held for its answer would go without the decision.
    assert [one["answered"] for one in shown["held"]] == [True]
    fdp.remove(first)
    for _ in range(2):
        job = harvest.run()
        assert (job.errors, job.stats["deleted"]) == ([], 0)
        assert state_of(job.id) == ("finished", ["3 unchanged"])
        assert harvest.hold()["kept_at"] == shown["kept_at"]
    fdp.unlist(second, fdp.catalogs[0])
    job = harvest.run()
    assert [one["code"] for one in job.codes] == ["deletions held"]
    shown = harvest.hold()
    assert (shown["count"], shown["kept_at"], shown["kept_by"]) == (2, None, None)
    keep(harvest)
    harvest.release()
    assert harvest.run().stats["deleted"] == 2


def state_of(job_id: str) -> tuple[str, list[str]]:
    """Return the state of a job, and what its report counts."""
    source = model.Session.get(HarvestJob, job_id).source_id
    (job,) = harvests.jobs([source], 1, job_id=job_id)
    return job.status, job.figures


def test_a_release_outlives_jobs_beside_what_is_held_anew(
    fdp: FdpServer, harvest: Harvest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each record of a list remembers whether it was released."""
    monkeypatch.setattr("ckanext.freshness.settings.RETRY_DELAYS", ())
    harvest.configure(max_delete_fraction=0)
    first, second = fdp.catalogs[0], fdp.add_catalog()
    other = [fdp.add_dataset(second, title=f"Other {number}") for number in range(8)]
    harvest.run()
    fdp.remove(fdp.datasets[0])
    harvest.run()
    harvest.release()
    fdp.faults[first.path] = Status(503)
    fdp.remove(other[0])
    harvest.run()
    assert harvest.hold()["count"] == 2
    assert harvest.hold()["released_at"] is None
    assert len(decisions(harvest).released) == 1
    fdp.faults.clear()
    job = harvest.run()
    assert job.stats["deleted"] == 1
    (left,) = harvest.hold()["held"]
    assert left["url"] == fdp.iri_of(other[0])
    assert decisions(harvest).held == {left["guid"]}


def brake(
    records: Iterable[tuple[str, str]], *, delete: bool = True, own_url: ReadOutcome | None = None
) -> HeldDeletions:
    """Return a brake that holds records, each given by URL and guid.

    :param delete: they are known to be gone; otherwise they were held before and could not be read
    :param own_url: what their own URLs answered
    """
    reason = HarvestMessage(MessageCode.GONE if delete else MessageCode.MAY_BE_LISTED)
    held = (AbsentRecord(KnownRecord(*one), delete, reason, own_url=own_url) for one in records)
    return HeldDeletions(tuple(held), 4, "the source lists nothing at all")


OTHER = ("https://other.example", "other")


@pytest.mark.parametrize(
    ("still_held", "besides", "delete", "own_url", "released"),
    [
        (4, [], True, ReadOutcome.GONE, 4),
        (4, [], True, ReadOutcome.PRESENT, 0),
        (3, [], True, None, 0),
        (3, [], False, None, 0),
        (4, [OTHER], True, None, 0),
    ],
    ids=[
        "the same list",
        "records that answer again",
        "one less",
        "one less, none read",
        "one more",
    ],
)
def test_a_release_during_a_job_counts_for_the_one_after_it(
    fdp: FdpServer,
    harvest: Harvest,
    still_held: int,
    besides: list[tuple[str, str]],
    delete: bool,
    own_url: ReadOutcome | None,
    released: int,
) -> None:
    """If that job holds the list that the editor saw."""
    empty(fdp)
    harvest.run()
    source_id = harvest.source["id"]
    began = datetime.now(timezone.utc)
    hold = holds.hold_of(source_id)
    assert hold is not None
    seen = [(one["url"], one["guid"]) for one in hold.held]
    found = brake([*seen[:still_held], *besides], delete=delete, own_url=own_url)
    holds.release(hold, "editor", began + timedelta(seconds=1))
    model.Session.commit()
    holds.set_hold(source_id, "the job under way", found, began)
    assert len(decisions(harvest).released) == released
    holds.set_hold(source_id, "the next one", found, began + timedelta(seconds=2))
    assert not decisions(harvest).released


ACTIONS = (
    "freshness_harvest_hold_show",
    "freshness_harvest_release",
    "freshness_harvest_take_back",
    "freshness_harvest_keep",
    "freshness_harvest_preview",
    "freshness_harvest_preview_show",
)


def test_only_who_may_change_the_source() -> None:
    editor, stranger = factories.User(), factories.User()
    organization = factories.Organization(users=[{"name": editor["name"], "capacity": "editor"}])
    factories.Organization(users=[{"name": stranger["name"], "capacity": "admin"}])
    source = add_source("http://127.0.0.1:9", owner_org=organization["id"]).source

    def may(user: str, action: str) -> bool:
        context = {"model": model, "user": user}
        return bool(call_auth(action, context, id=source["id"], list_id="x"))

    for action in ACTIONS:
        assert may(editor["name"], action)
        for user in (stranger["name"], ""):
            with pytest.raises(tk.NotAuthorized):
                may(user, action)
