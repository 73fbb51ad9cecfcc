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
from ckanext.freshness.tests.harvesting.conftest import add_source
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind

URL = "https://fdp.example/dataset/%C3%A4"


@pytest.mark.parametrize(
    ("other", "same", "loosely"),
    [
        (URL, True, True),
        (URL + "/", True, True),
        (URL + "#", True, True),
        (URL + "#a", False, False),
        ("https://fdp.example/dataset/%c3%a4", True, True),
        ("https://fdp.example/dataset/ä", True, True),
        ("https://fdp.example/%64ata%73et/%C3%A4", True, True),
        ("HTTPS://FDP.example:443/dataset/%C3%A4", True, True),
        ("http://fdp.example/dataset/%C3%A4", False, True),
        ("http://fdp.example:80/dataset/%C3%A4/", False, True),
        ("https://fdp.example/Dataset/%C3%A4", False, False),
        ("https://fdp.example/dataset/%C3%A4?", False, False),
        ("https://fdp.example/dataset/a", False, False),
        ("https://www.fdp.example/dataset/%C3%A4", False, False),
        ("http://fdp.example:443/dataset/%C3%A4", False, False),
        ("urn:uuid:1", False, False),
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
    """All records, distributions too, are at other URLs that differ by the same prefix."""
    catalog = fdp.add_catalog()
    datasets = [fdp.add_dataset(catalog) for _ in range(3)]
    harvest = add_source(fdp.source_url)
    harvest.run()

    def ids() -> dict[str, list[str]]:
        return {
            one["id"]: sorted(resource["id"] for resource in one["resources"])
            for one in harvest.datasets().values()
        }

    before = ids()
    assert [len(resources) for resources in before.values()] == [2, 2, 2]
    distributions = [
        distribution for dataset in datasets for distribution in dataset.children[Kind.DISTRIBUTION]
    ]
    for record in [catalog, *datasets, *distributions]:
        assert not isinstance(record, str)
        fdp.respell(record, f"/moved{record.path}")
    job = harvest.run()
    assert job.errors == []
    assert job.stats["updated"] == 3
    assert ids() == before
    assert harvest.run().stats["not modified"] == 3
