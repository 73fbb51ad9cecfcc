"""A FAIR Data Point harvested through CKAN's actions and the real queues."""

from __future__ import annotations

import pytest

from ckanext.freshness.tests.harvesting.conftest import add_source, extras, indexed, written
from ckanext.freshness.tests.servers.fdp import FdpServer

pytestmark = pytest.mark.usefixtures("clean_site", "sandbox")


def test_new_unchanged_changed_moved_deleted(fdp: FdpServer) -> None:
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
