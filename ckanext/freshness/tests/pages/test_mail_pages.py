"""Choosing mails: by the link in a mail, with one click, and logged in."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk
import pytest
from bs4 import BeautifulSoup
from ckan import model
from ckan.tests import factories, helpers

from ckanext.freshness.mails import recipients
from ckanext.freshness.mails.kinds import KINDS, Receivers
from ckanext.freshness.tests.pages.conftest import Read
from ckanext.freshness.tests.pages.test_dataset_page import logged_in

OFFERED = {kind for kind, rule in KINDS.items() if rule.receivers is not Receivers.OPERATORS}
ANN = "ann@example.org"


@pytest.fixture
def strict(clean_site: None, make_app: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A site whose forms are protected, as on real sites."""
    monkeypatch.setitem(tk.config, "WTF_CSRF_ENABLED", True)
    return make_app()


@pytest.fixture
def path(clean_site: None) -> str:
    number = recipients.number_of(ANN)
    model.Session.commit()
    return f"/freshness/mails/{recipients.token(number)}"


def off(address: str = ANN) -> set[str]:
    model.Session.remove()
    person = recipients.people([address])[address]
    return {kind for kind in KINDS if not person.wants(kind)}


def is_out(address: str = ANN) -> bool:
    return off(address) == set(KINDS)


def checked(page: Any) -> dict[str, bool]:
    """Return the kinds on a page, and whether they are switched on."""
    boxes = page.select('article form input[type="checkbox"]')
    return {str(one["value"]): one.has_attr("checked") for one in boxes}


def test_looking_at_a_link_changes_nothing(read: Read, path: str) -> None:
    page = read(path)
    assert f"{ANN} gets at most one mail a day" in page.get_text()
    assert checked(page) == dict.fromkeys(OFFERED, True)
    assert page.select('meta[name="robots"]')[0]["content"] == "noindex"
    assert off() == set()


def test_one_click_without_a_session(strict: Any, path: str) -> None:
    answer = strict.post(path, data={"List-Unsubscribe": "One-Click"}, follow_redirects=False)
    assert answer.status_code == 200
    assert f"{ANN} gets no mails" in answer.body
    assert is_out()
    # A second request changes nothing.
    strict.post(path, data={"List-Unsubscribe": "One-Click"}, status=200)
    assert is_out()


def test_each_kind_can_be_switched_off_by_the_form(strict: Any, path: str) -> None:
    strict.post(path, data={"mails": "chosen", "kind": "overdue"}, status=200)
    assert off() == OFFERED - {"overdue"}
    page = BeautifulSoup(strict.get(path).body, "html.parser")
    assert checked(page) == {kind: kind == "overdue" for kind in OFFERED}
    strict.post(path, data={"mails": "none", "kind": "overdue"}, status=200)
    assert is_out()
    # Somebody who becomes a sysadmin later still gets no mails.
    strict.post(path, data={"mails": "chosen", "kind": "broken"}, status=200)
    assert off() == set(KINDS) - {"broken"}


def test_links_that_nobody_has_got(app: Any, path: str) -> None:
    number, _, signature = path.rpartition("/")[2].partition(".")
    for wrong in (
        *(number, f"{number}.", f"{number}.{signature[:-1]}", f"{int(number) + 1}.{signature}"),
        *(f"{number}.{signature[:-1]}ä", f"²{number}.{signature}", "9" * 30 + ".x", "None.x"),
        recipients.token(int(number) + 1000),
    ):
        for ask in (app.get, app.post):
            ask(f"/freshness/mails/{wrong}", status=404)
    assert off() == set()


def test_the_page_of_who_is_logged_in(app: Any, read: Read) -> None:
    user = factories.SysadminWithToken(email="Bob@example.org")
    assert "bob@example.org gets at most one mail" in read("/freshness/mails", user).get_text()
    headers = {"Authorization": user["token"]}
    app.post("/freshness/mails", headers=headers, data={"mails": "chosen", "kind": "copy"})
    assert off("bob@example.org") == set(KINDS) - {"copy"}
    page = read("/freshness/mails", user)
    assert checked(page) == {kind: kind == "copy" for kind in KINDS}
    settings = read(f"/user/edit/{user['name']}", user)
    assert settings.select('a[href="/freshness/mails"]')
    answer = app.get("/freshness/mails", follow_redirects=False)
    assert answer.location.endswith("/user/login?next=/freshness/mails")
    app.post("/freshness/mails", status=403)


def test_other_sites_cannot_do_so_for_who_is_logged_in(
    clean_site: None, make_app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(tk.config, "WTF_CSRF_ENABLED", True)
    browser = logged_in(make_app, "/freshness/mails")
    browser.post("/freshness/mails", data={"mails": "no"}, status=400)
    page = BeautifulSoup(browser.get("/freshness/mails").body, "html.parser")
    form = page.select("article form")[0]
    sent = {str(one["name"]): one["value"] for one in form.select("input")}
    answer = browser.post("/freshness/mails", data={**sent, "mails": "none"}, status=200)
    assert "gets no mails" in answer.body


def test_actions(clean_site: None) -> None:
    def call(action: str, by: str, **data: Any) -> Any:
        return helpers.call_action(action, {"user": by, "ignore_auth": False}, **data)

    user = factories.User(email=ANN)["name"]
    root = factories.Sysadmin(email="root@example.org")["name"]
    shown = {"address": ANN, "opted_out": False, "kinds": []}
    assert call("freshness_opt_out_show", user) == shown
    every = list(KINDS)
    assert call("freshness_opt_out", user) == {"address": ANN, "opted_out": True, "kinds": every}
    some = {"address": ANN, "opted_out": False, "kinds": ["broken"]}
    assert call("freshness_opt_out", user, kinds=["broken"]) == some
    assert not call("freshness_opt_out", user, kinds=[])["kinds"]
    call("freshness_opt_out", user)
    assert call("freshness_opt_out_show", root, address=ANN.upper())["opted_out"]
    assert not call("freshness_opt_out", root, address=ANN, opted_out="false")["opted_out"]
    assert off() == set()
    for action in ("freshness_opt_out", "freshness_opt_out_show"):
        with pytest.raises(helpers.logic.NotAuthorized):
            call(action, user, address="bob@example.org")
        with pytest.raises(helpers.logic.NotAuthorized):
            call(action, "")
        with pytest.raises(helpers.logic.ValidationError):
            call(action, root, address="nobody")
        with pytest.raises(helpers.logic.ValidationError):
            call(action, root, address=["a@b"])
    impossible: list[Any] = [["no-such"], "broken", [[]]]
    for wrong in ({"opted_out": "perhaps"}, *({"kinds": kinds} for kinds in impossible)):
        with pytest.raises(helpers.logic.ValidationError):
            call("freshness_opt_out", root, **wrong)
