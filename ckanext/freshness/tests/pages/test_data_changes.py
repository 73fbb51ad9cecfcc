"""The stream of data changes: in the order of commits, and as visible as the datasets."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

import ckan.plugins.toolkit as tk
import pytest
import sqlalchemy as sa
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.tests.pages.conftest import Get
from ckanext.freshness.tests.pages.reports import DAY, NOW, data_changed, judge, make

pytestmark = pytest.mark.usefixtures("kept_db")

World = dict[str, Any]
ATOM = "{http://www.w3.org/2005/Atom}"
SUMMARY = {"tables": [{"name": None, "rows": [13898, 14210], "added": ["district"]}]}


def make_world() -> World:
    """Two organizations; one has a private dataset."""
    member = dict(factories.UserWithToken())
    users = [{"name": member["name"], "capacity": "member"}]
    relief = factories.Organization(name="relief", title="Relief Works", users=users)["id"]
    roads = factories.Organization(name="roads", title="Road Office")["id"]
    world = {
        "member": member,
        "root": dict(factories.SysadminWithToken()),
        "wells": make("wells", owner_org=relief),
        "clinics": make("clinics", owner_org=relief, private=True),
        "highways": make("highways", owner_org=roads),
        "deleted": make("deleted", owner_org=relief),
        "draft": make("draft", owner_org=relief, state="draft"),
    }
    judge()
    call_action("package_delete", {"user": world["root"]["name"]}, id="deleted")
    return world


@pytest.fixture(autouse=True)
def no_changes(kept_db: None) -> None:
    model.Session.execute(sa.text("DELETE FROM freshness_change"))
    model.Session.commit()


def stream(user: dict[str, Any] | None = None, **asked: Any) -> dict[str, Any]:
    context = {"user": user["name"] if user else "", "ignore_auth": False}
    model.Session.remove()
    answer: dict[str, Any] = call_action("freshness_change_list", context, **asked)
    return answer


def names(answer: dict[str, Any]) -> list[str]:
    return [change["name"] for change in answer["changes"]]


def open_change(dataset: dict[str, Any]) -> Any:
    """Write a change in a transaction of a separate connection, and return the open transaction."""
    connection = model.Session.get_bind().connect()
    transaction = connection.begin()
    connection.execute(
        sa.text(
            "INSERT INTO freshness_change (id, package_id, seen_at, changed_before, evidence)"
            " VALUES (:id, :package, :now, :now, 'hash')"
        ),
        {
            "id": f"open-{dataset['name']}",
            "package": dataset["id"],
            "now": NOW.replace(tzinfo=None),
        },
    )
    return transaction


def test_a_cursor_follows_the_order_of_commits(world: World) -> None:
    first, second = open_change(world["wells"]), open_change(world["highways"])
    try:
        second.commit()
        early = stream()
        assert names(early) == ["highways"] and not early["more"]
        data_changed(world["wells"], DAY)
        first.commit()
        late = stream(cursor=early["cursor"])
        # The one that was written first, and committed last, is not lost.
        assert "open-wells" in [change["id"] for change in late["changes"]]
        assert names(late) == ["wells", "wells"]
        assert names(stream(cursor=late["cursor"])) == []
        assert stream(cursor=late["cursor"])["cursor"] == late["cursor"]
    finally:
        for transaction in (first, second):
            transaction.connection.close()


def test_pages_have_each_change_once(world: World) -> None:
    for hours in range(5):
        data_changed(world["wells"], timedelta(hours=hours))
    seen: list[str] = []
    asked: dict[str, Any] = {"limit": 2}
    sizes = []
    while True:
        answer = stream(**asked)
        sizes.append(len(answer["changes"]))
        seen += [change["seen_at"] for change in answer["changes"]]
        asked["cursor"] = answer["cursor"]
        if not answer["more"]:
            break
    assert sizes == [2, 2, 1]
    assert seen == sorted(seen) and len(set(seen)) == 5
    none = stream(cursor=asked["cursor"], limit=0)
    assert none == {"changes": [], "cursor": asked["cursor"], "more": False}
    assert stream(limit=0) == {"changes": [], "cursor": None, "more": True}
    since = stream(since=seen[3])["changes"]
    assert [change["seen_at"] for change in since] == seen[3:]


def test_changes_are_as_visible_as_their_datasets(world: World, get: Get) -> None:
    for name in ("wells", "clinics", "highways", "deleted", "draft"):
        data_changed(world[name])
    assert sorted(names(stream())) == ["highways", "wells"]
    assert not any("secret" in change["url"] for change in stream()["changes"])
    assert sorted(names(stream(world["member"]))) == ["clinics", "highways", "wells"]
    assert sorted(names(stream(world["member"], organization="relief"))) == ["clinics", "wells"]
    assert names(stream(id="wells")) == ["wells"]
    with pytest.raises(tk.ObjectNotFound):
        stream(id="clinics")
    for path, user, expected in (
        ("/freshness/data.atom", None, ["highways", "wells"]),
        ("/freshness/data.atom", "member", ["clinics", "highways", "wells"]),
        ("/freshness/data.atom?organization=relief", None, ["wells"]),
        ("/dataset/wells/freshness/data.atom", None, ["wells"]),
        ("/dataset/clinics/freshness/data.atom", "member", ["clinics"]),
        ("/freshness/data.atom", "root", ["clinics", "highways", "wells"]),
    ):
        feed = ElementTree.fromstring(get(path, user).body)
        titles = [entry.findtext(f"{ATOM}title", "") for entry in feed.findall(f"{ATOM}entry")]
        assert sorted(title.split(":")[0] for title in titles) == [
            f"About {name}" for name in expected
        ], path
    for name in ("clinics", "deleted", "draft"):
        get(f"/dataset/{name}/freshness/data.atom", None, 404)


def test_a_deleted_resource_is_not_named(world: World, get: Get) -> None:
    made = make("locks")
    data_changed(made, summary=SUMMARY)
    call_action("resource_delete", {"user": world["root"]["name"]}, id=made["resources"][0]["id"])
    (change,) = stream()["changes"]
    assert (change["resource"], change["url"], change["summary"]) == ("", None, SUMMARY)
    for path in ("/freshness/data", "/dataset/locks/freshness"):
        page = get(path).body
        assert "14,210 rows" in page and "Deleted" in page and "locks.csv" not in page, path


def test_a_number_of_changes_says_that_there_may_be_more(world: World, get: Get) -> None:
    for number in range(1, 21):
        data_changed(world["wells"], number * DAY)
        if number >= 19:
            said = {19: "19 changes of the data", 20: "20+ changes of the data"}[number]
            assert said in get("/dataset/wells/freshness").body


def test_a_feed_says_what_changed(world: World, app: Any) -> None:
    data_changed(world["wells"], summary=SUMMARY)
    answer = app.get("/freshness/data.atom")
    assert answer.content_type == "application/atom+xml; charset=utf-8"
    (entry,) = ElementTree.fromstring(answer.body).findall(f"{ATOM}entry")
    title = entry.findtext(f"{ATOM}title")
    assert title == "About wells: 14,210 rows (+312), column district added"
    links = [link.get("href") for link in entry.findall(f"{ATOM}link")]
    assert links == ["http://test.ckan.net/dataset/wells/freshness"]
    of_roads, of_wells = (
        "/freshness/data.atom?organization=roads",
        "/dataset/wells/freshness/data.atom",
    )
    for path in ("/freshness/data.atom", of_roads, of_wells):
        known = {"If-None-Match": app.get(path).headers["ETag"]}
        assert app.get(path, headers=known).status_code == 304
