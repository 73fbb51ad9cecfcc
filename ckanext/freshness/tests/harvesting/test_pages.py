"""The pages of harvest sources for their editors, and what others see of them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from itertools import product
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag
from ckan.tests import factories

from ckanext.freshness.ckan_adapter.core import job_from_id, model
from ckanext.freshness.dates import utc, utc_now
from ckanext.freshness.harvesting import holds, preview
from ckanext.freshness.reporting import harvests
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness.tests.harvesting.harvested_site import (
    ALL,
    KEPT,
    HarvestedSite,
    make_harvested_site,
)
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.harvest.model import HarvestSource

make_world = make_harvested_site

HELD = ALL - KEPT
NOW = datetime.now(timezone.utc)
ODD = "http://example.org/odd"


class Browser:
    """A browser that is logged in as a user."""

    def __init__(self, app: Any, user: dict[str, Any] | None) -> None:
        self._app = app
        self._headers = {"Authorization": user["token"]} if user else {}

    def get(self, path: str, status: int = 200, *, by_htmx: bool = False) -> BeautifulSoup:
        headers = self._headers | ({"HX-Request": "true"} if by_htmx else {})
        answer = self._app.get(path, headers=headers, status=status)
        return BeautifulSoup(answer.body, "html.parser")

    def post(self, path: str, status: int = 200, **fields: str) -> BeautifulSoup:
        answer = self._app.post(path, params=fields, headers=self._headers, status=status)
        return BeautifulSoup(answer.body, "html.parser")


@pytest.fixture
def editor(app: Any, world: HarvestedSite) -> Browser:
    """The browser of somebody who may edit the sources."""
    return Browser(app, world.editor)


@pytest.fixture
def idle(world: HarvestedSite) -> Harvest:
    """A source of its own that was never harvested."""
    return add_source(f"http://127.0.0.1:9/{factories.Dataset.stub().name}")


def words(page: Any) -> str:
    return re.sub(r"\s+", " ", page.get_text(" "))


def texts(part: BeautifulSoup | Tag, selector: str) -> list[str]:
    return [one.get_text(" ", strip=True) for one in part.select(selector)]


def hrefs(part: BeautifulSoup | Tag, selector: str) -> list[str]:
    return [str(one["href"]) for one in part.select(selector)]


def path(harvest: Harvest, page: str) -> str:
    return f"/harvest/{harvest.source['name']}/{page}"


def admin(harvest: Harvest) -> str:
    return f"/harvest/admin/{harvest.source['name']}"


# Sources and jobs


def test_sources_in_trouble_are_named_to_their_editors(app: Any, world: HarvestedSite) -> None:
    for user, is_told in ((world.editor, True), (world.stranger, False), (None, False)):
        page = Browser(app, user).get("/harvest/")
        assert page.select(".filters .nav-facet"), "phones show them by a button"
        assert "Kind of source" in words(page)
        assert "Harvest schedules" not in words(page), "no source has one"
        (note,) = page.select("#freshness-attention") or [BeautifulSoup("", "html.parser")]
        links = {str(link["href"]) for link in note.select("a")}
        assert (path(world.ocean, "held") in links) is is_told
        assert (f"{HELD} datasets would be deleted" in words(note)) is is_told
        assert ("The server refused the connection" in words(note)) is is_told
        header = Browser(app, user).get(f"/harvest/{world.ocean.source['name']}")
        said = f"{HELD} of {ALL + 1} datasets would be deleted. We stopped that." in words(header)
        assert said is is_told


def test_a_job_names_the_records_that_it_could_not_harvest(
    editor: Browser, world: HarvestedSite
) -> None:
    page = editor.get(path(world.ocean, f"job/{world.jobs[1].id}"))
    (section,) = page.select("section[aria-labelledby=record-errors]")
    assert "1 record with an error" in words(section)
    assert texts(section, "a[href^='/dataset/']") == [world.titles[1]]
    assert "Its metadata file has a syntax error" in words(section)
    assert "text/turtle: " in words(section.select_one("details")), "the parser's words, folded"
    (record,) = hrefs(section, "a[rel=nofollow]")
    assert record.startswith("http://127.0.0.1")
    assert page.select("[hx-get]") == []
    assert world.jobs[1].id in words(page)
    assert texts(page, "#added a") == ["Wave heights"]
    assert texts(page, "#updated a") == ["Tides of the north"]


@pytest.mark.parametrize(
    ("frequency", "edited", "next_run", "words_for_it"),
    [
        ("DAILY", -10, None, "Next job within a few minutes"),
        ("DAILY", -90, 181, "Next job in 3 hours"),
        ("MANUAL", -10, 181, None),
    ],
)
def test_the_next_job_is_that_of_the_schedule(
    app: Any,
    idle: Harvest,
    frequency: str,
    edited: int,
    next_run: int | None,
    words_for_it: str | None,
) -> None:
    def after(minutes: int) -> datetime:
        return utc(utc_now() + timedelta(minutes=minutes))

    source = model.Session.get(HarvestSource, idle.source["id"])
    source.frequency, source.next_run = frequency, None if next_run is None else after(next_run)
    model.Package.get(idle.source["id"]).metadata_modified = after(edited)
    model.Session.commit()
    shown = words(Browser(app, factories.SysadminWithToken()).get(admin(idle)))
    assert words_for_it in shown if words_for_it else "Next job" not in shown


def test_a_visitor_comes_back_after_the_login(app: Any, world: HarvestedSite) -> None:
    page = path(world.ocean, "held/delete?list_id=1")
    answer = app.get(page, follow_redirects=False)
    assert parse_qs(urlsplit(answer.location).query) == {"next": [page]}
    assert urlsplit(answer.location).path == "/user/login"


def test_clearing_names_what_goes_and_asks_first(app: Any, world: HarvestedSite) -> None:
    with FdpServer() as fdp:
        catalog = fdp.add_catalog()
        for title in ("Salt <1>", "Foam"):
            fdp.add_dataset(catalog, title=title)
        source = add_source(fdp.source_url)
        source.run()
    sysadmin = Browser(app, factories.SysadminWithToken())
    (link,) = (one for one in sysadmin.get(admin(source)).select("a") if one.text == "Clear…")
    asked = sysadmin.get(str(link["href"]))
    assert "Delete 2 datasets and all jobs of A source?" in words(asked)
    assert texts(asked, ".fr-two a") == ["Foam", "Salt <1>"]
    (keep,) = (one for one in asked.select(".fr-dialog a") if one.text == "Keep them")
    assert keep["href"] == admin(source)
    Browser(app, world.stranger).post(path(source, "clear"), status=403)
    assert len(harvests.datasets_of(source.source["id"])) == 2
    done = sysadmin.post(path(source, "clear"))
    assert "All datasets and jobs of this source were deleted." in words(done)
    assert harvests.datasets_of(source.source["id"]) == []
    assert "This source has not been harvested yet" in words(done)


# Held deletions


def test_the_list_shows_titles_and_reasons(editor: Browser, world: HarvestedSite) -> None:
    page = editor.get(path(world.ocean, "held"))
    assert f"{HELD} of {ALL + 1} datasets would be deleted. We stopped that." in words(page)
    titles = texts(page, ".fr-two .fr-main > a")
    assert sorted(titles) == sorted(["Tides of the north", *world.titles[1:HELD]])
    assert "Each of them: The source says that it is gone." in words(page)
    assert "max_delete_fraction" not in words(page)
    urls = [one["url"] for one in world.ocean.hold()["held"]]
    assert hrefs(page, ".fr-two a[rel=nofollow]") == urls


def test_an_approval_stays_in_sight_until_a_job_has_used_it(
    app: Any, editor: Browser, world: HarvestedSite
) -> None:
    shown = world.ocean.hold()["list_id"]
    editor.post(path(world.ocean, "held"), list_id=shown)
    try:
        for url in ("/freshness", "/harvest/", f"/harvest/{world.ocean.source['name']}"):
            page = editor.get(url)
            assert f"The next job deletes {HELD} datasets" in words(page), url
            assert f"Approved by {world.editor['fullname']}" in words(page), url
            assert "Nothing is deleted until a job starts." in words(page)
            (undo,) = page.select("form[action$='/held/undo']")
            assert holds.decisions(holds.hold_of(world.ocean.source["id"])).held == frozenset()
            assert undo.select_one(f"[name=list_id][value='{shown}']"), url
            assert page.select("form[action*='/harvest/refresh/']"), url
        assert "Approved by" not in words(Browser(app, world.stranger).get("/freshness"))
    finally:
        undone = editor.post(path(world.ocean, "held/undo"), list_id=shown)
    assert "These deletions are on hold again." in words(undone)


def test_what_is_kept_needs_no_attention_and_can_still_be_deleted(
    editor: Browser, world: HarvestedSite
) -> None:
    held = path(world.ocean, "held")
    shown = world.ocean.hold()["list_id"]
    (keep,) = (one for one in editor.get(held).select("form") if one["action"] == f"{held}/keep")
    assert words(keep).strip() == f"Keep {HELD} datasets"
    kept = editor.post(str(keep["action"]), list_id=shown)
    try:
        assert f"{HELD} datasets are kept" in words(kept)
        assert f"Decided by {world.editor['fullname']}" in words(kept)
        assert texts(kept, ".fr-note a.fr-danger") == [f"Delete {HELD} datasets…"]
        for url in ("/freshness", "/freshness/sources", "/harvest/", admin(world.ocean)):
            page = editor.get(url)
            assert world.ocean.source["title"] in words(page), url
            assert "would be deleted" not in words(page), url
        assert held in hrefs(editor.get(admin(world.ocean)), ".page-header a")
    finally:
        editor.post(held, list_id=shown)
        editor.post(f"{held}/undo", list_id=shown)
    assert "would be deleted. We stopped that." in words(editor.get(held))


def test_a_list_that_nobody_has_seen_is_not_approved(editor: Browser, world: HarvestedSite) -> None:
    stale = "of yesterday"
    for page in (
        editor.get(path(world.ocean, f"held/delete?list_id={stale}")),
        editor.post(path(world.ocean, "held"), list_id=stale),
        editor.post(path(world.ocean, "held/undo"), list_id=stale),
        editor.post(path(world.ocean, "held/keep"), list_id=stale),
    ):
        assert "list has changed since you looked at it" in words(page)
    assert world.ocean.hold()["released_at"] is None


def test_strangers_see_and_do_nothing(app: Any, world: HarvestedSite, idle: Harvest) -> None:
    shown = world.ocean.hold()["list_id"]
    pages = ("held", "preview", "held/undo", "held/keep", f"held/delete?list_id={shown}")
    for user, page in product((world.stranger, None), pages):
        browser = Browser(app, user)
        if page not in ("held/undo", "held/keep"):
            refused = browser.get(path(world.ocean, page), status=403 if user else 200)
            words_of_it = "Log in as an editor of this harvest source" if user else "Password"
            assert words_of_it in refused.get_text(), page
        if "?" not in page:
            browser.post(path(world.ocean, page), status=403 if user else 200, list_id=shown)
    Browser(app, world.stranger).post(path(idle, "preview"), status=403)
    assert world.ocean.hold()["released_at"] is None
    assert preview.progress(idle.source["id"], NOW)["state"] == "none"


# Previews


def test_a_preview_tells_what_would_change(editor: Browser, world: HarvestedSite) -> None:
    page = editor.get(path(world.ocean, "preview"))
    numbers = zip(texts(page, ".fr-legend a"), texts(page, ".fr-legend b"), strict=True)
    legend = dict(numbers)
    assert legend == {
        "New": "1",
        "Changed": "1",
        "Couldn't be read, kept as is": "1",
        "Unchanged": str(ALL - 2),
    }
    changed = words(page.select_one("#preview-changed"))
    assert f"Title: “Tides of the north” (was “{world.titles[0]}”)" in changed


def test_a_preview_under_way(app: Any, idle: Harvest) -> None:
    """It is not made within a web request. htmx asks for its progress; without scripts, there is a link."""
    sysadmin = Browser(app, factories.SysadminWithToken())
    here = path(idle, "preview")
    page = sysadmin.post(here)
    assert "Waiting to start" in words(page)
    assert page.select("#freshness-preview[hx-get]")

    job = job_from_id(f"freshness-preview-{idle.source['id']}")
    job.set_status("started")
    job.heartbeat(datetime.now(timezone.utc), 60)
    for meta, told in (
        ({"read": 268, "listed": 429}, "Reading the source: 268 of 429 records"),
        ({"read": 268, "listed": None}, "Reading the source: 268 records so far"),
    ):
        job.meta |= meta
        job.save_meta()
        asked = sysadmin.get(here, by_htmx=True)
        assert told in words(asked)
        assert asked.select_one("html") is None, "only the part that changes"
    job.delete()
