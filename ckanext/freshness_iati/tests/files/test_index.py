"""Index files: the Bulk Data Service's fields, and the same bytes for the same entries."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any

from ckanext.freshness_iati import downloads
from ckanext.freshness_iati.downloads import LegacyDataset

CREATED = datetime(2026, 11, 21, 20, 0, tzinfo=timezone(timedelta(hours=1)))
AT = datetime(2026, 11, 20, 1, 2, 3, 456789, tzinfo=timezone.utc)
ENTRY: dict[str, Any] = {
    "id": "1",
    "short_name": "a-tz",
    "reporting_org_id": "o1",
    "reporting_org_short_name": "a",
    "licence_id": "cc-by",
    "source_url": "https://example.org/a.xml",
    "last_update_check": AT.replace(tzinfo=None),
    "last_known_good_dataset": {
        "cached_dataset_xml_url": "https://ckan/copy",
        "cached_dataset_zip_url": "https://ckan/copy.zip",
        "content_length": 12,
        "downloaded": AT,
        "hash": "aa",
        "hash_excluding_generated_timestamp": "bb",
        "initial_contents": "<iati-activities>é\udc80",
        "source_url": "https://example.org/a.xml",
        "verified_on_server": AT,
    },
}
ORGANISATIONS = [{"id": "o1", "short_name": "a"}, {"id": "o2", "short_name": "b"}]


def written(entries: Iterable[dict[str, Any]]) -> dict[str, bytes]:
    """Return both index files of datasets."""
    files: dict[str, list[bytes]] = {downloads.MINIMAL: [], downloads.FULL: []}
    writes = [chunks.append for chunks in files.values()]
    downloads.write_datasets(entries, CREATED, *writes)
    return {name: b"".join(chunks) for name, chunks in files.items()}


def test_the_full_index_has_the_entries_as_they_are_and_moments_in_utc() -> None:
    found = json.loads(written([ENTRY])[downloads.FULL])
    assert set(found) == {"index_created", "index_created_unix_timestamp", "datasets"}
    assert found["index_created"] == "2026-11-21T19:00:00Z"
    assert found["index_created_unix_timestamp"] == 1795287600
    at = "2026-11-20T01:02:03.456789Z"
    good = ENTRY["last_known_good_dataset"]
    assert found["datasets"] == [
        {
            **ENTRY,
            "last_update_check": at,
            "last_known_good_dataset": {**good, "downloaded": at, "verified_on_server": at},
        }
    ]


def test_the_legacy_files_are_as_ckan_writes_them() -> None:
    other = "a/z-z~1.xml"
    datasets = [
        LegacyDataset.of({**ENTRY, "id": "2"}, other, has_copy=False),
        LegacyDataset.of(ENTRY, "a/a-tz.xml", has_copy=True),
    ]
    files = {
        one.name: b"".join(one.chunks)
        for one in downloads.legacy_files(datasets, ORGANISATIONS, CREATED)
    }
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
        "license_title": None,
        "name": "a-tz",
        "organization": {"id": "o1", "name": "a"},
        "resources": [{"url": "https://example.org/a.xml"}],
    }
    assert json.loads(files["iati-data-main/metadata/a.json"]) == {"id": "o1", "name": "a"}
    assert json.loads(files["iati-data-main/metadata.json"])["created_at"] == "2026-11-21T19:00:00Z"
