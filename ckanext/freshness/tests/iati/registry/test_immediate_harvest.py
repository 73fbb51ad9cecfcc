"""Whole harvests of a registry in this process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.database import locked
from ckanext.freshness.harvesting import stages
from ckanext.freshness.harvesting.immediate_harvest import (
    HarvestProgress,
    HarvestRefused,
    HarvestStage,
    harvest_now,
    heal,
)
from ckanext.freshness.tests.harvesting.conftest import Harvest, stored, sysadmin
from ckanext.freshness.tests.harvesting.stumbling import StumblingPlugin
from ckanext.freshness.tests.iati.registry.conftest import (
    add_registry,
    organizations,
    packages,
    waiting,
)
from ckanext.freshness.tests.processes import disconnect
from ckanext.freshness.tests.servers.registry import RegistryServer
from ckanext.harvest import model as harvest_model

pytestmark = pytest.mark.usefixtures("clean_site")


@pytest.mark.parametrize("kind", ["ckan", "bulk-data-service"])
def test_a_registry_becomes_organizations_and_datasets(registry: RegistryServer, kind: str) -> None:
    harvest = add_registry(registry.url if kind == "ckan" else registry.index_url)
    told: list[HarvestProgress] = []
    result = harvest_now(harvest.source["id"], told.append)
    assert result.complete, result
    assert result.counts == {
        "added": 9,
        "updated": 0,
        "deleted": 0,
        "not modified": 0,
        "errored": 0,
    }
    assert told[-1] == HarvestProgress(HarvestStage.IMPORT, 9, 9)
    assert waiting() == 0 and running() == []
    shown = call_action("harvest_job_show", {"user": sysadmin()}, id=result.job_id)
    assert (shown["status"], shown["stats"]["added"]) == ("Finished", 9)
    groups, found = organizations(), packages(harvest)
    assert {key: group.name for key, group in groups.items()} == {
        one.id: one.name for one in registry.registry.organisations.values()
    }
    for one in registry.registry.datasets.values():
        package = found[one.id]
        assert package.name == one.name
        assert package.owner_org == groups[one.organisation_id].id
        (resource,) = stored(package.id)["resources"]
        assert (resource["url"], resource["format"]) == (registry.file_url(one), "IATI-XML")
    group = next(iter(groups.values()))
    assert group.extras["publisher_country"] == "KE"
    again = harvest_now(harvest.source["id"])
    assert again.counts["not modified"] == 9 and again.complete


# Killed processes


def die(*_arguments: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dies_at(stage: HarvestStage, done: int) -> Callable[[HarvestProgress], None]:
    def tell(progress: HarvestProgress) -> None:
        if progress.stage is stage and progress.done >= done:
            die()

    return tell


def killed(
    harvest: Harvest, show_progress: Callable[[HarvestProgress], None] = lambda progress: None
) -> None:
    """Harvest in a child process that kills itself."""
    disconnect()
    child = os.fork()
    if child == 0:
        try:
            harvest_now(harvest.source["id"], show_progress)
        finally:
            os._exit(1)  # it should be dead
    _pid, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def running() -> list[str]:
    model.Session.expire_all()
    jobs = model.Session.query(harvest_model.HarvestJob).filter_by(status="Running")
    return [job.id for job in jobs]


def taken_up() -> int:
    """Return the number of objects that consumers or ``harvester run`` would take."""
    taken = harvest_model.HarvestObject.state.in_(("WAITING", "FETCH", "IMPORT"))
    return int(model.Session.query(harvest_model.HarvestObject).filter(taken).count())


def complete(harvest: Harvest, registry: RegistryServer) -> None:
    """Assert that every record is in CKAN and Solr exactly once."""
    assert organizations().keys() == registry.registry.organisations.keys()
    found = packages(harvest)
    assert found.keys() == registry.registry.datasets.keys()
    ids = sorted(one.id for one in found.values())
    active = model.Session.query(model.Package.id).filter_by(type="dataset", state="active")
    assert sorted(row.id for row in active) == ids
    search = call_action("package_search", fq="dataset_type:dataset", rows=100)
    assert sorted(one["id"] for one in search["results"]) == ids


@pytest.mark.parametrize(
    ("stage", "done", "healed_by"),
    [
        (HarvestStage.GATHER, 1, "the next"),
        (HarvestStage.GATHER, 5, "harvester run"),
        (HarvestStage.IMPORT, 0, "the next"),
        (HarvestStage.IMPORT, 4, "the next"),
        (HarvestStage.IMPORT, 4, "harvester run"),
    ],
)
def test_what_a_killed_process_left_is_done_by_the_next(
    registry: RegistryServer,
    monkeypatch: pytest.MonkeyPatch,
    stage: HarvestStage,
    done: int,
    healed_by: str,
) -> None:
    monkeypatch.setattr(stages, "PAGE_SIZE", 4)
    harvest = add_registry(registry.url)
    killed(harvest, dies_at(stage, done))
    assert len(running()) == 1 and taken_up() == 0
    if healed_by == "harvester run":
        call_action("harvest_jobs_run", {"user": sysadmin()})
        assert running() == [] and waiting() == 0
        job = harvest.run()  # through the queues
        assert not job.errors
    else:
        assert harvest_now(harvest.source["id"]).complete
    assert running() == [] and waiting() == 0
    complete(harvest, registry)
    again = harvest_now(harvest.source["id"])
    assert again.counts["not modified"] == 9


@pytest.mark.parametrize("hook", ["after_dataset_create", "before_dataset_index"])
def test_a_process_killed_within_a_page_leaves_no_dataset_out_of_solr(
    registry: RegistryServer,
    stumbling: StumblingPlugin,
    hook: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harvest = add_registry(registry.url)
    count = iter(range(100))

    def third(*arguments: Any) -> Any:
        if next(count) == 2:
            die()
        return arguments[-1]

    with monkeypatch.context() as patch:
        patch.setattr(stumbling, hook, third)
        killed(harvest)
    assert 0 < len(harvest.current()) < 9
    assert harvest_now(harvest.source["id"]).complete
    complete(harvest, registry)


def test_heal_leaves_alone_what_is_under_way(registry: RegistryServer) -> None:
    harvest = add_registry(registry.url)
    killed(harvest, dies_at(HarvestStage.IMPORT, 0))
    with locked(f"harvest without queue {harvest.source['id']}"):
        assert heal() == [] and len(running()) == 1
    assert len(heal()) == 1 and heal() == []
    shown = call_action("harvest_source_show_status", {"user": sysadmin()}, id=harvest.source["id"])
    assert shown["last_job"]["stats"]["errored"] > 0


def test_a_failure_leaves_nothing_behind_either(registry: RegistryServer) -> None:
    harvest = add_registry(registry.url)

    def fail(progress: HarvestProgress) -> None:
        if progress.stage is HarvestStage.IMPORT:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        harvest_now(harvest.source["id"], fail)
    assert running() == [] and waiting() == 0
    assert harvest_now(harvest.source["id"]).complete


# Refused harvests


def test_one_harvest_at_a_time(registry: RegistryServer) -> None:
    harvest = add_registry(registry.url)
    with (
        locked(f"harvest without queue {harvest.source['id']}"),
        pytest.raises(HarvestRefused, match="Another process harvests"),
    ):
        harvest_now(harvest.source["id"])
    job = harvest.start()
    with pytest.raises(HarvestRefused, match=f"job {job} of A source has not ended"):
        harvest_now(harvest.source["id"])
    harvest.gather()
    with pytest.raises(HarvestRefused, match="has not ended"):
        harvest_now(harvest.source["id"])
    harvest.fetch()
    assert not harvest.finish(job).errors
    assert harvest_now(harvest.source["id"]).counts["not modified"] == 9


def test_only_active_sources_of_ours(registry: RegistryServer) -> None:
    with pytest.raises(HarvestRefused, match="no active harvest source"):
        harvest_now("nobody")
    harvest = add_registry(registry.url)
    call_action("harvest_source_delete", {"user": sysadmin()}, id=harvest.source["id"])
    with pytest.raises(HarvestRefused, match="no active harvest source"):
        harvest_now(harvest.source["id"])


def test_a_source_that_cannot_be_used_says_so(registry: RegistryServer) -> None:
    harvest = add_registry(registry.url)
    row = harvest_model.HarvestSource.get(harvest.source["id"])
    row.config = '{"registry": "phone book"}'
    row.save()
    result = harvest_now(harvest.source["id"])
    assert any("cannot be used" in one for one in result.source_errors)
    assert not result.complete and running() == []
