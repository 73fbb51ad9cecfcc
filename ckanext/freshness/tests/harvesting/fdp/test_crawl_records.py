"""Records that are drafts, withdrawn, gone or incomplete."""

from __future__ import annotations

from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import (
    Site,
    unchanged,
    urls,
    without_links,
)
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind as Level
from ckanext.freshness.tests.servers.fdp_model import Record

# Drafts, and records that are withdrawn or gone


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
