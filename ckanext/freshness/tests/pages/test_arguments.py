"""Invalid ids and texts: the responses of actions and pages; and limits on requests for work."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action
from freezegun import freeze_time

from ckanext.freshness.logic import validators
from ckanext.freshness.logic.validators import TEXTS

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
    for action, key in (("freshness_confirm", "withdraw"), ("freshness_opt_out", "opted_out")):
        said = {"id": factories.Dataset()["id"], key: "perhaps"}
        answer = app.post(f"/api/action/{action}", json=said, headers=headers)
        assert list(answer.json["error"].keys() - {"__type"}) == [key]


def test_pages_with_a_nul(app: Any) -> None:
    paths = {
        (method, re.sub(r"<[^>]*>", "%00", re.sub(r"<any\((\w+)[^)]*\):\w+>", r"\1", rule.rule)))
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
        assert answer.status_code in (400, 404), (method, path, answer.status_code)
    for query in ("organization=%00", "since=%00", "page=%00", "sort=%00", "status=a%00"):
        app.get(f"/freshness/changes?{query}", status=400)


def test_costly_actions_in_an_hour() -> None:
    users = [{"user": factories.User()["name"]} for _ in range(2)]
    for _ in range(validators.PER_HOUR):
        validators.count_costly(users[0], NOW)
    with pytest.raises(tk.ValidationError, match="Try again after 13:00 UTC"):
        validators.count_costly(users[0], NOW)
    validators.count_costly(users[1], NOW)
    validators.count_costly(users[0], NOW + timedelta(seconds=1))
    sysadmin = {"user": factories.Sysadmin()["name"]}
    for _ in range(validators.PER_HOUR + 1):
        validators.count_costly(sysadmin, NOW)


def test_which_actions_are_costly() -> None:
    editor = factories.User()["name"]
    owner = factories.Organization(users=[{"name": editor, "capacity": "admin"}])["id"]
    dataset = factories.Dataset(owner_org=owner)["id"]
    source = call_action(
        "harvest_source_create",
        {"user": editor},
        **{"name": "fdp", "title": "FDP", "url": "http://fdp.example.org", "source_type": "fdp"},
        owner_org=owner,
    )["id"]
    context = {"user": editor, "ignore_auth": False}
    with freeze_time(NOW):
        for _ in range(validators.PER_HOUR):
            validators.count_costly(context, NOW)
        for action, id_ in (("freshness_check", dataset), ("freshness_harvest_preview", source)):
            with pytest.raises(tk.ValidationError, match="60 checks and previews"):
                call_action(action, dict(context), id=id_)
