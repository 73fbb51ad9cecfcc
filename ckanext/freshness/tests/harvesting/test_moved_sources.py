"""The URL of a source is edited, because the server has moved to another host or path."""

from __future__ import annotations

import dataclasses

import pytest
from ckan.tests import factories

from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source, stored
from ckanext.freshness.tests.harvesting.test_pages import Browser, path, words
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.catalogue import CatalogueServer, Entry
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record

pytestmark = pytest.mark.usefixtures("clean_site")


def ids(harvest: Harvest) -> dict[str, list[str]]:
    """Return the ids of the datasets and of their resources."""
    return {
        package_id: sorted(resource["id"] for resource in stored(package_id)["resources"])
        for _, package_id in harvest.current()
    }


def move(fdp: FdpServer, harvest: Harvest) -> None:
    """Move a server to another host, with all its IRIs, and edit the source's URL."""
    there = fdp.url_at("127.0.0.2")
    fdp.renderer.base = there
    harvest.switch(url=there)


def test_records_at_other_paths_keep_their_ids_by_uuid(fdp: FdpServer) -> None:
    """All records, distributions and files are at other URLs, and one distribution cannot be read there."""
    catalog = fdp.add_catalog()
    datasets = [fdp.add_dataset(catalog) for _ in range(3)]
    harvest = add_source(fdp.source_url)
    harvest.run()
    before = ids(harvest)
    assert [len(resources) for resources in before.values()] == [2, 2, 2]
    distributions = [
        one
        for dataset in datasets
        for one in dataset.children[Kind.DISTRIBUTION]
        if isinstance(one, Record)
    ]
    for record in [catalog, *datasets, *distributions]:
        fdp.respell(record, f"/moved{record.path}")
    for record in distributions:
        name = record.fields["download_url"].rpartition("/")[2]
        fdp.change(record, download_url=f"https://files.example/moved/{name}")
    failing = distributions[0]
    fdp.faults[failing.path] = faults.Status(500)
    for _ in range(2):
        job = harvest.run()
        assert job.errors == []
        assert ids(harvest) == before
    del fdp.faults[failing.path]
    assert harvest.run().stats["updated"] == 1
    assert ids(harvest) == before
    assert harvest.run().stats["not modified"] == 3


def test_a_catalogue_at_another_host_keeps_its_ids_by_path_and_identifier() -> None:
    with CatalogueServer(4) as here, CatalogueServer(4) as there:
        for server in (here, there):
            server.entries[1] = Entry("id-1", "Known by its identifier", is_blank=True)
            server.entries[2] = Entry("002", "Dataset 2", files=("a.csv", "b.csv"))
        there.paths["003"] = "other/path"
        harvest = add_source(here.source_url, source_type="dcat_catalog")
        assert harvest.run().stats["added"] == 4
        before = ids(harvest)
        assert sorted(map(len, before.values())) == [1, 1, 1, 2]
        harvest.switch(url=there.source_url)
        job = harvest.run()
        assert (job.errors, job.stats["updated"]) == ([], 4)
        assert ids(harvest) == before
        assert harvest.run().stats["not modified"] == 4


def test_what_nothing_identifies_is_held(app: object, fdp: FdpServer) -> None:
    """Numbers identify no records of another server, nor does a path with another title."""
    catalog = fdp.add_catalog(id="1")
    for number in range(3):
        fdp.add_dataset(catalog, id=str(number))
    harvest = add_source(fdp.source_url)
    harvest.run()
    with CatalogueServer(3) as here, CatalogueServer(3) as there:
        there.entries = [
            dataclasses.replace(one, title=f"Other {one.title}") for one in here.entries
        ]
        catalogue = add_source(here.source_url, source_type="dcat_catalog")
        catalogue.run()
        before = [(one, ids(one)) for one in (harvest, catalogue)]
        move(fdp, harvest)
        catalogue.switch(url=there.source_url)
        editor = Browser(app, factories.SysadminWithToken())
        for one, datasets in before:
            job = one.run()
            assert (job.stats["added"], job.stats["deleted"]) == (3, 0)
            assert datasets.items() <= ids(one).items()
            page = words(editor.get(path(one, "held")))
            assert "3 of 6 datasets would be deleted. We stopped that." in page
