"""A record keeps its identity if its URL is only spelled differently."""

from __future__ import annotations

import pytest

from ckanext.freshness.harvesting.record import (
    Containers,
    CurrentRecords,
    KnownRecord,
    loose_spelling,
    spelling,
)
from ckanext.freshness.harvesting.strategy import must_ask
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source, stored
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.catalogue import CatalogueServer, Entry
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record

URL = "https://fdp.example/dataset/%C3%A4"


@pytest.mark.parametrize(
    ("other", "same", "loosely"),
    [
        (URL, True, True),
        (URL + "#", True, True),
        (URL + "#a", False, False),
        ("https://fdp.example/dataset/%c3%a4", True, True),
        ("https://fdp.example/dataset/ä", True, True),
        ("https://fdp.example/%64ata%73et/%C3%A4", True, True),
        ("HTTPS://FDP.example:443/dataset/%C3%A4", True, True),
        ("http://fdp.example/dataset/%C3%A4", False, True),
        ("https://fdp.example/Dataset/%C3%A4", False, False),
        ("https://fdp.example/dataset/%C3%A4?", False, False),
        ("https://www.fdp.example/dataset/%C3%A4", False, False),
        ("", False, False),
    ],
)
def test_spellings(other: str, same: bool, loosely: bool) -> None:
    assert (spelling(other) == spelling(URL)) is same
    assert (loose_spelling(other) == loose_spelling(URL)) is loosely
    found = CurrentRecords([KnownRecord(URL, "guid")]).of(other, {other})
    assert (found is not None) is loosely


def test_what_is_listed_itself_is_no_other_record() -> None:
    current = CurrentRecords([KnownRecord(URL, "guid")])
    assert current.of(URL + "/", {URL, URL + "/"}) is None
    assert current.of(URL, {URL, URL + "/"}) == KnownRecord(URL, "guid")


@pytest.mark.parametrize("catalog", ["http://fdp.example/c", "https://fdp.example/c/"])
def test_a_catalog_that_could_not_be_read_shields_its_records_in_any_spelling(catalog: str) -> None:
    containers = Containers("https://fdp.example", {catalog}, {catalog: "answers 503"})
    assert not must_ask(KnownRecord(URL, "guid", "https://fdp.example/c"), set(), containers)
    assert must_ask(KnownRecord(URL, "guid", "https://fdp.example/d"), set(), containers)


@pytest.mark.usefixtures("clean_site")
def test_a_source_that_moves_keeps_ids_of_datasets_and_resources(fdp: FdpServer) -> None:
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
    fdp.layout.pages = False
    fdp.faults[failing.path] = faults.Status(500)
    for _ in range(2):
        job = harvest.run()
        assert job.errors == []
        assert ids(harvest) == before
    del fdp.faults[failing.path]
    assert harvest.run().stats["updated"] == 1
    assert ids(harvest) == before
    assert harvest.run().stats["not modified"] == 3


@pytest.mark.usefixtures("clean_site")
def test_a_catalogue_that_moves_keeps_ids_of_datasets_and_resources() -> None:
    with CatalogueServer(3) as here, CatalogueServer(3) as there:
        for server in (here, there):
            server.entries[1] = Entry("id-1", "Known by its identifier", is_blank=True)
            server.entries[2] = Entry("002", "Dataset 2", files=("a.csv", "b.csv"))
        harvest = add_source(here.source_url, source_type="dcat_catalog")
        assert harvest.run().stats["added"] == 3
        before = ids(harvest)
        assert sorted(map(len, before.values())) == [1, 1, 2]
        harvest.switch(url=there.source_url)
        job = harvest.run()
        assert (job.errors, job.stats["updated"]) == ([], 3)
        assert ids(harvest) == before
        assert harvest.run().stats["not modified"] == 3


def ids(harvest: Harvest) -> dict[str, list[str]]:
    """Return the ids of the datasets and of their resources."""
    return {
        package_id: sorted(resource["id"] for resource in stored(package_id)["resources"])
        for _, package_id in harvest.current()
    }
