"""The pages for a source's editors: held deletions, their release, previews."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from itertools import product
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import pytest
from bs4 import BeautifulSoup
from ckan.lib.jobs import Worker
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter import job_from_id, model
from ckanext.freshness.harvesting import preview_job
from ckanext.freshness.harvesting.preview_job import PreviewState
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.harvest import model as harvest_model

pytestmark = pytest.mark.usefixtures("clean_site", "clean_redis")


@pytest.fixture
def editor() -> dict[str, Any]:
    """A user with an API token who may edit the source of :func:`harvest`."""
    return factories.UserWithToken()


@pytest.fixture
def source(fdp: FdpServer, editor: dict[str, Any]) -> Harvest:
    """A source with three datasets, not yet harvested."""
    catalog = fdp.add_catalog()
    for number in range(3):
        fdp.add_dataset(catalog, title=f"Dataset <{number}>")
    members = [{"name": editor["name"], "capacity": "editor"}]
    return add_source(fdp.source_url, owner_org=factories.Organization(users=members)["id"])


@pytest.fixture
def harvest(source: Harvest) -> Harvest:
    """The same source, harvested."""
    source.run()
    return source


@pytest.fixture
def held(fdp: FdpServer, harvest: Harvest) -> Harvest:
    """The same source, emptied and harvested again."""
    for record in fdp.datasets:
        fdp.remove(record)
    harvest.run()
    return harvest


class Browser:
    """A browser that is logged in as a user."""

    def __init__(self, app: Any, user: dict[str, Any] | None) -> None:
        self._app = app
        self._headers = {"Authorization": user["token"]} if user else {}

    def get(self, path: str, status: int = 200) -> BeautifulSoup:
        answer = self._app.get(path, headers=self._headers, status=status)
        return BeautifulSoup(answer.body, "html.parser")

    def post(self, path: str, status: int = 200, **fields: str) -> BeautifulSoup:
        answer = self._app.post(path, params=fields, headers=self._headers, status=status)
        return BeautifulSoup(answer.body, "html.parser")


def words(page: BeautifulSoup) -> str:
    return re.sub(r"\s+", " ", page.get_text(" "))


def tabs(page: BeautifulSoup) -> list[str]:
    return [one.get_text(strip=True) for one in page.select(".page-header .nav-tabs a")]


def path(harvest: Harvest, page: str) -> str:
    return f"/harvest/{harvest.source['name']}/{page}"


# Held deletions


def test_held_deletions_and_their_release(app: Any, editor: dict[str, Any], held: Harvest) -> None:
    browser = Browser(app, editor)
    page = browser.get(f"/harvest/admin/{held.source['name']}")
    assert tabs(page)[-2:] == ["Preview", "Held deletions"]
    assert "3 datasets were not deleted" in words(page)
    assert "3 records of it are current" in words(page)
    (link,) = (one for one in page.select("a") if one.get_text(strip=True) == "Look at the list")
    listed = browser.get(str(link["href"]))
    assert [one.get_text() for one in listed.select("tbody a[href^='/dataset/']")] == [
        dataset["title"] for dataset in in_order(held)
    ]
    urls = [one["href"] for one in listed.select("tbody a[rel=nofollow]")]
    assert urls == [one["url"] for one in hold(held)["held"]]

    stale = browser.post(path(held, "held"), list_id="of yesterday")
    assert "Nothing was released: the list has changed" in words(stale)
    assert hold(held)["released_at"] is None

    (form,) = browser.get(path(held, "held")).select("form.form-actions")
    assert form["method"] == "post"
    (list_id,) = (str(one["value"]) for one in form.select("[name=list_id]"))
    page = browser.post(path(held, "held"), list_id=list_id)
    assert "the next job deletes these 3 datasets" in words(page)
    assert re.search(rf"Released by {editor['fullname']} on", words(page))
    assert page.select_one("form.form-actions") is None
    assert hold(held)["released_by"] == editor["name"]
    assert held.run().stats["deleted"] == 3
    assert "No deletions of this source are held" in words(browser.get(path(held, "held")))


def in_order(harvest: Harvest) -> list[dict[str, Any]]:
    found = harvest.datasets()
    return [found[one["url"]] for one in hold(harvest)["held"]]


def hold(harvest: Harvest) -> dict[str, Any]:
    return call_action("freshness_harvest_hold_show", id=harvest.source["id"])


def test_strangers_see_and_do_nothing(app: Any, held: Harvest) -> None:
    for user, page in product((factories.UserWithToken(), None), ("held", "preview")):
        browser = Browser(app, user)
        browser.get(path(held, page), status=403)
        browser.post(path(held, page), status=403, list_id=hold(held)["list_id"])
    assert hold(held)["released_at"] is None
    assert preview_job.progress(held.source["id"], now()).state is PreviewState.NONE


def test_there_is_no_such_source(app: Any, editor: dict[str, Any]) -> None:
    for page in ("held", "preview"):
        Browser(app, editor).get(f"/harvest/nobody/{page}", status=404)
        Browser(app, editor).post(f"/harvest/nobody/{page}", status=404)


def test_sources_of_other_harvesters(app: Any) -> None:
    """Their pages are unchanged and offer no preview."""
    with p.use_plugin("ckan_harvester"):
        source = add_source("http://127.0.0.1:9", source_type="ckan").source
        page = Browser(app, factories.SysadminWithToken()).get(f"/harvest/admin/{source['name']}")
        assert tabs(page) == ["Dashboard", "Jobs", "Edit"]
        with pytest.raises(tk.ValidationError, match="type ckan"):
            call_action("freshness_harvest_preview", id=source["id"])


def test_a_url_that_is_no_web_address_is_no_link(
    app: Any, editor: dict[str, Any], held: Harvest
) -> None:
    from ckanext.freshness.harvesting.holds import hold_of

    row = hold_of(held.source["id"])
    assert row is not None
    row.held = [{**row.held[0], "url": "javascript:alert(1)"}]
    model.Session.commit()
    page = Browser(app, editor).get(path(held, "held"))
    assert "javascript:alert(1)" in words(page)
    assert page.select("a[href^=javascript]") == []


def test_other_sites_cannot_send_the_forms(
    monkeypatch: pytest.MonkeyPatch, make_app: Any, held: Harvest
) -> None:
    """CKAN's own protection is off.

    In 2.11 it does not cover plugins; in 2.12 an earlier request without a session switches it off.
    """
    pages = [path(held, page) for page in ("held", "preview")]
    monkeypatch.setitem(tk.config, "WTF_CSRF_ENABLED", True)
    browser = make_app().test_client()  # with cookies, and the same one for all
    for page in pages:
        browser.get(page, status=403)
        browser.post(page)
    password = "a long password"
    user = factories.Sysadmin(password=password)
    login = BeautifulSoup(browser.get("/user/login").body, "html.parser")
    token = login.select("form [name=_csrf_token]")[0]["value"]
    fields = {"login": user["name"], "password": password, "_csrf_token": token}
    browser.post("/user/login", data=fields)

    list_id = hold(held)["list_id"]
    for page in pages:
        browser.post(page, data={"list_id": list_id}, status=400)
    assert hold(held)["released_at"] is None
    assert preview_job.progress(held.source["id"], now()).state is PreviewState.NONE

    for page in pages:
        form = BeautifulSoup(browser.get(page).body, "html.parser")
        inputs = form.select("#content form input, .primary form input")
        browser.post(page, data={one["name"]: one["value"] for one in inputs}, status=200)
    assert hold(held)["released_at"]
    assert preview_job.progress(held.source["id"], now()).state is PreviewState.WAITING


# Previews


def now() -> datetime:
    return datetime.now(timezone.utc)


def work() -> None:
    """Run the waiting background jobs."""
    Worker().work(burst=True)


def look_again(page: BeautifulSoup) -> list[str]:
    """Return the targets of the links that reload the page."""
    return [str(link["href"]) for link in page.select("a") if link.get_text() == "Look again"]


@pytest.mark.usefixtures("with_test_worker")
def test_a_preview_from_the_page(
    app: Any, editor: dict[str, Any], fdp: FdpServer, harvest: Harvest
) -> None:
    fdp.change(fdp.datasets[0], title="Edited")
    fdp.add_dataset(fdp.catalogs[0])
    browser = Browser(app, editor)
    page = browser.get(path(harvest, "preview"))
    assert "Preview the next job" in words(page)
    assert look_again(page) == []

    fdp.reset()
    page = browser.post(path(harvest, "preview"))
    assert "it waits for a background worker" in words(page)
    assert look_again(page) == [path(harvest, "preview")]
    # The page does not reload while somebody reads it (WCAG 2.2.1).
    assert page.select_one("meta[http-equiv=refresh]") is None
    assert page.select_one(".module-content form") is None
    assert fdp.requests == []  # not within a web request

    work()
    page = browser.get(path(harvest, "preview"))
    rows = {
        row.select("th")[0].get_text(): row.select("td")[0].get_text()
        for row in page.select("tr:has(th)")
    }
    assert rows == {
        "Records now": "3",
        "New": "1",
        "Changed": "1",
        "Moved": "0",
        "Deleted": "0",
        "Unchanged": "2",
        "Not readable": "0",
        "Kept, though not read": "0",
    }
    assert "its contents changed" in words(page)
    assert fdp.iri_of(fdp.datasets[0]) in words(page)
    assert look_again(page) == []

    for record in fdp.datasets:
        fdp.remove(record)
    browser.post(path(harvest, "preview"))
    work()
    page = browser.get(path(harvest, "preview"))
    assert "The brake would hold 3 deletions: the source lists nothing at all" in words(page)


@pytest.mark.usefixtures("with_test_worker")
def test_a_preview_that_cannot_be_made(app: Any, editor: dict[str, Any], source: Harvest) -> None:
    row = harvest_model.HarvestSource.get(source.source["id"])
    row.config = '{"headers": {"X-Key": {"env": "NO_SUCH_VARIABLE"}}}'
    model.Session.commit()
    browser = Browser(app, editor)
    browser.post(path(source, "preview"))
    work()
    page = words(browser.get(path(source, "preview")))
    assert "NO_SUCH_VARIABLE, which is not set" in page
    assert "Make a new preview" in page


def test_one_preview_at_a_time(editor: dict[str, Any], source: Harvest) -> None:
    source_id = source.source["id"]
    first = preview_job.start(source_id, "A source", editor["name"], now())
    assert (first.state, first.asked_by) == (PreviewState.WAITING, editor["name"])
    second = preview_job.start(source_id, "A source", "somebody else", now())
    assert second.asked_by == editor["name"]
    assert len(call_action("job_list")) == 1


@pytest.mark.parametrize(
    ("minutes", "state"), [(1, PreviewState.RUNNING), (10, PreviewState.FAILED)]
)
def test_a_worker_that_was_killed(source: Harvest, minutes: int, state: PreviewState) -> None:
    """The page notices it, and another preview can be started."""
    source_id = source.source["id"]
    preview_job.start(source_id, "A source", "editor", now())
    job = job_from_id(f"freshness-preview-{source_id}")
    connection = job.connection
    job.set_status("started")
    connection.lrem(job.origin and f"rq:queue:{job.origin}", 0, job.id)
    job.heartbeat(now(), 60)
    later = now() + timedelta(minutes=minutes)
    assert preview_job.progress(source_id, later).state is state
    again = preview_job.start(source_id, "A source", "another", later)
    assert again.asked_by == ("editor" if state is PreviewState.RUNNING else "another")
