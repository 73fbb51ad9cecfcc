"""The actions that show and confirm freshness."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import ckan.plugins.toolkit as tk
import pytest
from ckan.lib import search
from ckan.tests import factories

from ckanext.freshness.tests.clock import freeze_time
from ckanext.freshness.tests.datasets import Act, new, stored

pytestmark = pytest.mark.usefixtures("kept_db")


def test_an_editor_confirms_that_the_data_are_up_to_date(act: Act) -> None:
    erika = factories.User(fullname="Erika Meyer")
    editor, reader, member = erika["name"], factories.User()["name"], factories.User()["name"]
    users = [{"name": editor, "capacity": "editor"}, {"name": member, "capacity": "member"}]
    owner = factories.Organization(users=users)
    then = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    with freeze_time(then):
        made = new(
            act,
            owner_org=owner["id"],
            extras=[{"key": "frequency", "value": "7"}, {"key": "zone", "value": "3"}],
        )
    now = then + timedelta(days=100)
    with freeze_time(now):
        assert act("freshness_show", id=made["id"])["status"] == "delinquent"
        with pytest.raises(tk.NotAuthorized):
            act("freshness_confirm", by=reader, id=made["id"])
        assert not act("freshness_show", by=reader, id=made["id"])["may_confirm"]
        assert act("freshness_show", by=editor, id=made["name"])["may_confirm"]
        shown = act("freshness_confirm", by=editor, id=made["name"])
    assert (shown["status"], shown["evidence"]) == ("fresh", "created")
    confirmation = {"date": "2026-04-11T12:00:00Z", "author": "Erika Meyer", "is_own": True}
    assert shown["confirmation"] == confirmation
    assert (
        shown["transitions"][0]["explanation"]
        == "The data were confirmed as accurate, by Erika Meyer"
    )
    for others, author in ((member, "Erika Meyer"), (reader, None), ("", None)):
        told = act("freshness_show", by=others, id=made["id"])
        assert told["confirmation"] == {**confirmation, "author": author, "is_own": False}
        # Visitors learn no names.
        assert (author is None) == ("Erika" not in json.dumps(told)), others
        assert editor not in json.dumps(told)
    assert shown["last_modified"] == "2026-01-01T12:00:00Z", "a confirmation is no change"
    assert [(one["from"], one["to"], one["at"], one["cause"]) for one in shown["transitions"]] == [
        ("delinquent", "fresh", "2026-04-11T12:00:00Z", "confirmation"),
        ("overdue", "delinquent", "2026-01-22T12:00:00Z", "time"),
        ("due", "overdue", "2026-01-15T12:00:00Z", "time"),
        ("fresh", "due", "2026-01-08T12:00:00Z", "time"),
        (None, "fresh", "2026-01-01T12:00:00Z", "edit"),
    ]
    assert stored(made["id"])["zone"] == "3"


@pytest.mark.parametrize("is_lost", [False, True], ids=["review_date", "no review_date"])
def test_a_confirmation_is_taken_back_and_the_one_before_counts_again(
    act: Act, is_lost: bool
) -> None:
    then = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    frequency = {"key": "frequency", "value": "7"}
    with freeze_time(then):
        made = new(act, extras=[frequency])
        with pytest.raises(tk.ValidationError, match="Nobody has confirmed"):
            act("freshness_confirm", id=made["id"], withdraw=True)
    for days in (10, 40):
        with freeze_time(then + timedelta(days=days)):
            act("freshness_confirm", id=made["id"])

    def lose() -> None:
        if is_lost:
            act("package_patch", id=made["id"], extras=[frequency])

    lose()
    with freeze_time(then + timedelta(days=41)):
        shown = act("freshness_confirm", id=made["id"], withdraw="true")
        assert (shown["status"], shown["evidence"]) == ("delinquent", "created")
        assert shown["confirmation"]["date"] == "2026-01-11T12:00:00Z"
        assert shown["confirmation"]["is_own"], "its author is known again"
        assert stored(made["id"])["review_date"] == "2026-01-11T12:00:00Z"
        lose()
        shown = act("freshness_confirm", id=made["id"], withdraw=True)
    assert (shown["evidence"], shown["confirmation"]) == ("created", None)
    assert "review_date" not in stored(made["id"])
    assert stored(made["id"])["freshness_evidence"] == "created"


def test_a_double_click_is_one_confirmation(act: Act) -> None:
    then = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    with freeze_time(then):
        made = new(act, extras=[{"key": "frequency", "value": "7"}])
    with freeze_time(then + timedelta(days=40)) as clock:
        for _ in range(2):
            act("freshness_confirm", id=made["id"])
            clock.shift(1)
        shown = act("freshness_confirm", id=made["id"], withdraw=True)
        assert (shown["status"], shown["confirmation"]) == ("delinquent", None)
        words = [one["cause"] for one in shown["transitions"]]
        assert words == ["withdrawal", "confirmation", *["time"] * 3, "edit"]


def test_an_edit_of_the_frequency_that_alone_changes_the_status(act: Act) -> None:
    then = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    with freeze_time(then):
        made = new(act, extras=[{"key": "frequency", "value": "7"}])
    with freeze_time(then + timedelta(days=18)):
        act("package_patch", id=made["id"], extras=[{"key": "frequency", "value": "365"}])
        newest = act("freshness_show", id=made["id"])["transitions"][0]
    assert (newest["from"], newest["to"], newest["cause"]) == ("overdue", "fresh", "frequency")
    assert "from Every week to Every year" in newest["explanation"]


def test_what_is_shown(act: Act) -> None:
    then = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    with freeze_time(then):
        made = new(
            act,
            title="A title",
            resources=[{"url": "http://x.org/1", "name": "One", "created": "2026-01-01T12:00:00"}],
            extras=[
                {"key": "frequency", "value": "weekly"},
                {"key": "review_date", "value": "2099-01-01"},
                {"key": "dataset_date", "value": "2025"},
            ],
        )
    resource = made["resources"][0]["id"]
    with freeze_time(then + timedelta(days=10)):
        act("resource_patch", id=resource, last_modified="2026-01-11T12:00:00")
    with freeze_time(then + timedelta(days=18)):
        shown = act("freshness_show", id=made["id"])
    (problem,) = shown["problems"]
    assert "2099-01-01T00:00:00Z (review) lay in the future" in problem
    assert shown["confirmation"]["date"] == "2026-01-01T12:00:00Z"
    (change,) = shown["data_changes"]
    assert (change["resource_id"], change["evidence"]) == (resource, "upload")
    assert (shown["status"], shown["evidence"]) == ("due", "upload")
    assert shown["last_modified"] == "2026-01-11T12:00:00Z"
    assert shown["frequency"] == {"days": 7, "from": "dataset"}
    assert shown["boundaries"] == {
        "due": "2026-01-18T12:00:00Z",
        "overdue": "2026-01-25T12:00:00Z",
        "delinquent": "2026-02-01T12:00:00Z",
    }
    assert [(one["evidence"], one["claimed"]) for one in shown["pieces"]] == [
        ("upload", None),
        ("review", "2099-01-01T00:00:00Z"),
    ]
    stated = {"value": "2025", "since": "2026-01-01T12:00:00Z", "stands_still": True}
    assert shown["stated_date"] == stated


def test_a_private_dataset_is_shown_to_its_readers_only(act: Act) -> None:
    made = new(act, owner_org=factories.Organization()["id"], private=True)
    with pytest.raises(tk.NotAuthorized):
        act("freshness_show", by=factories.User()["name"], id=made["id"])
    assert search.show(made["id"])
