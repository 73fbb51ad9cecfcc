"""Records and catalogs that a server refuses, through real jobs, pages and approvals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from bs4 import BeautifulSoup
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import Harvest, Job, Published, add_source
from ckanext.freshness.tests.harvesting.served_lists import Documents, datasets
from ckanext.freshness.tests.servers.base import Answer
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


def test_a_wall_is_held_and_its_approval_outlives_a_failure(
    fdp: FdpServer, harvest: Harvest, app: Any
) -> None:
    """Both datasets of the second catalog answer 403, and are listed all the time."""
    behind = fdp.datasets[-2:]
    answer(fdp, 403, *behind)
    assert harvest.run().stats["deleted"] == 0 and harvest.hold() is None
    harvest.wait_a_day()
    assert harvest.run().stats["deleted"] == 0
    words = held_page(app, harvest)
    assert "2 of 14 datasets would be deleted. We stopped that." in words
    assert "Each of them: The source refuses access to most records of its catalog." in words
    assert "Its web address refuses access." in words
    assert "The next job deletes 2 datasets" in approve(app, harvest)
    answer(fdp, 500, *behind)
    assert harvest.run().stats["deleted"] == 0
    assert "The next job deletes 2 datasets" in held_page(app, harvest)
    answer(fdp, 403, *behind)
    assert harvest.run().stats["deleted"] == 2
    assert harvest.hold() is None and len(harvest.current()) == 12


def test_a_dataset_that_is_refused_in_turn(fdp: FdpServer, harvest: Harvest, app: Any) -> None:
    """After two days of 403 and 404, an editor decides. Jobs that cannot tell change nothing."""
    for status in (403, 404, 500, 403):
        assert harvest.hold() is None
        answer(fdp, status, fdp.datasets[0])
        assert harvest.run().stats["deleted"] == 0
        if status != 500:
            harvest.wait_a_day()
    words = held_page(app, harvest)
    assert "1 of 14 datasets would be deleted. We stopped that." in words
    assert "now refused access to it, now said that it is gone" in words
    assert "the hold ends when the source has the datasets again" in words
    answer(fdp, 404, fdp.datasets[0])
    approve(app, harvest)
    assert harvest.run().stats["deleted"] == 1 and harvest.hold() is None


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


MANY, FEW = range(12), range(12, 14)


@pytest.fixture
def server() -> Iterator[Documents]:
    """A source with two catalogs, of which the second has few datasets."""
    with Documents() as running:
        running.publish("/c", "<> dcat:catalog <a>, <b> .")
        running.publish("/a", datasets(*MANY))
        running.publish("/b", datasets(*FEW))
        for number in (*MANY, *FEW):
            running.publish_dataset(number)
        yield running


@pytest.fixture(params=["fdp", "dcat_catalog"])
def two_lists(request: pytest.FixtureRequest, server: Documents) -> Harvest:
    found = add_source(f"{server.url}/c", source_type=request.param)
    assert found.run().stats["added"] == 14
    return found


def told(job: Job) -> list[str]:
    """Return what a job says of gone catalogs."""
    report = call_action("harvest_job_report", id=job.id)
    return [
        one["message"]
        for one in report["source_warnings"]
        if one["message_code"]["code"] == "catalog gone"
    ]


def test_an_editor_decides_about_the_datasets(server: Documents, two_lists: Harvest) -> None:
    lost = {f"{server.url}/d/{number}" for number in FEW}
    server.files["/b"] = Answer(404)
    job = two_lists.run()
    (error,) = job.errors
    assert error.startswith(f"{server.url}/b: It is no longer there") and not told(job)
    assert two_lists.hold() is None
    two_lists.wait_a_day()
    for _ in range(2):
        job = two_lists.run()
        assert job.stats["deleted"] == 0 and [one["code"] for one in job.codes] == [
            "deletions held"
        ]
        assert [f"{server.url}/b" in words for words in told(job)] == [True]
        assert {one["url"] for one in two_lists.hold()["held"]} == lost
    two_lists.release()
    assert two_lists.run().stats["deleted"] == 2
    # The catalog is still listed, and holds up nothing.
    server.publish("/a", datasets(*MANY[1:]))
    server.files["/d/0"] = Answer(404)
    for _ in range(2):
        job = two_lists.run()
        assert job.errors == [] and len(told(job)) == 1
        two_lists.wait_a_day()
    assert len(two_lists.current()) == 11


def test_a_catalog_that_answers_again_loses_nothing(server: Documents, two_lists: Harvest) -> None:
    catalog = server.files["/b"]
    server.files["/b"] = Answer(404)
    for answer in (Answer(500), catalog, Answer(404)):
        two_lists.run()
        two_lists.wait_a_day()
        server.files["/b"] = answer
    (error,) = two_lists.run().errors
    assert error.startswith(f"{server.url}/b: It is no longer there") and two_lists.hold() is None
    assert len(two_lists.current()) == 14


PAGE = Answer(200, b"<html><body>Search</body></html>", {"Content-Type": "text/html"})


def test_a_record_that_may_have_moved_to_a_gone_catalog_is_held(
    server: Documents, two_lists: Harvest
) -> None:
    """Its own URL cannot tell. One that leaves its list later cannot have moved there: it is deleted."""
    moved, later = (f"{server.url}/d/{number}" for number in range(2))
    server.publish("/c", "<> dcat:catalog <a>, <b>, <new> .")
    server.publish("/a", datasets(*MANY[1:]))
    server.files["/d/0"] = server.files["/d/1"] = PAGE
    two_lists.run()
    assert two_lists.hold() is None
    for _ in range(3):
        two_lists.wait_a_day()
        job = two_lists.run()
        assert job.stats["deleted"] == 0
    assert [one["url"] for one in two_lists.hold()["held"]] == [moved]
    server.publish("/a", datasets(*MANY[2:]))
    for deleted in (0, 1):
        assert two_lists.run().stats["deleted"] == deleted
        two_lists.wait_a_day()
    assert later not in two_lists.datasets() and moved in two_lists.datasets()
    # The catalog answers, and has it.
    server.publish("/new", datasets(0))
    server.publish_dataset(0)
    job = two_lists.run()
    assert job.errors == [] and two_lists.hold() is None and len(two_lists.current()) == 13
