"""What only a database shows of a FAIR Data Point: which texts it accepts, and which documents it remembers."""

from __future__ import annotations

import random

import pytest

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import HarvestDocument
from ckanext.freshness.tests.harvesting.conftest import add_source
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind as Level

pytestmark = pytest.mark.usefixtures("clean_site")


def test_urls_as_long_and_as_odd_as_they_come(fdp: FdpServer) -> None:
    """The database accepts each listed URL, or the job reports it and goes on."""
    noise = random.Random(1).randbytes(1000).hex()
    base = len(fdp.url)
    catalog, other = fdp.add_catalog(noise[: 1200 - base - len("/catalog/")]), fdp.add_catalog()
    paths = ["/data?id=1;v=2", "/sp%20ace;a=b", "/%C3%A4", f"/{noise[: 1199 - base]}"]
    for path in paths:
        fdp.add_dataset(catalog, path=path, distributions=1)
    fdp.list_also(f"{fdp.url}/{noise[: 1200 - base]}", catalog, Level.DATASET)
    nul = f"\n<{fdp.iri_of(other)}> dcat:dataset <{fdp.url}/\\u0000> ."
    fdp.faults[other.path] = faults.Body((fdp.renderer.document(other) + nul).encode())
    harvest = add_source(fdp.source_url)
    job = harvest.run()
    assert job.gather_errors == []
    assert job.stats["added"] == 4
    assert set(harvest.datasets()) == {fdp.iri_of(one) for one in fdp.datasets}
    assert harvest.run().stats["not modified"] == 4


def test_documents_are_remembered_by_their_bytes(fdp: FdpServer) -> None:
    """The test changes the memory. The job believes it, so it did not parse the bytes."""
    catalog = fdp.add_catalog()
    fdp.add_dataset(catalog)
    harvest = add_source(fdp.source_url)
    harvest.run()

    def rows() -> list[HarvestDocument]:
        found = model.Session.query(HarvestDocument)
        return list(found.filter_by(source_id=harvest.source["id"]))

    learnt = {row.url: row.digest for row in rows()}
    assert len([url for url in learnt if "#" not in url]) == 3  # root, catalog, page
    harvest.run()
    assert {row.url: row.digest for row in rows()} == learnt

    (row,) = (one for one in rows() if one.url == fdp.iri_of(catalog))
    row.outline = {**row.outline, "datasets": [*row.outline["datasets"], f"{fdp.url}/made-up"]}  # type: ignore[assignment]
    model.Session.commit()
    fdp.reset()
    assert harvest.run().errors == []
    assert fdp.count("/made-up") == 1
