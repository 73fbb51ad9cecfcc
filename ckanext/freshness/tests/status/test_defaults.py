"""Frequencies that an organization or a harvest source assumes, and what follows when they change."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.datasets import new
from ckanext.freshness.tests.harvesting.conftest import clean_queues, clean_site, sysadmin  # noqa: F401
from ckanext.freshness.tests.status.test_harvested import imported, ours
from ckanext.harvest import model as harvest_model

pytestmark = pytest.mark.usefixtures("clean_site")

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
    source = act(
        "harvest_source_create",
        name="source",
        title="Source",
        url="http://x.org",
        source_type="fdp",
        owner_org=owner["id"],
        config=json.dumps({"default_frequency": "P10Y"}),
    )
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
