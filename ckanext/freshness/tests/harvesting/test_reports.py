"""Faults that people reported of other harvesters: accidents of sites. The docstrings name public issues."""

from __future__ import annotations

import re

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.tests.harvesting.conftest import (
    Harvest,
    Job,
    add_source,
    extras,
)
from ckanext.freshness.tests.harvesting.test_takeover import clear_history
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.harvest import model as harvest_model

pytestmark = pytest.mark.usefixtures("clean_site")


def filled(fdp: FdpServer) -> Harvest:
    """Harvest a server with twelve datasets."""
    catalog = fdp.add_catalog()
    for number in range(12):
        fdp.add_dataset(catalog, title=f"Title {number}", distributions=1)
    harvest = add_source(fdp.source_url)
    assert harvest.run().stats["added"] == 12
    return harvest


def counts(job: Job) -> dict[str, int]:
    """Return the counts that are not 0."""
    assert job.errors == []
    return {key: count for key, count in job.stats.items() if count}


def test_current_objects_that_others_have_mixed_up(fdp: FdpServer) -> None:
    """GSA/data.gov 3403: a package has two current objects, another one has none"""
    harvest = filled(fdp)
    twice, never, *_ = fdp.datasets
    objects = {
        record: harvest_model.HarvestObject.Session.query(harvest_model.HarvestObject)
        .filter_by(package_id=harvest.dataset(record, fdp)["id"])
        .one()
        for record in (twice, never)
    }
    first = objects[twice]
    more = harvest_model.HarvestObject(
        guid=first.guid, job=first.job, package_id=first.package_id, current=True, state="COMPLETE"
    )
    more.harvest_source_id = first.harvest_source_id
    model.Session.add(more)
    objects[never].current = False
    model.Session.commit()
    before = harvest.datasets()
    assert counts(harvest.run()) == {"updated": 1, "not modified": 11}
    assert counts(harvest.run()) == {"not modified": 12}
    assert harvest.datasets().keys() == before.keys()
    for record in (twice, never):
        fdp.remove(record)
    assert counts(harvest.run()) == {"deleted": 2, "not modified": 10}
    assert len(harvest.current()) == 10


def test_a_copy_that_an_editor_made(fdp: FdpServer) -> None:
    """A copy has the extras of the harvested dataset."""
    harvest = filled(fdp)
    record = fdp.datasets[0]
    original = harvest.dataset(record, fdp)
    kept = [one for one in original["extras"] if not one["key"].startswith("harvest_")]
    copy = factories.Dataset(owner_org=original["owner_org"], extras=kept, title="A copy")
    fdp.change(record, title="Changed")
    assert counts(harvest.run()) == {"updated": 1, "not modified": 11}
    fdp.remove(record)
    assert counts(harvest.run()) == {"deleted": 1, "not modified": 11}
    after = call_action("package_show", id=copy["id"])
    assert (after["title"], after["state"]) == ("A copy", "active")
    assert extras(after)["guid"] == extras(original)["guid"]


def test_a_source_whose_url_is_edited(fdp: FdpServer) -> None:
    """GSA/data.gov 824: the records of the rest are held until the URL is right again"""
    harvest = filled(fdp)
    second = fdp.add_catalog()
    for number in range(6):
        fdp.add_dataset(second, title=f"Second {number}", distributions=0)
    harvest.run()
    before = {url: one["id"] for url, one in harvest.datasets().items()}
    harvest.switch(url=fdp.url_of(second))
    job = harvest.run()
    assert re.search("12 deletions are held", "".join(job.errors))
    assert (job.stats["deleted"], job.stats["not modified"]) == (0, 6)
    harvest.switch(url=fdp.source_url)
    assert counts(harvest.run()) == {"not modified": 18}
    assert {url: one["id"] for url, one in harvest.datasets().items()} == before


def test_a_history_that_is_cleared_while_deletions_are_held(fdp: FdpServer) -> None:
    """ckan/ckanext-harvest 268: what the next job cannot see stays, and is taken back later"""
    harvest = filled(fdp)
    before = {url: one["id"] for url, one in harvest.datasets().items()}
    for record in fdp.datasets[:9]:
        fdp.unlist(record, fdp.catalogs[0])
    assert harvest.run().stats["deleted"] == 0
    clear_history(harvest)
    assert counts(harvest.run()) == {"added": 3}
    for record in fdp.datasets[:9]:
        fdp.list_also(record, fdp.catalogs[0])
    assert counts(harvest.run()) == {"added": 9, "not modified": 3}
    assert {url: one["id"] for url, one in harvest.datasets().items()} == before
