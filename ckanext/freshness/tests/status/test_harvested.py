"""Datasets from elsewhere: what counts is what their source says, never the moment of a harvest."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import IS_2_12, model
from ckanext.freshness.ckan_adapter.packages import package_extras
from ckanext.freshness.tests.harvesting.conftest import (
    add_source,
    sysadmin,
)
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record
from ckanext.freshness.tests.status.measuring import measured
from ckanext.harvest import model as harvest_model
from ckanext.harvest.harvesters.base import HarvesterBase

pytestmark = pytest.mark.usefixtures("clean_site")

MONTHLY = "http://publications.europa.eu/resource/authority/frequency/MONTHLY"


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def ours(package_id: str) -> dict[str, str]:
    """This extension's extras, as the database has them."""
    model.Session.remove()
    package = model.Package.get(package_id)
    return {
        key.removeprefix("freshness_"): value
        for key, value in package_extras(package).items()
        if key.startswith("freshness")
    }


def dated(package_id: str) -> tuple[str | None, str | None, str | None]:
    found = ours(package_id)
    return found.get("last_modified"), found.get("evidence"), found.get("freshness")


def test_a_fair_data_point(fdp: FdpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = fdp.add_catalog()
    old: dict[str, Any] = {"issued": day("2014-01-01"), "frequency": MONTHLY}
    link = {"download_url": "http://x.org/1"}
    records = {
        "distribution": fdp.add_dataset(
            catalog,
            modified=day("2015-01-01"),
            distributions=[
                {**link, "modified": day("2015-03-01")},
                {**link, "modified": day("2015-02-01")},
            ],
            **old,
        ),
        "dataset": fdp.add_dataset(catalog, modified=day("2015-01-01"), **old),
        "issued": fdp.add_dataset(catalog, **old),
        "nothing": fdp.add_dataset(catalog, frequency=MONTHLY),
        "no frequency": fdp.add_dataset(catalog, modified=day("2015-01-01")),
    }
    harvest = add_source(fdp.source_url, default_frequency="P1Y")
    with measured(monkeypatch) as first:
        assert harvest.run().errors == []
    ids = {name: harvest.dataset(one, fdp)["id"] for name, one in records.items()}
    expected = {
        "distribution": ("2015-03-01T00:00:00Z", "harvest", "delinquent"),
        "dataset": ("2015-01-01T00:00:00Z", "harvest", "delinquent"),
        "issued": ("2014-01-01T00:00:00Z", "harvest", "delinquent"),
        "nothing": (None, None, "unavailable"),
        "no frequency": ("2015-01-01T00:00:00Z", "harvest", "delinquent"),
    }
    assert {name: dated(one) for name, one in ids.items()} == expected
    # CKAN 2.11 itself sends the document of a new dataset with resources twice.
    most = 1 if IS_2_12 else 2
    assert {first.documents.count(one) for one in ids.values()} <= {1, most}
    shown = call_action("freshness_show", {"user": sysadmin()}, id=ids["no frequency"])
    assert (shown["frequency"]["days"], shown["frequency"]["from"]) == (365, "source")
    found = call_action("package_search", fq="freshness:delinquent")
    assert found["count"] == 4

    for one in records.values():
        fdp.change(one, title="Another title")
    for distribution in records["dataset"].listing(Kind.DISTRIBUTION):
        assert isinstance(distribution, Record)
        fdp.change(distribution, download_url="http://x.org/elsewhere")
    fdp.change(records["issued"], modified=day("2026-01-01"))
    with measured(monkeypatch) as second:
        assert harvest.run().stats["updated"] == 5
    expected["issued"] = ("2026-01-01T00:00:00Z", "harvest", "delinquent")
    assert {name: dated(one) for name, one in ids.items()} == expected
    assert [second.documents.count(one) for one in ids.values()] == [1] * 5
    assert harvest.run().stats["not modified"] == 5


class PlainHarvester(HarvesterBase):
    """What most harvesters are: a dict, and ckanext-harvest's own way to write it."""

    config: dict[str, Any] | None = None


def imported(source: Any, package: dict[str, Any], before: Any | None = None) -> Any:
    """One harvest object of a source, imported."""
    job = harvest_model.HarvestJob(source=source)
    job.save()
    found = harvest_model.HarvestObject(
        guid=package["id"], job=job, content="", package_id=before and before.package_id
    )
    found.save()
    assert PlainHarvester()._create_or_update_package(package, found, "package_show") is True
    model.Session.commit()
    return found


def test_a_plain_harvester(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = factories.Organization()
    call_action(
        "organization_patch",
        {"user": sysadmin()},
        id=owner["id"],
        extras=[{"key": "default_frequency", "value": "quarterly"}],
    )
    source = harvest_model.HarvestSource(
        url="http://x.org", type="plain", config=json.dumps({"api_version": 1})
    )
    source.save()
    package = {
        "id": str(uuid4()),
        "title": "From elsewhere",
        "name": f"d-{uuid4()}",
        "owner_org": owner["id"],
        "extras": [{"key": "modified", "value": "2015-01-01"}],
        "resources": [{"url": "http://x.org/1"}],
    }
    with measured(monkeypatch) as first:
        before = imported(source, dict(package))
    assert dated(package["id"]) == ("2015-01-01T00:00:00Z", "harvest", "delinquent")
    assert ours(package["id"])["frequency"] == "90"
    assert len(first.documents) in (1, 2), "CKAN 2.11 indexes a create with resources twice"
    package["title"] = "From elsewhere, again"
    package["resources"] = [{"url": "http://x.org/2", "last_modified": "2016-01-01T00:00:00"}]
    with measured(monkeypatch) as second:
        imported(source, dict(package), before)
    assert dated(package["id"]) == ("2016-01-01T00:00:00Z", "harvest", "delinquent")
    assert len(second.documents) == 1


def test_what_was_harvested_is_not_fresh_when_its_harvests_are_forgotten() -> None:
    """As by ``harvester source clear-history``: then nothing tells that nobody made it here."""
    sysadmin()
    source = harvest_model.HarvestSource(url="http://x.org", type="plain")
    source.save()
    package: dict[str, Any] = {
        "id": str(uuid4()),
        "name": f"d-{uuid4()}",
        "extras": [{"key": "frequency", "value": "30"}],
        "resources": [{"url": "http://x.org/1"}],
    }
    found = imported(source, dict(package))
    assert dated(package["id"]) == (None, None, "unavailable")
    model.Session.delete(model.Session.get(harvest_model.HarvestObject, found.id))
    model.Session.commit()
    call_action("package_patch", {"user": sysadmin()}, id=package["id"], title="Another")
    assert dated(package["id"]) == (None, None, "unavailable")
    link = {"package_id": package["id"], "url": "http://x.org/2"}
    call_action("resource_create", {"user": sysadmin()}, **link)
    assert dated(package["id"])[1:] == ("created", "fresh")
