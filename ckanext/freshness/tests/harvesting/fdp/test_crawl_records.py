"""Records that are drafts, withdrawn, gone or incomplete."""

from __future__ import annotations

import pytest
from rdflib import Graph
from rdflib.term import Node

from ckanext.freshness.harvesting.rdf.mapping import map_dataset
from ckanext.freshness.harvesting.record import Record as Contents
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import (
    Site,
    unchanged,
    urls,
    with_and_without_pages,
    without_links,
)
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind as Level
from ckanext.freshness.tests.servers.fdp_model import Record

# Drafts, and records that are withdrawn or gone


@with_and_without_pages
@pytest.mark.parametrize("status", [401, 403])
def test_drafts_are_nobodys_fault(fdp: FdpServer, pages: bool, status: int) -> None:
    fdp.layout.pages = pages
    catalog, hidden = fdp.add_catalog(), fdp.add_catalog()
    fdp.withdraw(hidden, status)
    fdp.add_dataset(hidden)
    draft = fdp.add_dataset(catalog, title="Draft")
    fdp.withdraw(draft, status)
    half = fdp.add_dataset(catalog, title="Half", distributions=2)
    inner = half.listing(Level.DISTRIBUTION)[0]
    assert isinstance(inner, Record)
    fdp.withdraw(inner, status)
    site = Site(fdp)
    job = site.job()
    assert job.errors == job.warnings == []
    assert job.drafts == 1
    assert job.of(RecordClass.NEW) == urls(fdp, half)
    assert site.packages[fdp.iri_of(half)].resources == ["File 2"]
    job = unchanged(site)
    assert job.warnings == []
    assert job.drafts == 1
    fdp.publish(draft)
    fdp.publish(hidden)
    fdp.publish(inner)
    job = site.job()
    assert job.errors == []
    assert site.titles() == {"Draft", "Half", "Dataset 4"}
    assert site.packages[fdp.iri_of(half)].resources == ["File 1", "File 2"]


@with_and_without_pages
def test_a_record_that_cannot_be_mapped_fails_alone(fdp: FdpServer, pages: bool) -> None:
    """It is neither deleted nor changed."""
    fdp.layout.pages = pages
    catalog = fdp.add_catalog()
    odd, other = (fdp.add_dataset(catalog, title="1") for _ in range(2))
    site = Site(fdp)
    site.job()

    def choosy(graph: Graph, subject: Node) -> Contents:
        if str(subject) == fdp.iri_of(odd):
            raise KeyError("what somebody's profile may raise")
        return map_dataset(graph, subject)

    site.options = {"mapper": choosy}
    for one in (odd, other):
        fdp.change(one, title="2")
    job = site.job()
    assert job.kinds == {fdp.iri_of(other): RecordClass.CHANGED}
    assert site.titles() == {"1", "2"}
    (words,) = job.errors
    assert "the record cannot be mapped: an unexpected error" in words
    assert "KeyError" not in words


def test_distributions_that_a_page_leaves_out_are_asked_for(fdp: FdpServer) -> None:
    """If a server cuts pages short without links, no resource may be lost."""
    dataset = fdp.add_dataset(fdp.add_catalog(), distributions=5)
    fdp.layout.max_page_size = 2
    without_links(fdp)
    site = Site(fdp)
    site.job()
    names = [f"File {n}" for n in range(1, 6)]
    assert site.packages[fdp.iri_of(dataset)].resources == names
    unchanged(site)
    last = dataset.listing(Level.DISTRIBUTION)[4]
    assert isinstance(last, Record)
    fdp.change(last, title="Changed")
    assert site.job().of(RecordClass.CHANGED) == urls(fdp, dataset)
