"""An editor's worklist: whose tasks it lists, and what can be done in it and undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
import time_machine
from ckan.lib.jobs import Worker, job_from_id
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness import settings
from ckanext.freshness.aging.status import Status
from ckanext.freshness.checking import check_rows
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.mails import news
from ckanext.freshness.model import FreshnessTransition, ResourceCheck
from ckanext.freshness.reporting import worklist
from ckanext.freshness.tests.mails.test_recipients import imported
from ckanext.freshness.tests.pages.conftest import Read
from ckanext.freshness.tests.pages.datasets import break_link, keep_copy, make_dataset
from ckanext.freshness.tests.pages.reports import DAY, undo
from ckanext.freshness.tests.pages.reports import text_of as words
from ckanext.harvest import model as harvest_model

People = dict[str, dict[str, Any] | None]
Post = Callable[..., Any]

ROOT = {"user": "root"}


def make_world() -> People:
    """Create two organizations with their people, a stranger, and datasets with tasks of each group."""
    people: People = {
        name: dict(factories.UserWithToken(name=name))
        for name in ("editor", "colleague", "admin", "member", "stranger")
    }
    people["root"] = dict(factories.SysadminWithToken(name="root"))
    relief = [
        {"name": "editor", "capacity": "editor"},
        {"name": "colleague", "capacity": "editor"},
        {"name": "admin", "capacity": "admin"},
        {"name": "member", "capacity": "member"},
    ]
    factories.Organization(name="relief", title="Relief Works", users=relief)
    of_roads = [{"name": "admin", "capacity": "admin"}, {"name": "root", "capacity": "member"}]
    factories.Organization(name="roads", title="Roads", users=of_roads)
    wells = make_dataset(Status.FRESH, "wells", title="Wells", owner_org="relief")
    resource = break_link(wells)
    keep_copy(resource, wells["id"], datetime(2026, 11, 12))
    make_dataset(Status.OVERDUE, "clinics", title="Clinics", owner_org="relief", private=True)
    make_dataset(Status.DUE, "camps", title="Camps", owner_org="relief")
    make_dataset(Status.UNAVAILABLE, "shelters", title="Shelters", owner_org="relief")
    make_dataset(Status.FRESH, "tents", title="Tents", owner_org="relief")
    make_dataset(Status.DELINQUENT, "bridges", title="Bridges", owner_org="roads")
    own = factories.Dataset(name="own", title="Own", user=people["stranger"], owner_org=None)
    assert own["owner_org"] is None
    gone = make_dataset(Status.DELINQUENT, "gone", title="Gone", owner_org="relief")
    break_link(gone)
    call_action("package_delete", dict(ROOT), id=gone["id"])
    people["nobody"] = None
    return people


@pytest.fixture
def post(read: Read, world: People) -> Post:
    """A function that sends a form of the worklist as a user, as a browser does or as htmx does."""

    def post(
        do: str, who: str, *, htmx: bool = False, status: int = 200, list: str = "mine", **form: Any
    ) -> Any:
        data = {"do": do, "list": list, **form}
        return read("/freshness/tasks", who, status, data=data, htmx=htmx)

    return post


def tasks(page: Any) -> dict[str, list[str]]:
    """Return the titles of the tasks of each group."""
    return {
        section.h2["id"].removeprefix("tasks-"): [
            title.get_text() for title in section.select("h3 a")
        ]
        for section in page.select("section:has(h2[id^=tasks-])")
    }


OF_RELIEF = {"broken": ["Table (CSV)"], "update": ["Clinics", "Camps"], "frequency": ["Shelters"]}
OF_ROADS = ["Bridges"]

LISTED = {
    ("editor", ""): OF_RELIEF,
    ("editor", "?organization=relief"): OF_RELIEF,
    ("editor", "?group=update"): {"update": OF_RELIEF["update"]},
    ("admin", ""): {**OF_RELIEF, "update": [*OF_ROADS, *OF_RELIEF["update"]]},
    ("admin", "?organization=roads"): {"update": OF_ROADS},
    # A sysadmin's tasks are all; those of the own organizations are a filter that is seen.
    ("root", ""): {**OF_RELIEF, "update": [*OF_ROADS, *OF_RELIEF["update"]]},
    ("root", "?organization=.own"): {"update": OF_ROADS},
    ("member", ""): {},
    # Own is of no organization.
    ("stranger", ""): {},
}


@pytest.mark.parametrize(("who", "query"), LISTED)
def test_whose_tasks_are_listed(read: Read, who: str, query: str) -> None:
    page = read(f"/freshness/mine{query}", who)
    assert tasks(page) == LISTED[who, query]
    total, header = page.select_one(".fr-filters b"), page.select_one("#freshness-task-count")
    chosen = [str(one["value"]) for one in page.select("#tasks-organization option")]
    assert (".own" in chosen) == (who == "root")
    if who in ("editor", "admin", "root") and "organization" not in query:
        # One count, of tasks, by one name; the sentence also says of how many datasets they are.
        assert words(header) == words(total) and "My tasks" in words(header.parent)
        assert words(page.select_one("p[role=status]")).startswith(f"{words(total)} task")


def test_the_header_counts_again_after_an_edit(read: Read, app: Any, world: People) -> None:
    def counted() -> int:
        return int(words(read("/freshness", "editor").select_one("#freshness-task-count")))

    before = counted()
    made = make_dataset(Status.UNAVAILABLE, "arrived", owner_org="relief")
    path, editor = "/api/3/action/package_patch", world["editor"]
    headers = {"Authorization": editor["token"] if editor else ""}
    for frequency, tasks_then in (("", before + 1), ("7", before)):
        extras = [{"key": "frequency", "value": frequency}] if frequency else []
        app.post(
            path,
            headers=headers,
            json={"id": made["id"], "title": f"Every {frequency}", "extras": extras},
        )
        assert counted() == tasks_then


def facts(name: str) -> dict[str, Any]:
    """Return everything that decides how fresh a dataset is."""
    shown = call_action("freshness_show", id=name)
    keys = ("status", "last_modified", "evidence", "pieces", "boundaries", "frequency")
    extras = {
        extra["key"]: extra["value"] for extra in call_action("package_show", id=name)["extras"]
    }
    return {**{key: shown[key] for key in keys}, "extras": extras}


@pytest.mark.parametrize("htmx", [False, True])
def test_confirm_and_undo(post: Post, read: Read, *, htmx: bool) -> None:
    name = f"confirmed-{htmx}".lower()
    made = make_dataset(Status.OVERDUE, name, title=name, owner_org="relief")
    confirm, here = f"confirm::{made['id']}", {"htmx": htmx, "list": "mine.update"}
    before = facts(name)
    page = post(confirm, "editor", **here)
    assert f"You confirmed that {name} is still accurate." in words(page)
    of_another_tab = undo(post(confirm, "editor", **here))
    assert name not in tasks(read("/freshness/mine", "editor"))["update"]
    assert facts(name)["status"] == "fresh"
    undone = post(who="editor", **undo(page), **here)
    assert facts(name) == before
    if htmx:
        # The row is back.
        assert words(undone.h3) == f"{name} Overdue"
    else:
        assert f"Undone: {name} is as before." in words(undone)
        assert name in tasks(undone)["update"]
    for button in (undo(page), of_another_tab):
        assert "This can no longer be undone" in words(post(who="editor", **button, **here))


def test_two_editors_confirm(post: Post, world: dict[str, dict[str, Any]]) -> None:
    """Whoever undoes their own confirmation does not take back a colleague's."""
    made = make_dataset(Status.OVERDUE, "shared", title="Shared", owner_org="relief")
    confirm = f"confirm::{made['id']}"
    mine = undo(post(confirm, "editor"))
    # Dates of confirmations have no fractions: two of the same second would be one.
    with time_machine.travel(datetime.now(timezone.utc) + timedelta(seconds=10)):
        post(confirm, "colleague")
        refused = post(who="editor", **mine)
        shown = call_action("freshness_show", id="shared")
    assert "confirmed again since then" in words(refused)
    author = world["colleague"]["fullname"]
    assert (shown["status"], shown["confirmation"]["author"]) == ("fresh", author)
    # Undo brings a colleague's confirmation back as it was.
    with time_machine.travel(datetime.now(timezone.utc) + timedelta(minutes=5)):
        post(who="editor", **undo(post(confirm, "editor")))
    assert call_action("freshness_show", id="shared")["confirmation"] == shown["confirmation"]


@pytest.mark.parametrize("is_bulk", [False, True])
def test_the_same_form_sent_twice_acts_once(post: Post, *, is_bulk: bool) -> None:
    """As by a double click, whose second answer is the one that people see."""
    name = f"twice-{is_bulk}".lower()
    made = make_dataset(Status.FRESH, name, title=name, owner_org="relief")
    ids = {"id": made["id"]} if is_bulk else {}
    do = f"frequency:30:{'' if is_bulk else made['id']}"
    first, second = (post(do, "editor", _csrf_token="of the page", **ids) for _ in range(2))
    said = f"frequency of {name} is now: Every month."
    assert said in words(first) and said in words(second)
    assert facts(name)["frequency"]["days"] == 30


def make_late(*names: str, **fields: Any) -> dict[str, str]:
    """Return the ids of overdue datasets by name."""
    return {
        name: make_dataset(Status.OVERDUE, name, title=f"The {name}", **fields)["id"]
        for name in names
    }


def test_work_on_all_ticked_rows_and_undo(post: Post) -> None:
    """One action, one line that says what was done and what was not and why, one Undo."""
    ids = make_late("hills", "lakes", "woods", owner_org="relief")
    ids |= make_late("alien", owner_org="roads") | make_late("removed", owner_org="relief")
    call_action("package_delete", dict(ROOT), id="removed")
    before = {name: facts(name) for name in ids if name != "removed"}
    for do, said in (
        ("confirm::", "3 datasets were confirmed."),
        ("frequency:30:", "3 update frequencies were set."),
    ):
        page = post(do, "editor", id=[*ids.values()], list="datasets", back="q=The")
        reason = "This dataset was deleted, or you may not change it."
        assert f"{said} Nothing was changed in 2: {reason}" in words(page)
        after = {name: facts(name) for name in before}
        assert {name for name in before if after[name] != before[name]} == {
            "hills",
            "lakes",
            "woods",
        }
        if do == "confirm::":
            assert "Undone: 3 rows are as before." in words(post(who="editor", **undo(page)))
            assert {name: facts(name) for name in before} == before
    assert model.Package.get("removed").state == "deleted"


def test_all_rows_of_the_page_are_ticked_without_scripts(post: Post, read: Read) -> None:
    make_late("north", "south", owner_org="relief")
    where = "q=The+&status=overdue"
    page = read(f"/freshness/datasets?{where}", "editor")
    (rows,) = (one["value"] for one in page.select("[name=rows]"))
    assert len(rows.split()) == len(page.select("[name=id]")) > 1
    assert "Tick the rows first." in words(post("confirm::", "editor", rows=rows))
    page = post("confirm::", "editor", rows=rows, all="on", list="datasets", back=where)
    assert f"{len(rows.split())} datasets were confirmed." in words(page)
    assert not page.select("[name=id]") and "Nothing matches your search." in words(page)


def test_ticked_rows_get_no_frequency_that_nobody_chose(post: Post, read: Read) -> None:
    page = read("/freshness/mine?group=frequency", "editor")
    first = page.select_one("select[name=wanted] option")
    assert first["value"] == "" and words(first) == "Choose a frequency"
    id = call_action("package_show", id="shelters")["id"]
    answer = post("frequency::", "editor", list="mine.frequency", id=id, wanted=first["value"])
    assert "Choose an update frequency from the list." in words(answer)
    assert facts("shelters")["frequency"]["days"] is None


def test_refused(post: Post) -> None:
    made = make_dataset(Status.OVERDUE, "refused", title="Refused", owner_org="relief")
    before = facts("refused")
    id = made["id"]
    acts = (f"confirm::{id}", f"frequency:30:{id}", f"check::{id}")
    text = "This dataset was deleted, or you may not change it."
    for do in acts:
        assert "you are not logged in any more" in words(post(do, "nobody", htmx=True)), do
        for who in ("member", "stranger"):
            assert text in words(post(do, who)), (do, who)
            assert text in words(post(do, who, htmx=True)), (do, who)
    assert facts("refused") == before
    call_action("package_delete", dict(ROOT), id=id)
    for do in acts:
        assert text in words(post(do, "editor")), do
    assert model.Package.get(id).state == "deleted"


def test_harvested_datasets_are_mended_at_their_source(read: Read) -> None:
    """The next harvest would overwrite what an editor changes here."""
    made = make_dataset(Status.OVERDUE, "harvested", title="Harvested", owner_org="relief")
    resource = break_link(made)
    source = imported(made["id"], None)
    try:
        page = read("/freshness/mine", "editor")
        broken, due = (
            one for one in page.select(".fr-task") if one.select("a[href*='/harvested/']")
        )
        pages = {
            "broken": broken,
            "due": due,
            "dataset": read("/dataset/harvested/freshness", "editor").select_one(".fr"),
            "resource": read(f"/dataset/harvested/resource/{resource}", "editor").select_one(".fr"),
        }
    finally:
        model.Session.query(harvest_model.HarvestObject).delete()
        model.Session.commit()
    for name, part in pages.items():
        assert part.select(f"a[href='/harvest/{source}']"), name
        for action in ("Upload new data", "Edit link"):
            assert action not in words(part), (name, action)
        if name != "due":
            assert "Check again" in words(part), name
    assert "if the source states a frequency itself" in words(due)
    assert "Confirm still accurate" in words(due)
    assert "Confirm still accurate" in words(pages["dataset"])


def end_check(dataset: dict[str, Any]) -> None:
    """Take the check of a dataset out of its queue, as a worker does."""
    job_from_id(f"freshness-check-{dataset['id']}").delete()


@pytest.fixture
def worker(with_plugins: None) -> Iterator[Worker]:
    """A background worker, which is seen and does nothing."""
    worker = Worker()
    worker.register_birth()
    yield worker
    worker.register_death()


def test_editors_hear_whether_a_worker_takes_the_check(
    post: Post, read: Read, worker: Worker
) -> None:
    """Whoever asks for a check, and sees one that is queued, learns whether its result is to be expected."""
    made = make_dataset(Status.FRESH, "asked", title="Asked", owner_org="relief")
    resource = break_link(made)
    here = "/dataset/asked/freshness"

    def said() -> dict[str, str]:
        try:
            return {
                "button": words(
                    read(f"{here}/check", "editor", data={}).select_one(".flash-messages")
                ),
                "again": words(
                    read(f"{here}/check", "editor", data={}).select_one(".flash-messages")
                ),
                "page": words(read(here, "editor").select_one("#freshness-checks")),
                "ticked": words(post("check", "editor", id=[resource])),
                "row": words(post(f"check::{resource}", "editor", htmx=True, list="mine.broken")),
            }
        finally:
            end_check(made)

    expected = said()
    assert "A check of these links is already queued." in expected["again"]
    assert "Checking the link Table (Asked)" in expected.pop("row")
    worker.register_death()
    waiting = said()
    for page in expected:
        assert "Results usually appear within a few minutes." in expected[page], page
        assert "Results usually appear" not in waiting[page], page
    for page, text in waiting.items():
        assert "It waits, because no background worker is running." in text, page


def test_check_again(post: Post, read: Read, worker: Worker) -> None:
    """The row asks for the result until the check has ended, and says what became of the link."""
    made = make_dataset(Status.FRESH, "checked", title="Checked", owner_org="relief")
    resource = break_link(made)
    for where in ("mine.broken", "broken"):
        page = post(f"check::{resource}", "editor", htmx=True, list=where)
        assert "Checking the link Table (Checked)" in words(page)
        again = str(page.select_one("[hx-get]")["hx-get"])
        waits = read(again, "editor").select_one("[hx-get]")
        assert "Checking" in words(waits) and waits["hx-get"] != again
        late = read(again.replace("polls=1", "polls=40"), "editor")
        assert "The check has not run yet." in words(late)
        assert not late.select("[hx-get]")
        end_check(made)
        ended = read(again, "editor")
        assert "Checked just now: Broken link" in words(ended)
        assert ended.select_one(f"button[value='check::{resource}']")
    row = model.Session.get(ResourceCheck, resource)
    row.failures, row.failing_since, row.attempts = 0, None, [{"outcome": "downloaded"}]
    model.Session.commit()
    assert "Table (Checked): Link works." in words(read(again, "editor"))
    assert "was deleted, or you may not change it" in words(read(again, "stranger"))


# What editors ignore: it is no task and in no mail until the end, and can be seen.


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
