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
from ckanext.freshness.mails import recipients, signed_links
from ckanext.freshness.tests.pages.conftest import Read

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
    return f"/freshness/mails/{signed_links.token(number)}"


@pytest.fixture
def mails_on(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mails are sent."""
    monkeypatch.setitem(ckan_config, "ckanext.freshness.notify.enabled", True)


def choice(address: str = ANN) -> str:
    model.Session.remove()
    return recipients.people([address])[address].choice.value


def checked(page: Any) -> list[str]:
    """Return the choice that a page shows."""
    return [one["value"] for one in page.select('article form input[type="radio"][checked]')]


@pytest.mark.usefixtures("mails_on")
def test_looking_at_a_link_changes_nothing(read: Read, path: str) -> None:
    page = read(path)
    assert f"{ANN} gets at most one mail a day" in page.get_text()
    assert checked(page) == ["all"]
    # Who has no account follows nothing.
    assert [one["value"] for one in page.select("input[name=choice]")] == ["all", "none"]
    assert page.select('meta[name="robots"]')[0]["content"] == "noindex"
    assert choice() == "all"


def test_one_click_without_a_session(strict: Any, path: str) -> None:
    # A second request changes nothing.
    for _ in range(2):
        answer = strict.post(path, data={"List-Unsubscribe": "One-Click"}, follow_redirects=False)
        assert answer.status_code == 200
        assert f"{ANN} gets no mails" in answer.body
        assert choice() == "none"


@pytest.mark.parametrize("data", [{}, {"choice": ""}, {"choice": "some"}])
def test_a_form_without_a_choice_changes_nothing(
    read: Read, strict: Any, path: str, data: Any
) -> None:
    strict.post(path, data=data, status=400)
    user = factories.UserWithToken(email=ANN)
    page = read("/freshness/mails", user, data=data, status=400)
    assert "Choose your mails, or switch them off" in page.get_text()
    assert choice() == "all"


def test_links_that_nobody_has_got(app: Any, path: str) -> None:
    number, _, signature = path.rpartition("/")[2].partition(".")
    for wrong in (
        *(number, f"{number}.", f"{number}.{signature[:-1]}", f"{int(number) + 1}.{signature}"),
        *(f"{number}.{signature[:-1]}ä", f"²{number}.{signature}", "9" * 30 + ".x", "None.x"),
        signed_links.token(int(number) + 1000),
    ):
        for ask in (app.get, app.post):
            ask(f"/freshness/mails/{wrong}", status=404)
    assert choice() == "all"


@pytest.mark.usefixtures("mails_on")
def test_the_page_of_who_is_logged_in(app: Any, read: Read) -> None:
    user = factories.SysadminWithToken(email="Bob@example.org")
    page = read("/freshness/mails", user)
    assert "bob@example.org gets at most one mail" in page.get_text()
    read("/freshness/mails", user, data={"choice": "followed"})
    assert choice("bob@example.org") == "followed"
    assert checked(read("/freshness/mails", user)) == ["followed"]
    answer = app.get("/freshness/mails", follow_redirects=False)
    assert answer.location.endswith("/user/login?next=/freshness/mails")
    assert "you are not logged in any more" in app.post("/freshness/mails").body
    nobody = factories.UserWithToken()
    model.Session.get(model.User, nobody["id"]).email = ""
    model.Session.commit()
    assert (
        "You have no e-mail address here" in read("/freshness/mails", nobody, status=400).get_text()
    )


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
    found = signed_links.confirm_token(number, dataset["id"], at)
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
        f"/freshness/confirm/{signed_links.token(int(number))}",
        f"/freshness/mails/{good.rpartition('/')[2]}",
    ]
    for path in wrong:
        for ask in (strict.get, strict.post):
            ask(path, status=404)
    strict.get(good, status=200)
    # The data change, and then the person looks after them no longer.
    model.Session.execute(sa.text("UPDATE freshness_dataset SET last_modified = '2020-02-01'"))
    model.Session.commit()
    assert "updated or confirmed since" in strict.post(good).body
    fresh = confirm_path(dataset)
    root = leave(editor, dataset)
    helpers.call_action("package_patch", root, id=dataset["id"], maintainer_email="bob@example.org")
    for ask in (strict.get, strict.post):
        ask(fresh, status=404)
    assert confirmed(dataset) is None


def leave(editor: dict[str, Any], dataset: dict[str, Any]) -> dict[str, Any]:
    """Remove an editor from the organization of a dataset, and return the context of a sysadmin."""
    member = {"id": dataset["owner_org"], "username": editor["name"]}
    root = {"user": factories.Sysadmin()["name"]}
    helpers.call_action("organization_member_delete", dict(root), **member)
    return root


def test_a_maintainer_who_may_not_log_in_or_edit_confirms(strict: Any, late: Any) -> None:
    dataset, editor = late
    root = leave(editor, dataset)
    path = confirm_path(dataset)
    assert f"You confirm as {ANN}." in strict.get(path).body
    assert confirmed(dataset) is None
    assert "You confirmed that Rain is still accurate" in strict.post(path).body
    assert confirmed(dataset)["author"] == ANN
    # Their address gives them nothing else: the dataset is private now.
    age = "UPDATE freshness_dataset SET last_modified = '2021-01-01', confirmed_at = NULL"
    model.Session.execute(sa.text(age))
    helpers.call_action("package_patch", root, id=dataset["id"], private=True)
    strict.get(confirm_path(dataset), status=404)
