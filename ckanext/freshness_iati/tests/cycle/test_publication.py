"""Index files and bulk ZIPs: when cycles write them, and from what."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest

from .cycles import Site
from .test_cycle import datasets, done

pytestmark = pytest.mark.usefixtures("kept_db")


@pytest.mark.parametrize("checked", [0, 3])
def test_a_store_that_vanishes_between_two_steps(
    site: Site, store_folder: Path, checked: int
) -> None:
    site.update()
    changed, *others = datasets(site)
    before = changed.contents()
    changed.edition += 1
    away = store_folder.with_name("away")

    def vanish(numbers: tuple[int, ...]) -> None:
        if numbers[0] == checked and store_folder.exists():
            store_folder.rename(away)

    report = site.later(hours=1).update(show_progress=vanish)
    assert not report.complete and "Is the disk mounted?" in str(list(report.complaints()))
    # The root folder is never created again: it may be the mount point of a disk.
    assert not store_folder.exists()
    away.rename(store_folder)
    stored = changed.contents() if checked else before
    assert site.bytes_of(changed) == stored
    assert [site.bytes_of(one) for one in others] == [one.contents() for one in others]
    assert site.state(changed).failures == 0
    done(site.later(hours=1).update())
    assert site.bytes_of(changed) == changed.contents()
    listed = site.listed()[changed.name]["last_known_good_dataset"]
    assert listed["hash"] == hashlib.sha1(changed.contents()).hexdigest()
    row = site.row(changed)
    with zipfile.ZipFile(io.BytesIO(site.published("iati-data.zip"))) as archive:
        name = f"iati-data/datasets/{row.organisation_name}/{changed.name}.xml"
        assert archive.read(name) == changed.contents()


def test_the_index_files_have_the_fields_of_the_service(site: Site) -> None:
    failing = datasets(site)[0]
    failing.status = 404
    site.update()
    listed = site.listed()
    registered = {
        *("id", "short_name", "reporting_org_id", "reporting_org_short_name", "licence_id"),
        *("source_url", "last_update_check", "last_known_good_dataset"),
    }
    attempts = {"most_recent_head_attempt", "most_recent_get_attempt", "attempts"}
    for one in datasets(site):
        entry = listed[one.name]
        assert set(entry) == registered | attempts
        good = entry["last_known_good_dataset"]
        assert set(good) == {
            *("cached_dataset_xml_url", "cached_dataset_zip_url", "content_length", "downloaded"),
            *("hash", "hash_excluding_generated_timestamp", "initial_contents", "source_url"),
            *("server_header_etag", "server_header_last_modified", "verified_on_server"),
            *("content_modified", "content_modified_excluding_generated_timestamp"),
        }
        assert (set(good.values()) == {None}) is (one is failing)
        assert entry["source_url"] == site.server.file_url(one)
    attempt = listed[failing.name]["most_recent_get_attempt"]
    assert attempt["error_details"]["error_type"] == "http_non_200"
    assert listed[failing.name]["attempts"] == [{**attempt, "http_method": "GET"}]
    assert set(attempt) == {"datetime", "http_status", "error_occurred", "error_details"}
    never: dict[str, object] = {**dict.fromkeys(attempt), "error_details": {}}
    assert listed[failing.name]["most_recent_head_attempt"] == never
    minimal = site.listed("datasets-minimal.json")[failing.name]
    assert set(minimal) == registered
    assert set(minimal["last_known_good_dataset"]) == {
        *("cached_dataset_xml_url", "cached_dataset_zip_url", "downloaded", "hash"),
        *("hash_excluding_generated_timestamp", "source_url", "verified_on_server"),
    }
    organisations = json.loads(site.published("reporting-orgs.json"))["reporting_orgs"]
    assert set(organisations[0]) == {
        *("id", "short_name", "human_readable_name", "organisation_identifier"),
        *("organisation_type", "reporting_source_type", "hq_country", "region", "description"),
        *("website", "data_portal_url", "default_licence_id", "exclusions_policy_url"),
        *("created_date", "first_publication_date", "iati_identifier"),
    }
