"""Every page about freshness for each kind of reader, and some of them without a mouse, without scripts.

All are accessible, fit on small screens and load nothing from other hosts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Empty, Queue
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from ckan.tests import factories
from ckan.tests.helpers import call_action
from werkzeug.exceptions import HTTPException

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.dates import utc_now
from ckanext.freshness.mails import recipients, signed_links
from ckanext.freshness.model import DatasetFreshness, MailPerson
from ckanext.freshness.reporting import report_tables
from ckanext.freshness.tests.browser.conftest import opened_tab, started_chromium
from ckanext.freshness.tests.browser.site_pages import READERS, SITE_PAGES, SitePage
from ckanext.freshness.tests.harvesting.harvested_site import make_harvested_site
from ckanext.freshness.tests.pages import reports, test_links, test_runs
from ckanext.freshness_iati.tests.pages import test_iati_page

store = test_iati_page.store

MAIL_LINK = SitePage("mail-link", "/freshness/mails/{token}")
"""The page of the links in mails. No demo can be asked for its token."""
CONFIRM_LINK = SitePage("confirm-link", "/freshness/confirm/{confirm_token}")
PAGES = (*SITE_PAGES, MAIL_LINK, CONFIRM_LINK)

NOT_PAGES = {
    *("freshness.site_metrics", "freshness_dataset.copy"),
    "freshness_iati_page.published",
    # Parts of pages.
    *("freshness_dataset.check_ended", "freshness_task.row"),
}
"""Addresses that answer with something else than a page, besides those that end like a file."""

OURS = ".fr, .page-header, [class^='fr-'], [class*=' fr-'], [class*='freshness']"
"""The parts of a page that are ours. CKAN's own have violations, too."""

THEMED = {"dashboard", "worklist", "dataset", "source-held", "run", "search"}
THEME = """
    :root { --bs-primary: #153084; --bs-link-color: #153084; --bs-body-color: #101828; }
    .btn-primary { --bs-btn-bg: #153084; } a { color: #153084; } h1, h2, h3 { color: #081647; }
    .primary { background: #f2f4f7; }
"""
"""The colours of CKAN's theme midnight-blue, which its wheels leave out."""

FIND = """async ({ours, rules}) => {
    const runOnly = rules ? {type: 'rule', values: rules} : undefined;
    const found = await axe.run(document, {resultTypes: ['violations'], runOnly, elementRef: true});
    return found.violations.flatMap(one => one.nodes
        .filter(node => node.element?.closest(ours))
        .map(node => `${one.id}: ${node.html.slice(0, 150)}`));
}"""
"""What axe finds in our parts of a page."""
NARROW = ["scrollable-region-focusable", "label", "link-name", "button-name"]
"""The rules whose answer depends on the layout, because parts of pages are hidden on phones or become cards."""

COLOURS = """part => [...document.querySelectorAll(part)].map(one => getComputedStyle(one).backgroundColor)"""
PART = re.compile(r'(?:class|data-state)="([^"]*)"')

TABS = 2
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 375, "height": 700}
OPEN = """() => {
    document.querySelectorAll('.fr details').forEach(one => { one.open = true; });
    document.querySelectorAll('.fr-menu').forEach(one => { one.popover = null; });
    document.querySelectorAll('[name=all]').forEach(one => { one.checked = true; });
}"""
"""Show all that is folded, all menus, and what can be done with ticked rows."""
WIDTHS = (375, 768, 900)
TOO_WIDE = """() => {
    const width = document.documentElement.scrollWidth;
    return document.querySelector('.fr') && width > innerWidth ? [`${width} px wide`] : [];
}"""
UNREACHABLE = """ours => [...document.querySelectorAll('a[href], button, summary, input, select, textarea')]
    .filter(one => one.closest(ours) && one.type !== 'hidden' && one.checkVisibility())
    .filter(one => !one.closest('[aria-hidden=true]'))
    .filter(one => { one.focus(); return document.activeElement !== one || one.tabIndex < 0; })
    .map(one => one.outerHTML.slice(0, 120))"""
"""Links, buttons and fields of ours that the keyboard does not reach, and nothing else on the page repeats."""
CUT_MENUS = """() => [...document.querySelectorAll('.fr-menu')]
    .map(one => {
        one.popover = 'auto';
        document.querySelector(`[popovertarget="${one.id}"]`).click();
        return [one.getBoundingClientRect(), one.innerText.slice(0, 80)];
    })
    .filter(([place]) => place.left < 0 || place.right > innerWidth || !place.width)
    .map(([, text]) => text)"""
"""Menus that are not shown, or begin or end beside the screen."""


def make_world() -> dict[str, Any]:
    """Make something for every page, and return the readers' tokens and the values of the placeholders."""
    return in_thread(make_everything)


def in_thread(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Make a world in a thread of its own, because nothing can harvest beside Playwright's loop."""

    def made() -> dict[str, Any]:
        try:
            return make()
        finally:
            model.Session.remove()

    with ThreadPoolExecutor(1) as other:
        return other.submit(made).result()


def make_everything() -> dict[str, Any]:
    """Make the site in this thread."""
    made = reports.make_world()
    people = made.people
    for month in range(8):
        # They are weekly by their frequency.
        ago = (30 * month + 2) * reports.DAY
        reports.data_changed(made.datasets["bridges"], ago, changed_after=None)
    files, wells = test_links.make_files("relief")
    gone = model.Session.get(DatasetFreshness, made.datasets["camps"]["id"])
    gone.broken_since = reports.PLAIN - 9 * reports.DAY
    hosts = {"*": test_runs.SUMS}
    night = test_runs.run(
        "night", test_runs.NOW, 0.8, checked=3883, resources=test_runs.FOUND, hosts=hosts
    )
    model.Session.add(night)
    model.Session.commit()
    iati_source = test_iati_page.make_world()["source"]
    harvested = make_harvested_site()
    ocean = harvested.ocean.source
    people["admin"] = dict(factories.UserWithToken())
    for organization in ("relief", ocean["owner_org"]):
        call_action(
            "organization_member_create",
            id=organization,
            username=people["admin"]["name"],
            role="admin",
        )
    hold = call_action("freshness_harvest_hold_show", id=ocean["id"])
    recipients.number_of("somebody@example.org")
    person = model.Session.query(MailPerson).filter_by(address="somebody@example.org").one()
    # CKAN's factories name pictures of other hosts.
    for table in (model.Group, model.User):
        model.Session.query(table).update({"image_url": ""})
    ids = {
        "organization": "relief",
        "dataset": files["name"],
        "gone": "camps",
        "resource": wells["id"],
        "harvested": next(iter(harvested.ocean.datasets().values()))["name"],
        "source": ocean["name"],
        "hold": hold["list_id"],
        "job_source": ocean["name"],
        "job": harvested.jobs[1].id,
        "iati_source": call_action("package_show", id=iati_source)["name"],
        "token": signed_links.token(person.id),
        "confirm_token": signed_links.confirm_token(
            recipients.number_of(model.User.get(people["editor"]["name"]).email),
            made.datasets["bridges"]["id"],
            utc_now(),
        ),
    }
    model.Session.commit()
    tokens = {reader: people[reader]["token"] for reader in READERS[1:]}
    return {"ids": ids, "tokens": tokens}


@pytest.fixture
def tab(without_gravatar: None, page: Any, world: dict[str, Any]) -> Iterator[Any]:
    """A tab in which every request is noted. The test fails if one goes elsewhere."""
    with staying_here(page):
        yield page


@contextmanager
def staying_here(tab: Any) -> Iterator[None]:
    """Note every request of a tab, and check at the end that none went elsewhere."""
    tab.set_default_timeout(60_000)
    asked: set[str] = set()
    tab.on("request", lambda sent: asked.add(sent.url))
    yield
    hosts = {urlsplit(url).hostname for url in asked if url.startswith("http")}
    assert hosts == {"127.0.0.1"}


def test_every_page(
    chromium: Any, without_gravatar: None, site: str, world: dict[str, Any]
) -> None:
    """Look at each page as a sysadmin, and as others if they see what the sysadmin does not see."""
    pages = Queue[SitePage]()
    for page in PAGES:
        pages.put(page)
    # One tab loads its page while axe looks at the page in the other one.
    with ThreadPoolExecutor(TABS) as threads:
        found = [threads.submit(look_at, pages, site, world) for _ in range(TABS)]
        problems = [problem for one in found for problem in one.result()]
    assert problems == []
    assert pages.empty()


def look_at(pages: Queue[SitePage], site: str, world: dict[str, Any]) -> list[str]:
    """Return what is wrong with the pages that this thread takes from the queue."""
    problems: list[str] = []
    with started_chromium() as browser, opened_tab(browser, site) as tab, staying_here(tab):
        # Our pages need no scripts, and CKAN's take half of the time. Playwright's routes would keep nothing in
        # the browser's cache.
        session = tab.context.new_cdp_session(tab)
        session.send("Network.enable")
        session.send("Network.setBlockedURLs", {"urls": ["*.js*"]})
        with suppress(Empty):
            while True:
                problems += problems_of_page(tab, pages.get_nowait(), world)
    return problems


def problems_of_page(tab: Any, page: SitePage, world: dict[str, Any]) -> list[str]:
    """Return what is wrong with a page, for each reader who sees parts that those before have not seen."""
    problems: list[str] = []
    seen: set[str] = set()
    path = page.path.format(**world["ids"])
    for reader in reversed(READERS):
        token = world["tokens"].get(reader)
        tab.context.set_extra_http_headers({"Authorization": token} if token else {})
        tab.set_viewport_size(WIDE)
        answer = tab.request.get(path) if seen else tab.goto(path)
        is_answered = answer.status == 200 and urlsplit(answer.url).path != "/user/login"
        if is_answered != (reader in page.readers):
            problems.append(f"{page.name}, {reader}: {answer.status} from {answer.url}")
        if not is_answered or (parts := parts_of(answer.text())) <= seen:
            continue
        if seen:
            tab.goto(path)
        seen |= parts
        found = problems_of(tab, is_themed=page.name in THEMED)
        problems += [f"{page.name}, {reader}, {problem}" for problem in found]
    return problems


def parts_of(html: str) -> set[str]:
    """Return the classes and states of the elements in the main part of a page."""
    return set(PART.findall(html.partition('role="main"')[2]))


def problems_of(tab: Any, *, is_themed: bool) -> list[str]:
    """Return what is wrong with the page that a tab shows, on wide screens and on phones."""
    tab.evaluate(AXE_SCRIPT)
    tab.evaluate(OPEN)
    problems = [f"by keyboard: {one}" for one in tab.evaluate(UNREACHABLE, OURS)]
    problems += tab.evaluate(FIND, {"ours": OURS, "rules": None})
    tab.set_viewport_size(PHONE)
    narrow = [*NARROW, "color-contrast"] if is_themed else NARROW
    problems += [f"at 375: {one}" for one in tab.evaluate(FIND, {"ours": OURS, "rules": narrow})]
    problems += [f"at 375: menu beside the screen: {one}" for one in tab.evaluate(CUT_MENUS)]
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 900})
        problems += [f"at {width}: {one}" for one in tab.evaluate(TOO_WIDE)]
    if is_themed:
        tab.add_style_tag(content=THEME)
        themed = tab.evaluate(FIND, {"ours": OURS, "rules": ["color-contrast"]})
        problems += [f"with midnight-blue: {one}" for one in themed]
    return problems


def test_no_page_is_forgotten(app: Any, world: dict[str, Any]) -> None:
    rules = [
        rule
        for rule in app.flask_app.url_map.iter_rules()
        if rule.endpoint.startswith("freshness") and "GET" in rule.methods
    ]
    expected = {rule.endpoint for rule in rules if "." not in rule.rule} - NOT_PAGES
    listed, tables = set(), set()
    adapter = app.flask_app.url_map.bind("127.0.0.1")
    for page in PAGES:
        try:
            endpoint, values = adapter.match(urlsplit(page.path.format(**world["ids"])).path)
        except HTTPException:
            continue
        listed.add(endpoint)
        if endpoint == "freshness.table":
            tables.add(values["name"])
    assert expected - listed == set()
    assert tables == set(report_tables.TABLES)


def test_right_to_left(tab: Any) -> None:
    tab.goto("/ar/freshness")
    assert tab.evaluate("document.documentElement.dir") == "rtl"
    # The bar begins on the right.
    first, last = (tab.locator(".fr-bar a").nth(number).bounding_box() for number in (0, -1))
    assert first["x"] > last["x"]


def test_bars_and_keys_keep_their_colours_in_high_contrast(tab: Any) -> None:
    tab.emulate_media(forced_colors="active")
    tab.goto("/freshness")
    for part in (".fr-bar > *", ".fr-key"):
        assert len(set(tab.evaluate(COLOURS, part))) == 4, part


def test_printed_pages_have_the_data_and_no_controls(tab: Any, world: dict[str, Any]) -> None:
    tab.context.set_extra_http_headers({"Authorization": world["tokens"]["sysadmin"]})
    tab.emulate_media(media="print")
    pages = {
        "mine": ".fr-rows > li",
        "links?state=broken": "tbody tr",
        "organization/relief": ".fr-card",
    }
    for path, part in pages.items():
        tab.goto(f"/freshness/{path}")
        assert tab.locator(part).first.is_visible(), path
        controls = tab.locator(".masthead, .nav-tabs, main .btn, .fr input, .fr select")
        assert not any(one.is_visible() for one in controls.all()), path
        # "3 days ago" says nothing on paper.
        behind = "all => all.map(one => getComputedStyle(one, '::after').content)"
        relative = "time:is([data-style=ago], [data-style=lasting])"
        found = tab.locator(relative).evaluate_all(behind)
        assert found and all("UTC" in one for one in found), path
    # The report of an organization is one page.
    assert len(re.findall(rb"/Type\s*/Page\b", tab.pdf(format="A4"))) == 1


def test_without_scripts(chromium: Any, site: str, world: dict[str, Any]) -> None:
    context = chromium.new_context(base_url=site, java_script_enabled=False)
    context.set_default_timeout(60_000)
    try:
        tab = context.new_page()
        tab.goto("/freshness")
        assert tab.locator("svg .fr-area").first.bounding_box()["height"] > 10
        link = tab.get_by_role("link", name="CSV")
        link.wait_for(state="hidden")
        tab.get_by_text("Export").click()
        link.wait_for()
    finally:
        context.close()
