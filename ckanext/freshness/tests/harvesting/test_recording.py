"""A recorded FAIR Data Point harvested from end to end, with and without its page endpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import (
    add_source,
    extras,
    indexed,
    written,
)
from ckanext.freshness.tests.servers.replay import ReplayServer

pytestmark = pytest.mark.usefixtures("clean_site")

RARE = "{base}/catalog/acc1d0d1-3312-4e2a-a5a1-76d0925ab347"
SECOND = "{base}/catalog/d9cba0a2-f556-426f-9f5a-a171b37ef0c0"
COHORT_A = "{base}/dataset/5bf39611-e763-4e62-8e87-9ad25b1179ff"
DATASET_02 = "{base}/dataset/f9ef2c55-8b02-4603-b36f-6000c0a0629e"
DATASET_14 = "{base}/dataset/aa6ce6ea-07a8-451d-87e7-e822aeaed20f"

EU = "http://publications.europa.eu/resource/authority"
CC_ZERO = "http://purl.org/NET/rdflicense/cc-zero1.0"
ENGLISH = '["http://id.loc.gov/vocabulary/iso639-1/en"]'
INSTITUTE = '[{"email": "info@example.org", "name": "Example Institute"}]'
HEALTH = f'["{EU}/data-theme/HEAL"]'


def plain(number: int, url: str) -> dict[str, Any]:
    """A typical dataset of the recording."""
    catalog = SECOND if number > 12 else RARE
    return {
        "name": f"dataset-{number:02}",
        "title": f"Dataset {number:02}",
        "notes": f"d{number}",
        "url": None,
        "version": "1",
        "license_id": "cc-zero",
        "type": "dataset",
        "state": "active",
        "private": False,
        "author": "Example Institute",
        "author_email": "info@example.org",
        "maintainer": None,
        "maintainer_email": None,
        "groups": [],
        "tags": [f"k{number}"],
        "extras": {
            "guid": f"catalog={catalog};dataset={url}",
            "language": ENGLISH,
            "publisher": INSTITUTE,
            "theme": HEALTH,
            "uri": url,
        },
        "resources": [],
    }


EXPECTED: dict[str, dict[str, Any]] = {
    COHORT_A: {
        "name": "cohort-a",
        "title": "Cohort A",
        "notes": "Rich dataset",
        "url": "https://example.org/cohort-a",
        "version": "1.2",
        "license_id": "cc-by",
        "type": "dataset",
        "state": "active",
        "private": False,
        "author": "Example Institute",
        "author_email": "info@example.org",
        "maintainer": "Help desk",
        "maintainer_email": "help@example.org",
        "groups": [],
        "tags": ["CNS Brain", "genomics"],
        "extras": {
            "access_rights": f"{EU}/access-right/RESTRICTED",
            "contact": (
                '[{"email": "help@example.org", "name": "Help desk", '
                '"uri": "https://example.org/help#cp", "url": "https://example.org/help"}]'
            ),
            "frequency": f"{EU}/frequency/MONTHLY",
            "guid": f"catalog={RARE};dataset={COHORT_A}",
            "health_theme": '["http://www.wikidata.org/entity/Q8277"]',
            "identifier": "cohort-a",
            "issued": "2024-01-02T00:00:00Z",
            "language": ENGLISH,
            "min_typical_age": "18",
            "modified": "2024-05-06T07:08:09Z",
            "number_of_records": "1234",
            "publisher": INSTITUTE,
            "spatial_coverage": f'[{{"uri": "{EU}/country/NLD"}}]',
            "temporal_coverage": '[{"end": "2023-12-31", "start": "2020-01-01"}]',
            "theme": HEALTH,
            "uri": COHORT_A,
        },
        "resources": [
            {
                "name": "API",
                "url": "https://example.org/api",
                "access_url": "https://example.org/api",
                "format": "JSON",
                "mimetype": "application/json",
                "version": "1",
                "publisher": INSTITUTE,
                "license": CC_ZERO,
                "language": ENGLISH,
                "access_services": (
                    '[{"endpoint_url": ["https://example.org/api"], "title": "svc"}]'
                ),
                "uri": "{base}/distribution/a3dd109b-0a18-4b03-b618-f30126f0f742",
            },
            {
                "name": "CSV",
                "description": "csv file",
                "url": "https://example.org/a.csv",
                "download_url": "https://example.org/a.csv",
                "format": "CSV",
                "mimetype": "text/csv",
                "size": 2048,
                "issued": "2024-01-02T00:00:00Z",
                "version": "1",
                "publisher": INSTITUTE,
                "license": "http://creativecommons.org/licenses/by/4.0/",
                "language": ENGLISH,
                "uri": "{base}/distribution/34cde4a6-35fd-4cf5-a561-807c0cb6ed48",
            },
        ],
    },
    DATASET_02: {
        **plain(2, DATASET_02),
        "resources": [
            {
                "name": "Plain",
                "url": "https://example.org/p",
                "access_url": "https://example.org/p",
                "format": "JSON",
                "mimetype": "application/json",
                "version": "1",
                "publisher": INSTITUTE,
                "license": CC_ZERO,
                "language": ENGLISH,
                "uri": "{base}/distribution/71c05bcc-6a8c-4261-b3c5-43b1cb719fb3",
            }
        ],
    },
    DATASET_14: plain(14, DATASET_14),
}

NOT_THE_SOURCES = frozenset(
    {
        "cache_last_updated",
        "cache_url",
        "created",
        "id",
        "last_modified",
        "metadata_modified",
        "mimetype_inner",
        "package_id",
        "position",
        "resource_type",
        "state",
        "url_type",
    }
)
"""Fields of a resource that CKAN fills."""


@pytest.fixture(params=["pages", "no pages"])
def recorded(request: pytest.FixtureRequest) -> Iterator[ReplayServer]:
    with ReplayServer(pages=request.param == "pages") as server:
        yield server


def said(package: dict[str, Any], base: str) -> dict[str, Any]:
    """Return a package without the values that CKAN makes itself, so that two harvests can be compared."""
    fields = {key: package[key] for key in EXPECTED[DATASET_14] if key in package}
    fields["tags"] = [tag["name"] for tag in package["tags"]]
    fields["extras"] = {
        key: value
        for key, value in extras(package).items()
        if not key.startswith(("harvest_", "freshness"))
    }
    fields["resources"] = [
        {
            key: value
            for key, value in resource.items()
            if key not in NOT_THE_SOURCES and value not in (None, "")
        }
        for resource in package["resources"]
    ]
    neutral: dict[str, Any] = there(fields, base, "{base}")
    return neutral


def there(value: Any, base: str, other: str) -> Any:
    """Return the same data with another base address."""
    if isinstance(value, str):
        return value.replace(base, other)
    if isinstance(value, list):
        return [there(one, base, other) for one in value]
    if isinstance(value, dict):
        return {key: there(one, base, other) for key, one in value.items()}
    return value


def test_a_recorded_fair_data_point(recorded: ReplayServer) -> None:
    harvest = add_source(recorded.url)
    job = harvest.run()
    assert job.errors == []
    assert job.stats == {"added": 14, "updated": 0, "not modified": 0, "errored": 0, "deleted": 0}

    found = harvest.datasets()
    assert set(found) == set(recorded.urls("datasets"))
    (draft,) = recorded.urls("draft")
    assert recorded.count(draft.removeprefix(recorded.url)) > 0
    packages = {
        there(url, recorded.url, "{base}"): call_action("package_show", id=package["id"])
        for url, package in found.items()
    }
    for package in found.values():
        assert package["organization"]["id"] == harvest.source["owner_org"]
        assert extras(package)["harvest_source_id"] == harvest.source["id"]
    told = {url: said(package, recorded.url) for url, package in packages.items()}
    for url, expected in EXPECTED.items():
        assert told[url] == expected
    for url in told.keys() - EXPECTED.keys():
        number = int(told[url]["title"].removeprefix("Dataset "))
        assert told[url] == plain(number, url)

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
