"""Datasets and links that editors ignore: they are no tasks and in no mail until the end, and can be seen."""

from __future__ import annotations

from datetime import datetime, timezone

import ckan.plugins.toolkit as tk
import pytest
import time_machine
from ckan.tests.helpers import call_action

from ckanext.freshness import settings
from ckanext.freshness.aging.status import Status
from ckanext.freshness.checking import check_rows
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.mails import news
from ckanext.freshness.model import FreshnessTransition
from ckanext.freshness.reporting import worklist
from ckanext.freshness.tests.pages.conftest import Read
from ckanext.freshness.tests.pages.datasets import break_link, make_dataset
from ckanext.freshness.tests.pages.reports import DAY
from ckanext.freshness.tests.pages.reports import text_of as words
from ckanext.freshness.tests.pages.test_worklist import ROOT, Post, facts, make_world, post, tasks

__all__ = ["make_world", "post"]


def make_tasks(name: str) -> dict[str, str]:
    """Create an overdue dataset of the editor with a broken link, and return the ids of both."""
    made = make_dataset(Status.OVERDUE, name, title=f"The {name}", owner_org="relief")
    return {"dataset": made["id"], "link": break_link(made)}


def open_tasks(read: Read, name: str) -> set[str]:
    """Return the groups in which the editor's worklist has a dataset."""
    page = read("/freshness/mine", "editor")
    return {
        section.h2["id"].removeprefix("tasks-")
        for section in page.select("section:has(h2[id^=tasks-])")
        if section.select(f"a[href*='/dataset/{name}/']")
    }


def told(ids: dict[str, str], now: datetime) -> set[str]:
    """Return which of a dataset and its link people are told of by mail."""
    overdue = {one.package_id for one in news.overdue(now)}
    broken = {one.about for one in news.broken_links(now)}
    return {name for name, id in ids.items() if id in overdue | broken}


@pytest.mark.parametrize(("what", "group"), [("dataset", "update"), ("link", "broken")])
def test_ignore_until_a_day(post: Post, read: Read, what: str, group: str) -> None:
    name, now = f"ignored-{what}", datetime.now(timezone.utc)
    ids = make_tasks(name)
    # The first status of a dataset is no news.
    transition = {"from_status": "due", "to_status": "overdue", "cause": "time"}
    at = now.replace(tzinfo=None)
    model.Session.add(FreshnessTransition(package_id=ids["dataset"], changed_at=at, **transition))
    model.Session.commit()
    status = facts(name)
    everything = words(read("/freshness/mine", "editor").select_one("#freshness-counts"))
    assert open_tasks(read, name) == {"update", "broken"} and told(ids, now) == {"dataset", "link"}
    until = (now + 30 * DAY).date().isoformat()
    title = "The ignored-dataset" if what == "dataset" else "Table (The ignored-link)"
    form = {"id": ids[what], "reason": "The <server> moves", "list": f"mine.{group}"}
    page = post("ignore::", "editor", until="2020-01-01", **form)
    refused = f"Nothing was changed in 1 ({title}): Choose a day that is not past."
    assert refused in words(page) and "0 rows" not in words(page)
    page = post("ignore::", "editor", until=until, **form)
    assert f"{title} is ignored." in words(page)
    assert open_tasks(read, name) == {"update", "broken"} - {group}
    assert told(ids, now) == {"dataset", "link"} - {what}
    assert facts(name) == status
    shown = read("/freshness/mine?group=ignored", "editor")
    assert tasks(shown)["ignored"] == [title]
    by = call_action("user_show", id="editor")["fullname"]
    said = f"because: The <server> moves ( {by}"
    shown = read(f"/dataset/{name}/freshness", "editor")
    (row,) = shown.select(f"#freshness-link-{ids['link']}")
    assert said in words(shown) and (said in words(row)) == (what == "link")
    assert "The <server> moves" not in words(read(f"/dataset/{name}/freshness", "member"))
    # The list of all says so, too.
    every = read(f"/freshness/{'datasets' if what == 'dataset' else 'links'}?q={name}", "editor")
    assert every.select("tbody a[href*='group=ignored']")
    for days, groups in ((30, {"update", "broken"} - {group}), (31, {"update", "broken"})):
        with time_machine.travel(now + days * DAY, tick=False):
            assert open_tasks(read, name) == groups
            assert told(ids, now + days * DAY) == (
                {"dataset", "link"} - ({what} if days == 30 else set())
            )
    page = post(f"stop::{ids[what]}", "editor", list="mine.ignored", back="group=ignored")
    # Nothing else is ignored: all tasks are shown.
    assert {"update", "broken"} <= tasks(page).keys()
    assert words(read("/freshness/mine", "editor").select_one("#freshness-counts")) == everything
    assert worklist.ignored(ids["dataset"]) is None and not worklist.ignored_links(ids["dataset"])


def test_another_url_is_no_longer_ignored(post: Post, read: Read) -> None:
    ids = make_tasks("moved")
    post("ignore::", "editor", id=ids["link"], reason="It moves", list="mine.broken")
    call_action(
        "resource_patch", dict(ROOT), id=ids["link"], url="https://new.example.org/table.csv"
    )
    check_rows.sync(datetime.now(timezone.utc), settings.dataset_types())
    assert worklist.ignored_links(ids["dataset"]).get(ids["link"]) is None
    page = read("/freshness/mine?group=ignored", "editor")
    assert "Table (The moved)" not in tasks(page).get("ignored", [])


def test_others_cannot_ignore_it(post: Post) -> None:
    ids = make_tasks("kept-by-others")
    for who in ("member", "stranger"):
        post("ignore::", who, id=[*ids.values()], reason="Because", list="mine.update")
        with pytest.raises(tk.NotAuthorized):
            context = {"user": who, "ignore_auth": False}
            call_action("freshness_ignore", context, id=ids["dataset"], reason="Because")
    assert worklist.ignored(ids["dataset"]) is None and not worklist.ignored_links(ids["dataset"])
    # A link of another dataset is not reached through one's own.
    own = make_dataset(Status.FRESH, "of-relief", owner_org="relief")
    with pytest.raises(tk.ValidationError, match="Nothing is known of this link"):
        values = {"id": own["id"], "resource_id": ids["link"], "reason": "Because"}
        call_action("freshness_ignore", dict(ROOT), **values)
