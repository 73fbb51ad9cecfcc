"""Organizations and datasets in CKAN after several harvests of a registry."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting.packages.ckan_actions import organization_id
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
    assert counts(again(harvest)) == {"not modified": 6}
    assert written() == before

    dataset = next(iter(registry.registry.datasets.values()))
    dataset.license_id = "cc-by"
    assert counts(again(harvest)) == {"not modified": 5, "updated": 1}
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
    group = organizations()[organisation.id]
    name, words = group.name, {**group.extras, "ours": "kept"}
    of_editor = [{"key": key, "value": value} for key, value in words.items()]
    call_action("organization_patch", {"user": sysadmin()}, id=group.id, extras=of_editor)
    organisation.name, dataset.name = "renamed_org", "renamed_org-act"
    del organisation.fields["hq_country"]
    *_, moving = registry.registry.datasets.values()
    there, moving_id = list(registry.registry.organisations)[1], packages(harvest)[moving.id].id
    assert moving.organisation_id not in (organisation.id, there)
    moving.organisation_id = there
    result = again(harvest)
    assert not result.errors and counts(result)["updated"] >= 2
    assert {key: group.id for key, group in organizations().items()} == ids
    named = organizations()[organisation.id]
    assert (named.name, named.extras["registry_name"]) == (name, "renamed_org")
    assert named.extras["ours"] == "kept" and "hq_country" not in named.extras
    after = stored(before["id"])
    assert (after["name"], after["owner_org"]) == (before["name"], before["owner_org"])
    # The file has a new URL, but the resource is the same.
    assert after["resources"][0]["id"] == before["resources"][0]["id"]
    assert after["resources"][0]["url"] != before["resources"][0]["url"]
    moved = packages(harvest)[moving.id]
    assert (moved.id, moved.owner_org) == (moving_id, organizations()[there].id)


def test_an_organisation_that_is_gone_stays_and_gets_its_datasets_back(
    registry: RegistryServer, harvest: Harvest
) -> None:
    known = registry.registry
    first = next(iter(known.organisations.values()))
    theirs = [one for one in known.datasets.values() if one.organisation_id == first.id]
    before = organizations()[first.id].id, packages(harvest)[theirs[0].id].id
    known.remove(first, *theirs)
    result = day_later(harvest)
    assert not result.errors and counts(result) == {"not modified": 4, "deleted": 2}
    assert first.id in organizations() and len(packages(harvest)) == 4
    assert counts(again(harvest)) == {"not modified": 4}

    call_action("organization_delete", {"user": sysadmin()}, id=before[0])
    known.organisations[first.id] = first
    known.datasets |= {one.id: one for one in theirs}
    assert not again(harvest).errors
    group, package = organizations()[first.id], packages(harvest)[theirs[0].id]
    assert (group.id, package.id) == before and package.owner_org == group.id


def test_datasets_without_their_organisation_stay(
    registry: RegistryServer, harvest: Harvest
) -> None:
    first = next(iter(registry.registry.organisations.values()))
    registry.registry.remove(first)
    for one in registry.registry.datasets.values():
        one.license_id = "cc-by"
    result = day_later(harvest)
    assert not result.errors and first.id in organizations()
    assert {one.license_id for one in packages(harvest).values()} == {"cc-by"}
    assert len(packages(harvest)) == 6


def test_an_organization_that_cannot_be_written_costs_its_own_datasets(
    registry: RegistryServer,
) -> None:
    harvest = add_registry(registry.url)
    first = next(iter(registry.registry.organisations))
    url = f"{registry.url}{REPORTING_ORGS}?id={first}"
    factories.Group(id=organization_id(harvest.source["id"], url))
    result = again(harvest)
    assert counts(result) == {"added": 4, "errored": 3}
    (error,) = result.gather_errors
    assert error.startswith(f"{url}: An unexpected error of this portal. Tell its operator: the")
    for words in result.errors[1:]:
        assert f"its organization {url} could not be made" in words


def asks_for(target: str) -> Callable[[Request], bool]:
    return lambda request: target in request.target


def test_a_registry_that_fails_removes_nothing(registry: RegistryServer, harvest: Harvest) -> None:
    broken = next(iter(registry.registry.datasets))
    registry.spoil[broken] = lambda record: {**record, "source_url": None, "short_name": "None"}
    result = again(harvest)
    assert counts(result) == {"not modified": 5, "errored": 1}
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
