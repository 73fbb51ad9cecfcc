"""Datasets and catalogs that are made of records: their names, types and resources."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting.record import Refusal
from ckanext.freshness.tests.harvesting.conftest import (
    Harvest,
    Job,
    add_source,
    extras,
    stored,
    sysadmin,
)
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record
from ckanext.freshness.tests.servers.turtle import agent
from ckanext.harvest import model as harvest_model

pytestmark = pytest.mark.usefixtures("clean_site")


def counts(harvest: Harvest) -> dict[str, int]:
    job = harvest.run()
    assert not job.errors
    return {key: count for key, count in job.stats.items() if count}


def names(harvest: Harvest) -> dict[str, str]:
    """Return the names of the current datasets by their ids."""
    return {one: stored(one)["name"] for _, one in harvest.current()}


def first_of(harvest: Harvest) -> str:
    (first,) = (one for one, name in names(harvest).items() if name == "dataset-0")
    return first


def remove(fdp: FdpServer) -> None:
    fdp.vanish(fdp.datasets[0])
    fdp.unlist(fdp.datasets[0], fdp.catalogs[0])


def test_a_record_that_is_made_anew_gets_the_name(fdp: FdpServer, harvest: Harvest) -> None:
    """It has another URL, and the same title."""
    assert counts(harvest) == {"added": 3}
    first, old = first_of(harvest), fdp.datasets[0]
    remove(fdp)
    fdp.add_dataset(fdp.catalogs[0], title="Dataset 0")
    assert counts(harvest) == {"added": 1, "deleted": 1, "not modified": 2}
    assert sorted(names(harvest).values()) == ["dataset-0", "dataset-1", "dataset-2"]
    assert first not in names(harvest)
    # If the old one comes back, it is the same dataset with another name.
    fdp.publish(old)
    fdp.list_also(old, fdp.catalogs[0])
    assert counts(harvest) == {"updated": 1, "not modified": 3}
    assert names(harvest)[first].startswith("dataset-0-")
    assert counts(harvest) == {"not modified": 4}


@pytest.mark.parametrize("deleter", ["source", "editor", "editor, after the source"])
def test_only_a_name_of_what_the_source_deleted_is_free(
    fdp: FdpServer, harvest: Harvest, deleter: str
) -> None:
    harvest.run()
    first = first_of(harvest)
    if deleter == "editor":
        call_action("package_delete", {"user": sysadmin()}, id=first)
    remove(fdp)
    harvest.run()
    assert first not in names(harvest)
    if deleter == "editor, after the source":
        call_action("package_patch", {"user": sysadmin()}, id=first, state="active")
        call_action("package_delete", {"user": sysadmin()}, id=first)
    fdp.add_dataset(fdp.catalogs[0], title="Dataset 0")
    assert counts(harvest) == {"added": 1, "not modified": 2}
    (new,) = (name for name in names(harvest).values() if name.startswith("dataset-0"))
    assert (new == "dataset-0") is (deleter == "source")


SEARCHES = {
    "": 2,
    "dataset_type:dataset": 2,
    "dataset_type:catalog": 2,
    "dataset_type:(dataset OR catalog)": 4,
    "-dataset_type:dataset": 0,
}
"""What a search finds of two datasets and two catalogs."""


def catalogs(harvest: Harvest) -> dict[str, dict[str, Any]]:
    return harvest.datasets(fq_list=["+dataset_type:catalog"])


def test_catalogs_become_packages_of_their_own_type(app: Any, fdp: FdpServer) -> None:
    first = fdp.add_catalog(
        title="Rare diseases", description="A catalogue.", publisher=agent("Institute")
    )
    second = fdp.add_catalog(title="Nested", parent=first)
    dataset = fdp.add_dataset(first, title="Cohort A")
    fdp.add_dataset(second, title="Cohort B")
    harvest = add_source(fdp.source_url, harvest_catalogs=True)
    job = harvest.run()
    assert (job.errors, job.stats["added"]) == ([], 4)
    found = catalogs(harvest)
    assert {url: one["title"] for url, one in found.items()} == {
        fdp.iri_of(first): "Rare diseases",
        fdp.iri_of(second): "Nested",
    }
    package = stored(found[fdp.iri_of(first)]["id"])
    assert extras(package)["guid"] == f"catalog={fdp.iri_of(first)}"
    assert extras(package)["publisher_name"] == "Institute"
    assert (package["type"], package["notes"]) == ("catalog", "A catalogue.")
    assert package["owner_org"] == harvest.source["owner_org"]

    assert "Rare diseases" in app.get("/catalog/").body
    assert "Rare diseases" not in app.get("/dataset/").body
    count = {fq: call_action("package_search", fq=fq)["count"] for fq in SEARCHES}
    assert count == SEARCHES

    assert harvest.run().stats["not modified"] == 4
    fdp.change(first, title="Rarer diseases")
    job = harvest.run()
    assert (job.errors, job.stats["updated"], job.stats["not modified"]) == ([], 1, 3)
    assert stored(package["id"])["title"] == "Rarer diseases"
    assert stored(package["id"])["name"] == package["name"]

    fdp.remove(second)
    job = harvest.run()
    assert (job.errors, job.stats["deleted"]) == ([], 2)
    assert set(catalogs(harvest)) == {fdp.iri_of(first)}
    assert fdp.iri_of(dataset) in harvest.datasets()


def a_day_passes() -> None:
    """Make everything that a job keeps about distributions a day older."""
    extra = harvest_model.HarvestObjectExtra
    for row in model.Session.query(extra).filter_by(key="memory"):
        remembered = json.loads(row.value)
        for uri, text in remembered["refusals"].items():
            refusal = Refusal.parse(text)
            since, first = (one - timedelta(hours=24) for one in (refusal.since, refusal.first))
            remembered["refusals"][uri] = str(Refusal(refusal.kind, since, first))
        row.value = json.dumps(remembered)
    model.Session.commit()


def child(dataset: Record, number: int) -> Record:
    found = dataset.listing(Kind.DISTRIBUTION)[number]
    assert isinstance(found, Record)
    return found


def ids(harvest: Harvest, fdp: FdpServer, dataset: Record) -> dict[str, str]:
    """Return the ids of a dataset's resources by name."""
    return {one["name"]: one["id"] for one in harvest.dataset(dataset, fdp)["resources"]}


def quiet(job: Job) -> bool:
    return job.errors == [] and not job.warnings


def test_a_resource_that_goes_and_comes_back(fdp: FdpServer) -> None:
    dataset = fdp.add_dataset(fdp.add_catalog(), distributions=2)
    harvest = add_source(fdp.source_url)
    assert quiet(harvest.run())
    before = ids(harvest, fdp, dataset)
    failing, other = child(dataset, 0), child(dataset, 1)
    fdp.withdraw(failing)
    for _ in range(2):
        job = harvest.run()
        assert job.errors == []
        assert job.stats["not modified"] == 1
        ((url, (warning,)),) = job.warnings.items()
        assert url == fdp.iri_of(dataset)
        assert warning.startswith(
            f"distribution {fdp.url_of(failing)}: The server refuses access (403); its resource st"
        )
        assert ids(harvest, fdp, dataset) == before

    a_day_passes()
    job = harvest.run()
    assert (job.stats["updated"], len(job.warnings)) == (1, 1)
    assert ids(harvest, fdp, dataset) == {"File 2": before["File 2"]}
    fdp.add_distribution(dataset, title="More")  # CKAN forgets the removed one's row with this
    job = harvest.run()
    assert (quiet(job), job.drafts) == (True, 1)
    assert model.Resource.get(before["File 1"]) is None

    fdp.publish(failing)
    fdp.change(other, title="File 2, too")
    assert quiet(harvest.run())
    after = ids(harvest, fdp, dataset)
    assert after.pop("More") not in before.values()
    assert after == {"File 1": before["File 1"], "File 2, too": before["File 2"]}
    assert harvest.run().stats["not modified"] == 1
