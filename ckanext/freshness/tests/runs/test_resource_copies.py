"""Copies of checked resources: of which resources, and of which files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from ckan import model
from ckan.tests import factories, helpers

from ckanext.freshness.model import Copy
from ckanext.freshness.runs import check_run, copies
from ckanext.freshness.runs.check_run import CheckScope, RunResult
from ckanext.freshness.tests.servers.one_file import OneFile

pytestmark = pytest.mark.usefixtures("kept_db", "impatient_checks")

START = datetime.now(timezone.utc).replace(microsecond=0)


@pytest.fixture
def server() -> Iterator[OneFile]:
    with OneFile() as one:
        one.body, one.media_type = b"a,b\n1,2\n", "text/csv"
        yield one


@pytest.fixture
def store_folder(tmp_path: Path, ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.location", str(tmp_path / "copies"))
    return tmp_path / "copies"


@pytest.fixture
def csvs(store_folder: Path, ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep copies of CSV files."""
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.formats", ["csv"])


def link(server: OneFile, extras: Sequence[Any] = (), **more: Any) -> dict[str, Any]:
    url = f"{server.url}/{len(server.requests)}-{id(more)}/table.csv"
    package = factories.Dataset(
        resources=[{"url": url, "format": "CSV", **more}], extras=list(extras)
    )
    return dict(package["resources"][0])


def run(resource: dict[str, Any], days: int) -> RunResult:
    scope = CheckScope(package_ids=(resource["package_id"],))
    _, done = check_run.check(scope, lambda: START + timedelta(days=days))
    model.Session.remove()
    return done


def bytes_of(resource: dict[str, Any]) -> bytes | None:
    row = copies.of_resource(resource["id"])
    if row is None:
        return None
    reader = copies.store().open(row.key)
    try:
        return b"".join(reader)
    finally:
        reader.close()


def test_the_first_bytes_and_then_confirmed_ones(csvs: None, server: OneFile) -> None:
    resource = link(server)
    assert not check_run.missing_in_words(run(resource, 1))
    assert bytes_of(resource) == b"a,b\n1,2\n"
    row = copies.of_resource(resource["id"])
    assert (row.filename, row.mimetype) == ("table.csv", "text/csv")
    server.body, server.etag, server.last_modified = b"a,b\n3,4\n", '"v2"', None
    run(resource, 2)
    assert bytes_of(resource) == b"a,b\n3,4\n"
    facts = helpers.call_action("resource_show", id=resource["id"])["freshness_check"]
    assert facts["outcome"] == "hash" and facts["cached_zip_url"]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        *((500, b"a,b\n"), (404, b""), (200, b"")),
        *((200, b"<!DOCTYPE html><html></html>"), (200, b"Error: the database is not available")),
    ],
)
def test_nothing_worse_takes_its_place(
    csvs: None, server: OneFile, status: int, body: bytes
) -> None:
    resource = link(server)
    run(resource, 1)
    server.status, server.body, server.etag, server.last_modified = status, body, '"v3"', None
    run(resource, 2)
    assert bytes_of(resource) == b"a,b\n1,2\n"


def test_other_formats_have_none(csvs: None, store_folder: Path, server: OneFile) -> None:
    resource = link(server, format="XLS")
    run(resource, 1)
    assert bytes_of(resource) is None and not list(store_folder.rglob("*.csv"))


def test_a_copy_is_made_although_the_server_says_that_nothing_changed(
    store_folder: Path, server: OneFile, ckan_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = link(server)
    run(resource, 1)
    assert not store_folder.exists(), "nobody asks for copies"
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.all", True)
    run(resource, 2)
    assert bytes_of(resource) == b"a,b\n1,2\n"
    server.requests.clear()
    run(resource, 3)
    assert server.methods == ["GET!"]


def test_a_change_that_found_no_room_is_copied_later(
    csvs: None, server: OneFile, ckan_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = link(server)
    run(resource, 1)
    server.body, server.etag, server.last_modified = b"a,b\n" + b"3,4\n" * 99, '"v2"', None
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.quota_bytes", "200")
    assert len(check_run.missing_in_words(run(resource, 2))) == 1
    assert bytes_of(resource) == b"a,b\n1,2\n"
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.quota_bytes", "0")
    run(resource, 3)
    assert bytes_of(resource) == server.body


def test_what_is_gone_is_pruned(csvs: None, server: OneFile) -> None:
    gone, failing = link(server), link(server)
    for one in (gone, failing):
        run(one, 1)
    server.status, server.etag, server.last_modified = 500, '"v9"', None
    run(failing, 2)
    user = {"user": factories.Sysadmin()["name"]}
    helpers.call_action("package_delete", user, id=gone["package_id"])
    copies.prune(START + timedelta(days=400))
    assert (bytes_of(gone), bytes_of(failing)) == (None, b"a,b\n1,2\n")


@pytest.mark.parametrize("few", [0, 100])
def test_a_lost_copy_is_fetched_again(
    csvs: None, server: OneFile, store_folder: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """The file is read whatever the server says of changes."""
    monkeypatch.setattr(copies, "_FEW", few)
    resource = link(server)
    run(resource, 1)
    (store_folder / model.Session.query(Copy).get(resource["id"]).key).unlink()
    run(resource, 9)
    assert bytes_of(resource) == b"a,b\n1,2\n"


def test_a_copy_follows_its_url_to_another_id(
    csvs: None, server: OneFile, store_folder: Path
) -> None:
    """An update without the ids of resources gives them new ids."""
    resource = link(server)
    run(resource, 1)
    server.status = 500
    user = {"user": factories.Sysadmin()["name"]}
    plain = {"url": resource["url"], "format": "CSV"}
    package = helpers.call_action(
        "package_patch", user, id=resource["package_id"], resources=[plain]
    )
    (again,) = package["resources"]
    assert again["id"] != resource["id"]
    assert copies.prune(START + timedelta(days=2)) == 0
    assert bytes_of(again) == b"a,b\n1,2\n"
    run(again, 2)
    assert bytes_of(again) == b"a,b\n1,2\n"
    # The next good bytes have a place of their own; what stood in the old one is gone.
    server.status, server.body, server.etag, server.last_modified = 200, b"a,b\n3,4\n", '"v2"', None
    run(again, 9)
    assert bytes_of(again) == b"a,b\n3,4\n"
    names = {path.name for path in store_folder.rglob("*") if path.is_file()}
    assert not [name for name in names if resource["id"] in name]
