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
    assert extras(package)["publisher"] == '[{"name": "Institute"}]'
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


@pytest.mark.usefixtures("clean_site")
def test_switching_catalogs_on_and_off_touches_nothing_else(fdp: FdpServer) -> None:
    catalog = fdp.add_catalog()
    for _ in range(2):
        fdp.add_dataset(catalog, distributions=0)
    harvest = add_source(fdp.source_url)
    assert harvest.run().stats["added"] == 2
    assert catalogs(harvest) == {}
    datasets = harvest.datasets()

    harvest.configure(harvest_catalogs=True)
    job = harvest.run()
    assert job.errors == []
    assert job.stats == {"added": 1, "updated": 0, "not modified": 2, "errored": 0, "deleted": 0}
    assert harvest.datasets() == datasets
    (package,) = catalogs(harvest).values()

    harvest.configure(harvest_catalogs=False)
    job = harvest.run()
    assert job.errors == []
    assert job.stats == {"added": 0, "updated": 0, "not modified": 2, "errored": 0, "deleted": 1}
    assert stored(package["id"])["state"] == "deleted"
    assert harvest.datasets() == datasets

    harvest.configure(harvest_catalogs=True)
    job = harvest.run()
    assert job.errors == []
    assert job.stats == {"added": 0, "updated": 1, "not modified": 2, "errored": 0, "deleted": 0}
    (again,) = catalogs(harvest).values()
    assert (again["id"], again["name"]) == (package["id"], package["name"])
    assert harvest.datasets() == datasets


@pytest.fixture
def catalog_schema(
    ckan_config: Any, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Give the site a schema for catalogs."""
    plugins = ckan_config["ckan.plugins"]
    names = plugins if isinstance(plugins, list) else plugins.split()
    # CKAN 2.11 sends subfields to Solr as they are, and Solr takes them for nested documents.
    more = ["scheming_datasets", "scheming_nerf_index"]
    monkeypatch.setitem(ckan_config, "ckan.plugins", " ".join([*names, *more]))
    schema = "ckanext.freshness.tests.harvesting:catalog_schema.json"
    monkeypatch.setitem(ckan_config, "scheming.dataset_schemas", schema)
    request.getfixturevalue("clean_site")


def test_a_site_with_a_schema_for_catalogs(catalog_schema: None, app: Any, fdp: FdpServer) -> None:
    catalog = fdp.add_catalog(
        title="Rare diseases",
        theme_taxonomy=["https://example.org/a", "https://example.org/b"],
        publisher=agent("Institute", "info@example.org"),
    )
    fdp.add_dataset(catalog)
    harvest = add_source(fdp.source_url, harvest_catalogs=True)
    job = harvest.run()
    assert (job.errors, job.stats["added"]) == ([], 2)
    (package,) = catalogs(harvest).values()
    assert package["theme_taxonomy"] == ["https://example.org/a", "https://example.org/b"]
    assert package["publisher"] == [{"name": "Institute", "email": "info@example.org"}]
    assert "Rare diseases" in app.get(f"/catalog/{package['name']}").body
    assert call_action("package_search")["count"] == 2, "what is listed is such a site's affair"
    assert harvest.run().stats["not modified"] == 2
