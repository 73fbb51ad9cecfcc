"""The page about a dataset's freshness."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any

import pytest
from bs4 import BeautifulSoup
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.aging.status import Status
from ckanext.freshness.tests.pages.conftest import Read
from ckanext.freshness.tests.pages.datasets import AGES, LABELS, make_dataset
from ckanext.freshness.tests.pages.reports import WORKS, judge, make, visited


def words(page: Any) -> str:
    """Return the text of an element as it reads."""
    return re.sub(r" (?=[.,])", "", re.sub(r"\s+", " ", page.get_text(" "))).strip()


def moments(page: BeautifulSoup, selector: str) -> list[datetime]:
    return [datetime.fromisoformat(str(one["datetime"])) for one in page.select(f"{selector} time")]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def make_world() -> dict[str, Any]:
    """A dataset of each status in the organization "relief", and three odd ones."""
    editor = factories.UserWithToken()
    factories.Organization(name="relief", users=[{"name": editor["name"], "capacity": "editor"}])
    for status in Status:
        make_dataset(status, owner_org="relief")
    make_dataset(Status.DUE, "secret", owner_org="relief", private=True)
    odd = [
        {"key": "frequency", "value": "<i>now and then</i>"},
        {"key": "review_date", "value": "2099-01-01"},
    ]
    make_dataset(Status.UNAVAILABLE, "odd", title="<i>Odd</i>", extras=odd)
    for year in ("0002-01-01", "9999-12-31T23:59:59Z"):
        reviewed = [{"key": "review_date", "value": year}]
        make_dataset(Status.DUE, f"in-{year[:4]}", extras=reviewed)
    return {"editor": editor}


def page_of(status: Status) -> str:
    return f"/dataset/data-{status.value}/freshness"


@pytest.mark.parametrize("status", list(Status))
def test_every_status_is_explained(read: Read, world: dict[str, Any], status: Status) -> None:
    page = read(page_of(status))
    shown = call_action("freshness_show", id=f"data-{status.value}")
    assert words(page.select_one("#freshness-status")) == LABELS[status]
    explained = words(page.select_one("#freshness-explanation"))
    if status is Status.UNAVAILABLE:
        assert explained.startswith("We don't know how often this dataset should change")
        assert page.select(".fr-timeline") == []
    else:
        assert explained.startswith("Update frequency: Every week. Added ")
        due = at(shown["boundaries"]["due"])
        expected = "Next update" if status is Status.FRESH else "An update was"
        assert f"{expected} expected by" in explained
        assert moments(page, "#freshness-explanation") == [at(shown["last_modified"]), due]
        zones = page.select(".fr-timeline li")
        assert [words(one.b) for one in zones] == [LABELS[one] for one in AGES]
        (today,) = (one for one in zones if one.get("aria-current"))
        assert words(today.b) == LABELS[status]
        assert f"Today, {datetime.now(timezone.utc).day} " in words(today)
    assert moments(page, "#freshness-evidence ul") == [at(one["date"]) for one in shown["pieces"]]
    # Its first status is no change.
    assert len(shown["transitions"]) == 1 and not page.select("#freshness-history")


def test_private_datasets_have_no_page_for_strangers(read: Read, world: dict[str, Any]) -> None:
    stranger = factories.UserWithToken()
    for name in ("secret", "nothing"):
        for ending in ("", "/check", ".csv", ".json", ".atom", ".svg"):
            for user in (None, stranger):
                read(f"/dataset/{name}/freshness{ending}", user, 404)
        for ending in ("", "/check"):
            read(f"/dataset/{name}/freshness{ending}", stranger, 404, data={})
    page = read("/dataset/secret/freshness", "editor")
    # A badge does not depend on its reader, who may be on another website.
    read("/dataset/secret/freshness.svg", "editor", 404)
    assert page.select("#freshness-export a") and not page.select("#freshness-embed")


def test_editors_confirm(read: Read, world: dict[str, Any]) -> None:
    editor = world["editor"]
    make_dataset(Status.OVERDUE, "to-confirm", owner_org="relief")
    path = "/dataset/to-confirm/freshness"
    for user in (None, factories.UserWithToken()):
        assert "Confirm still accurate" not in words(read(path, user))
        read(path, user, 403 if user else 200, data={})
    assert call_action("freshness_show", id="to-confirm")["status"] == "overdue"
    assert "Confirm still accurate" in words(read(path, editor))
    page = read(path, editor, data={})
    assert "Thank you. You confirmed that the data are still accurate." in words(page)
    assert words(page.select_one("#freshness-status")) == "Up to date"
    explanation = words(page.select_one("#freshness-explanation"))
    assert "Added 15 days ago. Last confirmed" in explanation
    newest = words(page.select("#freshness-history li")[0])
    assert f"Up to date The data were confirmed as accurate, by {editor['fullname']}" in newest
    assert f"{editor['fullname']} confirmed" in words(page.select_one("#freshness-confirmation"))
    # Only who has confirmed is offered to undo it.
    for user in (None, factories.SysadminWithToken()):
        assert "Undo the confirmation" not in words(read(path, user))
    (date,) = page.select("#freshness-confirmation input[name=withdraw]")
    page = read(path, editor, data={"withdraw": date["value"]})
    assert "The confirmation was undone." in words(page)
    assert words(page.select_one("#freshness-status")) == "Overdue"


def test_a_dataset_of_live_links_is_marked_as_live(read: Read, clean_site: None) -> None:
    admin = factories.SysadminWithToken()
    prices = make("prices", 400)
    visited(prices, **{**WORKS, "undetermined": "api"})
    judge()
    assert call_action("freshness_show", id="prices")["status"] == "unavailable"
    assert not read("/dataset/prices/freshness").select("#freshness-undetermined form")
    page = read("/dataset/prices/freshness", admin)
    (form,) = page.select("#freshness-undetermined form")
    assert "Mark as live" in words(form)
    sent = {str(one["name"]): str(one["value"]) for one in form.select("[name]")}
    read(str(form["action"]), admin, data=sent)
    shown = call_action("freshness_show", id="prices")
    assert (shown["status"], shown["frequency"]["days"]) == ("fresh", 0)
