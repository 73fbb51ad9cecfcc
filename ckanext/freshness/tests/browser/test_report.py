"""The pages of the report in a browser: accessible, on small screens, without a mouse, without scripts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from ckanext.freshness.tests.pages.reports import World, make_world

__all__ = ["make_world"]

SCREENSHOTS = os.environ.get("FRESHNESS_SCREENSHOTS")
PAGES = (
    *("/freshness", "/freshness/organization/relief", "/freshness/datasets?status=due"),
    *("/freshness/broken", "/freshness/history", "/freshness/hosts", "/freshness/run/first"),
    *("/freshness/changes", "/freshness/unclear", "/freshness/organizations", "/freshness/runs"),
    *("/freshness/mails", "/freshness/mismatches", "/dataset/wells/freshness"),
)
SERIOUS = {"serious", "critical"}


@pytest.fixture
def sysadmin(world: World, page: Any) -> None:
    """A site with something of everything, visited by a sysadmin."""
    token = world.people["sysadmin"]["token"]
    page.context.set_extra_http_headers({"Authorization": token})


def findings(page: Any) -> list[str]:
    """Return the violations that axe finds in our part of a page."""
    found = Axe().run(page, context=".main, [role=main]").response["violations"]
    return [
        f"{one['id']}: {node['html'][:150]}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]


def test_axe_finds_nothing_serious(page: Any, sysadmin: None) -> None:
    for path in PAGES:
        answer = page.goto(path)
        assert answer.status == 200, path
        assert findings(page) == [], path


def test_axe_looks(page: Any, sysadmin: None) -> None:
    page.goto("/freshness")
    page.evaluate("document.querySelector('.fr').insertAdjacentHTML('beforeend', '<img src=x>')")
    assert [one.partition(":")[0] for one in findings(page)] == ["image-alt"]


def test_small_screens(page: Any, sysadmin: None) -> None:
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto("/about")
    usual = page.evaluate("document.documentElement.scrollWidth")
    for path in PAGES:
        page.goto(path)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= max(usual, 320), path
        # Scrollable areas can be scrolled with the keyboard.
        assert findings(page) == [], path
    _picture(page, "report-small.png")


def test_right_to_left(page: Any, sysadmin: None) -> None:
    page.goto("/ar/freshness")
    assert page.evaluate("document.documentElement.dir") == "rtl"
    # The bar begins on the right.
    first, last = (page.locator(".fr-bar a").nth(number).bounding_box() for number in (0, -1))
    assert first["x"] > last["x"]
    assert findings(page) == []


def test_without_a_mouse(page: Any, sysadmin: None) -> None:
    page.goto("/freshness/datasets")
    link = page.locator("th a").first
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/freshness/datasets?sort=*")
    assert page.locator("th[aria-sort]").count() == 1
    # The arrow keys scroll a table that is wider than the screen.
    region = page.locator(".table-responsive").first
    region.focus()
    assert region.evaluate("one => one === document.activeElement")


def test_without_scripts(chromium: Any, site: str, world: World) -> None:
    context = chromium.new_context(base_url=site, java_script_enabled=False)
    try:
        tab = context.new_page()
        tab.goto("/freshness")
        assert tab.locator("svg .fr-area").first.bounding_box()["height"] > 10
        assert not tab.get_by_role("link", name="CSV").is_visible()
        tab.get_by_text("Export").click()
        assert tab.get_by_role("link", name="CSV").is_visible()
    finally:
        context.close()


def _picture(page: Any, name: str) -> None:
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / name, full_page=True)
