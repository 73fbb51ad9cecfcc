"""Downloads of copies: permissions, whole files and ranges."""

from __future__ import annotations

import hashlib
import io
import zipfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from ckan.tests import factories, helpers

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.copies import store_keys
from ckanext.freshness.runs import copies

pytestmark = pytest.mark.usefixtures("kept_db", "store_folder")

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
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


def put(
    resource: dict[str, Any],
    body: bytes,
    *,
    filename: str = "budget.xml",
    mimetype: str | None = "application/xml",
    zipped: bool = True,
) -> copies.CopyRow:
    """Store a copy of a resource, as a run does."""
    with copies.store().stage() as staged:
        staged.write(body)
        kept = copies.store().keep(
            store_keys.resource_key(resource["id"]), staged, zip_member=filename if zipped else None
        )
    one = copies.CopyRow(
        resource_id=resource["id"],
        package_id=resource["package_id"],
        kept=kept,
        filename=filename,
        mimetype=mimetype,
        source_url=resource["url"],
        at=NOON,
    )
    copies.remember([one])
    model.Session.commit()
    return one


def address(resource: dict[str, Any], what: str = "copy") -> str:
    return f"/dataset/{resource['package_id']}/resource/{resource['id']}/{what}"


def get(app: Any, url: str, status: int = 200, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return app.get(url, headers=named, status=status)


def test_the_bytes_come_as_they_are_and_as_a_file(app: Any, resource: dict[str, Any]) -> None:
    put(resource, BODY, filename="santé 2.xml")
    disposition = get(app, address(resource)).headers["Content-Disposition"]
    assert disposition == (
        "attachment; filename=\"sant_ 2.xml\"; filename*=UTF-8''sant%C3%A9%202.xml"
    )
    put(resource, BODY)
    answer = get(app, address(resource))
    assert answer.data == BODY
    assert answer.headers["Content-Type"].startswith("application/xml")
    assert answer.headers["ETag"] == f'"{hashlib.sha256(BODY).hexdigest()}"'
    assert answer.headers["Last-Modified"] == "Fri, 20 Nov 2026 12:00:00 GMT"
    assert answer.headers["Accept-Ranges"] == "bytes"
    head = app.test_client().open(address(resource), method="HEAD")
    assert (head.status_code, head.data) == (200, b"")
    assert head.headers["Content-Length"] == str(len(BODY))
    answer = get(app, address(resource, "copy.zip"))
    with zipfile.ZipFile(io.BytesIO(answer.data)) as found:
        assert {name: found.read(name) for name in found.namelist()} == {"budget.xml": BODY}
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=budget.zip;")
    assert answer.headers["Content-Type"] == "application/zip"
    put(resource, BODY, zipped=False)
    get(app, address(resource, "copy.zip"), 404)
    facts = shown(resource)
    assert facts["cached_url"] and facts["cached_zip_url"] is None


def test_ranges(app: Any, resource: dict[str, Any]) -> None:
    put(resource, BODY)
    size = len(BODY)
    for asked, status, start, end in (
        ("bytes=0-9", 206, 0, 10),
        ("bytes=10-", 206, 10, size),
        ("bytes=-5", 206, size - 5, size),
        (f"bytes=5-{size + 100}", 206, 5, size),
    ):
        answer = get(app, address(resource), status, Range=asked)
        assert answer.data == BODY[start:end], asked
        assert answer.headers["Content-Length"] == str(end - start)
        if status == 206:
            assert answer.headers["Content-Range"] == f"bytes {start}-{end - 1}/{size}"
    for asked in (f"bytes={size}-", "bytes=0-3,7-9", "bytes=what"):
        answer = get(app, address(resource), 416, Range=asked)
        assert answer.headers["Content-Range"] == f"bytes */{size}", asked


def test_no_browser_takes_a_strangers_file_for_a_page_of_the_site(
    app: Any, resource: dict[str, Any]
) -> None:
    put(resource, b"<script>alert(1)</script>", filename="a.html", mimetype="text/html")
    headers = get(app, address(resource)).headers
    assert headers["Content-Disposition"].startswith("attachment")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in headers["Content-Security-Policy"]


def test_what_a_visitor_has_is_not_sent_again(app: Any, resource: dict[str, Any]) -> None:
    put(resource, BODY)
    etag = get(app, address(resource)).headers["ETag"]
    assert get(app, address(resource), 304, If_None_Match=etag).data == b""
    get(app, address(resource), 304, If_Modified_Since="Fri, 20 Nov 2026 12:00:00 GMT")
    get(app, address(resource), 304, If_None_Match=etag, Range="bytes=0-9")
    get(app, address(resource), 200, If_None_Match='"another"')
    get(app, address(resource), 412, If_Match='"another"')


def test_private_stays_private(app: Any, private: Any, resource: dict[str, Any]) -> None:
    hidden, member, stranger = private
    for one in (hidden, resource):
        put(one, BODY)
    for what in ("copy", "copy.zip"):
        get(app, address(hidden, what), 404)
        get(app, address(hidden, what), 404, **stranger)
        kept = get(app, address(hidden, what), 200, **member).headers["Cache-Control"]
        # No cache gives it to others.
        assert "private" in kept and "public" not in kept
        assert "public" in get(app, address(resource, what)).headers["Cache-Control"]
    through_another = f"/dataset/{resource['package_id']}/resource/{hidden['id']}/copy"
    get(app, through_another, 404)
    get(app, through_another, 404, **member)


def test_what_is_not_there_is_not_found(
    app: Any, resource: dict[str, Any], store_folder: Path, ckan_config: Any, monkeypatch: Any
) -> None:
    get(app, address(resource), 404)
    get(app, f"/dataset/{resource['package_id']}/resource/none/copy", 404)
    get(app, f"/dataset/none/resource/{resource['id']}/copy", 404)
    one = put(resource, BODY)
    with monkeypatch.context() as away:
        away.setitem(ckan_config, "ckanext.freshness.copies.location", "/proc/none/here")
        get(app, address(resource), 503)
    (store_folder / one.kept.key).unlink()
    assert "lost" in get(app, address(resource), 404).body
    put(resource, BODY)
    copies.expire([resource["id"]])
    assert not shown(resource)
    get(app, address(resource), 404)
    put(resource, BODY)
    user = {"user": factories.Sysadmin()["name"]}
    helpers.call_action("package_delete", user, id=resource["package_id"])
    get(app, address(resource), 404)


# Fields of resources


def shown(resource: dict[str, Any]) -> dict[str, Any]:
    """Return the resource's ``freshness_check`` in package_show."""
    found = helpers.call_action("package_show", id=resource["package_id"])["resources"][0]
    return dict(found.get("freshness_check") or {})
