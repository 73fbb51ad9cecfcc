"""Statuses of harvested datasets, by the dates and frequencies of sources and organizations."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import IS_2_12, model
from ckanext.freshness.ckan_adapter.packages import package_extras
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.datasets import new
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


HUNDRED_DAYS_AGO = datetime.now(timezone.utc) - timedelta(days=100)


def act(action: str, **data: Any) -> Any:
    return call_action(action, {"user": sysadmin()}, **data)


def refreshed() -> int:
    model.Session.remove()
    return refresh(datetime.now(timezone.utc)).datasets


def dataset(owner: dict[str, Any], **extras: str) -> str:
    link = {"url": "http://x.org/1", "created": HUNDRED_DAYS_AGO.replace(tzinfo=None).isoformat()}
    return str(new(act, owner_org=owner["id"], resources=[link], extras=extras)["id"])


def state(package_id: str) -> tuple[str, str | None]:
    found = ours(package_id)
    return found["freshness"], found.get("frequency")


def assume(owner: dict[str, Any], frequency: str | None) -> None:
    # On CKAN 2.11 a patch without any extras leaves them all.
    extras = [{"key": "color", "value": "red"}]
    if frequency:
        extras.append({"key": "default_frequency", "value": frequency})
    act("organization_patch", id=owner["id"], extras=extras)


def test_of_an_organization() -> None:
    owner, other = factories.Organization(), factories.Organization()
    silent, says_nothing = dataset(owner), dataset(owner, frequency="UNKNOWN")
    speaks, elsewhere = dataset(owner, frequency="30"), dataset(other)
    assert refreshed() == 0
    assume(owner, "365")
    assert refreshed() == 2, (
        "those that say a frequency themselves are left alone, and those of others"
    )
    assert [state(one) for one in (silent, says_nothing)] == [("fresh", "365")] * 2
    assume(owner, "weekly")
    assert refreshed() == 2
    assert [state(one) for one in (silent, says_nothing)] == [("delinquent", "7")] * 2
    assert act("package_search", fq="freshness:delinquent")["count"] == 3
    assume(owner, None)
    assert refreshed() == 2
    assert state(silent) == ("unavailable", None)
    act("organization_patch", id=owner["id"], title="Another title")
    assert refreshed() == 0, "nothing was assumed, and nothing is"
    assert (state(speaks), state(elsewhere)) == (("delinquent", "30"), ("unavailable", None))


def test_of_a_harvest_source() -> None:
    owner = factories.Organization()
    source = add_source("http://x.org", owner_org=owner["id"], default_frequency="P10Y").source
    package = {
        "id": str(uuid4()),
        "name": f"d-{uuid4()}",
        "owner_org": owner["id"],
        "extras": [{"key": "modified", "value": HUNDRED_DAYS_AGO.date().isoformat()}],
        "resources": [{"url": "http://x.org/1"}],
    }
    imported(harvest_model.HarvestSource.get(source["id"]), package)
    elsewhere = dataset(owner)
    assert (state(package["id"]), refreshed()) == (("fresh", "3650"), 0)
    config = json.dumps({"default_frequency": "P1M"})
    act("harvest_source_patch", id=source["id"], config=config)
    assert refreshed() == 1
    assert state(package["id"]) == ("delinquent", "30")
    assert state(elsewhere) == ("unavailable", None)
