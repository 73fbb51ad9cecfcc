"""Invalid ids and texts, forms of other sites, and limits on requests for work."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from itertools import product
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import pytest
from bs4 import BeautifulSoup
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.logic import validators
from ckanext.freshness.logic.validators import TEXTS
from ckanext.freshness.tests.clock import freeze_time

pytestmark = pytest.mark.usefixtures("clean_site")

NOW = datetime(2026, 3, 3, 12, 59, 59, tzinfo=timezone.utc)
UNUSABLE = ("a\0b", "\0", ["a"], {"a": "b"}, 7, True, "\ud800")


def own_actions() -> set[str]:
    return {one for one in p.get_plugin("freshness").get_actions() if one.startswith("freshness_")}


def test_texts_that_are_none(app: Any, sysadmin: dict[str, Any]) -> None:
    headers = {"Authorization": sysadmin["token"]}
    asked = [(action, "id", value) for action in sorted(own_actions()) for value in UNUSABLE]
    asked += [("freshness_report", key, value) for key in sorted(TEXTS) for value in UNUSABLE]
    for action, key, value in asked:
        answer = app.post(f"/api/action/{action}", json={key: value}, headers=headers)
        assert answer.status_code == 409, (action, key, value, answer.body)
        assert list(answer.json["error"].keys() - {"__type"}) == [key], (action, key, value)
    answer = app.post("/api/action/freshness_show", json={"id": None}, headers=headers)
    assert answer.status_code == 409
    said = {"id": factories.Dataset()["id"], "withdraw": "perhaps"}
    answer = app.post("/api/action/freshness_confirm", json=said, headers=headers)
    assert list(answer.json["error"].keys() - {"__type"}) == ["withdraw"]


def path_of(rule: Any, value: str) -> str:
    """Return a path of a rule, with a value for each variable that takes any."""
    return re.sub(r"<[^>]*>", value, re.sub(r"<any\((\w+)[^)]*\):\w+>", r"\1", rule.rule))


def test_pages_with_a_nul(app: Any) -> None:
    paths = {
        (method, path_of(rule, "%00"))
        for rule in app.flask_app.url_map.iter_rules()
        if rule.endpoint.startswith("freshness")
        for method in rule.methods & {"GET", "POST"}
    }
    with_nul = {(method, path) for method, path in paths if "%00" in path}
    assert len(with_nul) > 15
    for method, path in with_nul:
        answer = app.flask_app.test_client().open(
            path, method=method, environ_overrides={"CKAN_LANG": "en"}
        )
        is_to_log_in = "/user/login" in answer.headers.get("Location", "")
        assert answer.status_code in (400, 404) or is_to_log_in, (method, path, answer.status_code)
    for query in ("organization=%00", "since=%00", "page=%00", "sort=%00", "status=a%00"):
        app.get(f"/freshness/changes?{query}", status=400)


def test_forms_of_other_sites_are_refused(
    make_app: Any, ckan_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CKAN 2.11 does not protect plugins; 2.12 protects no page that was requested without a session."""
    monkeypatch.setitem(ckan_config, "WTF_CSRF_ENABLED", True)
    app = make_app()
    paths = {
        path_of(rule, "some-name")
        for rule in app.flask_app.url_map.iter_rules()
        if rule.endpoint.startswith("freshness")
        and "POST" in rule.methods
        # The links of mails are signed.
        and "<token>" not in rule.rule
    }
    assert len(paths) > 5
    browser = app.test_client()
    for path in paths:
        browser.post(path)
    user = factories.Sysadmin(password="a long password")
    login = BeautifulSoup(browser.get("/user/login").body, "html.parser")
    token = login.select("form [name=_csrf_token]")[0]["value"]
    fields = {"login": user["name"], "password": "a long password", "_csrf_token": token}
    browser.post("/user/login", data=fields)
    for path, htmx in product(paths, (False, True)):
        # htmx would show nothing if the response had the status of an error.
        headers, status = ({"HX-Request": "true"}, 200) if htmx else ({}, 400)
        answer = browser.post(path, headers=headers, status=status)
        assert "Nothing was changed: this form has expired." in answer.body, path
    page = BeautifulSoup(browser.get("/freshness/mails").body, "html.parser")
    sent = {str(one["name"]): one["value"] for one in page.select("article form input")}
    assert "gets no mails" in browser.post("/freshness/mails", data={**sent, "mails": "none"}).body


@pytest.mark.usefixtures("clean_redis")
def test_costly_actions_in_an_hour() -> None:
    editor, other = (factories.User()["name"] for _ in range(2))
    owner = factories.Organization(users=[{"name": editor, "capacity": "admin"}])["id"]
    source = call_action(
        "harvest_source_create",
        {"user": editor},
        **{"name": "fdp", "title": "FDP", "url": "http://fdp.example.org", "source_type": "fdp"},
        owner_org=owner,
    )["id"]
    for user in (editor, factories.Sysadmin()["name"]):
        for _ in range(validators.PER_HOUR):
            validators.count_costly({"user": user}, NOW)
    validators.count_costly({"user": user}, NOW)
    validators.count_costly({"user": other}, NOW)
    context = {"user": editor, "ignore_auth": False}
    dataset = factories.Dataset(owner_org=owner)["id"]
    with freeze_time(NOW):
        for action, id_ in (("freshness_check", dataset), ("freshness_harvest_preview", source)):
            with pytest.raises(
                tk.ValidationError, match=r"60 checks and previews.*after 13:00 UTC"
            ):
                call_action(action, dict(context), id=id_)
    validators.count_costly(context, NOW + timedelta(seconds=1))
