"""Choosing mails: by the link in a mail, with one click, and logged in."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from ckan import model
from ckan.tests import factories, helpers

from ckanext.freshness.dates import utc_now
from ckanext.freshness.mails import recipients
from ckanext.freshness.mails.kinds import KINDS, Receivers
from ckanext.freshness.tests.pages.conftest import Read

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
    read("/freshness/mails", user, data={"mails": "chosen", "kind": "copy"})
    assert off("bob@example.org") == set(KINDS) - {"copy"}
    page = read("/freshness/mails", user)
    assert checked(page) == {kind: kind == "copy" for kind in KINDS}
    settings = read(f"/user/edit/{user['name']}", user)
    assert settings.select('a[href="/freshness/mails"]')
    answer = app.get("/freshness/mails", follow_redirects=False)
    assert answer.location.endswith("/user/login?next=/freshness/mails")
    assert "you are not logged in any more" in app.post("/freshness/mails").body


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
        for by, address in ((user, "bob@example.org"), ("", None)):
            with pytest.raises(helpers.logic.NotAuthorized):
                call(action, by, address=address)
        with pytest.raises(helpers.logic.ValidationError):
            call(action, root, address="nobody")
    impossible: list[Any] = [["no-such"], "broken", [[]]]
    for kinds in impossible:
        with pytest.raises(helpers.logic.ValidationError):
            call("freshness_opt_out", root, kinds=kinds)


@pytest.fixture
def late(clean_site: None) -> tuple[dict[str, Any], dict[str, Any]]:
    """An overdue dataset, and an editor of its organization."""
    editor = factories.User(email=ANN)
    organization = factories.Organization(
        users=[{"name": editor["name"], "capacity": "editor"}], title="Works"
    )
    dataset = helpers.call_action(
        "package_create",
        {"user": factories.Sysadmin()["name"]},
        name="rain",
        title="Rain",
        owner_org=organization["id"],
        maintainer_email=ANN,
        resources=[{"url": "http://example.org/a.csv"}],
        extras=[{"key": "frequency", "value": "7"}],
    )
    model.Session.execute(sa.text("UPDATE freshness_dataset SET last_modified = '2020-01-01'"))
    model.Session.commit()
    return dataset, editor


def confirm_path(dataset: dict[str, Any], days: float = 0) -> str:
    number = recipients.number_of(ANN)
    at = utc_now() - timedelta(days=days)
    found = recipients.confirm_token(number, dataset["id"], at)
    model.Session.commit()
    return f"/freshness/confirm/{found}"


def confirmed(dataset: dict[str, Any]) -> Any:
    return helpers.call_action("freshness_show", id=dataset["id"])["confirmation"]


def test_one_click_and_a_button_confirm(strict: Any, late: Any) -> None:
    dataset, editor = late
    path = confirm_path(dataset)
    # Programs that look at mails open each link.
    answer = strict.get(path)
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    page = BeautifulSoup(answer.body, "html.parser")
    assert "Are the data of Rain still accurate?" in page.get_text()
    assert page.select('meta[name="robots"]')[0]["content"] == "noindex"
    assert confirmed(dataset) is None
    answer = strict.post(page.select("article form")[0]["action"])
    assert "You confirmed that Rain is still accurate" in answer.body
    assert confirmed(dataset)["author"] == editor["fullname"]
    date = confirmed(dataset)["date"]
    # A second click, and the same link later.
    for ask in (strict.post, strict.get):
        assert "There is nothing to do" in ask(path).body
    assert confirmed(dataset)["date"] == date


def test_a_confirmation_is_bound_to_person_dataset_and_time(strict: Any, late: Any) -> None:
    dataset, editor = late
    other = factories.Dataset()
    good = confirm_path(dataset, 29)
    number, package_id, issued, newest, signature = good.rpartition("/")[2].split(".")
    wrong = [
        confirm_path(dataset, 31),
        f"/freshness/confirm/{number}.{other['id']}.{issued}.{newest}.{signature}",
        f"/freshness/confirm/{number}.{package_id}.{int(issued) + 1}.{newest}.{signature}",
        f"/freshness/confirm/{number}.{package_id}.{issued}.0.{signature}",
        f"/freshness/confirm/{int(number) + 1}.{package_id}.{issued}.{newest}.{signature}",
        f"/freshness/confirm/{recipients.token(int(number))}",
        f"/freshness/mails/{good.rpartition('/')[2]}",
    ]
    for path in wrong:
        for ask in (strict.get, strict.post):
            ask(path, status=404)
    strict.get(good, status=200)
    # The data change, and then the person leaves the organization.
    model.Session.execute(sa.text("UPDATE freshness_dataset SET last_modified = '2020-02-01'"))
    model.Session.commit()
    assert "updated or confirmed since" in strict.post(good).body
    fresh = confirm_path(dataset)
    helpers.call_action(
        "organization_member_delete",
        {"user": factories.Sysadmin()["name"]},
        id=dataset["owner_org"],
        username=editor["name"],
    )
    for ask in (strict.get, strict.post):
        ask(fresh, status=404)
    assert confirmed(dataset) is None


def test_sysadmins_see_the_mails_before_they_are_on(app: Any, read: Read, late: Any) -> None:
    model.Session.execute(
        sa.text(
            "INSERT INTO freshness_transition (package_id, from_status, to_status, changed_at, cause)"
            " SELECT package_id, 'due', 'overdue', now(), 'time' FROM freshness_dataset"
        )
    )
    model.Session.execute(
        sa.text("UPDATE freshness_dataset SET overdue = '2020-02-01', status = 'overdue'")
    )
    model.Session.commit()
    root = factories.SysadminWithToken(email="root@example.org")
    page = read("/freshness/mails/preview", root)
    words = " ".join(page.get_text().split())
    assert "mails would be sent now" in words and f"{ANN}: 1 dataset needs an update" in words
    assert "Mails have not begun" in words
    (link,) = (one["href"] for one in page.select(".fr-list a") if ANN in one["href"])
    mail = read(link, root)
    assert "Rain" in mail.get_text()
    # Nobody else's links stand in it.
    assert not mail.select('a[href*="/freshness/confirm/"]')
    assert model.Session.execute(sa.text("SELECT count(*) FROM freshness_mail")).scalar() == 0
    read("/freshness/mails/preview?to=nobody@example.org", root, status=404)
    for user in (None, factories.UserWithToken()):
        read("/freshness/mails/preview", user, status=403)
