"""Datasets keep their identity when their source changes its harvester, and when it is created again."""

from __future__ import annotations

import re

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.dates import utc_now
from ckanext.freshness.harvesting.ckan.source_type import CKAN_PORTAL
from ckanext.freshness.harvesting.dcat.source_type import DCAT_CATALOG
from ckanext.freshness.harvesting.fdp.source_type import FAIR_DATA_POINT
from ckanext.freshness.harvesting.record import urls_in_guid
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.harvesting.conftest import (
    Harvest,
    Published,
    add_source,
    extras,
    stored,
    sysadmin,
)
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.catalogue import CatalogueServer
from ckanext.freshness.tests.servers.ckan_portal import PortalServer
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind as Level
from ckanext.freshness.tests.servers.fdp_model import Record
from ckanext.harvest import model as harvest_model

pytestmark = pytest.mark.usefixtures("clean_site")


def identities(harvest: Harvest) -> dict[str, tuple[str, str]]:
    return {url: (one["id"], one["name"]) for url, one in harvest.datasets().items()}


def filled(fdp: FdpServer, datasets: int = 4) -> None:
    catalog = fdp.add_catalog()
    for number in range(datasets):
        fdp.add_dataset(catalog, title=f"Dataset {number}")


# Another harvester


GUIDS = [
    # the other harvester's guid, the dataset's "uri", its class with us, whether it is held when unlisted
    ("catalog={catalog};dataset={dataset}", "", RecordClass.CHANGED, True),
    ("dataset={dataset}", "", RecordClass.MOVED, True),
    ("catalog={catalog};dataseries={dataset}", "", RecordClass.MOVED, True),
    ("dataseries={dataset}", "", RecordClass.MOVED, True),
    ("{dataset}", "{dataset}", RecordClass.MOVED, True),
    ("local-3", "{dataset}", RecordClass.MOVED, True),
    ("dataset=local-4", "{dataset}", RecordClass.MOVED, True),
    ("https://doi.org/10.5555/5", "{dataset}", RecordClass.MOVED, True),
    ("{dataset}", "", RecordClass.MOVED, False),
    ("local-7", "", RecordClass.NEW, False),
    ("https://doi.org/10.5555/8", "urn:uuid:8", RecordClass.NEW, False),
]


def test_the_guids_that_other_harvesters_write(fdp: FdpServer) -> None:
    """Recognised where possible. Unlisted ones are held, or kept if nothing tells their URL."""
    filled(fdp, datasets=len(GUIDS) + 1)
    harvest = add_source(fdp.source_url, max_delete_fraction=1)
    harvest.run()
    ids = {url: id for url, (id, _) in identities(harvest).items()}
    catalog = fdp.iri_of(fdp.catalogs[0])
    rows = list(zip(GUIDS, fdp.datasets, strict=False))
    for (guid, uri, _, _), record in rows:
        url = fdp.iri_of(record)
        names = {"catalog": catalog, "dataset": url}
        written_by_another(ids[url], guid.format(**names), uri.format(**names))

    said = harvest.preview()
    found = {one.url: kind for kind, entries in said.changes.items() for one in entries}
    assert [found[fdp.iri_of(record)] for _, record in rows] == [row[2] for row in GUIDS]
    assert said.changes[RecordClass.DELETED] == []

    packages = [ids[fdp.iri_of(record)] for _, record in rows]
    for _, record in rows:
        fdp.remove(record)
    said = harvest.preview()
    assert said.changes[RecordClass.DELETED] == []
    held = {one.package_id for one in said.held}
    kept = {one.package_id for one in said.kept}
    assert [id in held for id in packages] == [row[3] for row in GUIDS]
    assert held | kept == set(packages)
    assert said.survey.brake is not None
    assert said.survey.brake.reason.startswith(
        "8 of 12 records would be deleted that only another harv"
    )


def written_by_another(package_id: str, guid: str, uri: str) -> None:
    """Reduce a record's object to what another harvester would have written."""
    (row,) = model.Session.query(harvest_model.HarvestObject).filter_by(
        package_id=package_id, current=True
    )
    for extra in row.extras:
        model.Session.delete(extra)
    row.guid = guid
    model.Session.commit()
    package = call_action("package_show", id=package_id)
    kept = [one for one in package["extras"] if one["key"] not in ("uri", "guid")]
    kept = [one for one in kept if not one["key"].startswith("harvest_")]
    if uri:
        kept.append({"key": "uri", "value": uri})
    call_action("package_update", {"user": sysadmin()}, **{**package, "extras": kept})


# A source that is created again


def test_a_source_that_is_made_again_has_its_datasets(fdp: FdpServer) -> None:
    """By the form; the tests below make theirs by the API."""
    filled(fdp)
    first = add_source(fdp.source_url, language="en")
    first.run()
    before = identities(first)
    call_action("harvest_source_delete", {"user": sysadmin()}, id=first.source["id"])

    edited = fdp.datasets[0]
    fdp.change(edited, title="Edited")
    again = make_again(first, form=True)
    assert again.source["name"] == first.source["name"]
    assert again.source["id"] != first.source["id"]
    said = again.preview()
    (changed,) = said.changes[RecordClass.CHANGED]
    assert changed.package_id == before[fdp.iri_of(edited)][0]
    assert len(said.changes[RecordClass.UNCHANGED]) == 3
    job = again.run()
    assert job.errors == []
    assert job.stats == {"added": 0, "updated": 1, "not modified": 3, "errored": 0, "deleted": 0}
    refresh(utc_now())
    assert identities(again) == before
    assert again.datasets()[fdp.iri_of(edited)]["title"] == "Edited"
    assert call_action("package_search", rows=0)["count"] == 4
    assert first.current() == []
    assert len(again.current()) == 4
    # Clearing the old source takes no dataset from the new one.
    call_action("harvest_source_clear", {"user": sysadmin()}, id=first.source["id"])
    assert again.run().stats["not modified"] == 4
    assert identities(again) == before


def test_a_record_that_comes_back_to_a_source_that_was_made_again(fdp: FdpServer) -> None:
    """What it had then and has no more is no editor's."""
    filled(fdp)
    first, goes = add_source(fdp.source_url, delete_unlisted=True), fdp.datasets[0]
    first.run()
    package_id = first.dataset(goes, fdp)["id"]
    call_action("harvest_source_delete", {"user": sysadmin()}, id=first.source["id"])
    again = make_again(first)
    again.run()
    fdp.unlist(goes, fdp.catalogs[0])
    assert again.two_jobs().stats["deleted"] == 1
    for distribution in goes.listing(Level.DISTRIBUTION):
        fdp.unlist(distribution, goes)
    fdp.list_also(goes, fdp.catalogs[0])
    assert again.run().errors == []
    after = stored(package_id)
    assert (after["state"], after["resources"]) == ("active", [])


def resource_ids(harvest: Harvest) -> set[str]:
    return {one["id"] for dataset in harvest.datasets().values() for one in dataset["resources"]}


# A source without its history


def clear_history(harvest: Harvest) -> None:
    """Delete a source's jobs and objects, as ``ckan harvester source clear-history`` does."""
    call_action("harvest_source_job_history_clear", {"user": sysadmin()}, id=harvest.source["id"])
    model.Session.remove()


def test_a_source_whose_history_was_cleared_has_its_datasets(fdp: FdpServer) -> None:
    filled(fdp)
    harvest = add_source(fdp.source_url, harvest_catalogs=True)
    harvest.run()
    before = identities(harvest), resource_ids(harvest)
    packages = {package_id for _, package_id in harvest.current()}
    edited = fdp.datasets[0]
    shown = stored(before[0][fdp.iri_of(edited)][0])
    own = {
        "extras": [*shown["extras"], {"key": "documentation", "value": "On paper"}],
        "tags": [{"name": "by an editor"}],
        "resources": [*shown["resources"], {"name": "Mine", "url": "https://example.org/mine"}],
    }
    call_action("package_patch", {"user": sysadmin()}, id=shown["id"], **own)
    before = identities(harvest), resource_ids(harvest)
    for _ in range(2):
        clear_history(harvest)
        assert harvest.current() == []
        fdp.change(edited, title="Edited")
        said = harvest.preview()
        assert {one.package_id for one in said.changes[RecordClass.NEW]} == packages
        assert harvest.run().errors == []
        assert (identities(harvest), resource_ids(harvest)) == before
        assert {package_id for _, package_id in harvest.current()} == packages
        after = harvest.datasets()[fdp.iri_of(edited)]
        assert (after["title"], extras(after)["documentation"]) == ("Edited", "On paper")
        assert "by an editor" in [tag["name"] for tag in after["tags"]]
    assert harvest.run().stats["not modified"] == 5


def test_a_dataset_that_names_a_record_is_not_taken_from_a_person(fdp: FdpServer) -> None:
    filled(fdp, datasets=1)
    harvest = add_source(fdp.source_url)
    guid = f"catalog={fdp.iri_of(fdp.catalogs[0])};dataset={fdp.iri_of(fdp.datasets[0])}"
    other = factories.Dataset(extras=[{"key": "guid", "value": guid}])
    deleted = factories.Dataset(
        owner_org=harvest.source["owner_org"], extras=[{"key": "guid", "value": guid}]
    )
    call_action("package_delete", {"user": sysadmin()}, id=deleted["id"])
    harvest.run()
    (found,) = harvest.datasets().values()
    assert found["id"] not in (other["id"], deleted["id"])


def test_an_active_dataset_comes_before_a_deleted_one(fdp: FdpServer) -> None:
    """Another source, which was deleted, has harvested a record that came back."""
    filled(fdp)
    catalog, goes = fdp.catalogs[0], fdp.datasets[0]
    harvest = add_source(fdp.source_url, delete_unlisted=True)
    harvest.run()
    fdp.unlist(goes, catalog)
    assert harvest.two_jobs().stats["deleted"] == 1
    fdp.list_also(goes, catalog)
    other = make_again(harvest, name="other", config="")
    other.run()
    active = other.dataset(goes, fdp)["id"]
    call_action("harvest_source_delete", {"user": sysadmin()}, id=other.source["id"])
    assert harvest.run().errors == []
    assert active in {package_id for _, package_id in harvest.current()}


def make_again(harvest: Harvest, *, form: bool = False, user: str = "", **other: str) -> Harvest:
    """Create a source like another one. ckanext-harvest's form calls ``package_create`` itself."""
    keys = ("name", "title", "url", "source_type", "owner_org", "config")
    fields = {key: harvest.source.get(key) or "" for key in keys} | other
    context = {"user": user or sysadmin(), "ignore_auth": False}
    if form:
        return Harvest(call_action("package_create", context, **fields, type="harvest"))
    return Harvest(call_action("harvest_source_create", context, **fields))


@pytest.mark.usefixtures("impatient_checks")
@pytest.mark.parametrize("status", [403, 500])
def test_a_source_that_is_made_again_keeps_what_it_cannot_read(fdp: FdpServer, status: int) -> None:
    """A distribution that the first job cannot read has a resource from the deleted source."""
    filled(fdp, datasets=2)
    first = add_source(fdp.source_url)
    first.run()
    before = identities(first), resource_ids(first)
    assert len(before[1]) == 4
    call_action("harvest_source_delete", {"user": sysadmin()}, id=first.source["id"])
    dataset = fdp.datasets[0]
    failing, _ = dataset.listing(Level.DISTRIBUTION)
    assert isinstance(failing, Record)
    fdp.faults[failing.path] = faults.Status(status)
    again = make_again(first)
    for _ in range(2):
        job = again.run()
        refresh(utc_now())
        assert job.errors == []
        (warnings,) = job.warnings.values()
        assert any(fdp.url_of(failing) in one for one in warnings)
        assert (identities(again), resource_ids(again)) == before
    assert job.stats["not modified"] == 2


def test_sources_without_history_take_only_datasets_of_their_own(fdp: FdpServer) -> None:
    """Two sources have the same records, in the same organization and in another one."""
    filled(fdp, datasets=2)
    elsewhere = factories.Organization()["id"]
    sources = [
        add_source(fdp.source_url, default_tags=["one"]),
        add_source(fdp.source_url, default_tags=["two"]),
        add_source(fdp.source_url, default_tags=["three"], owner_org=elsewhere),
    ]
    for harvest in sources:
        harvest.run()
    before = [identities(harvest) for harvest in sources]
    for harvest in (sources[0], sources[2]):
        clear_history(harvest)
    for harvest in (sources[2], sources[0], sources[1]):
        assert harvest.run().errors == []
    assert [identities(harvest) for harvest in sources] == before


@pytest.mark.usefixtures("impatient_checks")
@pytest.mark.parametrize(("status", "is_refusal"), [(404, True), (500, False)])
def test_a_source_that_is_made_again_goes_on_where_it_was(
    fdp: FdpServer, status: int, is_refusal: bool
) -> None:
    """A day of refusals began before the source was deleted, and another one begins with the new source."""
    filled(fdp, datasets=6)
    first = add_source(fdp.source_url)
    first.run()
    before = identities(first)
    early, late = fdp.datasets[:2]
    fdp.faults[early.path] = faults.Status(status)
    first.run()
    first.wait_a_day()
    fdp.faults[late.path] = faults.Status(status)
    call_action("harvest_source_delete", {"user": sysadmin()}, id=first.source["id"])

    again = make_again(first)
    said = again.preview()
    deleted = {one.url for one in said.changes[RecordClass.DELETED]}
    assert deleted == ({fdp.iri_of(early)} if is_refusal else set())
    assert {one.url for one in said.kept} == {fdp.iri_of(early), fdp.iri_of(late)} - deleted
    job = again.run()
    assert job.stats["not modified"] == 4 and job.stats["added"] == 0
    assert first.current() == []
    # Clearing the old source takes no dataset from the new one, not even what it has not read.
    call_action("harvest_source_clear", {"user": sysadmin()}, id=first.source["id"])
    refresh(utc_now())
    left = before.keys() - deleted
    assert identities(again) == {url: before[url] for url in left}
    assert again.run().stats["deleted"] == 0
    again.wait_a_day()
    assert again.run().stats["deleted"] == is_refusal


def test_only_the_same_source_goes_on(fdp: FdpServer) -> None:
    """A source with another configuration, URL or organization has only what it reads."""
    filled(fdp)
    first = add_source(fdp.source_url)
    first.run()
    packages = {package_id for _, package_id in first.current()}
    edited = stored(identities(first)[fdp.iri_of(fdp.datasets[1])][0])
    more = [*edited["extras"], {"key": "documentation", "value": "On paper"}]
    call_action("package_patch", {"user": sysadmin()}, id=edited["id"], extras=more)
    fdp.withdraw(fdp.datasets[0])
    call_action("harvest_source_delete", {"user": sysadmin()}, id=first.source["id"])
    others = [
        {"config": '{"language": "en"}'},
        {"url": f"{fdp.source_url}?other=1"},
        {"owner_org": factories.Organization()["id"]},
    ]
    for number, other in enumerate(others):
        again = make_again(first, **{"name": f"other-{number}", **other})
        assert again.preview().survey.current == 0
        call_action("harvest_source_delete", {"user": sysadmin()}, id=again.source["id"])
    same = make_again(first, name="same", url=f"{fdp.source_url}/", config="{ }")
    assert same.preview().survey.current == 4
    same.run()
    assert {package_id for _, package_id in same.current()} == packages
    # What an editor added stays, too, if a source with other settings takes the datasets over.
    call_action("harvest_source_delete", {"user": sysadmin()}, id=same.source["id"])
    adopter = make_again(first, name="again", config='{"timeout": 60}')
    adopter.run()
    assert {package_id for _, package_id in adopter.current()} < packages
    assert extras(stored(edited["id"]))["documentation"] == "On paper"


def test_a_record_that_was_withdrawn_before_its_source_was_made_again(published: Published) -> None:
    """It is no longer listed, or listed and refused."""
    first, server = published.harvest, published.server
    first.run()
    before = dict(first.current())
    withdrawn = sorted(before)[0]
    url = urls_in_guid(withdrawn)[1]
    server.faults[url.removeprefix(server.url)] = faults.Status(403)
    if isinstance(server, CatalogueServer):
        del server.entries[0]
    if isinstance(server, PortalServer):
        server.datasets[url.rpartition("/")[2]]["private"] = True
    first.run()
    call_action("harvest_source_delete", {"user": sysadmin()}, id=first.source["id"])

    again = make_again(first)
    assert again.run().stats["deleted"] == 0
    assert dict(again.current()) == before
    assert again.run().stats["deleted"] == 0
    again.wait_a_day()
    assert again.run().stats["deleted"] == 1
    del before[withdrawn]
    assert dict(again.current()) == before


def test_the_type_of_a_source_of_ours_is_changed(fdp: FdpServer) -> None:
    """Datasets stay. What only the other type has read is deleted by an approval, whatever its URL answers."""
    catalog = fdp.add_catalog()
    datasets = [fdp.add_dataset(catalog, distributions=0) for _ in range(4)]
    gone = fdp.add_dataset(catalog, distributions=0)
    harvest = add_source(f"{fdp.url}/all.ttl", source_type="dcat_catalog")
    assert harvest.run().stats["added"] == 5
    before = dict(harvest.current())
    fdp.remove(gone)
    harvest.switch(source_type="fdp", url=fdp.source_url)
    job = harvest.run()
    assert (job.stats["updated"], job.stats["deleted"]) == (4, 0)
    assert sorted(dict(harvest.current()).values()) == sorted(before.values())
    assert [one["url"] for one in harvest.hold()["held"]] == [fdp.iri_of(gone)]
    assert harvest.run().stats["not modified"] == 4
    harvest.switch(source_type="dcat_catalog", url=f"{fdp.url}/all.ttl")
    harvest.run()
    harvest.release()
    assert harvest.run().stats["deleted"] == 1
    assert set(harvest.datasets()) == {fdp.iri_of(one) for one in datasets}


def test_each_type_knows_its_own_memory(published: Published) -> None:
    published.harvest.run()
    texts = model.Session.query(harvest_model.HarvestObjectExtra.value).filter_by(key="memory")
    memories = [text for (text,) in texts]
    assert len(memories) == 3
    types = (FAIR_DATA_POINT, DCAT_CATALOG, CKAN_PORTAL)
    fits = [one.name for one in types if all(re.match(one.memory_form, text) for text in memories)]
    assert fits == [published.harvest.source["source_type"]]
