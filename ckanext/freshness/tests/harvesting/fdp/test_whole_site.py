"""What only a database shows of a FAIR Data Point: which documents it remembers."""

from __future__ import annotations

import pytest

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import HarvestDocument
from ckanext.freshness.tests.harvesting.conftest import add_source
from ckanext.freshness.tests.servers.fdp import FdpServer

pytestmark = pytest.mark.usefixtures("clean_site")


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
