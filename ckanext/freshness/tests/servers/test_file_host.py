"""The demo's file host serves what it says of its files."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from ckanext.freshness.tests.servers.client import Reply, fetch
from ckanext.freshness.tests.servers.file_host import FILES, Changes, FileHost, HostedFile, Keeps

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=timezone.utc)


@pytest.fixture
def host() -> Iterator[FileHost]:
    with FileHost(now=NOW) as server:
        yield server


def twice(host: FileHost, file: HostedFile) -> tuple[Reply, Reply]:
    return fetch(host.url_of(file)), fetch(host.url_of(file))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path)
def test_each_file_is_what_it_is_said_to_be(host: FileHost, file: HostedFile) -> None:
    first, second = twice(host, file)
    fetch(f"{host.url}/publish", method="POST")
    third = fetch(host.url_of(file))
    assert {first.status, second.status, third.status} == {file.status}
    assert (first.body == second.body) is (file.changes is not Changes.EACH_DOWNLOAD)
    assert (second.body == third.body) is (file.changes is Changes.NEVER)
    assert ("ETag" in first.headers) is (Keeps.ETAG in file.keeps)
    assert ("Last-Modified" in first.headers) is (Keeps.LAST_MODIFIED in file.keeps)


@pytest.mark.parametrize(
    ("condition", "validator"),
    [("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")],
)
def test_304_until_there_is_a_new_edition(host: FileHost, condition: str, validator: str) -> None:
    url = f"{host.url}/bulletin.csv"
    known = {condition: fetch(url).headers[validator]}
    assert fetch(url, headers=known).status == 304
    host.publish()
    assert fetch(url, headers=known).status == 200


def test_the_old_address_leads_to_the_new_one(host: FileHost) -> None:
    location = fetch(f"{host.url}/old/shelters.csv").headers["Location"]
    assert fetch(f"{host.url}{location}").status == 200


def test_the_ages_count_from_now(host: FileHost) -> None:
    modified = fetch(f"{host.url}/bulletin.csv").headers["Last-Modified"]
    assert modified == "Fri, 20 Nov 2026 12:00:00 GMT"


def test_what_it_does_not_have(host: FileHost) -> None:
    assert fetch(f"{host.url}/nothing.csv").status == 404
