"""Listings of containers, and the catalog of each record."""

from __future__ import annotations

import pytest
from rdflib import DCTERMS

from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import (
    DAY,
    NOW,
    Site,
    harvested,
    unchanged,
    urls,
)
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind as Level
from ckanext.freshness.tests.servers.fdp_paging import Paging
from ckanext.freshness.tests.servers.fdp_render import Layout

# Listings


def test_containers_that_list_themselves_and_each_other(fdp: FdpServer) -> None:
    outer = fdp.add_catalog(title="Outer")
    inner = fdp.add_catalog(title="Inner", parent=outer)
    dataset = fdp.add_dataset(inner)
    fdp.list_also(fdp.root, fdp.root, Level.CATALOG)
    fdp.list_also(fdp.source_url + "/", fdp.root, Level.CATALOG)
    for catalog in (outer, inner):
        fdp.list_also(catalog, catalog, Level.CATALOG)
        fdp.list_also(catalog, catalog, Level.DATASET)
        fdp.list_also(fdp.root, catalog, Level.CATALOG)
        fdp.list_also(fdp.root, catalog, Level.DATASET)
    fdp.list_also(outer, inner, Level.CATALOG)
    site = Site(fdp)
    job = site.job()
    assert job.errors == []
    assert job.of(RecordClass.NEW) == urls(fdp, dataset)
    assert job.containers.catalogs == urls(fdp, outer, inner)
    unchanged(site)


@pytest.mark.parametrize(("count", "is_full"), [(5, False), (6, True)])
def test_a_page_is_full_by_members_of_all_kinds(fdp: FdpServer, count: int, is_full: bool) -> None:
    """Nothing says which page is the last one. The root lists four catalogs, and one of them the fifth."""
    fdp.layout = Layout(paging=Paging.BARE_LINK, page_size=3, newest_first=True)
    *_, catalog = [fdp.add_catalog() for _ in range(4)]
    fdp.add_catalog(parent=catalog)
    *_, gone = [fdp.add_dataset(catalog, distributions=0) for _ in range(count)]
    site = Site(fdp)
    site.job()
    fdp.unlist(gone, catalog)
    fdp.faults[gone.path] = faults.Status(500)
    for day in range(2):
        job = site.job(NOW + day * DAY)
    assert job.of(RecordClass.DELETED) == (set() if is_full else urls(fdp, gone)), job.errors


def test_a_listed_record_that_is_away_for_a_moment_while_pages_shift(fdp: FdpServer) -> None:
    """The first reading of the list does not have it: an absence is seen twice, even if its URL answers 404."""
    fdp.layout = Layout(paging=Paging.LINK, page_size=4)
    catalog = fdp.add_catalog()
    first, *_, last = [fdp.add_dataset(catalog, distributions=0) for _ in range(6)]
    site = Site(fdp)
    site.job()
    fdp.vanish(last)
    fdp.unlist(last, catalog)
    catalog.children[Level.DATASET].insert(4, last)
    fdp.faults[catalog.path] = faults.Meanwhile(act=lambda: fdp.unlist(first, catalog), times=1)
    assert site.job().of(RecordClass.DELETED) == set()


def test_a_url_that_nobody_can_ask_for_is_told_and_the_rest_is_read(fdp: FdpServer) -> None:
    catalog = fdp.add_catalog()
    dataset = fdp.add_dataset(catalog)
    fdp.list_also(f"{fdp.url}/{'x' * 1300}", catalog, Level.DATASET)
    fdp.list_also("urn:uuid:1", catalog, Level.DATASET)
    job = Site(fdp).job()
    assert job.of(RecordClass.NEW) == urls(fdp, dataset)
    assert job.container_errors == []
    told = job.survey.crawled.not_harvested["URL that cannot be requested"]
    assert (told.count, told.examples) == (1, [fdp.url_of(catalog)])
    assert job.record_errors == {
        "urn:uuid:1": "urn:uuid:1: is a urn: URL; only http and https are requested"
    }


@pytest.mark.parametrize("text", ['<{0}> <{1}title> "Live" .', "<{0}> a <{1}Resource> ."])
def test_an_unlisted_dataset_whose_document_lost_its_type_is_held(
    fdp: FdpServer, text: str
) -> None:
    site, (catalog,), datasets = harvested(fdp, 20)
    fdp.unlist(datasets[3], catalog)
    body = text.format(fdp.iri_of(datasets[3]), DCTERMS).encode()
    fdp.faults[datasets[3].path] = faults.Body(body, "text/turtle")
    for day in range(2):
        job = site.job(NOW + day * DAY)
        assert job.of(RecordClass.DELETED) == set() and job.brake is not None


ANSWERS_OF_A_LISTED_RECORD = [
    # its answers in jobs a day apart, and what the last of these jobs does
    ((403, 403), "deleted"),
    ((404, 404), "deleted"),
    ((403, 500, 403), "deleted"),
    ((403, 404), "kept"),
    ((404, 403), "kept"),
    ((403, 404, 404), "deleted"),
    ((403, 404, 403), "held"),
    ((403, 404, 403, 500), "held"),
    ((403, 404, 403, 403), "deleted"),
    ((403, 404, 403, 200), "kept"),
    ((403, 200, 403), "kept"),
    ((404, 200, 404), "kept"),
]


@pytest.mark.parametrize(("statuses", "becomes"), ANSWERS_OF_A_LISTED_RECORD)
def test_two_refusals_are_the_same_only_if_their_answers_are(
    fdp: FdpServer, statuses: tuple[int, ...], becomes: str
) -> None:
    site, _, records = harvested(fdp, 8)
    for day, status in enumerate(statuses):
        fdp.faults.clear()
        if status != 200:
            fdp.faults[records[3].path] = faults.Status(status)
        job = site.job(NOW + day * DAY)
    assert job.of(RecordClass.DELETED) == (urls(fdp, records[3]) if becomes == "deleted" else set())
    assert bool(site.held) is (becomes == "held")
