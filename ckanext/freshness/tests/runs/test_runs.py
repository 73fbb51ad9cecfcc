"""Runs and the history of a resource: the actions, and ``ckan freshness runs``."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
from ckan import model
from ckan.cli.cli import ckan
from ckan.tests import factories

from ckanext.freshness.model import CheckRun
from ckanext.freshness.tests.conftest import Act
from ckanext.freshness.tests.pages.datasets import break_link
from ckanext.freshness.tests.pages.reports import add_run
from ckanext.freshness.tests.reporting.test_hdx_layout import FIRST_TEXT

pytestmark = pytest.mark.usefixtures("kept_db")


@pytest.fixture
def runs(kept_db: None) -> None:
    """Three runs: one ended, one ended early, and one is running."""
    model.Session.query(CheckRun).delete()
    begun = [datetime(2026, 3, day, 2) for day in (1, 2, 3)]
    ended = [one + timedelta(hours=1) for one in begun]
    add_run(id="first", started_at=begun[0], ended_at=ended[0], options={"all": True})
    add_run(id="second", started_at=begun[1], ended_at=ended[1], error="The database went away")
    add_run(id="third", started_at=begun[2], ended_at=None)


def test_runs_are_listed_the_newest_first(act: Act, runs: None) -> None:
    listed = act("freshness_run_list")
    assert [one["id"] for one in listed] == ["third", "second", "first"]
    assert listed[2] == {
        "id": "first",
        "kind": "check",
        "started_at": "2026-03-01T02:00:00Z",
        "ended_at": "2026-03-01T03:00:00Z",
        "checked": 490,
        "error": None,
        "version": "1.0",
    }
    assert [one["id"] for one in act("freshness_run_list", limit=1, offset="1")] == ["second"]


def test_a_run_is_shown_with_what_it_counted(act: Act, runs: None) -> None:
    shown = act("freshness_run_show", id="first")
    assert shown["text"] == FIRST_TEXT
    assert shown["options"] == {"all": True}
    assert act("freshness_run_show")["id"] == "third"
    with pytest.raises(tk.ObjectNotFound):
        act("freshness_run_show", id="fourth")


@pytest.mark.parametrize("action", ["freshness_run_list", "freshness_run_show"])
def test_runs_are_for_sysadmins(act: Act, runs: None, action: str) -> None:
    for user in ("", factories.User()["name"]):
        with pytest.raises(tk.NotAuthorized):
            act(action, by=user, id="first")


def test_the_command_lists_and_shows(runs: None, cli: Any) -> None:
    done = cli.invoke(ckan, ["freshness", "runs"])
    assert done.exit_code == 0, done.output
    third, second, first = done.output.strip().split("\n")[-3:]
    assert third == "third  2026-03-03T02:00:00Z  check  not ended"
    assert second.endswith("ended early: The database went away")
    assert first.endswith("490 checked, ended 2026-03-01T03:00:00Z")
    done = cli.invoke(ckan, ["freshness", "runs", "first", "--hdx"])
    assert done.exit_code == 0, done.output
    assert FIRST_TEXT in done.output


# Of a resource

ATTEMPT = {"at": "2026-03-03T02:00:00Z", "outcome": "error", "status": 404, "words": "answered 404"}


def checked(*, private: bool) -> str:
    """A resource whose URL has failed five times in nine days."""
    made = factories.Dataset(
        owner_org=factories.Organization()["id"],
        private=private,
        resources=[{"url": "http://example.org/data.csv"}],
    )
    return break_link(made, known={"hash": "sha256:00"}, attempts=[ATTEMPT])


def test_who_may_see_the_resource_may_see_its_history(act: Act) -> None:
    private, public = checked(private=True), checked(private=False)
    shown = act("freshness_resource_history", by="", id=public)
    assert (shown["broken"], shown["failures"], shown["hash"]) == (True, 5, "sha256:00")
    assert shown["attempts"] == [ATTEMPT]
    assert [one["evidence"] for one in shown["evidence"]] == ["created"]
    with pytest.raises(tk.NotAuthorized):
        act("freshness_resource_history", by="", id=private)
    act("resource_delete", id=public)
    for gone in (public, "nothing"):
        with pytest.raises(tk.ObjectNotFound):
            act("freshness_resource_history", id=gone)
