"""Index files: the Bulk Data Service's fields, and the same bytes for the same entries."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from ckanext.freshness.iati.files import index
from ckanext.freshness.iati.files.index import DatasetEntry, OrganisationEntry
from ckanext.freshness.iati.policy.attempts import ErrorDetails, ErrorType, IatiAttempt

CREATED = datetime(2026, 11, 21, 20, 0, tzinfo=timezone(timedelta(hours=1)))
AT = datetime(2026, 11, 20, 1, 2, 3, 456789, tzinfo=timezone.utc)
GOOD = {
    "cached_dataset_xml_url": "https://ckan/copy",
    "cached_dataset_zip_url": "https://ckan/copy.zip",
    "content_length": 12,
    "downloaded": AT,
    "hash": "aa",
    "hash_excluding_generated_timestamp": "bb",
    "initial_contents": "<iati-activities>é\udc80",
    "server_header_etag": '"x"',
    "server_header_last_modified": "yesterday",
    "source_url": "https://example.org/a.xml",
    "verified_on_server": AT,
    "content_modified": AT,
    "content_modified_excluding_generated_timestamp": None,
}
ERROR = ErrorDetails(
    ErrorType.HTTP_NON_200, "Not 200", "404", "GET", "Not Found", {}, "https://example.org/a.xml"
)
FAILED = IatiAttempt(AT, "GET", 404, ERROR).as_json()
WITH = DatasetEntry(
    *("1", "a-tz", "o1", "a", "https://example.org/a.xml", "cc-by", "CC", AT, GOOD),
    head_attempt=IatiAttempt(AT, "HEAD", 200).as_json(),
    get_attempt=FAILED,
    attempts=(FAILED,),
)
WITHOUT = DatasetEntry("2", "Z/z", "o1", "a", "https://example.org/z.xml")
ORGANISATIONS = [
    OrganisationEntry("o2", "b"),
    OrganisationEntry("o1", "a", "Aid", "XM-DAC-1", "40", "primary", created_date=AT),
]

REGISTERED = {
    *("id", "short_name", "reporting_org_id", "reporting_org_short_name", "licence_id"),
    *("source_url", "last_update_check", "last_known_good_dataset"),
}


def written(datasets: Iterable[DatasetEntry]) -> dict[str, bytes]:
    """Return both index files of datasets."""
    files: dict[str, list[bytes]] = {index.MINIMAL: [], index.FULL: []}
    writes = [pieces.append for pieces in files.values()]
    index.write_datasets(sorted(datasets, key=index.order), CREATED, *writes)
    return {name: b"".join(pieces) for name, pieces in files.items()}


def test_the_full_index_has_the_fields_of_the_service() -> None:
    found = json.loads(written([WITHOUT, WITH])[index.FULL])
    assert set(found) == {"index_created", "index_created_unix_timestamp", "datasets"}
    assert found["index_created"] == "2026-11-21T19:00:00Z"
    assert found["index_created_unix_timestamp"] == 1795287600
    without, one = found["datasets"]  # sorted by their names
    attempts = {"most_recent_head_attempt", "most_recent_get_attempt", "attempts"}
    assert set(one) == set(without) == REGISTERED | attempts
    assert one["last_known_good_dataset"] == {
        "cached_dataset_xml_url": "https://ckan/copy",
        "cached_dataset_zip_url": "https://ckan/copy.zip",
        "content_length": 12,
        "content_modified": "2026-11-20T01:02:03.456789Z",
        "content_modified_excluding_generated_timestamp": None,
        "downloaded": "2026-11-20T01:02:03.456789Z",
        "hash": "aa",
        "hash_excluding_generated_timestamp": "bb",
        "initial_contents": "<iati-activities>é\udc80",
        "server_header_etag": '"x"',
        "server_header_last_modified": "yesterday",
        "source_url": "https://example.org/a.xml",
        "verified_on_server": "2026-11-20T01:02:03.456789Z",
    }
    get = {
        "datetime": "2026-11-20T01:02:03.456789Z",
        "http_status": 404,
        "error_occurred": True,
        "error_details": ERROR.as_json(),
    }
    assert one["most_recent_get_attempt"] == get
    assert one["attempts"] == [{**get, "http_method": "GET"}]
    assert one["most_recent_head_attempt"]["error_details"] == {}
    assert set(without["last_known_good_dataset"].values()) == {None}
    assert without["most_recent_get_attempt"] == {
        **dict.fromkeys(("datetime", "http_status", "error_occurred")),
        "error_details": {},
    }


def test_the_minimal_index_has_the_fields_of_the_service() -> None:
    found = json.loads(written([WITH])[index.MINIMAL])["datasets"]
    assert set(found[0]) == REGISTERED
    assert set(found[0]["last_known_good_dataset"]) == {
        *("cached_dataset_xml_url", "cached_dataset_zip_url", "downloaded", "hash"),
        *("hash_excluding_generated_timestamp", "source_url", "verified_on_server"),
    }


def test_the_index_of_organisations_has_the_fields_of_the_service() -> None:
    found = json.loads(index.reporting_orgs(ORGANISATIONS, CREATED))["reporting_orgs"]
    assert [one["short_name"] for one in found] == ["a", "b"]
    assert found[0] == {
        **dict.fromkeys(
            (
                *("data_portal_url", "default_licence_id", "description", "website", "region"),
                *("exclusions_policy_url", "first_publication_date", "hq_country"),
            )
        ),
        "created_date": "2026-11-20T01:02:03.456789Z",
        "human_readable_name": "Aid",
        "iati_identifier": "XM-DAC-1",
        "id": "o1",
        "organisation_identifier": "XM-DAC-1",
        "organisation_type": "40",
        "reporting_source_type": "primary",
        "short_name": "a",
    }


def test_there_is_one_order_of_datasets() -> None:
    both = sorted([WITH, WITHOUT], key=index.order)
    with pytest.raises(ValueError, match="comes after"):
        index.write_datasets(both[::-1], CREATED, lambda _: None, lambda _: None)


def test_the_order_of_organisations_does_not_matter() -> None:
    assert index.reporting_orgs(ORGANISATIONS, CREATED) == index.reporting_orgs(
        ORGANISATIONS[::-1], CREATED
    )


def test_nothing_is_a_valid_index() -> None:
    for file in written([]).values():
        assert json.loads(file)["datasets"] == []


def test_large_files_come_in_pieces() -> None:
    many = [replace(WITH, id=f"{number:05}") for number in range(2000)]
    pieces: list[bytes] = []
    index.write_datasets(many, CREATED, lambda _: None, pieces.append)
    assert len(pieces) > 5
    assert max(map(len, pieces)) < 300_000
    found = json.loads(b"".join(pieces))["datasets"]
    assert [one["id"] for one in found] == [one.id for one in many]


def test_the_legacy_files_are_as_ckan_writes_them() -> None:
    outlines = [index.outline(one) for one in (WITHOUT, WITH)]
    files = {
        one.name: b"".join(one.pieces)
        for one in index.legacy_files(outlines, ORGANISATIONS, CREATED)
    }
    other = index.outline(WITHOUT).path
    assert other.startswith("a/z-z~")
    assert list(files) == [
        f"iati-data-main/data/{other}",
        f"iati-data-main/metadata/{other[:-4]}.json",
        "iati-data-main/metadata/a/a-tz.json",
        "iati-data-main/metadata/a.json",
        "iati-data-main/metadata/b.json",
        "iati-data-main/metadata.json",
    ]
    assert files[f"iati-data-main/data/{other}"] == b""
    assert json.loads(files["iati-data-main/metadata/a/a-tz.json"]) == {
        **{name: [] for name in ("extras", "groups", "tags", "users")},
        "id": "1",
        "license_id": "cc-by",
        "license_title": "CC",
        "name": "a-tz",
        "organization": {"id": "o1", "name": "a"},
        "resources": [{"url": "https://example.org/a.xml"}],
    }
    assert json.loads(files["iati-data-main/metadata/a.json"]) == {"id": "o1", "name": "a"}
    assert json.loads(files["iati-data-main/metadata.json"])["created_at"] == "2026-11-21T19:00:00Z"


def test_a_path_of_its_own_is_where_a_dataset_is() -> None:
    one = index.outline(replace(WITHOUT, path="a/z-2.xml"))
    assert [file.name for file in index.legacy_files([one], [], CREATED)][:2] == [
        "iati-data-main/data/a/z-2.xml",
        "iati-data-main/metadata/a/z-2.json",
    ]


def test_the_services_own_zip_holds_the_index_files() -> None:
    assert [(one.name, one.pieces) for one in index.bulk_files([b"1"], [b"2"], [b"3"])] == [
        ("iati-data/datasets-minimal.json", [b"1"]),
        ("iati-data/datasets-full.json", [b"2"]),
        ("iati-data/reporting-orgs.json", [b"3"]),
    ]
