"""Harvests of portals on a real site: ids, options, deletions, and sources of ckanext-harvest's harvester."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import pytest
import requests
from ckan.tests import factories
from ckan.tests.helpers import call_action, changed_config

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import HarvestDocument
from ckanext.freshness.tests.harvesting.conftest import (
    Harvest,
    add_source,
    clean_queues,
    clean_site,
    extras,
    sysadmin,
)
from ckanext.freshness.tests.processes import CkanProcess, until
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.ckan_portal import PortalServer
from ckanext.freshness.tests.servers.tcp import reserved_port
from ckanext.harvest import model as harvest_model

__all__ = ["clean_queues", "clean_site"]

pytestmark = pytest.mark.usefixtures("clean_site", "unhurried")


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send each request once."""
    monkeypatch.setattr("ckanext.freshness.settings.RETRY_DELAYS", ())


@pytest.fixture
def portal() -> Iterator[PortalServer]:
    """Six datasets."""
    with PortalServer(6) as server:
        yield server


@pytest.fixture
def ckan_harvester(clean_site: None) -> Iterator[None]:
    """Load ckanext-harvest's own harvester of CKANs beside ours."""
    with p.use_plugin("ckan_harvester"):
        yield


def add_portal(portal: PortalServer, **config: Any) -> Harvest:
    return add_source(portal.url, source_type="ckan_portal", **config)


def datasets(harvest: Harvest) -> dict[str, dict[str, Any]]:
    """Return the active datasets of a source, by name."""
    model.Session.expire_all()
    ids = filter(None, (package_id for _guid, package_id in harvest.current()))
    shown = [call_action("package_show", id=package_id) for package_id in ids]
    return {one["name"]: one for one in shown if one["state"] == "active"}


def identities(harvest: Harvest) -> set[tuple[str, ...]]:
    return {
        (one["id"], name, *(resource["id"] for resource in one["resources"]))
        for name, one in datasets(harvest).items()
    }


def counts(harvest: Harvest) -> dict[str, int]:
    job = harvest.run()
    assert not job.errors
    return {key: count for key, count in job.stats.items() if count}


def test_datasets_keep_their_ids_and_become_links(portal: PortalServer) -> None:
    harvest = add_portal(portal)
    assert counts(harvest) == {"added": 6}
    assert identities(harvest) == {
        (one["id"], one["name"], *(resource["id"] for resource in one["resources"]))
        for one in portal.datasets.values()
    }
    one = datasets(harvest)["dataset-3"]
    assert one["title"] == "Dataset 3" and one["license_id"] == "cc-by"
    assert one["author"] == "A. Thor" and [tag["name"] for tag in one["tags"]] == ["water"]
    assert one["owner_org"] == harvest.source["owner_org"]
    kept = extras(one)
    assert kept["reach"] == "town" and "revision_id" not in kept
    assert kept["harvest_source_id"] == harvest.source["id"]
    link, upload = one["resources"]
    assert upload["url"] == f"{portal.url}/upload/dataset-3.csv" and not upload["url_type"]
    assert upload["modified"] == "2026-02-03T04:05:06.000007" and "revision_id" not in upload
    assert link["format"] == "CSV"

    assert counts(harvest) == {"not modified": 6}
    (wanted,) = [key for key, raw in portal.datasets.items() if raw["name"] == "dataset-3"]
    portal.change(wanted, notes="Other words", extras=[])
    assert counts(harvest) == {"updated": 1, "not modified": 5}
    again = datasets(harvest)["dataset-3"]
    assert again["notes"] == "Other words" and "reach" not in extras(again)


def test_resources_that_a_token_may_not_see_any_more_stay(portal: PortalServer) -> None:
    harvest = add_portal(portal)
    harvest.run()
    before = identities(harvest)
    portal.hides_resources = True
    wanted, one = next(iter(portal.datasets.items()))
    portal.change(wanted, notes="Other words")
    job = harvest.run()
    (error,) = job.errors
    assert "has resources of it, and its API gives none" in error
    portal.faults[lambda request: "res_url" in request.target] = faults.Status(400)
    assert len(harvest.run().errors) == 1
    assert identities(harvest) == before
    portal.faults.clear()
    # Where the index has none, either, the portal has removed them.
    portal.change(wanted, resources=[])
    assert counts(harvest) == {"updated": 1, "not modified": 5}
    assert datasets(harvest)[one["name"]]["resources"] == []


def test_extras_of_any_name_are_the_publishers(portal: PortalServer) -> None:
    own = {
        "rating": "A",
        "followers": "12",
        "verified": "yes",
        "harvest": "autumn",
        "_private": "no",
    }
    wanted, one = next(iter(portal.datasets.items()))
    theirs = {"harvest_source_id": "x", "freshness": "fresh", "harvest_job_id": "y"}
    listed = [{"key": key, "value": value} for key, value in {**own, **theirs}.items()]
    portal.change(wanted, extras=listed, followers=3, _score=1, rating={"mean": 4})
    harvest = add_portal(portal)
    assert counts(harvest) == {"added": 6}
    found = extras(datasets(harvest)[one["name"]])
    assert found.items() >= own.items() and "_score" not in found
    # ckanext-harvest shows its own value if the dataset is read from the search index.
    assert found.get("harvest_source_id") in (None, harvest.source["id"])
    assert "harvest_job_id" not in found


def test_whoever_saves_a_source_has_the_rights_of_the_action(
    app: Any, portal: PortalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plugin saves it inside of the request of a visitor, and an editor by the API of Python."""
    monkeypatch.setenv("PORTAL_KEY", "s3cret")
    config = {"remote_orgs": "create", "headers": {"Authorization": {"env": "PORTAL_KEY"}}}
    with app.flask_app.test_request_context("/"):
        assert add_portal(portal, **config).source["config"]
    editor = factories.User()
    members = [{"name": editor["name"], "capacity": "admin"}]
    owner = factories.Organization(users=members)["id"]
    made = {
        **{"name": "mine", "title": "Mine", "url": f"{portal.url}/mine", "owner_org": owner},
        **{"source_type": "ckan_portal", "config": json.dumps(config)},
    }
    with (
        changed_config("ckan.auth.user_create_organizations", False),
        pytest.raises(tk.ValidationError) as refused,
    ):
        context = {"user": editor["name"], "ignore_auth": False}
        call_action("harvest_source_create", context, **made)
    first, second = refused.value.error_dict["config"]
    assert "only a sysadmin may save" in first and "only users who may create organi" in second


def test_ids_and_names_that_are_taken_here_stay_with_their_owners(portal: PortalServer) -> None:
    first, second, third, *_ = sorted(portal.datasets)
    # Another source has harvested it.
    mine = factories.Dataset(
        id=first,
        name="mine",
        resources=[{"id": portal.datasets[second]["resources"][0]["id"]}],
        extras=[{"key": "guid", "value": "harvested"}],
    )
    factories.Dataset(id=portal.add("from-here")["id"])
    deleted_here = factories.Dataset(id=portal.add("also-from-here")["id"])
    call_action("package_delete", {"user": sysadmin()}, id=deleted_here["id"])
    same_name = factories.Dataset(name=portal.datasets[third]["name"])
    portal.change(sorted(portal.datasets)[3], id="mine")
    portal.datasets["mine"] = portal.datasets.pop(sorted(portal.datasets)[3])
    harvest = add_portal(portal)
    assert counts(harvest) == {"added": 6}
    found = {(one["id"], one["name"]) for one in datasets(harvest).values()}
    assert not {first, "mine"} & {one for one, _ in found} and same_name["name"] not in dict(found)
    assert call_action("package_show", id="mine")["id"] == mine["id"] == first
    ids = [resource["id"] for one in datasets(harvest).values() for resource in one["resources"]]
    assert len(set(ids)) == 12 and mine["resources"][0]["id"] not in ids
    before = identities(harvest)
    for dataset_id in list(portal.datasets):
        portal.change(dataset_id, notes="Other words")
    assert counts(harvest) == {"updated": 6}
    assert identities(harvest) == before


# Options


def test_extras_tags_and_groups(portal: PortalServer) -> None:
    factories.Group(name="maps")
    known = factories.Group(name="air")
    groups = [
        {"id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "name": "air", "title": "Air"},
        {"id": "3f2504e0-4f89-41d3-9a0c-0305e82c3302", "name": "rail", "title": {"en": "Rail"}},
    ]
    (wanted,) = [key for key, raw in portal.datasets.items() if raw["name"] == "dataset-3"]
    portal.change(wanted, groups=groups, tags=[{"name": "Öl und Gas"}])
    config = {
        "default_tags": [{"name": "harvested"}],
        "default_groups": ["maps", "air"],
        "default_extras": {
            **{"reach": "x", "from": "{harvest_source_url}/{dataset_id}"},
            **{"guid": "y", "harvest_source_title": "z"},
        },
        "clean_tags": True,
    }
    harvest = add_portal(portal, **config, remote_groups="only_local")
    assert counts(harvest) == {"added": 6}
    one = datasets(harvest)["dataset-3"]
    assert {group["name"] for group in one["groups"]} == {"maps", "air"}
    assert {tag["name"] for tag in one["tags"]} == {"harvested", "ol-und-gas"}
    assert extras(one)["from"] == f"{portal.url}/{wanted}" and extras(one)["reach"] == "town"

    harvest.configure(**config, remote_groups="create", override_extras=True)
    assert counts(harvest) == {"updated": 6}
    one = datasets(harvest)["dataset-3"]
    assert {group["name"] for group in one["groups"]} == {"maps", "air", "rail"}
    assert known["id"] in {group["id"] for group in one["groups"]}
    assert call_action("group_show", id="rail")["title"] == "Rail"
    assert extras(one)["reach"] == "x"


def test_organizations_that_this_site_has(portal: PortalServer) -> None:
    city = portal.organization("city")
    factories.Organization(id=city["id"], name="town", title="Our own words")
    of_the_state = portal.add("of the state", owner="state")["id"]
    harvest = add_portal(portal, remote_orgs="only_local")
    assert counts(harvest) == {"added": 7}
    found = datasets(harvest)
    assert found["dataset-3"]["organization"]["name"] == "town"
    assert found["of-the-state"]["owner_org"] == harvest.source["owner_org"]
    assert not model.Group.get("state")

    harvest.configure(remote_orgs="create")
    harvest.run()
    found = datasets(harvest)
    assert found["dataset-3"]["organization"]["title"] == "Our own words"
    assert found["of-the-state"]["organization"]["name"] == "state"
    city["title"] = "The portal's words"
    portal.change(sorted(portal.datasets)[0])
    harvest.run()
    assert call_action("organization_show", id="town")["title"] == "Our own words"
    # Of one that the harvest has made, editors fill in what the portal does not say.
    state = portal.organization("state")
    state["description"] = ""
    portal.change(of_the_state)
    harvest.run()
    call_action("organization_patch", {"user": sysadmin()}, id="state", description="Our words")
    state["title"] = "The State"
    portal.change(of_the_state)
    harvest.run()
    made = call_action("organization_show", id="state")
    assert (made["title"], made["description"]) == ("The State", "Our words")
    # Of what the portal no longer says, what editors have replaced stays.
    state |= {"description": "Its words", "image_url": f"{portal.url}/logo.png"}
    portal.change(of_the_state)
    harvest.run()
    ours = {"image_url": f"{portal.url}/ours.png"}
    call_action("organization_patch", {"user": sysadmin()}, id="state", **ours)
    state |= {"description": "", "image_url": "uploaded.png"}
    portal.change(of_the_state)
    harvest.run()
    made = call_action("organization_show", id="state")
    assert (made["image_url"], made["description"]) == (ours["image_url"], "")
    # An earlier version remembered keys without values.
    state["description"] = "Its words"
    portal.change(of_the_state)
    harvest.run()
    row = (
        model.Session.query(HarvestDocument)
        .filter(HarvestDocument.outline["is_made"].as_boolean())
        .one()
    )
    row.outline = {**row.outline, "stated": ["title", "description", "image_url"]}
    model.Session.commit()
    state["description"] = ""
    portal.change(of_the_state)
    assert not harvest.run().errors
    assert call_action("organization_show", id="state")["description"] == "Its words"


def test_a_source_and_a_dataset_without_an_organization(portal: PortalServer) -> None:
    orphan = portal.add("orphan", owner=None)["id"]
    with changed_config("ckan.auth.create_unowned_dataset", True):
        made = {"name": "mine", "title": "Mine", "url": portal.url, "source_type": "ckan_portal"}
        config = json.dumps({"remote_orgs": "create"})
        context = {"user": sysadmin()}
        harvest = Harvest(call_action("harvest_source_create", context, **made, config=config))
        assert counts(harvest) == {"added": 7}
        portal.change(orphan, title="Another title")
        assert counts(harvest) == {"updated": 1, "not modified": 6}
    assert datasets(harvest)["orphan"]["title"] == "Another title"


def test_an_organization_of_the_portal_stays_without_datasets(portal: PortalServer) -> None:
    portal.add("of-the-state", owner="state")
    portal.organization("state")["title"] = {"en": "State", "fr": "État"}
    harvest = add_portal(portal, remote_orgs="create", delete_unlisted=True)
    (said,) = harvest.preview().source_warnings
    assert str(said) == "2 organizations would be made: City, State"
    assert not harvest.run().errors
    assert harvest.preview().source_warnings == []
    state = call_action("organization_show", id="state")
    assert state["title"] == "State" and state["description"] == "What state is"
    assert datasets(harvest)["of-the-state"]["owner_org"] == state["id"]
    for dataset_id, raw in list(portal.datasets.items()):
        if raw["name"] == "of-the-state":
            del portal.datasets[dataset_id]
    assert harvest.run().stats["deleted"] == 1
    assert call_action("organization_show", id="state")["state"] == "active"


# Sources of ckanext-harvest's harvester

OLD: dict[str, Any] = {
    "api_version": 2,
    "read_only": True,
    "force_all": False,
    "default_tags": [{"name": "harvested"}],
    "default_extras": {"from": "{harvest_source_url}"},
    "remote_orgs": "create",
}


@pytest.mark.usefixtures("ckan_harvester")
def test_a_source_of_the_type_ckan_becomes_ours(portal: PortalServer) -> None:
    factories.Dataset(name="dataset-3")
    harvest = add_source(portal.url, source_type="ckan", **OLD)
    assert counts(harvest) == {"added": 6}
    assert "dataset-31" in datasets(harvest)
    before, created = identities(harvest), datasets(harvest)["dataset-31"]["metadata_created"]
    city = call_action("organization_show", id="city")
    gone = portal.datasets.pop(sorted(portal.datasets)[0])
    # The portal withdraws an extra, and an editor adds one.
    wanted = datasets(harvest)["dataset-31"]
    more = [*wanted["extras"], {"key": "shelf", "value": "3"}]
    own = {"maintainer": "Ann", "extras": more}
    call_action("package_patch", {"user": sysadmin()}, id=wanted["id"], **own)
    portal.change(wanted["id"], extras=[])

    harvest.switch(source_type="ckan_portal", config=json.dumps({**OLD, "user": "harvest"}))
    job = harvest.run()
    (held,) = job.errors
    assert "would be deleted that only another harvester has read" in held
    assert identities(harvest) == before
    one = datasets(harvest)["dataset-31"]
    assert one["metadata_created"] == created and extras(one)["from"] == portal.url
    assert extras(one)["shelf"] == "3" and "reach" not in extras(one)
    assert one["maintainer"] == "Ann"
    assert one["owner_org"] == city["id"] == portal.organization("city")["id"]
    assert call_action("package_show", id=gone["id"])["state"] == "active"
    again = harvest.run()
    assert again.stats["not modified"] == 5 and again.stats["updated"] == 0


@pytest.mark.usefixtures("ckan_harvester")
@pytest.mark.parametrize("is_made_again", [False, True])
def test_two_datasets_that_state_one_uri_stay_two(
    portal: PortalServer, is_made_again: bool
) -> None:
    for dataset_id in sorted(portal.datasets)[:2]:
        uri = {"key": "uri", "value": "https://example.org/same"}
        portal.change(dataset_id, extras=[uri])
    harvest = add_source(portal.url, source_type="ckan")
    assert counts(harvest) == {"added": 6}
    before = identities(harvest)
    if is_made_again:
        call_action("harvest_source_delete", {"user": sysadmin()}, id=harvest.source["id"])
        harvest = add_portal(portal)
    else:
        harvest.switch(source_type="ckan_portal")
    assert sum(counts(harvest).values()) == 6
    assert identities(harvest) == before


# A real CKAN


@pytest.fixture
def own_url(tmp_path: Path) -> Iterator[str]:
    """This site, served by another process."""
    with reserved_port() as reserved:
        port = reserved.getsockname()[1]
        arguments = ("run", "--host", "127.0.0.1", "--port", str(port), "--disable-reloader")
        process = CkanProcess(arguments, tmp_path, CKAN_INI=tk.config["__file__"])
        url = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            with contextlib.suppress(OSError):
                return requests.get(f"{url}/api/3/action/status_show", timeout=30).ok
            return False

        try:
            until(answers, process)
            yield url
        finally:
            process.kill()


def test_a_real_ckan(own_url: str) -> None:
    city = factories.Organization(name="city")
    made = [
        factories.Dataset(
            owner_org=city["id"],
            resources=[{"url": "https://example.org/a.csv"}],
            notes="First",
            extras=[{"key": "guid", "value": "harvested"}],
        )
        for _ in range(4)
    ]
    factories.Dataset(owner_org=city["id"], name="made-here")
    factories.Dataset(owner_org=city["id"], private=True)
    factories.Dataset(owner_org=factories.Organization()["id"])
    harvest = add_source(own_url, source_type="ckan_portal", organizations_filter_include=["city"])
    assert counts(harvest) == {"added": 4}
    # All ids and names are taken, by the datasets themselves.
    copies = {extras(one)["guid"].rpartition("/")[2]: one for one in datasets(harvest).values()}
    assert copies.keys() == {one["id"] for one in made}
    # Neither copies nor what was made here is copied.
    assert counts(harvest) == {"not modified": 4}
    assert "made-here" not in datasets(harvest)
    user = {"user": sysadmin()}
    call_action("package_patch", dict(user), id=made[0]["id"], notes="Second")
    call_action("package_delete", dict(user), id=made[1]["id"])
    call_action("dataset_purge", dict(user), id=made[2]["id"])
    # CKAN answers 403 for what is deleted and not purged: it goes a day later.
    assert counts(harvest) == {"deleted": 1, "updated": 1, "not modified": 1}
    assert {one["notes"] for one in datasets(harvest).values()} == {"First", "Second"}
    # Solr knows an organization by the name that it had when its datasets were indexed.
    call_action("organization_patch", dict(user), id=city["id"], name="town")
    harvest.configure(organizations_filter_include=["town"])
    assert harvest.run().stats["deleted"] == 0 and len(harvest.hold()["held"]) == 2
    harvest.configure(organizations_filter_include=["city", "town"], remote_orgs="create")
    harvest.wait_a_day()
    harvest.run()
    owners = {str(one["organization"]["name"]) for one in datasets(harvest).values()}
    assert owners == {"town"}


@pytest.mark.usefixtures("ckan_harvester")
def test_packages_of_a_deleted_source_of_the_type_ckan_are_taken_over(portal: PortalServer) -> None:
    old = add_source(portal.url, source_type="ckan")
    assert counts(old) == {"added": 6}
    before = identities(old)
    call_action("harvest_source_delete", {"user": sysadmin()}, id=old.source["id"])
    harvest = add_portal(portal)
    job = harvest.run()
    assert not job.errors and identities(harvest) == before
    owners = model.Session.query(harvest_model.HarvestObject.harvest_source_id).filter_by(
        current=True
    )
    assert {one.harvest_source_id for one in owners} == {harvest.source["id"]}
