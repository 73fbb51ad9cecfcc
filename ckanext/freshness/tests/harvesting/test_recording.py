"""A recorded FAIR Data Point harvested from end to end, with and without its page endpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ckanext.freshness.tests.harvesting.conftest import (
    add_source,
    extras,
    indexed,
    written,
)
from ckanext.freshness.tests.servers.replay import ReplayServer

pytestmark = pytest.mark.usefixtures("clean_site")


@pytest.fixture(params=["pages", "no pages"])
def recorded(request: pytest.FixtureRequest) -> Iterator[ReplayServer]:
    with ReplayServer(pages=request.param == "pages") as server:
        yield server


def test_a_recorded_fair_data_point(recorded: ReplayServer) -> None:
    harvest = add_source(recorded.url)
    job = harvest.run()
    assert job.errors == []
    assert job.stats == {"added": 14, "updated": 0, "not modified": 0, "errored": 0, "deleted": 0}
    found = harvest.datasets()
    assert set(found) == set(recorded.urls("datasets"))
    (draft,) = recorded.urls("draft")
    assert recorded.count(draft.removeprefix(recorded.url)) > 0
    for url, package in found.items():
        assert package["organization"]["id"] == harvest.source["owner_org"]
        told = extras(package)
        assert told["harvest_source_id"] == harvest.source["id"]
        assert told["guid"].endswith(f";dataset={url}")
    titles = {"Cohort A", *(f"Dataset {number:02}" for number in range(2, 15))}
    assert {package["title"] for package in found.values()} == titles
    (cohort,) = (package for package in found.values() if package["title"] == "Cohort A")
    assert [one["name"] for one in cohort["resources"]] == ["API", "CSV"]

    before = written(), indexed()
    job = harvest.run()
    assert job.errors == []
    assert job.stats == {"added": 0, "updated": 0, "not modified": 14, "errored": 0, "deleted": 0}
    assert (written(), indexed()) == before


def test_an_empty_list_whose_last_page_is_minus_one_is_no_error() -> None:
    """The reference implementation answers so: the page does not exist, and a request for it fails."""
    turtle = {"Content-Type": "text/turtle"}
    page = "{base}/catalog/1/page/dataset?page=%s&size=50"
    links = f'<{page % 0}>; rel="first", <{page % -1}>; rel="last"'
    prefix = "@prefix dcat: <http://www.w3.org/ns/dcat#> ."
    root = "<{base}> a <https://w3id.org/fdp/fdp-o#FAIRDataPoint> ; "
    root += "<https://w3id.org/fdp/fdp-o#metadataCatalog> <{base}/catalog/1> ."
    catalog = f"{prefix} <{{base}}/catalog/1> a dcat:Catalog ."
    bodies = {"{base}": root, "{base}/catalog/1": catalog, page % 0: prefix}
    answers: dict[str, Any] = {
        url: {"status": 200, "headers": turtle, "body": body} for url, body in bodies.items()
    }
    answers[page % 0]["headers"] = {**turtle, "Link": links}
    answers[page % -1] = {"status": 500, "headers": {}, "body": ""}
    with ReplayServer({"responses": answers}) as server:
        job = add_source(server.url).run()
        (error,) = job.errors
        assert error.startswith("The source lists 1 catalog, but no datasets.")
