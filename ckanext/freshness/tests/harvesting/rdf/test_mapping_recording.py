"""The datasets of a real FAIR Data Point, mapped field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rdflib import Graph, URIRef

from ckanext.freshness.harvesting.packages.layout import CatalogSite, package_dict
from ckanext.freshness.harvesting.packages.licenses import license_index
from ckanext.freshness.harvesting.rdf.mapping import map_catalog, map_dataset
from ckanext.freshness.harvesting.record import Record

BASE = "https://fdp.example.org"
RECORDING = json.loads(
    (Path(__file__).parents[2] / "data" / "fdp_recording.json")
    .read_text(encoding="utf-8")
    .replace("{base}", BASE)
)

COHORT_A = f"{BASE}/dataset/5bf39611-e763-4e62-8e87-9ad25b1179ff"
DATASET_02 = f"{BASE}/dataset/f9ef2c55-8b02-4603-b36f-6000c0a0629e"
DATASET_14 = f"{BASE}/dataset/aa6ce6ea-07a8-451d-87e7-e822aeaed20f"
CATALOG = f"{BASE}/catalog/acc1d0d1-3312-4e2a-a5a1-76d0925ab347"

CC_ZERO = "http://purl.org/NET/rdflicense/cc-zero1.0"
ENGLISH = "http://id.loc.gov/vocabulary/iso639-1/en"
HEALTH = "http://publications.europa.eu/resource/authority/data-theme/HEAL"
INSTITUTE = [{"name": "Example Institute", "email": "info@example.org"}]


def document(url: str) -> str:
    return str(RECORDING["responses"][url]["body"])


def merged(dataset: str) -> Graph:
    """Merge a dataset's document with those of its distributions, as the crawl does."""
    graph = Graph().parse(data=document(dataset), format="turtle")
    for distribution in RECORDING["distributions"]:
        if (None, None, URIRef(distribution)) in graph:
            graph.parse(data=document(distribution), format="turtle")
    return graph


def mapped(dataset: str) -> Record:
    return map_dataset(merged(dataset), URIRef(dataset))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("title", "Cohort A"),
        ("title_translated", {"en": "Cohort A"}),
        ("notes", "Rich dataset"),
        ("notes_translated", {"en": "Rich dataset"}),
        ("url", "https://example.org/cohort-a"),
        ("version", "1.2"),
        ("identifier", "cohort-a"),
        ("issued", "2024-01-02T00:00:00Z"),
        ("modified", "2024-05-06T07:08:09Z"),
        ("frequency", "http://publications.europa.eu/resource/authority/frequency/MONTHLY"),
        ("theme", [HEALTH]),
        ("language", [ENGLISH]),
        (
            "access_rights",
            "http://publications.europa.eu/resource/authority/access-right/RESTRICTED",
        ),
        ("license", "http://creativecommons.org/licenses/by/4.0/"),
        (
            "contact",
            [
                {
                    "uri": "https://example.org/help#cp",
                    "name": "Help desk",
                    "email": "help@example.org",
                    "url": "https://example.org/help",
                }
            ],
        ),
        ("publisher", INSTITUTE),
        ("temporal_coverage", [{"start": "2020-01-01", "end": "2023-12-31"}]),
        (
            "spatial_coverage",
            [{"uri": "http://publications.europa.eu/resource/authority/country/NLD"}],
        ),
        ("number_of_records", 1234),
        ("min_typical_age", 18),
        ("health_theme", ["http://www.wikidata.org/entity/Q8277"]),
        ("tags_translated", {"": ["CNS/Brain", "x"], "en": ["genomics"]}),
        ("uri", COHORT_A),
    ],
)
def test_a_rich_dataset(key: str, value: Any) -> None:
    assert mapped(COHORT_A).fields[key] == value


def test_a_rich_dataset_has_no_other_fields() -> None:
    """The server adds metrics, its profile, and dates and identifier of its metadata. None is mapped."""
    record = mapped(COHORT_A)
    assert set(record.fields) == {
        "title",
        "title_translated",
        "notes",
        "notes_translated",
        "url",
        "version",
        "identifier",
        "issued",
        "modified",
        "frequency",
        "theme",
        "language",
        "access_rights",
        "license",
        "contact",
        "publisher",
        "temporal_coverage",
        "spatial_coverage",
        "number_of_records",
        "min_typical_age",
        "health_theme",
        "tags_translated",
        "uri",
    }
    assert record.tags == ["CNS/Brain", "genomics", "x"]
    assert record.warnings == []


def test_its_distributions() -> None:
    api, csv = mapped(COHORT_A).resources
    assert api == {
        "uri": f"{BASE}/distribution/a3dd109b-0a18-4b03-b618-f30126f0f742",
        "name": "API",
        "name_translated": {"en": "API"},
        "access_url": "https://example.org/api",
        "url": "https://example.org/api",
        "format": "JSON",
        "mimetype": "application/json",
        "version": "1",
        "publisher": INSTITUTE,
        "license": CC_ZERO,
        "language": [ENGLISH],
        "access_services": [{"title": "svc", "endpoint_url": ["https://example.org/api"]}],
    }
    assert csv == {
        "uri": f"{BASE}/distribution/34cde4a6-35fd-4cf5-a561-807c0cb6ed48",
        "name": "CSV",
        "name_translated": {"en": "CSV"},
        "description": "csv file",
        "download_url": "https://example.org/a.csv",
        "url": "https://example.org/a.csv",
        "format": "CSV",
        "mimetype": "text/csv",
        "size": 2048,
        "issued": "2024-01-02T00:00:00Z",
        "version": "1",
        "publisher": INSTITUTE,
        "license": "http://creativecommons.org/licenses/by/4.0/",
        "language": [ENGLISH],
    }


def _plain_fields(uri: str, number: str) -> dict[str, Any]:
    return {
        "uri": uri,
        "title": f"Dataset {number}",
        "title_translated": {"en": f"Dataset {number}"},
        "notes": f"d{int(number)}",
        "version": "1",
        "license": CC_ZERO,
        "language": [ENGLISH],
        "theme": [HEALTH],
        "publisher": INSTITUTE,
    }


def test_a_dataset_with_one_distribution() -> None:
    record = mapped(DATASET_02)
    assert record.fields == _plain_fields(DATASET_02, "02")
    assert record.tags == ["k2"]
    assert record.resources == [
        {
            "uri": f"{BASE}/distribution/71c05bcc-6a8c-4261-b3c5-43b1cb719fb3",
            "name": "Plain",
            "name_translated": {"en": "Plain"},
            "access_url": "https://example.org/p",
            "url": "https://example.org/p",
            "format": "JSON",
            "mimetype": "application/json",
            "version": "1",
            "publisher": INSTITUTE,
            "license": CC_ZERO,
            "language": [ENGLISH],
        }
    ]


def test_a_dataset_without_distributions() -> None:
    record = mapped(DATASET_14)
    assert record.fields == _plain_fields(DATASET_14, "14")
    assert record.tags == ["k14"]
    assert record.resources == []


def test_all_datasets_are_mapped_without_a_warning() -> None:
    records = [mapped(dataset) for dataset in RECORDING["datasets"]]
    assert len(records) == 14
    assert [record.warnings for record in records] == [[]] * 14
    assert len({record.digest() for record in records}) == 14


def test_a_catalog() -> None:
    graph = Graph().parse(data=document(CATALOG), format="turtle")
    record = map_catalog(graph, URIRef(CATALOG))
    assert record.fields == {
        "uri": CATALOG,
        "title": "Rare disease catalogue",
        "title_translated": {"en": "Rare disease catalogue"},
        "notes": "Made through the REST API",
        "notes_translated": {"en": "Made through the REST API"},
        "version": "1.0",
        "issued": "2026-11-21T02:48:05.562003Z",
        "modified": "2026-11-21T02:48:05.562003Z",
        "license": CC_ZERO,
        "language": ["http://publications.europa.eu/resource/authority/language/ENG"],
        "publisher": INSTITUTE,
        "theme_taxonomy": [HEALTH],
    }
    assert record.resources == []


def test_a_page_of_all_datasets_gives_each_the_same_record_as_its_own_document() -> None:
    page = Graph().parse(data=document(f"{CATALOG}/page/dataset?page=0&size=50"), format="turtle")
    for distribution in RECORDING["distributions"]:
        page.parse(data=document(distribution), format="turtle")
    for dataset in RECORDING["datasets"]:
        if (URIRef(dataset), None, None) in page:
            record = map_dataset(page, URIRef(dataset))
            assert record.as_json() == mapped(dataset).as_json()


def test_what_the_server_changes_by_itself_changes_no_hash() -> None:
    text = document(COHORT_A)
    changed = (
        text.replace("2026-11-21T02:48:0", "2027-01-01T00:00:0")
        .replace("445c0a70d1e214e545b261559e2842f4", "00000000000000000000000000000000")
        .replace("2f08228e-1789-40f8-84cd-28e3288c3604", "99999999-1789-40f8-84cd-28e3288c3604")
    )
    assert changed != text
    before = map_dataset(Graph().parse(data=text, format="turtle"), URIRef(COHORT_A))
    after = map_dataset(Graph().parse(data=changed, format="turtle"), URIRef(COHORT_A))
    assert after.digest() == before.digest()


def test_the_package_of_a_rich_dataset_on_a_site_without_a_schema() -> None:
    register = [
        {"id": "notspecified", "title": "License not specified", "url": ""},
        {
            "id": "cc-by",
            "title": "Creative Commons Attribution",
            "url": "http://www.opendefinition.org/licenses/cc-by",
        },
    ]
    laid = package_dict(mapped(COHORT_A), CatalogSite(licenses=license_index(register)))
    package = laid.package
    extras = {extra["key"]: extra["value"] for extra in package.pop("extras")}
    resources = package.pop("resources")
    assert package == {
        "type": "dataset",
        "title": "Cohort A",
        "notes": "Rich dataset",
        "url": "https://example.org/cohort-a",
        "version": "1.2",
        "license_id": "cc-by",
        "author": "Example Institute",
        "author_email": "info@example.org",
        "maintainer": "Help desk",
        "maintainer_email": "help@example.org",
        "tags": [{"name": "CNS Brain"}, {"name": "genomics"}],
    }
    assert list(extras) == sorted(extras)
    assert extras == {
        "access_rights": (
            "http://publications.europa.eu/resource/authority/access-right/RESTRICTED"
        ),
        "contact": (
            '[{"email": "help@example.org", "name": "Help desk", '
            '"uri": "https://example.org/help#cp", "url": "https://example.org/help"}]'
        ),
        "frequency": "http://publications.europa.eu/resource/authority/frequency/MONTHLY",
        "health_theme": '["http://www.wikidata.org/entity/Q8277"]',
        "identifier": "cohort-a",
        "issued": "2024-01-02T00:00:00Z",
        "language": f'["{ENGLISH}"]',
        "min_typical_age": "18",
        "modified": "2024-05-06T07:08:09Z",
        "number_of_records": "1234",
        "publisher": '[{"email": "info@example.org", "name": "Example Institute"}]',
        "spatial_coverage": (
            '[{"uri": "http://publications.europa.eu/resource/authority/country/NLD"}]'
        ),
        "temporal_coverage": '[{"end": "2023-12-31", "start": "2020-01-01"}]',
        "theme": f'["{HEALTH}"]',
        "uri": COHORT_A,
    }
    assert resources[0]["access_services"] == (
        '[{"endpoint_url": ["https://example.org/api"], "title": "svc"}]'
    )
    assert resources[1]["size"] == 2048
    assert laid.warnings == [
        'tags: "CNS/Brain" becomes "CNS Brain"',
        'tags: "x" has fewer than two letters or digits; left out',
    ]
