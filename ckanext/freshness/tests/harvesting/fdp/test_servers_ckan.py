"""Servers whose documents differ from their listings, on a whole site."""

from __future__ import annotations

from typing import Any

import pytest

from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness.tests.harvesting.fdp.test_servers import PURL, renamed
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind

pytestmark = pytest.mark.usefixtures("clean_site")


@pytest.fixture(autouse=True)
def impatient(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow one attempt for each request."""
    monkeypatch.setitem(ckan_config, "ckanext.freshness.retry_delays", "")


def identities(harvest: Harvest) -> dict[str, tuple[str, str]]:
    """Return id and name of each active dataset by its guid, since the URL in its document may change."""
    names = {one["id"]: one["name"] for one in harvest.datasets().values()}
    current = harvest.current()
    assert {package_id for _, package_id in current} == set(names)
    return {guid: (package_id, names[package_id]) for guid, package_id in current}


def test_two_listed_urls_with_one_record(fdp: FdpServer) -> None:
    """The dataset keeps the URL that had it first, whichever URL answers."""
    fdp.layout.pages = False
    catalog = fdp.add_catalog()
    record = fdp.add_dataset(catalog, "one", title="The same", distributions=0)
    name = PURL + "one"
    fdp.faults[record.path] = faults.Body(renamed(fdp, record, name))
    harvest = add_source(fdp.source_url)
    assert harvest.run().stats["added"] == 1
    before = identities(harvest)

    twin = f"/other{record.path}"
    same = Answer(200, renamed(fdp, record, name), {"Content-Type": "text/turtle"})
    del fdp.faults[record.path]
    fdp.files.update({record.path: same, twin: same})
    fdp.list_also(fdp.url + twin, catalog, Kind.DATASET)
    for late, spoiled in ((None, False), (faults.Delay(0.3), False), (faults.Status(503), True)):
        fdp.faults = {record.path: late} if late else {}
        job = harvest.run()
        assert f"{fdp.url}{twin}: it describes {name}, as another listed URL does" in job.errors
        assert len(job.errors) == 1 + spoiled
        assert job.stats["added"] == 0
        assert identities(harvest) == before

    # No other container lists it.
    fdp.faults = {}
    fdp.unlist(record, catalog)
    job = harvest.run()
    assert (job.errors, job.stats["updated"], job.stats["deleted"]) == ([], 1, 0)
