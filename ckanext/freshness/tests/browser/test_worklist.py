"""The worklist in a browser: how many clicks its flows take, with and without scripts, and on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.aging.status import Status
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.tests.browser.conftest import Hand, settle
from ckanext.freshness.tests.pages.datasets import break_link, make_dataset

PASSWORD = "a long password"


def make_world() -> None:
    """Create an editor with a task of each group."""
    editor = factories.User(name="editor", password=PASSWORD)
    factories.Organization(
        name="relief",
        title="Relief Works",
        users=[{"name": editor["name"], "capacity": "editor"}],
    )
    break_link(make_dataset(Status.FRESH, "wells", title="Wells", owner_org="relief"))
    make_dataset(Status.OVERDUE, "clinics", title="Clinics", owner_org="relief")
    make_dataset(Status.UNAVAILABLE, "shelters", title="Shelters", owner_org="relief")
    model.Session.remove()


@pytest.fixture(params=[True])
def hand(chromium: Any, site: str, world: None, request: pytest.FixtureRequest) -> Iterator[Hand]:
    """The hand of the editor, who has just logged in, in a browser with or without scripts."""
    context = chromium.new_context(base_url=site, locale="en", java_script_enabled=request.param)
    context.set_default_timeout(60_000)
    one = Hand(context.new_page(), request.param)
    one.tab.goto("/user/login")
    one.tab.fill("#field-login", "editor")
    one.tab.fill("#field-password", PASSWORD)
    one.tab.locator("form .btn-primary").click()
    one.tab.wait_for_url(lambda url: "/user/login" not in url)
    yield one
    context.close()


def forget_frequency() -> None:
    """Make the update frequency of Shelters a task again, for the next test."""
    extras: list[dict[str, str]] = []
    call_action("package_patch", {"user": "editor"}, id="shelters", extras=extras)


BOTH = pytest.mark.parametrize("hand", [True, False], ids=["scripts", "no scripts"], indirect=True)


@BOTH
def test_a_frequency_is_changed_with_3_clicks(hand: Hand) -> None:
    hand.click("link", r"My tasks \d+")
    hand.click("button", "Set the frequency")
    hand.click("button", "Every week")
    text = "The update frequency of Shelters is now: Every week."
    hand.tab.get_by_text(text).wait_for()
    assert hand.clicks == 3
    model.Session.rollback()
    assert call_action("freshness_show", id="shelters")["frequency"]["days"] == 7
    forget_frequency()


@pytest.mark.parametrize("path", ["/freshness/mine?group=broken", "/freshness/links?state=broken"])
def test_a_link_is_postponed_in_its_row(hand: Hand, path: str) -> None:
    tab, name = hand.tab, f"postponed-{'mine' in path}".lower()
    for one in (name, f"other-{name}"):
        break_link(make_dataset(Status.FRESH, one, title=one, owner_org="relief"))
    model.Session.remove()
    tab.goto(path)
    row = tab.locator("[data-row]", has=tab.locator(f"a[href*='/dataset/{name}']"))
    # Another row is ticked already: the button is about its own row.
    settle(tab)
    tab.locator("[name=id]").first.check()
    row.get_by_role("button", name="Ignore or postpone").click()
    tab.get_by_label("Why?").fill("The server moves")
    tab.get_by_label("Until").fill("2099-01-31")
    tab.get_by_role("button", name="Ignore", exact=True).click()
    tab.get_by_text(re.compile(rf"{name}\)? is ignored\.")).wait_for()
    tab.wait_for_url(re.compile(re.escape(path.partition("?")[0]) + r"(\?|$)"))
    tab.goto("/freshness/mine?group=ignored")
    assert tab.locator(f"a[href*='/dataset/{name}/']").count() == 1
    assert tab.locator(f"a[href*='/dataset/other-{name}/']").count() == 0


FOCUSED = """() => {
    const one = document.activeElement, style = getComputedStyle(one);
    const isSeen = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
    return [one.innerText || '', isSeen || !one.closest('.fr'), one.outerHTML.slice(0, 120)];
}"""
"""The words of the element with the focus, whether the focus is visible, and its markup."""


def reach(tab: Any, words: str) -> None:
    """Press Tab until the element that begins with these words has the focus, and works."""
    settle(tab)
    for _ in range(60):
        tab.keyboard.press("Tab")
        text, is_seen, markup = tab.evaluate(FOCUSED)
        assert is_seen, markup
        if text.strip().startswith(words):
            return
    raise AssertionError(f"The keyboard does not reach {words}")


def test_ten_confirmations_in_a_filtered_list_take_10_clicks(hand: Hand) -> None:
    names = [f"late-{number}" for number in range(11)]
    for name in names:
        make_dataset(Status.OVERDUE, name, title=f"Late {name}", owner_org="relief")
    model.Session.remove()
    tab, here = hand.tab, "/freshness/datasets?status=overdue&organization=relief&q=Late"
    tab.goto(here)
    tab.get_by_text("1 to 11 of 11").wait_for()
    loads: list[str] = []
    tab.on("framenavigated", lambda frame: loads.append(frame.url))
    hand.clicks = 0
    for name in names[:10]:
        hand.click("button", rf"Confirm\s*: Late {name}")
        tab.get_by_text(f"You confirmed that Late {name} is still accurate.").wait_for()
    assert (hand.clicks, loads) == (10, [])
    # The counts of the page are renewed.
    tab.get_by_text("1 to 1 of 1", exact=True).wait_for()
    model.Session.rollback()
    statuses = [call_action("freshness_show", id=name)["status"] for name in names]
    assert statuses == ["fresh"] * 10 + ["overdue"]
    hand.click("button", r"Undo\s*: Late late-0")
    tab.get_by_text("1 to 2 of 2").wait_for()
    tab.get_by_role("button", name=re.compile(r"Confirm\s*: Late late-0$")).wait_for()
    # Who comes back sees what is left.
    tab.goto("/freshness")
    tab.go_back()
    tab.get_by_text("1 to 2 of 2").wait_for()


def test_each_task_by_keyboard_alone(hand: Hand) -> None:
    tab = hand.tab
    tab.goto("/freshness/mine")
    for words, after in (
        ("Confirm still accurate", "You confirmed that Clinics"),
        ("Set the frequency", "The update"),
    ):
        reach(tab, words)
        tab.keyboard.press("Enter")
        if words == "Set the frequency":
            reach(tab, "Every day")
            tab.keyboard.press("Enter")
        # The focus stays with the task, and a second Enter undoes nothing.
        tab.locator("[role=status]:focus", has_text=after).wait_for()
        settle(tab)
        tab.keyboard.press("Enter")
        if words == "Set the frequency":
            continue
        tab.keyboard.press("Tab")
        tab.locator(":focus", has_text="Undo").wait_for()
        settle(tab)
        tab.keyboard.press("Enter")
        tab.locator("[data-row]:focus", has_text=words).wait_for()
    model.Session.rollback()
    forget_frequency()
    tab.goto("/freshness/mine")
    reach(tab, "Edit link")
    tab.keyboard.press("Enter")
    tab.locator("#field-resource-url:focus").wait_for()
    reach(tab, "Update Resource")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/dataset/wells/resource/*")
