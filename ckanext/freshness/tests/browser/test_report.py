"""The pages of the report in a browser: accessible, on small screens, without a mouse, without scripts."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from ckan.tests import factories

from ckanext.freshness.ckan_adapter import model
from ckanext.freshness.reporting import table_access
from ckanext.freshness.tests.pages.test_report import (
    AGES,
    NOW,
    a_run,
    changed,
    judge,
    make,
    visited,
)

__all__ = ["a_run"]

SCREENSHOTS = os.environ.get("FRESHNESS_SCREENSHOTS")
PAGES = (
    *("/freshness", "/freshness/organization/relief", "/freshness/datasets?status=due"),
    *("/freshness/broken", "/freshness/history", "/freshness/hosts", "/freshness/run/first"),
    *("/freshness/changes", "/freshness/unclear", "/freshness/organizations", "/freshness/runs"),
    *("/freshness/mails", "/freshness/mismatches", "/dataset/wells/freshness"),
)
SERIOUS = {"serious", "critical"}


@pytest.fixture
def sysadmin(clean_db: Any, clean_index: Any, a_run: None, page: Any) -> dict[str, Any]:
    """A site with rows in each table, visited by a sysadmin."""
    user = factories.SysadminWithToken()
    owner = factories.Organization(name="relief", title="Relief Works")["id"]
    for name, age in AGES.items():
        dataset = make(name, age, owner_org=owner)
        visited(dataset)
        changed(dataset)
    judge()
    for days in range(40, -1, -10):
        table_access.record(NOW - timedelta(days=days))
    model.Session.remove()
    page.context.set_extra_http_headers({"Authorization": user["token"]})
    return dict(user)


@pytest.fixture
def clean_site(clean_db: Any, clean_index: Any) -> None:
    """An empty site."""


def findings(page: Any) -> list[str]:
    """Return the violations that axe finds in our part of a page."""
    found = Axe().run(page, context=".main, [role=main]").response["violations"]
    return [
        f"{one['id']}: {node['html'][:150]}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]


def test_axe_finds_nothing_serious(page: Any, sysadmin: dict[str, Any]) -> None:
    for path in PAGES:
        answer = page.goto(path)
        assert answer.status == 200, path
        assert findings(page) == [], path


def test_axe_looks(page: Any, sysadmin: dict[str, Any]) -> None:
    page.goto("/freshness")
    page.evaluate(
        "document.querySelector('.freshness-report').insertAdjacentHTML('beforeend', '<img src=x>')"
    )
    assert [one.partition(":")[0] for one in findings(page)] == ["image-alt"]


def test_small_screens(page: Any, sysadmin: dict[str, Any]) -> None:
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


def test_right_to_left(page: Any, sysadmin: dict[str, Any]) -> None:
    page.goto("/ar/freshness")
    assert page.evaluate("document.documentElement.dir") == "rtl"
    number = page.locator("td.freshness-number").first
    # Numbers are aligned at the end of their cells: on the left in this language.
    assert number.evaluate("one => getComputedStyle(one).textAlign") == "end"
    assert findings(page) == []


def test_without_a_mouse(page: Any, sysadmin: dict[str, Any]) -> None:
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


def test_without_scripts(chromium: Any, site: str, sysadmin: dict[str, Any]) -> None:
    context = chromium.new_context(base_url=site, java_script_enabled=False)
    try:
        tab = context.new_page()
        tab.goto("/freshness")
        box = tab.locator("svg.freshness-chart polygon").first.bounding_box()
        assert box["height"] > 10
        assert tab.locator("#freshness-statuses tbody tr").count() == 5
    finally:
        context.close()


def _picture(page: Any, name: str) -> None:
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / name, full_page=True)
