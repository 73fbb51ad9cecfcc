"""Records and catalogs that a server refuses, through real jobs, pages and approvals."""

from __future__ import annotations

import re
from typing import Any

import pytest
from bs4 import BeautifulSoup
from ckan.tests import factories

from ckanext.freshness.tests.harvesting.conftest import Harvest, Published, add_source
from ckanext.freshness.tests.servers.catalogue import CatalogueServer
from ckanext.freshness.tests.servers.ckan_portal import PortalServer
from ckanext.freshness.tests.servers.faults import Status
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Record

pytestmark = pytest.mark.usefixtures("clean_site")


@pytest.fixture
def harvest(fdp: FdpServer, monkeypatch: pytest.MonkeyPatch) -> Harvest:
    """A harvested source: a catalog of twelve datasets, and one of two."""
    monkeypatch.setattr("ckanext.freshness.settings.RETRY_DELAYS", ())
    for count in (12, 2):
        catalog = fdp.add_catalog()
        for _ in range(count):
            fdp.add_dataset(catalog, distributions=0)
    harvest = add_source(fdp.source_url)
    harvest.run()
    return harvest


def answer(fdp: FdpServer, status: int, *records: Record) -> None:
    """Let records answer with a status."""
    fdp.faults = {} if status == 200 else {one.path: Status(status) for one in records}


def held_page(app: Any, harvest: Harvest, **fields: str) -> str:
    """Return the words of the page of held deletions; with fields, what comes after its form was sent."""
    headers = {"Authorization": factories.SysadminWithToken()["token"]}
    path = f"/harvest/{harvest.source['name']}/held"
    shown = app.post(path, params=fields, headers=headers) if fields else None
    page = BeautifulSoup((shown or app.get(path, headers=headers)).body, "html.parser")
    return re.sub(r"\s+", " ", page.get_text(" "))


def approve(app: Any, harvest: Harvest) -> str:
    return held_page(app, harvest, list_id=harvest.hold()["list_id"])


@pytest.mark.parametrize(
    ("status", "own_url"),
    [(403, "Its web address refuses access."), (404, "Its web address says that it is gone.")],
)
def test_a_wall_is_held_and_its_approval_outlives_a_failure(
    fdp: FdpServer, harvest: Harvest, app: Any, status: int, own_url: str
) -> None:
    """Both datasets of the second catalog are refused, and are listed all the time."""
    behind = fdp.datasets[-2:]
    answer(fdp, status, *behind)
    assert harvest.run().stats["deleted"] == 0 and harvest.hold() is None
    harvest.wait_a_day()
    assert harvest.run().stats["deleted"] == 0
    words = held_page(app, harvest)
    assert "2 of 14 datasets would be deleted. We stopped that." in words
    assert "Each of them: The source refuses access to most records of its catalog, or" in words
    assert own_url in words
    assert "The next job deletes 2 datasets" in approve(app, harvest)
    answer(fdp, 500, *behind)
    assert harvest.run().stats["deleted"] == 0
    assert "The next job deletes 2 datasets" in held_page(app, harvest)
    answer(fdp, status, *behind)
    assert harvest.run().stats["deleted"] == 2
    assert harvest.hold() is None and len(harvest.current()) == 12


def test_a_source_that_deletes_nothing_without_an_approval(published: Published, app: Any) -> None:
    """With ``max_deletions: 0`` nobody asks the dataset's own URL."""
    harvest, server = published.harvest, published.server
    harvest.configure(max_deletions=0)
    harvest.run()
    if isinstance(server, FdpServer):
        lost = server.datasets[0].path
        server.remove(server.datasets[0])
    elif isinstance(server, CatalogueServer):
        lost = f"/dataset/{server.entries.pop(0).key}"
    elif isinstance(server, PortalServer):
        lost = next(iter(server.datasets))
        del server.datasets[lost]
    server.reset()
    for _ in range(2):
        assert harvest.run().stats["deleted"] == 0
        assert "1 of 3 datasets would be deleted. We stopped that." in held_page(app, harvest)
        harvest.wait_a_day()
    assert not any(lost in request.target for request in server.requests)
    assert [one["own_url"] for one in harvest.hold()["held"]] == [None]
    approve(app, harvest)
    assert harvest.run().stats["deleted"] == 1
    assert harvest.hold() is None and len(harvest.current()) == 2
