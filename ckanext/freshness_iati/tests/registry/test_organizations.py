"""Organizations and datasets in CKAN after several harvests of a registry."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.harvest import harvest_queue_connection, harvest_routing_keys
from ckanext.freshness.harvesting import holds, stages
from ckanext.freshness.tests.harvesting.conftest import (
    Harvest,
    Job,
    extras,
    stored,
    sysadmin,
    written,
)
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Request
from ckanext.freshness_iati.tests.registry.conftest import (
    add_registry,
    again,
    counts,
    organizations,
    packages,
)
from ckanext.freshness_iati.tests.servers.registry import (
    DATASETS_MINIMAL,
    REPORTING_ORGS,
    RegistryServer,
)

pytestmark = pytest.mark.usefixtures("clean_site")


@pytest.fixture
def harvest(registry: RegistryServer) -> Harvest:
    """A source after its first harvest. One of its three organisations may go without an approval."""
    made = add_registry(registry.url, max_delete_fraction=0.5)
    assert not again(made).errors
    return made


def day_later(harvest: Harvest) -> Job:
    """Harvest twice, a day apart: a registry has no page of a record that could tell whether it is gone."""
    again(harvest)
    harvest.wait_a_day()
    return again(harvest)


def test_a_dataset_says_what_the_registry_says(registry: RegistryServer, harvest: Harvest) -> None:
    before = written()
    assert counts(again(harvest)) == {"not modified": 9}
    assert written() == before

    dataset = next(iter(registry.registry.datasets.values()))
    dataset.license_id = "cc-by"
    assert counts(again(harvest)) == {"not modified": 8, "updated": 1}
    package = stored(packages(harvest)[dataset.id].id)
    found = extras(package)
    url = f"{registry.url}{DATASETS_MINIMAL}?id={dataset.id}"
    owner = f"{registry.url}{REPORTING_ORGS}?id={dataset.organisation_id}"
    assert found["guid"] == f"catalog={owner};dataset={url}"
    assert (package["title"], package["license_id"]) == (dataset.name, "cc-by")
    assert (found["registry_id"], found["registry_name"]) == (dataset.id, dataset.name)
    assert found["uri"] == url


def test_renames_and_moves_keep_ids(registry: RegistryServer, harvest: Harvest) -> None:
    organisation = next(iter(registry.registry.organisations.values()))
    ids = {key: group.id for key, group in organizations().items()}
    dataset = next(
        one for one in registry.registry.datasets.values() if one.organisation_id == organisation.id
    )
    before = stored(packages(harvest)[dataset.id].id)
    organisation.name, dataset.name = "renamed_org", "renamed_org-act"
    *_, moving = registry.registry.datasets.values()
    there, moving_id = list(registry.registry.organisations)[1], packages(harvest)[moving.id].id
    assert moving.organisation_id not in (organisation.id, there)
    moving.organisation_id = there
    result = again(harvest)
    assert not result.errors and counts(result)["updated"] >= 2
    assert {key: group.id for key, group in organizations().items()} == ids
    assert organizations()[organisation.id].name == "renamed_org"
    after = stored(before["id"])
    assert after["name"] == "renamed_org-act" and after["owner_org"] == before["owner_org"]
    # The file has a new URL, but the resource is the same.
    assert after["resources"][0]["id"] == before["resources"][0]["id"]
    assert after["resources"][0]["url"] != before["resources"][0]["url"]
    found = call_action("package_search", fq="organization:renamed_org", rows=100)
    assert found["count"] == 2
    moved = packages(harvest)[moving.id]
    assert (moved.id, moved.owner_org) == (moving_id, organizations()[there].id)


def test_what_others_wrote_stays(registry: RegistryServer, harvest: Harvest) -> None:
    """Even if the registry changes the licence or the title, and leaves out a field."""
    dataset = next(iter(registry.registry.datasets.values()))
    package = packages(harvest)[dataset.id]
    shown = stored(package.id)
    shown["extras"].append({"key": "review", "value": "mine"})
    call_action("package_update", {"user": sysadmin()}, **shown)
    organisation = next(iter(registry.registry.organisations.values()))
    group = organizations()[organisation.id]
    call_action(
        "organization_patch",
        {"user": sysadmin()},
        id=group.id,
        extras=[
            *({"key": key, "value": value} for key, value in group.extras.items()),
            {"key": "ours", "value": "kept"},
        ],
    )
    dataset.license_id, organisation.title = "cc-by", "Another title"
    del organisation.fields["publisher_country"]
    assert counts(again(harvest))["updated"] == 2
    after = stored(package.id)
    assert (after["license_id"], extras(after)["review"]) == ("cc-by", "mine")
    group = organizations()[organisation.id]
    assert group.title == "Another title" and group.extras["ours"] == "kept"
    assert "publisher_country" not in group.extras
    members = call_action("member_list", {"user": sysadmin()}, id=group.id, object_type="user")
    assert len(members) == 1


def test_an_organisation_that_is_gone_goes_with_its_datasets_and_comes_back_with_them(
    registry: RegistryServer, harvest: Harvest
) -> None:
    first = next(iter(registry.registry.organisations.values()))
    theirs = [one for one in registry.registry.datasets.values() if one.organisation_id == first.id]
    before = organizations()[first.id].id, packages(harvest)[theirs[0].id].id
    registry.registry.remove(first, *theirs)
    result = day_later(harvest)
    assert not result.errors and counts(result) == {"not modified": 6, "deleted": 3}
    assert first.id not in organizations() and len(packages(harvest)) == 4
    assert model.Group.get(before[0]).state == "deleted"
    assert counts(again(harvest)) == {"not modified": 6}

    registry.registry.organisations[first.id] = first
    registry.registry.datasets |= {one.id: one for one in theirs}
    assert not again(harvest).errors
    group, package = organizations()[first.id], packages(harvest)[theirs[0].id]
    assert (group.id, package.id) == before and package.owner_org == group.id


def test_an_organisation_that_owns_anything_else_stays(
    registry: RegistryServer, harvest: Harvest
) -> None:
    first = next(iter(registry.registry.organisations.values()))
    theirs = [one for one in registry.registry.datasets.values() if one.organisation_id == first.id]
    group = organizations()[first.id]
    other = factories.Dataset(owner_org=group.id)
    registry.registry.remove(first, *theirs)
    result = day_later(harvest)
    assert not result.errors and counts(result)["deleted"] == 3
    assert model.Group.get(group.id).state == "active"
    assert stored(other["id"])["owner_org"] == group.id
    # The harvester no longer touches it.
    assert counts(again(harvest)) == {"not modified": 6}


def test_an_organisation_that_the_registry_still_has_stays_without_datasets(
    registry: RegistryServer, harvest: Harvest
) -> None:
    known = registry.registry
    first = next(iter(known.organisations.values()))
    for one in [one for one in known.datasets.values() if one.organisation_id == first.id]:
        del known.datasets[one.id]
    day_later(harvest)
    assert len(packages(harvest)) == 4 and first.id in organizations()
    del known.organisations[first.id]
    day_later(harvest)
    assert first.id not in organizations()


def test_an_organisation_whose_datasets_are_still_listed_stays(
    registry: RegistryServer, harvest: Harvest
) -> None:
    first = next(iter(registry.registry.organisations.values()))
    group_id = organizations()[first.id].id
    registry.registry.remove(first)
    result = day_later(harvest)
    assert model.Group.get(group_id).state == "active"
    assert len(packages(harvest)) == 6
    assert any(
        "are still there" in words for many in result.object_errors.values() for words in many
    )


def test_what_looks_like_an_accident_removes_nothing(
    registry: RegistryServer, harvest: Harvest
) -> None:
    known = registry.registry
    organisations, datasets = list(known.organisations.items()), list(known.datasets.items())
    for left, right in ((1, 6), (3, 2), (0, 0)):
        known.organisations, known.datasets = dict(organisations[:left]), dict(datasets[:right])
        result = again(harvest)
        assert len(organizations()) == 3 and len(packages(harvest)) == 6
        hold = holds.hold_of(harvest.source["id"])
        assert hold is not None and len(hold.held) == 9 - left - right
        assert any(hold.reason in words for words in result.gather_errors)
        # A whole listing ends the hold, so that each case starts without one.
        known.organisations, known.datasets = dict(organisations), dict(datasets)
        assert not again(harvest).errors


def asks_for(target: str) -> Callable[[Request], bool]:
    return lambda request: target in request.target


def test_a_registry_that_fails_removes_nothing(registry: RegistryServer, harvest: Harvest) -> None:
    broken = next(iter(registry.registry.datasets))
    registry.spoil[broken] = lambda record: {**record, "source_url": None, "short_name": "None"}
    result = again(harvest)
    assert counts(result) == {"not modified": 8, "errored": 1}
    assert not result.gather_errors and len(result.object_errors) == 1
    assert broken in packages(harvest)
    registry.spoil.clear()

    *_, removed = registry.registry.datasets.values()
    registry.registry.remove(removed)
    for target in (REPORTING_ORGS, DATASETS_MINIMAL):
        registry.faults[asks_for(target)] = faults.Status(code=404)
        result = again(harvest)
        assert result.gather_errors and len(packages(harvest)) == 6 and len(organizations()) == 3
        registry.faults.clear()
    assert "deleted" not in counts(again(harvest))
    harvest.wait_a_day()
    assert counts(again(harvest))["deleted"] == 1


def test_an_organization_of_somebody_else_is_left_alone(registry: RegistryServer) -> None:
    organisation = next(iter(registry.registry.organisations.values()))
    theirs = factories.Organization(name=organisation.name, title="Somebody else's")
    harvest = add_registry(registry.url)
    assert not again(harvest).errors
    ours = organizations()[organisation.id]
    assert ours.id != theirs["id"] and ours.name.startswith(f"{organisation.name}-")
    assert model.Group.get(theirs["id"]).title == "Somebody else's"


def test_a_dataset_that_comes_before_its_organisation_brings_it_along(
    registry: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "PAGE_SIZE", 1)
    harvest = add_registry(registry.url)
    job = harvest.start()
    harvest.gather()
    _backwards()
    harvest.fetch()
    done = harvest.finish(job)
    assert not done.errors
    found = packages(harvest)
    assert len(organizations()) == 3
    assert {one.id: found[one.id].owner_org for one in registry.registry.datasets.values()} == {
        one.id: organizations()[one.organisation_id].id
        for one in registry.registry.datasets.values()
    }


def _backwards() -> None:
    """Reverse the fetch queue, as concurrent consumers may."""
    redis, key = harvest_queue_connection(), harvest_routing_keys()["fetch"]
    assert redis is not None
    messages = redis.lrange(key, 0, -1)
    redis.delete(key)
    redis.rpush(key, *reversed(messages))


def test_a_registry_that_is_made_again_goes_on_where_it_was(
    registry: RegistryServer, harvest: Harvest
) -> None:
    """A dataset that the registry has lost meanwhile is still its own, and is deleted."""
    groups = {key: group.id for key, group in organizations().items()}
    before = {key: package.id for key, package in packages(harvest).items()}
    gone = next(iter(registry.registry.datasets))
    del registry.registry.datasets[gone]
    call_action("harvest_source_delete", {"user": sysadmin()}, id=harvest.source["id"])
    second = add_registry(registry.url, max_delete_fraction=0.5)
    assert counts(day_later(second)) == {"not modified": 8, "deleted": 1}
    call_action("harvest_source_clear", {"user": sysadmin()}, id=harvest.source["id"])
    del before[gone]
    assert {key: package.id for key, package in packages(second).items()} == before
    assert {key: group.id for key, group in organizations().items()} == groups
