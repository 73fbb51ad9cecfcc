"""Sources of ckanext-dcat's harvester that become ours: packages, ids, names and resource ids stay."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import ckan.plugins as p
import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source, sysadmin
from ckanext.freshness.tests.servers.catalogue import CatalogueServer, Entry

pytestmark = pytest.mark.usefixtures("clean_site")


@pytest.fixture
def server(clean_site: None) -> Iterator[CatalogueServer]:
    with p.use_plugin("dcat", "dcat_rdf_harvester"), CatalogueServer(10, page_size=4) as running:
        running.entries[3] = Entry("id-3", "Known by its identifier", is_blank=True)
        yield running


def found(harvest: Harvest) -> dict[str, tuple[str, str, list[str]]]:
    """Return id, name and ids of resources of the active datasets, by title."""
    shown = call_action("package_search", rows=100, include_private=True)["results"]
    return {
        one["title"]: (one["id"], one["name"], [r["id"] for r in one["resources"]]) for one in shown
    }


def test_a_source_of_dcat_rdf_becomes_ours(server: CatalogueServer) -> None:
    harvest = add_source(server.source_url, source_type="dcat_rdf", rdf_format="turtle")
    assert harvest.run().stats["added"] == 10
    before = found(harvest)
    assert len(before) == 10

    harvest.switch(source_type="dcat_catalog")
    job = harvest.run()
    assert job.errors == [] and job.stats["added"] == job.stats["deleted"] == 0
    assert found(harvest) == before
    job = harvest.run()
    assert job.errors == [] and job.stats["not modified"] == 10

    server.entries[0] = dataclasses.replace(server.entries[0], files=("data.csv", "more.csv"))
    gone = server.entries.pop()
    job = harvest.run()
    assert job.errors == []
    assert (job.stats["updated"], job.stats["deleted"]) == (1, 1)
    after = found(harvest)
    assert after.keys() == before.keys() - {gone.title}
    assert set(before["Dataset 0"][2]) < set(after["Dataset 0"][2])


def test_a_resource_that_goes_and_comes_back_has_the_id_of_dcat_rdf(
    server: CatalogueServer,
) -> None:
    harvest = add_source(server.source_url, source_type="dcat_rdf", rdf_format="turtle")
    harvest.run()
    before = found(harvest)["Dataset 1"]
    harvest.switch(source_type="dcat_catalog")
    entry = server.entries[1]
    for files in (entry.files, (), entry.files):
        server.entries[1] = dataclasses.replace(entry, files=files)
        assert harvest.run().errors == []
        assert len(found(harvest)["Dataset 1"][2]) == len(files)
    assert found(harvest)["Dataset 1"] == before


def test_the_packages_of_a_deleted_source_are_taken_over(server: CatalogueServer) -> None:
    harvest = add_source(server.source_url, source_type="dcat_rdf")
    harvest.run()
    before = found(harvest)
    call_action("harvest_source_delete", {"user": sysadmin()}, id=harvest.source["id"])
    again = add_source(server.source_url, source_type="dcat_catalog")
    assert again.run().errors == []
    assert found(again) == before
