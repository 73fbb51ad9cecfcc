"""Every link, button and form of the pages about freshness, followed and pressed by each kind of reader.

Pages, links and buttons are found in the pages themselves, beginning at `SITE_PAGES`. A link must lead
somewhere, and a button must do what `EFFECTS` says: a button without a row there fails the test, and so does a
row without a button.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import sqlalchemy as sa
from ckan.lib import jobs, search
from ckan.tests import factories
from ckan.tests.helpers import call_action
from werkzeug.exceptions import HTTPException

from ckanext.freshness.ckan_adapter.core import connect_to_redis, model
from ckanext.freshness.tests.browser import test_every_page
from ckanext.freshness.tests.browser.conftest import SETTLED, opened_tab
from ckanext.freshness.tests.web.support import FileServer

ROLES = ("sysadmin", "admin", "editor", "anonymous")
"""Kinds of readers, those who see the most first. Editor and admin are those of all organizations."""
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


JOBS = sql("SELECT id, status FROM harvest_job ORDER BY id")
SOURCES = sql("SELECT id, title, active FROM harvest_source ORDER BY id")
RELEASED = sql("SELECT source_id, released_at FROM freshness_harvest_hold ORDER BY 1")
CALM = """
UPDATE freshness_evidence SET happened_at = happened_at - interval '1 hour' WHERE evidence = 'review';
UPDATE harvest_job SET status = 'Finished', finished = created WHERE status IN ('New', 'Running')"""
"""No job waits, and no confirmation is so young that another one counts as a double click."""
CONFIRMED = sql(
    "SELECT package_id, happened_at FROM freshness_evidence WHERE evidence = 'review' ORDER BY 1, 2"
)
FREQUENCIES = sql("SELECT package_id, frequency_days FROM freshness_dataset ORDER BY 1")
IGNORED = sql(
    "SELECT package_id, ignored::text FROM freshness_dataset WHERE ignored IS NOT NULL"
    " UNION ALL SELECT resource_id, ignored::text FROM freshness_check WHERE ignored IS NOT NULL ORDER BY 1"
)
URLS = sql("SELECT id, url FROM resource ORDER BY id")
MAILS = sql("SELECT address, choice FROM freshness_mail_person ORDER BY 1")


EFFECTS: dict[str, Callable[[Any], object]] = {
    "freshness_dataset.check": queued,
    "freshness_dataset.confirm": CONFIRMED,
    "freshness_dataset.confirm withdraw": CONFIRMED,
    "freshness_harvest.clear": JOBS,
    "freshness_harvest.keep": sql(
        "SELECT source_id, kept_at FROM freshness_harvest_hold ORDER BY 1"
    ),
    "freshness_harvest.release": RELEASED,
    "freshness_harvest.start_preview": queued,
    "freshness_harvest.take_back": RELEASED,
    "freshness_links.repair": URLS,
    "freshness_links.test": lambda tab: tab.locator("#freshness-test").inner_text(),
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

OF_PAGE = "[role=main], .toolbar .page_action, .content_action, .page-header"
OF_OTHERS = ".fr, [class^='fr-'], [class*=' fr-']"
"""The parts of CKAN's own pages that are ours."""
OURS = ("freshness", "harvest")
"""How the endpoints of our pages, and of those of harvests that we show, begin."""
READ = """([html, ours]) => {
    const page = html ? new DOMParser().parseFromString(html, 'text/html') : document;
    return [...page.querySelectorAll('a[href], button, input[type=submit]')].map((one, number) => {
        // So that it is found again although parts of the page are renewed.
        if (!html) one.dataset.number = number;
        const part = one.closest(ours), value = name => one.getAttribute(name), form = one.form;
        const isOnEach = !!one.closest('.content_action, .page_action');
        const isOfCkan = one.closest('.slug-preview, .editor-info-block, .popover');
        return !part || isOfCkan || one.disabled ? null : {
            number, words: one.textContent.replace(/\\s+/g, ' ').trim().slice(0, 60), href: value('href'),
            opens: value('popovertarget') || value('data-bs-toggle') && value('data-bs-target'),
            isOnEach, asks: value('data-module') === 'confirm-action', post: value('hx-post'),
            fills: value('hx-on:click'), type: one.type, name: value('name'), value: value('value'),
            form: form && {
                method: form.method, action: form.getAttribute('action'),
                list: form.querySelector('[name=list]')?.value || '',
                withdraws: !!form.querySelector('[name=withdraw]'),
            },
        };
    }).filter(one => one);
}"""
"""The links and buttons in our parts of a page: of a text, or of the page that the browser shows."""
PREPARE = """(one, [filled, turn]) => {
    document.querySelectorAll(':popover-open').forEach(menu => menu.hidePopover());
    for (let at = one; at; at = at.parentElement) {
        if (at.tagName === 'DETAILS') at.open = true;
        if (at.popover) at.showPopover();
        if (at.matches('.modal:not(.show)')) document.querySelector(`[data-bs-target="#${at.id}"]`).click();
    }
    const form = one.form;
    if (!form) return;
    for (const field of form.elements)
        if (!field.value && field.type !== 'hidden' && filled[field.name]) field.value = filled[field.name];
    // The first one is no frequency.
    if (form.wanted) form.wanted.selectedIndex = 1 + turn % (form.wanted.length - 1);
    form.querySelector('[name=choice]:not(:checked)')?.click();
    const rows = [...form.querySelectorAll('[name=id]')];
    if (one.closest('.fr-ticked') && rows.length && !rows.some(row => row.checked)) rows[0].click();
}"""
"""Open what a button is folded into, fill its form, and tick a row if it works with the ticked ones."""
LOOK = """() => JSON.stringify([document.body.innerText, location.href, document.activeElement?.outerHTML,
    [...document.querySelectorAll('input, select')].map(one => [one.value, one.checked])])"""
"""All that a reader can see of a page."""
WAIT = 30
"""Seconds to wait for an effect."""
MOST_STEPS, MOST_BUTTONS = 5, 60
"""How many links a reader follows one after the other, and how many buttons of a page are pressed."""


Kind = tuple[str, str, str]


@dataclass(frozen=True)
class Control:
    """A link or a button.

    :ivar number: its place on the page that the browser shows
    :ivar page: the path of the page
    :ivar key: what it does, as in `EFFECTS`; ``link ...`` for a link, ``get ...`` for a form that only reads
    :ivar kinds: the page's endpoint, the key, and a button's list or an argument of a link, for each argument.
        The pages of a source share buttons: in place of the page, these have the address to which they send
    :ivar leaves: whether another page follows
    :ivar url: where a link leads
    """

    number: int
    page: str
    words: str
    key: str
    kinds: frozenset[Kind]
    leaves: bool = False
    url: str | None = None


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


MOVED = """
UPDATE freshness_check SET moved_to = :to WHERE host = 'data.example.org' AND moved_to IS NULL"""
"""All broken links of a server have moved."""


class Reader:
    """Somebody who follows each kind of link and presses each kind of button.

    :param works: the kinds that another reader has seen work: of these, this one tries one for each key
    """

    def __init__(self, tab: Any, role: str, adapter: Any, works: set[Kind]) -> None:
        self.tab = tab
        self.role = role
        self.adapter = adapter
        self.works = works
        self.tried: set[Kind] = set()
        self.broken: set[tuple[str, frozenset[Kind]]] = set()
        """Kinds that do not work, with the page: they are tried on each."""
        self.found: set[str] = set()
        self.statuses: dict[str, int] = {}
        self.endpoints: dict[tuple[str, str], tuple[str, str]] = {}
        self.later: list[tuple[str, Control]] = []
        self.problems: list[str] = []
        self.bad: list[str] = []
        tab.set_default_timeout(1000 * WAIT)
        tab.on("response", self._note)

    def _note(self, response: Any) -> None:
        if response.status >= 400 and urlsplit(response.url).hostname == "127.0.0.1":
            self.bad.append(f"{response.status} from {urlsplit(response.url).path}")

    def read(self, pages: list[str]) -> None:
        """Look at pages, then at all other kinds of pages that they lead to."""
        waiting = pages
        for _ in range(MOST_STEPS):
            links = [link for path in waiting for link in self.look_at(path)]
            waiting = [str(one.url) for one in self.new_of(links) if self.leads_to_new_page(one)]
        if waiting:
            self.problems.append(f"{self.role}: more than {MOST_STEPS} steps from the first pages")
        for path, control in self.later:
            self.tab.goto(path, wait_until="domcontentloaded")
            for one in self.controls():
                if one.kinds == control.kinds:
                    self.press(one)
                    break

    def look_at(self, path: str) -> list[Control]:
        """Open a page without a browser, press its new buttons in the browser, and return its new links."""
        answer = self.tab.request.get(path)
        is_page = answer.headers.get("content-type", "").startswith("text/html")
        if answer.status >= 400 or not is_page or urlsplit(answer.url).path == "/user/login":
            return []
        self.found.add(f"link {self.endpoint('GET', answer.url)[0]}")
        new = self.new_of(self.controls(answer.text(), answer.url))
        return self.press_all(path) if any(one.url is None for one in new) else new

    def press_all(self, path: str) -> list[Control]:
        """Press each new button that the browser shows, and what appears then; return the new links."""
        model.Session.execute(sa.text(CALM))
        model.Session.commit()
        links: dict[frozenset[Kind], Control] = {}
        self.tab.goto(path, wait_until="domcontentloaded")
        for _ in range(MOST_BUTTONS):
            buttons = self.new_buttons(links)
            if not buttons:
                # What was pressed may have brought others.
                answer = self.tab.request.get(path)
                if not self.new_buttons(links, answer.text(), answer.url):
                    return list(links.values())
                self.tab.goto(path, wait_until="domcontentloaded")
            elif buttons[0].key in LAST:
                self.later.append((path, buttons[0]))
                self.tried |= buttons[0].kinds
            else:
                self.press(buttons[0])
        self.problems.append(f"{self.role}, {path}: more than {MOST_BUTTONS} buttons")
        return list(links.values())

    def new_buttons(self, links: dict[frozenset[Kind], Control], *page: str) -> list[Control]:
        """Return the new buttons of a page, as `controls` takes it, and add its new links to others."""
        new = self.new_of(self.controls(*page))
        links |= {one.kinds: one for one in new if one.url is not None}
        return [one for one in new if one.url is None]

    def new_of(self, controls: list[Control]) -> list[Control]:
        """Return one control of each kind that was not tried yet."""
        new: list[Control] = []
        kinds = self.tried.copy()
        for one in controls:
            is_known = one.kinds <= self.works and one.key in self.found
            if not is_known and not one.kinds <= kinds and (one.page, one.kinds) not in self.broken:
                new.append(one)
                kinds |= one.kinds
        return new

    def leads_to_new_page(self, link: Control) -> bool:
        """Ask for the page or file of a link; return whether it is a kind of our pages not seen yet."""
        url = str(link.url)
        groups = {f"{link.key} {kind[2]}" for kind in link.kinds if kind[2].startswith("group=")}
        is_new = not {link.key, *groups} <= self.found
        self.found |= groups
        if url not in self.statuses:
            self.statuses[url] = self.tab.request.get(url, max_redirects=5).status
        self.found.add(link.key)
        is_there = self.statuses[url] < 400 or link.key in WITHOUT_FILES
        self.note(link, [] if is_there else [f"{self.statuses[url]} from {url}"])
        return is_new and link.key.startswith(("link freshness", "link harvest"))

    def press(self, control: Control) -> None:
        """Press a button, and note what it did not do as it should."""
        self.bad.clear()
        try:
            said = self.complaints(control)
        except self.tab_error() as error:
            said = str(error).splitlines()[:1]
        if said is not None:
            self.note(control, [*self.bad, *said])

    def note(self, control: Control, said: list[str]) -> None:
        """Note whether a control works; what was said about it if not."""
        if said:
            about = f"{self.role}, {control.page}: “{control.words}” ({control.key})"
            self.problems += [f"{about} {words}" for words in said]
            self.broken.add((control.page, control.kinds))
        else:
            self.tried |= control.kinds
            self.works |= control.kinds

    def complaints(self, control: Control) -> list[str] | None:
        """Press a button; return what it did not do, and the errors that the page shows then.

        :returns: None if the page has renewed the button in the meantime
        """
        tab = self.tab
        look = control.key.startswith(("button ", "get "))
        effect = (lambda tab: tab.evaluate(LOOK)) if look else EFFECTS.get(control.key)
        if effect is None:
            return ["is no row of EFFECTS"]
        # No check of the same links waits already.
        jobs.get_queue().empty()
        element = tab.locator(f"[data-number='{control.number}']")
        if element.count() == 0:
            return None
        element.evaluate(PREPARE, [FILLED, len(self.tried)])
        element.wait_for(state="visible")
        self.found.add(control.key)
        before = effect(tab)
        if control.key == ASKING:
            # CKAN's scripts begin when its translations have come.
            tab.wait_for_load_state("networkidle")
            element.click()
            element = tab.locator(".modal.show .btn-primary")
        leave = tab.expect_navigation if control.leaves else lambda **options: nullcontext()
        with leave(wait_until="domcontentloaded"):
            element.click()
        end = time.monotonic() + WAIT
        while (after := effect(tab)) == before and time.monotonic() < end and not self.bad:
            tab.wait_for_timeout(30)
        tab.wait_for_function(SETTLED)
        nothing = ["has no effect"] if after == before and not self.bad else []
        said = tab.locator(".alert-danger, [role=alert]").all_inner_texts()
        return nothing + [f"says: {words.strip()}" for words in said]

    @staticmethod
    def tab_error() -> type[Exception]:
        from playwright.sync_api import Error

        return Error

    def controls(self, html: str | None = None, url: str | None = None) -> list[Control]:
        """Return the links and buttons in our parts of a page; without a text, of that in the browser."""
        url = url or self.tab.url
        endpoint = self.endpoint("GET", url)[0]
        ours = f"{OF_PAGE}, {OF_OTHERS}" if endpoint.startswith(OURS) else OF_OTHERS
        made = (self.control(one, endpoint, url) for one in self.tab.evaluate(READ, [html, ours]))
        return [one for one in made if one is not None]

    def control(self, one: dict[str, Any], page: str, url: str) -> Control | None:
        """Return what a link or a button does; None if it leads to another site or only closes something."""
        if one["href"] is not None and not one["opens"]:
            return self.link(one, page, url)
        form, where, place, leaves = one["form"], page, "", False
        if one["opens"]:
            key = f"button {one['opens'].lstrip('#').partition('-')[0]}"
        elif one["fills"]:
            key = "button fill"
        elif one["type"] == "button" and not one["post"]:
            return None
        elif form is None:
            raise AssertionError(f"{url}: the button “{one['words']}” belongs to no form")
        else:
            method = "post" if one["post"] else form["method"]
            address = one["post"] or form["action"] or urlsplit(url).path
            key, leaves = self.endpoint(method.upper(), address)[0], not one["post"]
            where = address if one["isOnEach"] else page
            if method == "get":
                key = f"get {key}"
            elif form["withdraws"]:
                key = f"{key} withdraw"
            elif one["name"] == "do":
                # A task's row has more buttons than a table's.
                place = form["list"] if form["list"].startswith("mine") else "table"
                place = f"{place} {'row' if one['post'] else ''}"
                key = f"{key} {one['value'].partition(':')[0]}"
        return self.made(one, url, key, {(where, key, place)}, leaves=leaves)

    def link(self, one: dict[str, Any], page: str, url: str) -> Control | None:
        """Return where a link leads; None if to another site, to a place on its page or to a mail program."""
        href = one["href"]
        parts = urlsplit(href)
        is_here = parts.netloc in ("", urlsplit(url).netloc) and parts.scheme in ("", "http")
        if href.startswith("#") or not is_here:
            return None
        name, table = self.endpoint("POST" if one["asks"] else "GET", href)
        if one["asks"] or name in ACTING:
            where = parts.path if one["isOnEach"] else page
            return self.made(one, url, name, {(where, name, "")}, leaves=True)
        key = f"link {name}"
        arguments = [
            f"group={value}" if argument == "group" else argument
            for argument, value in parse_qsl(parts.query)
        ]
        kinds = {(page, key, argument) for argument in arguments or [table]}
        return self.made(one, url, key, kinds, url=href)

    @staticmethod
    def made(one: dict[str, Any], page: str, key: str, kinds: set[Kind], **more: Any) -> Control:
        """Return a control of a page."""
        path = urlsplit(page).path
        return Control(one["number"], path, one["words"], key, frozenset(kinds), **more)

    def endpoint(self, method: str, url: str) -> tuple[str, str]:
        """Return the endpoint of an address, and the table that it shows if it shows one."""
        path = urlsplit(url).path
        if (method, path) not in self.endpoints:
            self.endpoints[method, path] = self.matched(method, path)
        return self.endpoints[method, path]

    def matched(self, method: str, path: str) -> tuple[str, str]:
        try:
            endpoint, values = self.adapter.match(path, method=method)
        except HTTPException:
            return path, ""
        return endpoint, str(values["name"]) if endpoint == "freshness.table" else ""


@contextmanager
def kept_site() -> Iterator[Callable[[], None]]:
    """Keep all rows within the block; yield a function that brings them back, and empties Redis."""
    tables = [table.name for table in model.repo.metadata.sorted_tables]
    with model.meta.engine.begin() as connection:
        inspected = sa.inspect(connection)
        there = set(inspected.get_table_names()) - {"alembic_version"}
        tables = [name for name in tables if name in there]
        # PostgreSQL writes the columns that are generated.
        columns = {
            name: ", ".join(
                f'"{one["name"]}"' for one in inspected.get_columns(name) if "computed" not in one
            )
            for name in tables
        }
        connection.exec_driver_sql("CREATE SCHEMA kept")
        for name in tables:
            connection.exec_driver_sql(f'CREATE TABLE kept."{name}" AS TABLE "{name}"')

    def bring_back() -> None:
        model.Session.remove()
        deleted = [f'DELETE FROM "{name}"' for name in reversed(tables)]
        written = [
            f'INSERT INTO "{name}" ({listed}) SELECT {listed} FROM kept."{name}"'
            for name, listed in columns.items()
        ]
        with model.meta.engine.begin() as connection:
            connection.exec_driver_sql("SET LOCAL lock_timeout = '60s'")
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
    works: set[Kind] = set()
    adapter = app.flask_app.url_map.bind("127.0.0.1")
    paths = [page.path.format(**world["ids"]) for page in PAGES]
    with kept_site() as bring_back, FileServer(address="127.0.0.2") as server:
        for role in ROLES:
            bring_back()
            model.Session.execute(sa.text(MOVED), {"to": f"{server.url}/moved.csv"})
            model.Session.commit()
            with opened_tab(chromium, site) as tab:
                if role in world["tokens"]:
                    tab.context.set_extra_http_headers({"Authorization": world["tokens"][role]})
                reader = Reader(tab, role, adapter, works.copy())
                reader.read(paths)
            problems += reader.problems
            found |= reader.found
            works |= reader.works
    problems += [f"no page shows {key}" for key in sorted(set(EFFECTS) - found)]
    if problems:
        # An assertion shows only the beginning of a long text.
        pytest.fail("\n".join(problems), pytrace=False)
