"""Every link, button and form of the pages about freshness, followed and pressed by each kind of reader.

Pages, links and buttons are found in the pages themselves, beginning at `SITE_PAGES`. A link must lead
somewhere, and a button must do what `EFFECTS` says: a button without a row there fails the test, and so does a
row without a button.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup, Tag
from ckan.lib import jobs, search
from ckan.tests import factories
from ckan.tests.helpers import call_action
from werkzeug.exceptions import HTTPException

from ckanext.freshness.ckan_adapter.core import connect_to_redis, model
from ckanext.freshness.tests.browser import test_every_page
from ckanext.freshness.tests.browser.conftest import opened_tab

ROLES = ("anonymous", "editor", "admin", "sysadmin")
"""Kinds of readers. Editor and admin are those of all organizations with something to do."""
PAGES = test_every_page.PAGES
store = test_every_page.store


def sql(statement: str) -> Callable[[Any], object]:
    """Return a function that reads rows from the database."""

    def read(tab: Any) -> object:
        model.Session.rollback()
        return [tuple(row) for row in model.Session.execute(sa.text(statement))]

    return read


def queued(tab: Any) -> object:
    """Return the background jobs that wait."""
    return jobs.get_queue().job_ids


def shown(words: str) -> Callable[[Any], object]:
    """Return a function that looks for words on the page."""
    return lambda tab: tab.get_by_text(words).count() > 0


JOBS = sql("SELECT id, status FROM harvest_job ORDER BY id")
SOURCES = sql("SELECT id, title, active FROM harvest_source ORDER BY id")
RELEASED = sql("SELECT source_id, released_at FROM freshness_harvest_hold ORDER BY 1")
EARLIER = """
UPDATE freshness_evidence SET happened_at = happened_at - interval '1 hour' WHERE evidence = 'review'"""
CONFIRMED = sql(
    "SELECT package_id, happened_at FROM freshness_evidence WHERE evidence = 'review' ORDER BY 1, 2"
)
FREQUENCIES = sql("SELECT package_id, frequency_days FROM freshness_dataset ORDER BY 1")
IGNORED = sql(
    "SELECT package_id, ignored::text FROM freshness_dataset WHERE ignored IS NOT NULL"
    " UNION ALL SELECT resource_id, ignored::text FROM freshness_check WHERE ignored IS NOT NULL ORDER BY 1"
)
MAILS = sql("SELECT address, choice FROM freshness_mail_person ORDER BY 1")


SELDOM_SHOWN = {"freshness_links.repair"}
"""Buttons that depend on what another server answers: addresses are suggested only if they are there."""

TESTED = shown("Each new address was tested.")

EFFECTS: dict[str, Callable[[Any], object]] = {
    "freshness_dataset.check": queued,
    "freshness_dataset.confirm": CONFIRMED,
    "freshness_dataset.confirm withdraw": CONFIRMED,
    "freshness_harvest.clear": JOBS,
    "freshness_harvest.release": RELEASED,
    "freshness_harvest.start_preview": queued,
    "freshness_harvest.take_back": RELEASED,
    "freshness_links.repair": TESTED,
    "freshness_links.test": shown("There is no server of this name."),
    "freshness_mail_link.confirm": CONFIRMED,
    "freshness_mail_link.write_link": MAILS,
    "freshness_mails.write": MAILS,
    "freshness_task.act check": queued,
    "freshness_task.act confirm": CONFIRMED,
    "freshness_task.act frequency": FREQUENCIES,
    "freshness_task.act ignore": IGNORED,
    "freshness_task.act stop": IGNORED,
    "freshness_task.act undo": CONFIRMED,
    "harvest.delete": SOURCES,
    "harvest.edit": lambda tab: "/edit/" in tab.url,
    "harvest.new": SOURCES,
    "harvester.job_abort": JOBS,
    "harvester.refresh": JOBS,
}
"""What differs before and after a button is pressed, by the address and the name of what it does."""
ACTING = {"harvester.job_abort"}
"""Addresses at which a mere link does something."""
ASKING = "harvest.delete"
"""A button at which CKAN asks once more."""
LAST = ("freshness_harvest.clear", ASKING)
"""Buttons that take others away. They are pressed at the end."""

WITHOUT_FILES = {"link freshness_dataset.copy", "link freshness_dataset.copy_zip"}
"""Links to files that the site of this test does not have."""
FILLED = {
    **{"title": "A new source", "name": "a-new-source", "url": "http://new.example.org/"},
    "reason": "The server moves",
}
"""What is written into empty fields of forms, by name."""

CONTROLS = "a[href], button, input[type=submit]"
OF_PAGE = "[role=main], .toolbar .page_action, .content_action, .page-header"
OF_OTHERS = ".fr, [class^='fr-'], [class*=' fr-']"
"""The parts of CKAN's own pages that are ours."""
OURS = ("freshness", "harvest")
"""How the endpoints of our pages, and of those of harvests that we show, begin."""
PREPARE = """(one, [filled, turn]) => {
    for (let at = one; at; at = at.parentElement) {
        if (at.tagName === 'DETAILS') at.open = true;
        if (at.popover) at.showPopover();
        if (at.matches('.modal:not(.show)')) document.querySelector(`[data-bs-target="#${at.id}"]`).click();
    }
    const form = one.form;
    if (!form) return;
    for (const field of form.elements)
        if (!field.value && field.type !== 'hidden' && filled[field.name]) field.value = filled[field.name];
    if (form.wanted) form.wanted.selectedIndex = turn % form.wanted.length;
    form.querySelector('[name=choice]:not(:checked)')?.click();
    const rows = [...form.querySelectorAll('[name=id]')];
    if (one.closest('.fr-ticked') && rows.length && !rows.some(row => row.checked)) rows[0].click();
}"""
"""Open what a button is folded into, fill its form, and tick a row if it works with the ticked ones."""
LOOK = """() => JSON.stringify([document.body.innerText, location.href, document.activeElement?.outerHTML,
    [...document.querySelectorAll('input, select')].map(one => [one.value, one.checked])])"""
"""All that a reader can see of a page."""
NUMBER = "all => document.querySelectorAll(all).forEach((one, number) => { one.dataset.number = number; })"
"""Give each control a number, so that it is found again although parts of the page are renewed."""
WAIT = 10
"""Seconds to wait for an effect."""


@dataclass(frozen=True)
class Control:
    """A link or a button.

    :ivar number: its place among the `CONTROLS` of its page
    :ivar key: what it does, as in `EFFECTS`; ``link ...`` for a link, ``get ...`` for a form that only reads
    :ivar place: the list in which it stands, and whether it is a row's, so that each is pressed
    :ivar url: where a link leads
    """

    number: int
    key: str
    place: str
    words: str
    url: str | None = None

    @property
    def kind(self) -> tuple[str, str]:
        return (self.key, self.place)


def make_world() -> dict[str, Any]:
    """Make a site with something for every page, and an editor and an admin of all its organizations."""
    return test_every_page.in_thread(_make_world)


def _make_world() -> dict[str, Any]:
    made = test_every_page.make_everything()
    tokens = made["tokens"]
    for capacity in ("editor", "admin"):
        user = factories.UserWithToken()
        tokens[capacity] = user["token"]
        for organization in call_action("organization_list"):
            values = {"id": organization, "username": user["name"], "role": capacity}
            call_action("organization_member_create", **values)
    model.Session.commit()
    return made


class Reader:
    """Somebody who follows each kind of link, and presses each kind of button once."""

    def __init__(self, tab: Any, role: str, adapter: Any, pressed: set[tuple[str, str]]) -> None:
        self.tab = tab
        self.role = role
        self.adapter = adapter
        self.pressed = pressed
        """The kinds of buttons that others have pressed."""
        self.seen: set[tuple[str, str]] = set()
        self.found: set[str] = set()
        self.later: list[tuple[str, Control]] = []
        self.problems: list[str] = []
        self.bad: list[str] = []
        tab.on("response", self._note)

    def _note(self, response: Any) -> None:
        if response.status >= 400 and urlsplit(response.url).hostname == "127.0.0.1":
            self.bad.append(f"{response.status} from {urlsplit(response.url).path}")

    def read(self, pages: list[str]) -> None:
        """Look at pages and at all that they lead to."""
        for path in pages:
            self.look_at(path)
        for path, control in self.later:
            self.tab.goto(path)
            found = [one for one in self.controls() if one.key == control.key]
            if found:
                self.press(found[0], path)

    def look_at(self, path: str) -> None:
        """Open a page without a browser, press its new buttons in the browser, and follow its new links."""
        answer = self.tab.request.get(path)
        is_page = answer.headers.get("content-type", "").startswith("text/html")
        if answer.status >= 400 or not is_page or urlsplit(answer.url).path == "/user/login":
            return
        found = self.fresh(self.controls_of(answer.text(), answer.url))
        if any(one.url is None for one in found):
            self.tab.goto(path)
            self.press_all(path)
            # What was done may have added links.
            found += self.fresh(self.controls())
        links = [one for one in found if one.url is not None]
        for one in links:
            self.seen.add(one.kind)
            self.follow(one, path)
        for one in links:
            if one.key.startswith(("link freshness", "link harvest")):
                self.look_at(str(one.url))

    def press_all(self, path: str) -> None:
        """Press each new button that the browser shows, and what appears then."""
        while new := [one for one in self.fresh(self.controls()) if one.url is None]:
            self.seen.add(new[0].kind)
            if new[0].key in LAST:
                self.found.add(new[0].key)
                self.later.append((path, new[0]))
                continue
            self.press(new[0], path)
            self.press_all(path)
            self.tab.goto(path)

    def fresh(self, controls: list[Control]) -> list[Control]:
        """Return one control of each kind that was not tried yet."""
        new = [one for one in controls if one.kind not in self.seen and not self.is_known(one)]
        return list({one.kind: one for one in reversed(new)}.values())[::-1]

    def is_known(self, control: Control) -> bool:
        """Decide whether somebody has pressed a button at this place, and this reader at another one."""
        return control.kind in self.pressed and control.key in self.found

    def follow(self, link: Control, path: str) -> None:
        """Ask for the page or file of a link."""
        answer = self.tab.request.get(link.url, max_redirects=5)
        if answer.status >= 400 and link.key not in WITHOUT_FILES:
            self.problem(f"{answer.status} from {link.url}", link, path)

    def press(self, control: Control, path: str) -> None:
        """Press a button if it can be seen, and see whether it did what it should."""
        tab = self.tab
        look = control.key.startswith(("button ", "get "))
        effect = (lambda tab: tab.evaluate(LOOK)) if look else EFFECTS.get(control.key)
        if effect is None:
            self.problem("is no row of EFFECTS", control, path)
            return
        self.bad.clear()
        # No check of the same links waits already.
        jobs.get_queue().empty()
        if control.key.endswith("confirm"):
            # A second confirmation at once counts as a double click.
            model.Session.execute(sa.text(EARLIER))
            model.Session.commit()
        element = tab.locator(f"[data-number='{control.number}']")
        if element.count() == 0:
            # The page has renewed a part of itself, where the button is found again.
            self.seen.discard(control.kind)
            return
        element.evaluate(PREPARE, [FILLED, len(self.seen)])
        tab.wait_for_load_state()
        try:
            element.wait_for(state="visible", timeout=1000)
        except self.tab_error():
            return
        self.found.add(control.key)
        before = effect(tab)
        if control.key == ASKING:
            # CKAN's scripts begin when its translations have come.
            tab.wait_for_load_state("networkidle")
        element.click()
        if control.key == ASKING:
            tab.locator(".modal.show .btn-primary").click()
        end = time.monotonic() + WAIT
        while (after := self.value(effect)) == before and time.monotonic() < end and not self.bad:
            tab.wait_for_timeout(30)
        tab.wait_for_load_state()
        if self.bad:
            self.problem(", ".join(self.bad), control, path)
        elif after == before:
            self.problem("has no effect", control, path)
        for said in tab.locator(".alert-danger, [role=alert]").all_inner_texts():
            self.problem(f"says: {said.strip()}", control, path)

    def value(self, effect: Callable[[Any], object]) -> object:
        """Return the value of an effect; a page may be left while it is read."""
        try:
            return effect(self.tab)
        except self.tab_error():
            self.tab.wait_for_load_state()
            return effect(self.tab)

    @staticmethod
    def tab_error() -> type[Exception]:
        from playwright.sync_api import Error

        return Error

    def problem(self, words: str, control: Control, path: str) -> None:
        """Note that something is wrong with a control."""
        self.problems.append(f"{self.role}, {path}: “{control.words}” ({control.key}) {words}")

    def controls(self) -> list[Control]:
        """Return the controls of the page that the browser shows."""
        self.tab.evaluate(NUMBER, CONTROLS)
        return self.controls_of(self.tab.content(), self.tab.url)

    def controls_of(self, html: str, url: str) -> list[Control]:
        """Return the links and buttons in our parts of a page."""
        soup = BeautifulSoup(html, "html.parser")
        endpoint = self.endpoint("GET", url)[0]
        scope = f"{OF_PAGE}, {OF_OTHERS}" if endpoint.startswith(OURS) else OF_OTHERS
        ours = {id(one) for part in soup.select(scope) for one in part.select(CONTROLS)}
        made = []
        for number, one in enumerate(soup.select(CONTROLS)):
            if id(one) in ours and not one.has_attr("disabled") and not one.find_parent(is_of_ckan):
                control = self.control(int(str(one.get("data-number", str(number)))), one, url)
                if control is not None:
                    made.append(control)
        return made

    def control(self, number: int, one: Tag, page: str) -> Control | None:
        """Return what a link or a button does; None if it leads to another site or only closes something."""
        words = " ".join(one.get_text(" ").split())[:60]
        opens = one.get("popovertarget") or (
            one.get("data-bs-toggle") and one.get("data-bs-target")
        )
        if opens:
            return Control(number, f"button {str(opens).lstrip('#').partition('-')[0]}", "", words)
        if one.name == "a":
            return self.link(number, one, words, page)
        form, htmx = one.find_parent("form"), one.get("hx-post")
        if one.get("type") == "button" and htmx is None:
            return None
        if form is None:
            raise AssertionError(f"{page}: the button “{words}” belongs to no form")
        method = "POST" if htmx else str(form.get("method", "get")).upper()
        name, _ = self.endpoint(method, str(htmx or form.get("action") or urlsplit(page).path))
        if method == "GET":
            return Control(number, f"get {name}", "", words)
        if form.select_one("[name=withdraw]"):
            return Control(number, f"{name} withdraw", "", words)
        if one.get("name") != "do":
            return Control(number, name, "", words)
        # A task's row has more buttons than a table's.
        listed = form.select_one("[name=list]")
        place = str(listed["value"]) if listed else ""
        place = f"{place if place.startswith('mine') else 'table'} {'row' if htmx else ''}"
        return Control(number, f"{name} {str(one['value']).partition(':')[0]}", place, words)

    def link(self, number: int, one: Tag, words: str, page: str) -> Control | None:
        """Return where a link leads; None if to another site, to a place on its page or to a mail program."""
        href = str(one["href"])
        parts = urlsplit(href)
        is_here = parts.netloc in ("", urlsplit(page).netloc) and parts.scheme in ("", "http")
        if href.startswith("#") or not is_here:
            return None
        asks = one.get("data-module") == "confirm-action"
        name, table = self.endpoint("POST" if asks else "GET", href)
        if asks or name in ACTING:
            return Control(number, name, "", words)
        query = " ".join(
            f"group={value}" if key == "group" else key
            for key, value in sorted(parse_qsl(parts.query))
        )
        return Control(number, f"link {name}", query or table, words, href)

    def endpoint(self, method: str, url: str) -> tuple[str, str]:
        """Return the endpoint of an address, and the table that it shows if it shows one."""
        path = urlsplit(url).path
        try:
            endpoint, values = self.adapter.match(path, method=method)
        except HTTPException:
            return "", path
        return endpoint, str(values["name"]) if endpoint == "freshness.table" else ""


def is_of_ckan(part: Tag) -> bool:
    """Decide whether CKAN has added a part of a form."""
    return bool({"slug-preview", "editor-info-block", "popover"} & set(part.get("class") or ()))


@contextmanager
def kept_site() -> Iterator[Callable[[], None]]:
    """Keep all rows within the block; yield a function that brings them back, and empties Redis."""
    tables = [table.name for table in model.repo.metadata.sorted_tables]
    with model.meta.engine.begin() as connection:
        there = set(sa.inspect(connection).get_table_names()) - {"alembic_version"}
        tables = [name for name in tables if name in there]
        connection.exec_driver_sql("CREATE SCHEMA kept")
        for name in tables:
            connection.exec_driver_sql(f'CREATE TABLE kept."{name}" AS TABLE "{name}"')

    def bring_back() -> None:
        model.Session.remove()
        deleted = [f'DELETE FROM "{name}"' for name in reversed(tables)]
        written = [f'INSERT INTO "{name}" SELECT * FROM kept."{name}"' for name in tables]
        with model.meta.engine.begin() as connection:
            connection.exec_driver_sql("SET LOCAL lock_timeout = '10s'")
            connection.exec_driver_sql("; ".join(deleted + written))
        connect_to_redis().flushdb()
        search.clear_all()
        search.rebuild(quiet=True)

    yield bring_back
    model.Session.remove()
    with model.meta.engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA kept CASCADE")


@pytest.mark.usefixtures("without_gravatar")
def test_every_button(chromium: Any, site: str, app: Any, world: dict[str, Any]) -> None:
    problems: list[str] = []
    found: set[str] = set()
    pressed: set[tuple[str, str]] = set()
    adapter = app.flask_app.url_map.bind("127.0.0.1")
    paths = [page.path.format(**world["ids"]) for page in PAGES]
    with kept_site() as bring_back:
        for role in ROLES:
            bring_back()
            with opened_tab(chromium, site) as tab:
                if role in world["tokens"]:
                    tab.context.set_extra_http_headers({"Authorization": world["tokens"][role]})
                reader = Reader(tab, role, adapter, pressed)
                reader.read(paths)
            problems += reader.problems
            found |= reader.found
            pressed |= reader.seen
    assert "\n".join(problems) == ""
    assert set(EFFECTS) - found <= SELDOM_SHOWN
