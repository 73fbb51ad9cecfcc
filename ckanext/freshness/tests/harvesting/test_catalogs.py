"""Catalogs as packages, if a source's configuration asks for them."""

from __future__ import annotations

from typing import Any

import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source, extras, stored
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.turtle import agent

SEARCHES = {
    "": 2,
    "dataset_type:dataset": 2,
    "dataset_type:catalog": 2,
    '+dataset_type:"catalog"': 2,
    "dataset_type:(dataset OR catalog)": 4,
    "title:Rare": 0,
    "title:Rare dataset_type:catalog": 1,
    "-dataset_type:dataset": 0,
}
"""What a search finds of two datasets and two catalogs."""


def catalogs(harvest: Harvest) -> dict[str, dict[str, Any]]:
    return harvest.datasets(fq_list=["+dataset_type:catalog"])


@pytest.mark.usefixtures("clean_site")
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
    one = harvest.objects(job)[fdp.iri_of(first)]
    assert (one.guid, one.extras["catalog_url"]) == (
        f"catalog={fdp.iri_of(first)}",
        fdp.iri_of(first),
    )
    assert "dataset_url" not in one.extras

    page = app.get(f"/catalog/{package['name']}")
    assert "Rare diseases" in page.body
    assert "Rare diseases" in app.get("/catalog/").body
    listed = app.get("/dataset/").body
    assert "Cohort A" in listed
    assert "Rare diseases" not in listed
    count = {fq: call_action("package_search", fq=fq)["count"] for fq in SEARCHES}
    assert count == SEARCHES

    assert harvest.run().stats["not modified"] == 4
    fdp.change(first, title="Rarer diseases")
    job = harvest.run()
    assert (job.errors, job.stats["updated"], job.stats["not modified"]) == ([], 1, 3)
    assert stored(package["id"])["title"] == "Rarer diseases"
    assert stored(package["id"])["name"] == package["name"]

    fdp.remove_catalog(second)
    job = harvest.run()
    assert (job.errors, job.stats["deleted"]) == ([], 2)
    assert set(catalogs(harvest)) == {fdp.iri_of(first)}
    assert fdp.iri_of(dataset) in harvest.datasets()
