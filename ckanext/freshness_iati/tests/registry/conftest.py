"""A registry server, and a source that harvests it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesters import harvest_here
from ckanext.freshness.tests.harvesting.conftest import (  # noqa: F401
    Harvest,
    Job,
    add_source,
    clean_queues,
    clean_site,
    stumbling,
)
from ckanext.freshness_iati.tests.servers.registry import RegistryServer
from ckanext.freshness_iati.tests.servers.registry_model import sample
from ckanext.harvest import model as harvest_model


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    """Three organisations with two datasets each."""
    with RegistryServer(sample(3, 6)) as server:
        yield server


def add_registry(url: str, **config: Any) -> Harvest:
    """Create a source of the type ``iati_registry``."""
    return add_source(url, source_type="iati_registry", **config)


def organizations() -> dict[str, Any]:
    """Return the active harvested organizations, by the registry's id."""
    model.Session.expire_all()
    groups = model.Session.query(model.Group).filter_by(is_organization=True, state="active")
    found = {group.extras.get("registry_id"): group for group in groups}
    return {key: group for key, group in found.items() if key is not None}


def packages(harvest: Harvest) -> dict[str, Any]:
    """Return the source's active packages, by the registry's id."""
    model.Session.expire_all()
    ids = [package_id for _guid, package_id in harvest.current() if package_id]
    found = model.Session.query(model.Package).filter(
        model.Package.id.in_(ids), model.Package.state == "active"
    )
    return {one.extras["registry_id"]: one for one in found}


def waiting() -> int:
    """Return the number of unfinished objects."""
    unfinished = harvest_model.HarvestObject.state.not_in(("COMPLETE", "ERROR"))
    return int(model.Session.query(harvest_model.HarvestObject).filter(unfinished).count())


def again(harvest: Harvest) -> Job:
    """Harvest in this process."""
    job_id = harvest_here(harvest.source["id"])
    assert waiting() == 0
    return harvest.finish(job_id)


def counts(job: Job) -> dict[str, int]:
    """Return the counts that are not 0.

    ckanext-harvest takes all organizations for one package: it calls the second one updated.
    """
    return {key: count for key, count in job.stats.items() if count}
