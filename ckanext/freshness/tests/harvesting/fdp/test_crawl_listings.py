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
