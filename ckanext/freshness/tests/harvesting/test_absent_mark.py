"""The mark of datasets that their source no longer has, and that are kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import time_machine
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.harvesting.conftest import (
    Harvest,
    add_source,
    extras,
    stored,
    sysadmin,
)
from ckanext.freshness.tests.servers.catalogue import CatalogueServer

pytestmark = pytest.mark.usefixtures("clean_site")

START = datetime(2026, 11, 2, 12, tzinfo=timezone.utc)
LOST_AT = "2026-11-03T12:00:00Z"


@pytest.fixture
def server() -> Iterator[CatalogueServer]:
    with CatalogueServer(4) as running:
        yield running


def facet() -> dict[str, int]:
    """Return the facet of the sources."""
    found = call_action("package_search", **{"facet.field": '["freshness_source"]'})
    counts: dict[str, int] = found["facets"]["freshness_source"]
    return counts


def run(harvest: Harvest, day: int) -> None:
    """Harvest on a day, and refresh."""
    with time_machine.travel(START + timedelta(days=day), tick=False):
        job = harvest.run()
        assert job.errors == [] and job.stats["deleted"] == 0
        refresh(datetime.now(timezone.utc))


def mark_of(package_id: str) -> str | None:
    shown: str | None = call_action("freshness_show", id=package_id)["absent_since"]
    assert extras(stored(package_id)).get("freshness_absent_since") == shown
    assert facet() == ({"absent": 1} if shown else {})
    return shown


def lose(server: CatalogueServer, **config: Any) -> tuple[Harvest, str, Any]:
    """Harvest a source, and once more without its last dataset."""
    harvest = add_source(server.source_url, source_type="dcat_catalog", **config)
    run(harvest, 0)
    gone = server.entries.pop()
    package_id = next(
        one["id"] for one in harvest.datasets().values() if one["title"] == gone.title
    )
    assert mark_of(package_id) is None
    run(harvest, 1)
    assert mark_of(package_id) == LOST_AT
    return harvest, package_id, gone


@pytest.mark.parametrize("config", [{"on_absence": "keep"}, {"absent_for": 30}])
def test_a_dataset_is_marked_until_its_source_has_it_again(
    server: CatalogueServer, config: dict[str, Any]
) -> None:
    harvest, package_id, gone = lose(server, **config)
    call_action("package_patch", {"user": sysadmin()}, id=package_id, notes="Edited here.")
    assert mark_of(package_id) == LOST_AT
    refresh(datetime.now(timezone.utc), everything=True)
    call_action("package_patch", {"user": sysadmin()}, id=package_id, notes="Edited once more.")
    run(harvest, 2)
    assert mark_of(package_id) == LOST_AT
    server.entries.append(gone)
    run(harvest, 3)
    assert mark_of(package_id) is None


def test_people_see_the_mark(server: CatalogueServer, app: Any) -> None:
    harvest, package_id, gone = lose(server, on_absence="keep")
    (said,) = call_action("harvest_job_report", id=harvest.run().id)["source_warnings"]
    assert said["message"].startswith("1 dataset is no longer listed, but stays. The preview")
    name = model.Package.get(package_id).name
    page = app.get(f"/dataset/{name}/freshness").body
    assert "No longer in the source" in page and "2026-11-03" in page
    page = app.get("/dataset/?freshness_source=absent").body
    assert gone.title in page and "Dataset 1" not in page
    rows = call_action("freshness_report", table="datasets")["rows"]
    rows = [row for row in rows if row["absent_since"]]
    assert [(row["name"], row["absent_since"]) for row in rows] == [(name, LOST_AT)]
