"""The page about a dataset's freshness."""

from __future__ import annotations

import re
from typing import Any

import pytest
from bs4 import BeautifulSoup
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.aging.status import Status
from ckanext.freshness.tests.pages.conftest import Read
from ckanext.freshness.tests.pages.datasets import LABELS, make_dataset


def words(page: Any) -> str:
    return re.sub(r"\s+", " ", page.get_text(" ")).strip()


def rows(page: BeautifulSoup, table: str) -> dict[str, str]:
    """Return a table's rows by their first column."""
    found = {}
    for row in page.select(f"{table} tbody tr"):
        first, *rest = row.select("th, td")
        found[words(first)] = " ".join(words(cell) for cell in rest)
    return found


def moments(page: BeautifulSoup, selector: str) -> list[str]:
    return [str(one["datetime"]) for one in page.select(f"{selector} time")]


@pytest.fixture
def editor(clean_site: None) -> dict[str, Any]:
    """A user who may edit the datasets of the organization "relief"."""
    user = factories.UserWithToken()
    factories.Organization(name="relief", users=[{"name": user["name"], "capacity": "editor"}])
    return dict(user)


def test_every_status_is_explained(read: Read) -> None:
    for status, label in LABELS.items():
        make_dataset(status)
        page = read(f"/dataset/data-{status.value}/freshness")
        (badge,) = page.select("h1 .freshness-badge")
        assert words(badge) == label
        explained = rows(page, "#freshness-explanation")
        assert explained["Evidence"] == "The resource was added: Table"
        if status is Status.UNAVAILABLE:
            assert explained["Update frequency"] == "Not known"
            assert "No update frequency is given." in words(page)
            assert "Needs update (due)" not in explained
        else:
            assert explained["Update frequency"] == "Every week"
        shown = call_action("freshness_show", id=f"data-{status.value}")
        bounds = (shown["boundaries"] or {}).values()
        assert moments(page, "#freshness-explanation") == [shown["last_modified"], *bounds]
        assert moments(page, "#freshness-evidence") == [one["date"] for one in shown["pieces"]]
        assert len(moments(page, "#freshness-history")) == len(shown["transitions"]) > 0
        change = explained["Next change by itself"]
        if shown["next_change"]:
            assert change.endswith(f"it becomes: {LABELS[Status(shown['next_change']['to'])]}")
        else:
            assert change.startswith("None:")


def test_the_tab_leads_there(read: Read) -> None:
    make_dataset(Status.FRESH, "data")
    for path in ("/dataset/data", "/dataset/data/freshness"):
        tabs = [one for one in read(path).select(".nav-tabs a") if words(one) == "Freshness"]
        assert [one["href"] for one in tabs] == ["/dataset/data/freshness"]


def test_what_is_wrong_is_said(read: Read) -> None:
    """An odd frequency and a future date appear as text, never as markup."""
    odd = [
        {"key": "frequency", "value": "<i>now and then</i>"},
        {"key": "review_date", "value": "2099-01-01"},
    ]
    make_dataset(Status.UNAVAILABLE, "data", extras=odd)
    page = read("/dataset/data/freshness")
    problems = [words(one) for one in page.select(".alert-warning")]
    assert any("'<i>now and then</i>' is not understood" in one for one in problems)
    assert any("in the future" in one for one in problems)
    assert "January 1, 2099" in words(page.select("#freshness-evidence")[0])


@pytest.mark.parametrize("year", ["0001-01-01", "9999-12-31T23:59:59Z"])
def test_dates_at_the_ends_of_time_have_a_page(read: Read, year: str) -> None:
    reviewed = [{"key": "review_date", "value": year}]
    name = make_dataset(Status.DUE, extras=reviewed)["name"]
    page = read(f"/dataset/{name}/freshness")
    assert year[:4] in words(page.select_one("#freshness-evidence"))
    assert year[:4] in str(read(f"/dataset/{name}"))


def test_an_assumed_frequency_is_said_to_be_assumed(
    read: Read, ckan_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ckan_config, "ckanext.freshness.default_frequency", "P1Y")
    make_dataset(Status.UNAVAILABLE, "data")
    explained = rows(read("/dataset/data/freshness"), "#freshness-explanation")
    assert explained["Update frequency"] == "Every year (assumed for all datasets of this site)"


def test_there_is_no_such_page(read: Read, editor: dict[str, Any]) -> None:
    read("/dataset/nothing/freshness", status=404)
    make_dataset(Status.DUE, "secret", owner_org="relief", private=True)
    read("/dataset/secret/freshness", status=404)
    read("/dataset/secret/freshness", user=factories.UserWithToken(), status=404)
    read("/dataset/secret/freshness", user=editor)


def test_editors_confirm(app: Any, read: Read, editor: dict[str, Any]) -> None:
    make_dataset(Status.OVERDUE, "data", owner_org="relief")
    path = "/dataset/data/freshness"
    for user in (None, factories.UserWithToken()):
        assert read(path, user).select("form[method=post]:has(.btn-primary)") == []
        headers = {"Authorization": user["token"]} if user else {}
        app.post(path, headers=headers, status=403)
    assert call_action("freshness_show", id="data")["status"] == "overdue"

    (form,) = read(path, editor).select("form[method=post]:has(.btn-primary)")
    assert words(form.select("button")[0]) == "Confirm that the data are up to date"
    answer = app.post(path, headers={"Authorization": editor["token"]})
    page = BeautifulSoup(answer.body, "html.parser")
    assert "it is noted that the data are up to date" in words(page)
    assert words(page.select("h1 .freshness-badge")[0]) == "Fresh"
    explained = rows(page, "#freshness-explanation")
    assert explained["Evidence"] == "Somebody confirmed that the data are up to date"
    (newest, *_) = page.select("#freshness-history tbody tr")
    said = f"Needs update (overdue) Fresh The dataset was changed, by {editor['name']}"
    assert said in words(newest)
    (confirmed,) = page.select("#freshness-confirmation")
    assert words(confirmed).startswith(f"{editor['name']} confirmed on")
    assert read(path).select("[name=withdraw]") == []
    headers = {"Authorization": editor["token"]}
    answer = app.post(path, data={"withdraw": "1"}, headers=headers)
    page = BeautifulSoup(answer.body, "html.parser")
    assert "The confirmation was taken back" in words(page)
    assert words(page.select("h1 .freshness-badge")[0]) == "Needs update (overdue)"


def test_other_sites_cannot_confirm(
    monkeypatch: pytest.MonkeyPatch, make_app: Any, editor: dict[str, Any]
) -> None:
    """Forms are protected although CKAN 2.11 does not protect plugins, and CKAN 2.12 stops protecting a view
    after a request without a session."""
    make_dataset(Status.OVERDUE, "data", owner_org="relief")
    path = "/dataset/data/freshness"
    monkeypatch.setitem(tk_config(), "WTF_CSRF_ENABLED", True)
    browser = logged_in(make_app, path)

    browser.post(path, status=400)
    assert call_action("freshness_show", id="data")["status"] == "overdue"
    page = BeautifulSoup(browser.get(path).body, "html.parser")
    (form,) = page.select("form[method=post]:has(.btn-primary)")
    sent = {str(one["name"]): one["value"] for one in form.select("input")}
    browser.post(path, data=sent, status=200)
    assert call_action("freshness_show", id="data")["status"] == "fresh"


def logged_in(make_app: Any, *visited: str) -> Any:
    """A sysadmin's browser that has already requested and posted to some pages."""
    browser = make_app().test_client()
    for path in visited:
        browser.get(path)
        browser.post(path)
    password = "a long password"
    user = factories.Sysadmin(password=password)
    login = BeautifulSoup(browser.get("/user/login").body, "html.parser")
    token = login.select("form [name=_csrf_token]")[0]["value"]
    fields = {"login": user["name"], "password": password, "_csrf_token": token}
    browser.post("/user/login", data=fields)
    return browser


def tk_config() -> Any:
    import ckan.plugins.toolkit as tk

    return tk.config


def test_the_page_in_german(read: Read) -> None:
    make_dataset(Status.OVERDUE, "data")
    page = read("/de/dataset/data/freshness")
    assert words(page.select("h1 .freshness-badge")[0]) == "Aktualisierung nötig (überfällig)"
    explained = rows(page, "#freshness-explanation")
    assert explained["Aktualisierungshäufigkeit"] == "Jede Woche"
    assert explained["Beleg"] == "Die Ressource wurde hinzugefügt: Table"
    assert "Aktualisierung nötig (überfällig)" in words(read("/de/dataset/"))
    assert "Needs update" not in words(read("/de/dataset/"))
