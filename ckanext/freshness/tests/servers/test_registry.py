"""The registry of the tests answers as registries do, and lies as it is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ckanext.freshness.tests.servers.client import fetch
from ckanext.freshness.tests.servers.registry import RegistryServer
from ckanext.freshness.tests.servers.registry_model import sample


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with RegistryServer(sample(3, 12)) as running:
        yield running


def action(server: RegistryServer, target: str) -> Any:
    return json.loads(fetch(f"{server.url}/api/3/action/{target}").body)["result"]


def test_datasets_come_in_pages_sorted_by_id(server: RegistryServer) -> None:
    pages = [
        action(server, f"package_search?sort=id+asc&rows=5&start={start}") for start in (0, 5, 10)
    ]
    ids = [one["id"] for page in pages for one in page["results"]]
    assert ids == sorted(server.registry.datasets)
    assert {page["count"] for page in pages} == {12}


def test_a_page_has_no_more_than_the_registry_gives(server: RegistryServer) -> None:
    server.rows_max, server.organisations_max = 4, 2
    assert len(action(server, "package_search?rows=1000")["results"]) == 4
    assert len(action(server, "organization_list?all_fields=true&limit=1000")) == 2
    assert len(action(server, "organization_list?limit=1000")) == 3


def test_it_lies_as_it_is_told(server: RegistryServer) -> None:
    dataset = next(iter(server.registry.datasets.values()))
    server.claimed, server.ignores_offset = 99, True
    server.spoil[dataset.id] = lambda record: {**record, "name": None}
    found = action(server, "package_search?rows=1000&start=5")
    assert (found["count"], len(found["results"])) == (99, 12)
    assert [one["id"] for one in found["results"] if one["name"] is None] == [dataset.id]


def test_the_index_files_have_the_same_records(server: RegistryServer) -> None:
    organisations = json.loads(fetch(f"{server.url}/reporting-orgs").body)["reporting_orgs"]
    datasets = json.loads(fetch(f"{server.url}/datasets-minimal").body)["datasets"]
    assert {one["id"] for one in organisations} == set(server.registry.organisations)
    assert {one["id"] for one in datasets} == set(server.registry.datasets)
    assert {one["reporting_org_id"] for one in datasets} == set(server.registry.organisations)


def test_files_are_where_the_records_say_and_change_when_published(server: RegistryServer) -> None:
    records = action(server, "package_search?rows=1000")["results"]
    urls = [record["resources"][0]["url"] for record in records]
    before = [fetch(url) for url in urls]
    assert [reply.status for reply in before] == [200] * 12
    known = {"If-None-Match": before[0].headers["ETag"]}
    assert fetch(urls[0], headers=known).status == 304
    fetch(f"{server.url}/publish", method="POST")
    changed = [reply.body != fetch(url).body for url, reply in zip(urls, before, strict=True)]
    assert changed == [True, False] * 6
    assert fetch(urls[0], headers=known).status == 200


def test_a_file_can_be_without_validators_or_not_to_be_had(server: RegistryServer) -> None:
    first, second, *_ = server.registry.datasets.values()
    first.has_validators, second.status = False, 404
    reply = fetch(server.file_url(first))
    assert (reply.headers["ETag"], reply.headers["Last-Modified"]) == (None, None)
    assert fetch(server.file_url(second)).status == 404
    assert fetch(server.file_url(first), method="HEAD").body == b""
