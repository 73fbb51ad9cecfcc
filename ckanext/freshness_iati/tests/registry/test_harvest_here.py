"""Whole harvests of a registry in this process."""

from __future__ import annotations

from typing import Any

import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesters import harvest_here
from ckanext.freshness.harvesting import object_writer, stages
from ckanext.freshness.harvesting.packages.writer import PackageWriter
from ckanext.freshness.tests.harvesting.conftest import Harvest, stored, sysadmin
from ckanext.freshness.tests.processes import killed_at
from ckanext.freshness_iati.tests.registry.conftest import (
    add_registry,
    again,
    counts,
    organizations,
    packages,
    waiting,
)
from ckanext.freshness_iati.tests.servers.registry import (
    DATASETS_MINIMAL,
    REPORTING_ORGS,
    RegistryServer,
)
from ckanext.harvest import model as harvest_model

pytestmark = pytest.mark.usefixtures("clean_site")


@pytest.mark.parametrize("path", ["", DATASETS_MINIMAL, f"{REPORTING_ORGS}.json"])
def test_a_registry_becomes_organizations_and_datasets(registry: RegistryServer, path: str) -> None:
    harvest = add_registry(f"{registry.url}{path}")
    job = again(harvest)
    assert not job.errors and counts(job) == {"added": 6}
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
    assert group.extras["hq_country"] == "KE"
    assert counts(again(harvest)) == {"not modified": 6}


# Killed processes


def running() -> list[str]:
    model.Session.expire_all()
    jobs = model.Session.query(harvest_model.HarvestJob).filter_by(status="Running")
    return [job.id for job in jobs]


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


POINTS: dict[str, tuple[Any, str, int]] = {
    "gather": (object_writer.ObjectWriter, "finish", 1),
    "between two records": (PackageWriter, "write", 3),
}


@pytest.mark.parametrize(
    ("point", "by"),
    [*((point, "the next") for point in POINTS), ("between two records", "consumers")],
)
def test_what_a_killed_process_left_is_done_by(
    registry: RegistryServer,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
    by: str,
) -> None:
    monkeypatch.setattr(stages, "PAGE_SIZE", 4)
    harvest = add_registry(registry.url)
    killed_at(*POINTS[point], lambda: harvest_here(harvest.source["id"]))
    (job,) = running()
    if by == "consumers":
        call_action("harvest_jobs_run", {"user": sysadmin()})
        harvest.gather()
        harvest.fetch_all()
    else:
        assert harvest_here(harvest.source["id"]) == job
    assert not harvest.finish(job).errors
    assert running() == [] and waiting() == 0
    complete(harvest, registry)
    assert counts(again(harvest)) == {"not modified": 6}


def test_the_job_of_the_queues_is_done_here_and_its_messages_change_nothing(
    registry: RegistryServer,
) -> None:
    harvest = add_registry(registry.url)
    job = harvest.start()
    assert harvest_here(harvest.source["id"]) == job
    harvest.gather()
    harvest.fetch()
    assert counts(harvest.finish(job)) == {"added": 6}
    job = harvest.start()
    harvest.gather()
    assert harvest_here(harvest.source["id"]) == job
    harvest.fetch()
    complete(harvest, registry)
