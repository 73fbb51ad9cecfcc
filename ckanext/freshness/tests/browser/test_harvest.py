"""The pages of harvest sources for their editors, in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting import holds
from ckanext.freshness.tests.browser.conftest import settle
from ckanext.freshness.tests.harvesting.harvested_site import (
    ALL,
    KEPT,
    HarvestedSite,
    make_harvested_site,
)


def make_world() -> HarvestedSite:
    """Harvest in a thread of its own, because nothing can harvest beside Playwright's loop."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(_make_world).result()


def _make_world() -> HarvestedSite:
    try:
        return make_harvested_site()
    finally:
        model.Session.remove()


HELD = ALL - KEPT


@pytest.fixture
def editor(world: HarvestedSite, page: Any) -> Iterator[Any]:
    """A tab of somebody who may edit the sources. Afterwards nothing is approved."""
    page.context.set_extra_http_headers({"Authorization": world.editor["token"]})
    yield page
    hold = holds.hold_of(world.ocean.source["id"])
    holds.take_back(hold)
    model.Session.commit()


class Clicks:
    """A hand that counts its clicks."""

    def __init__(self) -> None:
        self.count = 0

    def on(self, target: Any) -> None:
        self.count += 1
        target.wait_for()
        # A link that opens a dialog leads to a page as long as the scripts have not been loaded.
        settle(target.page)
        target.click()


def is_approved(world: HarvestedSite) -> bool:
    model.Session.remove()
    hold = call_action("freshness_harvest_hold_show", id=world.ocean.source["id"])
    return bool(hold["released_at"])


def test_three_clicks_approve_held_deletions_and_one_undoes_it(
    editor: Any, world: HarvestedSite
) -> None:
    clicks = Clicks()
    editor.goto("/harvest/")
    clicks.on(editor.get_by_role("link", name=f"{HELD} datasets would be deleted"))
    editor.locator(".fr-two > li").first.wait_for()
    settle(editor)
    # The last line of the left column, too.
    lines = "[...document.querySelectorAll('.fr-two > li')].map(one => getComputedStyle(one).borderBottomWidth)"
    assert set(editor.evaluate(lines)) == {"1px"}
    clicks.on(editor.get_by_role("link", name=f"Delete {HELD} datasets"))
    dialog = editor.get_by_role("dialog", name=f"Delete {HELD} of {ALL + 1} datasets?")
    dialog.wait_for()
    assert not is_approved(world)
    clicks.on(dialog.get_by_role("button", name=f"Delete {HELD} datasets"))
    editor.get_by_role("heading", name=f"The next job deletes {HELD} datasets").wait_for()
    assert is_approved(world)
    assert clicks.count == 3

    clicks.on(editor.get_by_role("button", name="Undo"))
    editor.get_by_role("heading", name="We stopped that").wait_for()
    assert not is_approved(world)
