"""A FAIR Data Point harvested through CKAN's actions and the real queues."""

from __future__ import annotations

import pytest

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import HarvestDocument
from ckanext.freshness.tests.harvesting.conftest import add_source, extras, indexed, written
from ckanext.freshness.tests.servers.fdp import FdpServer

pytestmark = pytest.mark.usefixtures("clean_site", "sandbox")


def test_new_unchanged_changed_moved_deleted(fdp: FdpServer) -> None:
    fdp.shuffle = True
    first, second = fdp.add_catalog(title="First"), fdp.add_catalog(title="Second")
    kept = fdp.add_dataset(first, title="Kept")
    edited = fdp.add_dataset(first, title="Edited")
    moving = fdp.add_dataset(first, title="Moving")
    leaving = fdp.add_dataset(second, title="Leaving")
    harvest = add_source(fdp.source_url)

    job = harvest.run()
    assert job.errors == []
    assert job.stats == {"added": 4, "updated": 0, "not modified": 0, "errored": 0, "deleted": 0}
    before = harvest.datasets()
    assert set(before) == {fdp.iri_of(one) for one in (kept, edited, moving, leaving)}
    guid = f"catalog={fdp.iri_of(first)};dataset={fdp.iri_of(kept)}"
    assert extras(before[fdp.iri_of(kept)])["guid"] == guid
    assert (guid, before[fdp.iri_of(kept)]["id"]) in harvest.current()

    as_it_was = written(), indexed()
    job = harvest.run()
    assert job.stats == {"added": 0, "updated": 0, "not modified": 4, "errored": 0, "deleted": 0}
    assert (written(), indexed()) == as_it_was

    fdp.change(edited, title="Edited again")
    fdp.move(moving, second)
    fdp.remove(leaving)
    job = harvest.run()
    assert job.errors == []
    assert job.stats == {"added": 0, "updated": 2, "not modified": 1, "errored": 0, "deleted": 1}
    after = harvest.datasets()
    assert set(after) == {fdp.iri_of(one) for one in (kept, edited, moving)}
    assert after[fdp.iri_of(edited)]["title"] == "Edited again"
    for record in (kept, edited, moving):
        url = fdp.iri_of(record)
        assert after[url]["id"] == before[url]["id"]
        assert after[url]["name"] == before[url]["name"]
        ids = [resource["id"] for resource in after[url]["resources"]]
        assert ids == [resource["id"] for resource in before[url]["resources"]]
    assert extras(after[fdp.iri_of(moving)])["guid"] == (
        f"catalog={fdp.iri_of(second)};dataset={fdp.iri_of(moving)}"
    )
    assert len(harvest.current()) == 3


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
