"""A registry harvested in this process, from the start to the end."""

from __future__ import annotations

import pytest

from ckanext.freshness.harvesting.iati.once import Progress, Stage, harvest_now
from ckanext.freshness.tests.harvesting.conftest import stored
from ckanext.freshness.tests.harvesting.iati.conftest import (
    add_registry,
    organizations,
    packages,
    waiting,
)
from ckanext.freshness.tests.servers.registry import RegistryServer

pytestmark = pytest.mark.usefixtures("clean_site")


@pytest.mark.parametrize("kind", ["ckan", "bulk-data-service"])
def test_a_registry_becomes_organizations_and_datasets(registry: RegistryServer, kind: str) -> None:
    harvest = add_registry(registry.url if kind == "ckan" else registry.index_url)
    told: list[Progress] = []
    result = harvest_now(harvest.source["id"], told.append)
    assert result.complete, result
    assert result.counts == {
        "added": 15,
        "updated": 0,
        "deleted": 0,
        "not modified": 0,
        "errored": 0,
    }
    assert told[-1] == Progress(Stage.IMPORT, 15, 15)
    assert waiting() == 0
    groups, found = organizations(), packages(harvest)
    assert {key: group.name for key, group in groups.items()} == {
        one.id: one.name for one in registry.registry.organisations.values()
    }
    for one in registry.registry.datasets.values():
        package = found[one.id]
        assert package.name == one.name
        assert package.owner_org == groups[one.organisation_id].id
        (resource,) = stored(package.id)["resources"]
        assert (resource["url"], resource["format"]) == (registry.file_url(one), "IATI-XML")
    group = next(iter(groups.values()))
    assert group.extras["publisher_country"] == "KE"
    again = harvest_now(harvest.source["id"])
    assert again.counts["not modified"] == 15 and again.complete
