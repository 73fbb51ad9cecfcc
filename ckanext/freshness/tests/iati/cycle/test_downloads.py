"""Downloads of copies: permissions, whole files and ranges."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from ckan.tests import factories, helpers

from ckanext.freshness.runs import copies
from ckanext.freshness.views.responses import disposition

from .stored_copies import NOON, put

pytestmark = pytest.mark.usefixtures("kept_db", "store_folder")

BODY = "<iati-activities>Santé</iati-activities>".encode() * 3


@pytest.fixture
def resource(kept_db: None) -> dict[str, Any]:
    """A link of a public dataset."""
    package = factories.Dataset(resources=[{"url": "http://source.example/a.xml"}])
    return dict(package["resources"][0])


@pytest.fixture
def private(kept_db: None) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """A link of a private dataset; what a member and a stranger send with their requests."""
    member, stranger = factories.UserWithToken(), factories.UserWithToken()
    owner = factories.Organization(users=[{"name": member["name"], "capacity": "member"}])
    package = factories.Dataset(
        private=True, owner_org=owner["id"], resources=[{"url": "http://source.example/b.xml"}]
    )
    return (
        dict(package["resources"][0]),
        {"Authorization": member["token"]},
        {"Authorization": stranger["token"]},
    )


def address(resource: dict[str, Any], what: str = "copy") -> str:
    return f"/dataset/{resource['package_id']}/resource/{resource['id']}/{what}"


def get(app: Any, url: str, status: int = 200, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return app.get(url, headers=named, status=status)


def test_the_bytes_come_as_they_are_and_as_a_file(app: Any, resource: dict[str, Any]) -> None:
    put(resource, BODY)
    answer = get(app, address(resource))
    assert answer.data == BODY
    assert answer.headers["Content-Type"].startswith("application/xml")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="budget.xml"'
    assert answer.headers["ETag"] == f'"{hashlib.sha256(BODY).hexdigest()}"'
    assert answer.headers["Last-Modified"] == "Fri, 20 Nov 2026 12:00:00 GMT"
    assert answer.headers["Accept-Ranges"] == "bytes"


def test_no_browser_takes_a_strangers_file_for_a_page_of_the_site(
    app: Any, resource: dict[str, Any]
) -> None:
    put(resource, b"<script>alert(1)</script>", filename="a.html", mimetype="text/html")
    headers = get(app, address(resource)).headers
    assert headers["Content-Disposition"].startswith("attachment")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in headers["Content-Security-Policy"]


def test_its_zip(app: Any, resource: dict[str, Any]) -> None:
    put(resource, BODY)
    answer = get(app, address(resource, "copy.zip"))
    with zipfile.ZipFile(io.BytesIO(answer.data)) as found:
        assert {name: found.read(name) for name in found.namelist()} == {"budget.xml": BODY}
    assert answer.headers["Content-Disposition"] == 'attachment; filename="budget.zip"'
    assert answer.headers["Content-Type"] == "application/zip"


def test_a_copy_without_a_zip_has_none(app: Any, resource: dict[str, Any]) -> None:
    put(resource, BODY, zipped=False)
    get(app, address(resource, "copy.zip"), 404)
    facts = shown(resource)
    assert facts["cached_url"] and facts["cached_zip_url"] is None


RANGES = [
    ("bytes=0-9", 206, 0, 10),
    ("bytes=10-", 206, 10, len(BODY)),
    ("bytes=-5", 206, len(BODY) - 5, len(BODY)),
    (f"bytes=5-{len(BODY) + 100}", 206, 5, len(BODY)),
    ("bytes=0-0", 206, 0, 1),
    ("bytes=0-3,7-9", 200, 0, len(BODY)),
    ("furlongs=0-3", 200, 0, len(BODY)),
    ("bytes=what", 200, 0, len(BODY)),
]


@pytest.mark.parametrize(("asked", "status", "start", "end"), RANGES)
def test_ranges(
    app: Any, resource: dict[str, Any], asked: str, status: int, start: int, end: int
) -> None:
    put(resource, BODY)
    answer = get(app, address(resource), status, Range=asked)
    assert answer.data == BODY[start:end]
    assert answer.headers["Content-Length"] == str(end - start)
    if status == 206:
        assert answer.headers["Content-Range"] == f"bytes {start}-{end - 1}/{len(BODY)}"


def test_a_range_beyond_the_end(app: Any, resource: dict[str, Any]) -> None:
    put(resource, BODY)
    answer = get(app, address(resource), 416, Range=f"bytes={len(BODY)}-")
    assert answer.headers["Content-Range"] == f"bytes */{len(BODY)}"


def test_a_range_of_what_was_there_before_gives_the_whole(
    app: Any, resource: dict[str, Any]
) -> None:
    put(resource, b"another edition")
    before = get(app, address(resource)).headers["ETag"]
    put(resource, BODY)
    now = get(app, address(resource)).headers["ETag"]
    assert get(app, address(resource), 200, Range="bytes=0-9", If_Range=before).data == BODY
    assert get(app, address(resource), 206, Range="bytes=0-9", If_Range=now).data == BODY[:10]


def test_what_a_visitor_has_is_not_sent_again(app: Any, resource: dict[str, Any]) -> None:
    put(resource, BODY)
    etag = get(app, address(resource)).headers["ETag"]
    assert get(app, address(resource), 304, If_None_Match=etag).data == b""
    get(app, address(resource), 304, If_Modified_Since="Fri, 20 Nov 2026 12:00:00 GMT")
    get(app, address(resource), 304, If_None_Match=etag, Range="bytes=0-9")
    get(app, address(resource), 200, If_None_Match='"another"')
    get(app, address(resource), 412, If_Match='"another"')


def test_head_tells_without_a_body(app: Any, resource: dict[str, Any]) -> None:
    put(resource, BODY)
    answer = app.test_client().open(address(resource), method="HEAD")
    assert (answer.status_code, answer.data) == (200, b"")
    assert answer.headers["Content-Length"] == str(len(BODY))


def test_private_stays_private(app: Any, private: Any) -> None:
    resource, member, stranger = private
    put(resource, BODY)
    for what in ("copy", "copy.zip"):
        get(app, address(resource, what), 404)
        get(app, address(resource, what), 404, **stranger)
        get(app, address(resource, what), 200, **member)


def test_what_a_member_gets_no_cache_gives_to_others(
    app: Any, private: Any, resource: dict[str, Any]
) -> None:
    hidden, member, _ = private
    for one in (hidden, resource):
        put(one, BODY)
    for of_both in ("copy", "copy.zip"):
        kept = get(app, address(hidden, of_both), **member).headers["Cache-Control"]
        assert "private" in kept and "public" not in kept
        assert "public" in get(app, address(resource, of_both)).headers["Cache-Control"]


def test_a_public_dataset_opens_nobody_elses_copy(
    app: Any, resource: dict[str, Any], private: Any
) -> None:
    put(private[0], BODY)
    url = f"/dataset/{resource['package_id']}/resource/{private[0]['id']}/copy"
    get(app, url, 404)
    get(app, url, 404, **private[1])


def test_what_is_deleted_gives_no_copy(app: Any, resource: dict[str, Any]) -> None:
    put(resource, BODY)
    helpers.call_action(
        "package_delete", {"user": factories.Sysadmin()["name"]}, id=resource["package_id"]
    )
    get(app, address(resource), 404)


def test_a_copy_that_is_lost_is_not_found(
    app: Any, resource: dict[str, Any], store_folder: Path
) -> None:
    one = put(resource, BODY)
    (store_folder / one.kept.key).unlink()
    assert "lost" in get(app, address(resource), 404).body


def test_a_store_that_is_gone_is_no_missing_copy(
    app: Any, resource: dict[str, Any], store_folder: Path, ckan_config: Any, monkeypatch: Any
) -> None:
    put(resource, BODY)
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.location", "/proc/none/here")
    get(app, address(resource), 503)


def test_without_a_copy(app: Any, resource: dict[str, Any]) -> None:
    get(app, address(resource), 404)
    get(app, f"/dataset/{resource['package_id']}/resource/none/copy", 404)
    get(app, f"/dataset/none/resource/{resource['id']}/copy", 404)


NAMES = [
    ("budget.xml", 'attachment; filename="budget.xml"'),
    ("Santé 2.xml", "attachment; filename=\"Sant_ 2.xml\"; filename*=UTF-8''Sant%C3%A9%202.xml"),
    ('a"b\\c.csv', "attachment; filename=\"a_b_c.csv\"; filename*=UTF-8''a%22b%5Cc.csv"),
    ("水.csv", "attachment; filename=\"_.csv\"; filename*=UTF-8''%E6%B0%B4.csv"),
    (
        "a\r\nSet-Cookie: x",
        "attachment; filename=\"a__Set-Cookie: x\"; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x",
    ),
]


@pytest.mark.parametrize(("filename", "header"), NAMES)
def test_names_of_files(filename: str, header: str) -> None:
    assert disposition(filename) == header


# Fields of resources


def shown(resource: dict[str, Any]) -> dict[str, Any]:
    """Return the resource's ``freshness_check`` in package_show."""
    found = helpers.call_action("package_show", id=resource["package_id"])["resources"][0]
    return dict(found.get("freshness_check") or {})


def test_resources_show_where_their_copies_are(app: Any, resource: dict[str, Any]) -> None:
    assert not shown(resource)
    put(resource, BODY)
    found = shown(resource)
    assert found["cached_url"].endswith(address(resource))
    assert found["cached_zip_url"].endswith(address(resource, "copy.zip"))
    assert get(app, found["cached_url"]).data == BODY


def test_an_expired_copy_is_neither_shown_nor_given(app: Any, resource: dict[str, Any]) -> None:
    put(resource, BODY)
    copies.expire([resource["id"]])
    assert not shown(resource)
    get(app, address(resource), 404)
    put(resource, BODY, at=NOON)
    assert get(app, address(resource)).data == BODY
