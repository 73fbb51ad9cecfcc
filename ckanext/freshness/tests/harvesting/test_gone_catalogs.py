"""Catalogs that a source lists, and that answer 404 for days."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import Harvest, Job, add_source
from ckanext.freshness.tests.harvesting.served_lists import Documents, datasets
from ckanext.freshness.tests.servers.base import Answer

pytestmark = pytest.mark.usefixtures("clean_site")

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
def harvest(request: pytest.FixtureRequest, server: Documents) -> Harvest:
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


def test_an_editor_decides_about_the_datasets(server: Documents, harvest: Harvest) -> None:
    lost = {f"{server.url}/d/{number}" for number in FEW}
    server.files["/b"] = Answer(404)
    job = harvest.run()
    (error,) = job.errors
    assert error.startswith(f"{server.url}/b: It is no longer there") and not told(job)
    assert harvest.hold() is None
    harvest.wait_a_day()
    for _ in range(2):
        job = harvest.run()
        assert job.stats["deleted"] == 0 and [one["code"] for one in job.codes] == [
            "deletions held"
        ]
        assert [f"{server.url}/b" in words for words in told(job)] == [True]
        assert {one["url"] for one in harvest.hold()["held"]} == lost
    harvest.release()
    assert harvest.run().stats["deleted"] == 2
    # The catalog is still listed, and holds up nothing.
    server.publish("/a", datasets(*MANY[1:]))
    server.files["/d/0"] = Answer(404)
    for _ in range(2):
        job = harvest.run()
        assert job.errors == [] and len(told(job)) == 1
        harvest.wait_a_day()
    assert len(harvest.current()) == 11


def test_a_catalog_that_answers_again_loses_nothing(server: Documents, harvest: Harvest) -> None:
    catalog = server.files["/b"]
    server.files["/b"] = Answer(404)
    for answer in (Answer(500), catalog, Answer(404)):
        harvest.run()
        harvest.wait_a_day()
        server.files["/b"] = answer
    (error,) = harvest.run().errors
    assert error.startswith(f"{server.url}/b: It is no longer there") and harvest.hold() is None
    assert len(harvest.current()) == 14


PAGE = Answer(200, b"<html><body>Search</body></html>", {"Content-Type": "text/html"})


def test_a_record_that_may_have_moved_to_a_gone_catalog_is_held(
    server: Documents, harvest: Harvest
) -> None:
    """Its own URL cannot tell. One that leaves its list later cannot have moved there: it is deleted."""
    moved, later = (f"{server.url}/d/{number}" for number in range(2))
    server.publish("/c", "<> dcat:catalog <a>, <b>, <new> .")
    server.publish("/a", datasets(*MANY[1:]))
    server.files["/d/0"] = server.files["/d/1"] = PAGE
    harvest.run()
    assert harvest.hold() is None
    for _ in range(3):
        harvest.wait_a_day()
        job = harvest.run()
        assert job.stats["deleted"] == 0
    assert [one["url"] for one in harvest.hold()["held"]] == [moved]
    server.publish("/a", datasets(*MANY[2:]))
    for deleted in (0, 1):
        assert harvest.run().stats["deleted"] == deleted
        harvest.wait_a_day()
    assert later not in harvest.datasets() and moved in harvest.datasets()
    # The catalog answers, and has it.
    server.publish("/new", datasets(0))
    server.publish_dataset(0)
    job = harvest.run()
    assert job.errors == [] and harvest.hold() is None and len(harvest.current()) == 13
