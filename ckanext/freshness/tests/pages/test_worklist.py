"""An editor's worklist: whose tasks it lists, and what can be done in it and undone."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
import time_machine
from bs4 import BeautifulSoup
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.aging.status import Status
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import Copy, ResourceCheck
from ckanext.freshness.runs import queued_run
from ckanext.freshness.tests.mails.test_recipients import imported
from ckanext.freshness.tests.pages.datasets import break_link, make_dataset
from ckanext.freshness.tests.pages.test_dataset_page import logged_in
from ckanext.harvest import model as harvest_model

People = dict[str, dict[str, Any] | None]
Post = Callable[..., Any]

ROOT = {"user": "root"}


def make_world() -> People:
    """Create two organizations with their people, a stranger, and datasets with tasks of each group."""
    people: People = {
        name: dict(factories.UserWithToken(name=name))
        for name in ("editor", "colleague", "admin", "member", "stranger")
    }
    people["root"] = dict(factories.Sysadmin(name="root"))
    relief = [
        {"name": "editor", "capacity": "editor"},
        {"name": "colleague", "capacity": "editor"},
        {"name": "admin", "capacity": "admin"},
        {"name": "member", "capacity": "member"},
    ]
    factories.Organization(name="relief", title="Relief Works", users=relief)
    factories.Organization(
        name="roads", title="Roads", users=[{"name": "admin", "capacity": "admin"}]
    )
    wells = make_dataset(Status.FRESH, "wells", title="Wells", owner_org="relief")
    resource = break_link(wells)
    moment = datetime(2026, 11, 12)
    model.Session.add(
        Copy(
            resource_id=resource,
            package_id=wells["id"],
            key="wells",
            size=2_411_725,
            sha256="0" * 64,
            filename="table.csv",
            source_url="https://data.example.org/table.csv",
            stored_at=moment,
            verified_at=moment,
        )
    )
    make_dataset(Status.OVERDUE, "clinics", title="Clinics", owner_org="relief", private=True)
    make_dataset(Status.DUE, "camps", title="Camps", owner_org="relief")
    make_dataset(Status.UNAVAILABLE, "shelters", title="Shelters", owner_org="relief")
    make_dataset(Status.FRESH, "tents", title="Tents", owner_org="relief")
    make_dataset(Status.DELINQUENT, "bridges", title="Bridges", owner_org="roads")
    own = factories.Dataset(name="own", title="Own", user=people["stranger"], owner_org=None)
    assert own["owner_org"] is None
    gone = make_dataset(Status.DELINQUENT, "gone", title="Gone", owner_org="relief")
    break_link(gone)
    call_action("package_delete", dict(ROOT), id=gone["id"])
    people["nobody"] = None
    return people


def words(page: Any) -> str:
    return " ".join(page.get_text(" ").split())


@pytest.fixture
def post(app: Any, world: People) -> Post:
    """A function that sends a form of the worklist as a user, as a browser does or as htmx does."""

    def post(path: str, who: str, *, htmx: bool = False, status: int = 200, **form: str) -> Any:
        user = world[who]
        headers = {"Authorization": user["token"]} if user else {}
        if htmx:
            headers["HX-Request"] = "true"
        answer = app.post(f"/freshness/mine/{path}", headers=headers, data=form, status=status)
        return BeautifulSoup(answer.body, "html.parser")

    return post


@pytest.fixture
def get(app: Any, world: People) -> Any:
    """A function that requests a page as a user."""

    def get(path: str, who: str, status: int = 200) -> BeautifulSoup:
        user = world[who]
        headers = {"Authorization": user["token"]} if user else {}
        answer = app.get(path, headers=headers, status=status)
        return BeautifulSoup(answer.body, "html.parser")

    return get


def tasks(page: Any) -> dict[str, list[str]]:
    """Return the titles of the tasks of each group."""
    return {
        section.h2["id"].removeprefix("tasks-"): [
            title.get_text() for title in section.select("h3 a")
        ]
        for section in page.select("section:has(> h2[id^=tasks-])")
    }


OF_RELIEF = {"broken": ["Table (CSV)"], "update": ["Clinics", "Camps"], "frequency": ["Shelters"]}
OF_ROADS = ["Bridges"]

LISTED = {
    ("editor", ""): OF_RELIEF,
    ("editor", "?organization=relief"): OF_RELIEF,
    ("editor", "?group=update"): {"update": OF_RELIEF["update"]},
    ("admin", ""): {**OF_RELIEF, "update": [*OF_ROADS, *OF_RELIEF["update"]]},
    ("admin", "?organization=roads"): {"update": OF_ROADS},
    ("member", ""): {},
    ("stranger", ""): {"frequency": ["Own"]},
}


@pytest.mark.parametrize(("who", "query"), LISTED)
def test_whose_tasks_are_listed(get: Any, who: str, query: str) -> None:
    assert tasks(get(f"/freshness/mine{query}", who)) == LISTED[who, query]


def test_what_the_page_says(get: Any) -> None:
    page = get("/freshness/mine", "editor")
    text = words(page)
    assert "4 of your 5 datasets need you, most urgent first." in text
    chips = [words(chip) for chip in page.select(".fr-filters a")]
    assert chips == ["All 4", "Broken links 1", "Need an update 2", "No update frequency 1"]
    (broken,) = page.select("li[data-state=bad]")
    assert "404" in words(broken)
    assert "Broken for 9 days , 5 checks in a row." in words(broken)
    assert "Visitors get the copy of 12 Nov : download (2.4 MB)" in words(broken)
    (edit,) = [link["href"] for link in broken.select("a") if "Edit link" in words(link)]
    assert edit.endswith("/edit#field-resource-url")
    assert "You look after no datasets yet." in words(get("/freshness/mine", "member"))


def test_who_may_not_read_it(app: Any, get: Any) -> None:
    answer = app.get("/freshness/mine?group=broken", follow_redirects=False)
    assert answer.status_code == 302
    assert "/user/login?next=/freshness/mine?group%3Dbroken" in answer.headers["Location"]
    for who in ("member", "stranger"):
        assert "Log in as an editor" in words(
            get("/freshness/mine?organization=relief", who, status=403)
        )
    get("/freshness/mine.csv", "nobody", status=403)


def test_the_file_has_what_the_page_lists(app: Any, world: People) -> None:
    editor = world["editor"]
    assert editor is not None
    for query, count in (("", 4), ("?group=update", 2)):
        answer = app.get(f"/freshness/mine.csv{query}", headers={"Authorization": editor["token"]})
        rows = list(csv.DictReader(io.StringIO(answer.body)))
        assert len(rows) == count
    assert [row["status"] for row in rows] == ["overdue", "due"]


def facts(name: str) -> dict[str, Any]:
    """Return everything that decides how fresh a dataset is."""
    shown = call_action("freshness_show", id=name)
    keys = ("status", "last_modified", "evidence", "pieces", "boundaries", "frequency")
    extras = {
        extra["key"]: extra["value"] for extra in call_action("package_show", id=name)["extras"]
    }
    return {**{key: shown[key] for key in keys}, "extras": extras}


def fields(page: Any) -> dict[str, str]:
    """Return the fields of the form that undoes what was just done."""
    (form,) = [form for form in page.select("form") if words(form).startswith("Undo")]
    return {
        field["name"]: field["value"]
        for field in form.select("input")
        if field["name"] != "_csrf_token"
    }


@pytest.mark.parametrize("htmx", [False, True])
def test_confirm_and_undo(post: Post, get: Any, *, htmx: bool) -> None:
    name = f"confirmed-{htmx}".lower()
    made = make_dataset(Status.OVERDUE, name, title=name, owner_org="relief")
    path = f"confirm/{made['id']}"
    before = facts(name)
    page = post(path, "editor", htmx=htmx)
    assert f"You confirmed that {name} is still accurate." in words(page)
    assert name not in tasks(get("/freshness/mine", "editor"))["update"]
    assert facts(name)["status"] == "fresh"
    undone = post(path, "editor", htmx=htmx, **fields(page))
    assert facts(name) == before
    if htmx:
        # The row is back.
        assert words(undone.h3) == f"{name} Overdue"
    else:
        assert f"The confirmation of {name} was undone." in words(undone)
        assert name in tasks(undone)["update"]
    assert "Nobody has confirmed" in words(post(path, "editor", htmx=htmx, **fields(page)))


def test_two_editors_confirm(post: Post) -> None:
    """Whoever undoes their own confirmation does not take back a colleague's."""
    made = make_dataset(Status.OVERDUE, "shared", title="Shared", owner_org="relief")
    first = post(f"confirm/{made['id']}", "editor")
    sent = fields(first)
    # Dates of confirmations have no fractions: two of the same second would be one.
    with time_machine.travel(datetime.now(timezone.utc) + timedelta(seconds=10)):
        post(f"confirm/{made['id']}", "colleague")
        refused = post(f"confirm/{made['id']}", "editor", **sent)
        shown = call_action("freshness_show", id="shared")
    assert "confirmed again since then" in words(refused)
    assert (shown["status"], shown["confirmation"]["author"]) == ("fresh", "colleague")


def test_set_a_frequency_and_undo(post: Post, get: Any) -> None:
    made = make_dataset(Status.UNAVAILABLE, "unset", title="Unset", owner_org="relief")
    path = f"frequency/{made['id']}"
    before = facts("unset")
    (form,) = get("/freshness/mine", "editor").select(f"form[action$='{path}']")
    assert "Every week" in words(form)
    page = post(path, "editor", frequency="7")
    assert "The update frequency of Unset is now: Every week." in words(page)
    assert facts("unset")["frequency"]["days"] == 7
    undone = post(path, "editor", **fields(page))
    assert "The update frequency of Unset is as before." in words(undone)
    assert facts("unset") == before
    # A colleague has chosen another one meanwhile, which stays.
    page = post(path, "editor", frequency="7")
    post(path, "colleague", frequency="30")
    assert "changed the update frequency since then" in words(post(path, "editor", **fields(page)))
    assert facts("unset")["frequency"]["days"] == 30


def test_a_double_click_can_be_undone(post: Post) -> None:
    made = make_dataset(Status.FRESH, "twice", title="Twice", owner_org="relief")
    before = facts("twice")["frequency"]["days"]
    path = f"frequency/{made['id']}"
    pages = [post(path, "editor", frequency="30", declared=str(before)) for _ in range(2)]
    assert facts("twice")["frequency"]["days"] == 30 != before
    for page in pages:
        assert "The update frequency of Twice is now: Every month." in words(page)
    post(path, "editor", **fields(pages[1]))
    assert facts("twice")["frequency"]["days"] == before


def test_refused(post: Post) -> None:
    made = make_dataset(Status.OVERDUE, "refused", title="Refused", owner_org="relief")
    before = facts("refused")
    forms = {
        f"confirm/{made['id']}": {},
        f"frequency/{made['id']}": {"frequency": "30"},
        f"keep/{made['id']}": {},
        f"check/{made['id']}": {},
    }
    text = "This dataset was deleted, or you may not change it."
    for path, form in forms.items():
        post(path, "nobody", status=403, **form)
        lost = post(path, "nobody", htmx=True, **form)
        assert "You are not logged in any more." in words(lost), path
        for who in ("member", "stranger"):
            assert text in words(post(path, who, **form)), (path, who)
            assert text in words(post(path, who, htmx=True, **form)), (path, who)
    assert facts("refused") == before
    call_action("package_delete", dict(ROOT), id=made["id"])
    for path, form in forms.items():
        assert text in words(post(path, "editor", **form)), path
    assert model.Package.get(made["id"]).state == "deleted"


def test_a_frequency_that_is_none(post: Post) -> None:
    made = make_dataset(Status.FRESH, "monthly", title="Monthly", owner_org="relief")
    before = facts("monthly")
    for odd in ("", "soon", "-5", "7.5", "<script>", "9" * 30):
        page = post(f"frequency/{made['id']}", "editor", frequency=odd)
        assert "Choose an update frequency from the list." in words(page), odd
    assert facts("monthly") == before


def test_a_harvest_source_is_no_dataset(app: Any, post: Post, world: People) -> None:
    source = call_action(
        "harvest_source_create",
        dict(ROOT),
        name="a-source",
        title="A source",
        url="http://127.0.0.1:9/fdp",
        source_type="fdp",
        owner_org="relief",
    )
    before = call_action("package_show", dict(ROOT), id=source["id"])
    for what in ("confirm", "frequency", "keep", "check"):
        page = post(f"{what}/{source['id']}", "editor", frequency="DAILY")
        assert "This dataset was deleted, or you may not change it." in words(page), what
    editor = world["editor"]
    assert editor is not None
    headers = {"Authorization": editor["token"]}
    for path in ("/dataset/a-source/freshness", "/dataset/a-source/freshness/check"):
        app.post(path, headers=headers, status=404)
    assert call_action("package_show", dict(ROOT), id=source["id"]) == before
    assert not queued_run.is_checking(source["id"])


def test_harvested_datasets_are_mended_at_their_source(get: Any) -> None:
    """The next harvest would overwrite what an editor changes here."""
    made = make_dataset(Status.OVERDUE, "harvested", title="Harvested", owner_org="relief")
    resource = break_link(made)
    source = imported(made["id"], None)
    try:
        page = get("/freshness/mine", "editor")
        broken, due = (
            one for one in page.select(".fr-task") if one.select("a[href*='/harvested/']")
        )
        pages = {
            "broken": broken,
            "due": due,
            "list": get("/freshness/broken?q=harvested", "editor").select_one("tbody"),
            "dataset": get("/dataset/harvested/freshness", "editor").select_one(".fr"),
            "resource": get(f"/dataset/harvested/resource/{resource}", "editor").select_one(".fr"),
        }
    finally:
        model.Session.query(harvest_model.HarvestObject).delete()
        model.Session.commit()
    for name, part in pages.items():
        assert part.select(f"a[href='/harvest/{source}']"), name
        for action in ("Upload new data", "Edit link"):
            assert action not in words(part), (name, action)
        if name != "due":
            assert "Check again" in words(part), name
    assert "Confirm still accurate" in words(due)
    assert "Confirm still accurate" in words(pages["dataset"])


def test_check_again(post: Post, get: Any) -> None:
    """The row asks for the result until the check has come, and says what became of the link."""
    made = make_dataset(Status.FRESH, "checked", title="Checked", owner_org="relief")
    resource = break_link(made)
    page = post(f"check/{made['id']}", "editor", htmx=True, resource=resource)
    assert "Checking" in words(page)
    again = str(page.li["hx-get"])
    waits = get(again, "editor")
    assert "Checking" in words(waits)
    assert waits.li["hx-get"] != again
    late = get(again.replace("polls=1", "polls=40"), "editor")
    assert "The check has not run yet." in words(late)
    assert "hx-get" not in late.li.attrs
    row = model.Session.get(ResourceCheck, resource)
    row.tried_at += timedelta(hours=1)
    model.Session.commit()
    assert "still broken" in words(get(again, "editor"))
    row = model.Session.get(ResourceCheck, resource)
    row.failures, row.failing_since = 0, None
    model.Session.commit()
    assert words(get(again, "editor")) == "This link of Checked is no longer broken."
    assert "was deleted, or you may not change it" in words(get(again, "stranger"))


def test_forms_are_protected(make_app: Any, world: People, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_dataset(Status.OVERDUE, "protected", owner_org="relief")
    monkeypatch.setitem(tk.config, "WTF_CSRF_ENABLED", True)
    browser = logged_in(make_app, "/about")
    for what in ("confirm", "frequency", "check"):
        browser.post(f"/freshness/mine/{what}/{made['id']}", status=400)
    assert facts("protected")["status"] == "overdue"
    # htmx would show nothing if the response had the status of an error.
    for headers, status in (({"HX-Request": "true"}, 200), ({}, 400)):
        path = f"/freshness/mine/confirm/{made['id']}"
        answer = browser.post(path, headers=headers, status=status)
        page = BeautifulSoup(answer.body, "html.parser")
        assert "Nothing was changed: this form has expired." in words(page), headers
    assert facts("protected")["status"] == "overdue"
