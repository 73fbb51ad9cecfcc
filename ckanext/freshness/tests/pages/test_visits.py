"""The results of checks on a dataset's page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup, Tag
from ckan.lib import jobs
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.checking.decisions import Outcome
from ckanext.freshness.ckan_adapter import model
from ckanext.freshness.dates import utc, utc_text
from ckanext.freshness.model import Copy
from ckanext.freshness.reporting import labels, link_checks
from ckanext.freshness.runs import check_run
from ckanext.freshness.runs.check_run import CheckScope
from ckanext.freshness.tests.pages.conftest import Read
from ckanext.freshness.tests.pages.test_dataset_page import logged_in, moments, tk_config
from ckanext.freshness.tests.pages.test_dataset_page import words as text
from ckanext.freshness.tests.servers.file_host import FILES, FileHost

pytestmark = pytest.mark.usefixtures("impatient_checks")

DAY = timedelta(days=1)
NOW = datetime.now(timezone.utc).replace(microsecond=0)
PATH = "/dataset/files/freshness"
TITLES = {file.path: file.title for file in FILES}


@pytest.fixture
def host() -> Iterator[FileHost]:
    with FileHost(now=NOW + 20 * DAY) as server:
        yield server


@pytest.fixture
def editor(clean_site: None) -> dict[str, Any]:
    """A user who may edit the datasets of the organization "relief"."""
    user = factories.UserWithToken()
    factories.Organization(name="relief", users=[{"name": user["name"], "capacity": "editor"}])
    return dict(user)


def make(*urls: str, **more: Any) -> dict[str, Any]:
    """Create a weekly dataset with a resource for each URL."""
    resources = [{"url": url, "name": f"File {number}"} for number, url in enumerate(urls)]
    extras = [{"key": "frequency", "value": "7"}]
    return dict(
        factories.Dataset(**{"name": "files", "resources": resources, "extras": extras, **more})
    )


def of_host(host: FileHost) -> dict[str, Any]:
    """A dataset with all files of a host."""
    links = [
        {"url": host.url_of(file), "name": file.title, "format": file.format} for file in FILES
    ]
    return make(resources=links)


def run(after: timedelta) -> None:
    check_run.check(CheckScope(everything=True), lambda: NOW + after)
    model.Session.remove()


def rows(page: BeautifulSoup) -> dict[str, Tag]:
    """Return the rows of the table by the resource's name, in order."""
    return {text(row.select("a")[0]): row for row in page.select("#freshness-visits tbody tr")}


def found(row: Tag) -> str:
    """Return the result in a row, without earlier attempts."""
    (cell,) = row.select("td:nth-of-type(3)")
    for one in cell.select("details"):
        one.extract()
    return text(cell)


def test_what_visits_found_is_said(host: FileHost, read: Read) -> None:
    of_host(host)
    shown = rows(read(PATH))
    assert {text(row).endswith("Never visited") for row in shown.values()} == {True}

    run(20 * DAY)
    host.publish()
    run(22 * DAY)
    page = read(PATH)
    shown = rows(page)
    assert list(shown)[:2] == [TITLES["/admissions.csv"], TITLES["/wells.csv"]]
    assert {found(shown[TITLES[path]]) for path in ("/api/prices.json",)} == {
        "Its content differs at each download, so that nobody can tell whether the data changed. "
        "HTTP status 200"
    }
    assert found(shown[TITLES["/boundaries.csv"]]) == (
        "The server says that it has not changed. HTTP status 304"
    )
    stocks = shown[TITLES["/stocks.csv"]]
    assert found(stocks) == "Its content has changed. HTTP status 200"
    changed = [str(one["datetime"]) for one in stocks.select("td:last-child time")]
    assert changed == [(NOW + 22 * DAY).strftime("%Y-%m-%dT%H:%M:%SZ")]
    wells = found(shown[TITLES["/wells.csv"]])
    assert wells.startswith("It could not be read. answered 404 (Not Found)")
    assert wells.endswith(": 2 visits.")
    assert "Broken" not in wells
    registry = found(shown[TITLES["/registry.csv"]])
    assert registry.startswith("The server did not let this site look: it may be there for people.")
    assert "403" in registry
    assert "failed" not in registry
    moved = found(shown[TITLES["/old/shelters.csv"]])
    assert moved.endswith(f"It redirects to: {host.url}/shelters.csv")
    assert len(shown[TITLES["/stocks.csv"]].select("time")) == 2
    (before, *_) = [row.select("details li") for row in rows(read(PATH)).values()]
    assert len(before) == 2

    run(24 * DAY)
    wells = found(rows(read(PATH))[TITLES["/wells.csv"]])
    assert "Broken. It has failed since" in wells
    assert wells.endswith(": 3 visits.")


def test_a_file_of_another_kind_is_told_until_the_format_is_mended(
    host: FileHost, read: Read
) -> None:
    (resource,) = make(
        resources=[{"url": f"{host.url}/stocks.csv", "name": "Stocks", "format": "XLS"}]
    )["resources"]
    run(20 * DAY)

    def told() -> tuple[bool, list[Any], list[Any]]:
        page = "Wrong format. This file is delimited text, but its format is given as XLS."
        known = call_action("freshness_resource_history", id=resource["id"])
        listed = call_action("freshness_report", table="mismatches")["rows"]
        return (
            page in found(rows(read(PATH))["Stocks"]),
            [known["promised"], known["found"], known["failures"]],
            [[one["name"], one["promised"], one["found"]] for one in listed],
        )

    wrong = ["XLS", "delimited text"]
    assert told() == (True, [*wrong, 0], [["files", *wrong]])
    # The resource now has the server's media type, which promises nothing.
    assert call_action("resource_show", id=resource["id"])["mimetype"] == "text/csv"
    host.publish()
    run(22 * DAY)
    assert told() == (True, [*wrong, 0], [["files", *wrong]])
    user = {"user": factories.Sysadmin()["name"]}
    mended = {key: resource[key] for key in ("id", "url", "name")}
    call_action("package_patch", user, id="files", resources=[{**mended, "format": "CSV"}])
    assert told() == (False, [None, None, 0], [])


def test_why_nothing_can_be_said(host: FileHost, read: Read) -> None:
    make(f"{host.url}/api/prices.json")
    run(20 * DAY)
    assert read(PATH).select("#freshness-undetermined") == []
    run(22 * DAY)
    (said,) = read(PATH).select("#freshness-undetermined")
    assert "The link answers differently each time" in text(said)
    assert "The status is what the dates give, and may be wrong." in text(said)


def test_hosts_that_are_not_visited(
    read: Read, ckan_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ckan_config, "ckanext.freshness.check.adhoc_hosts", ["made.example.org"])
    make(f"{ckan_config['ckan.site_url']}/table.csv", "https://made.example.org/?q=1")
    run(20 * DAY)
    inside, made = (found(row) for row in rows(read(PATH)).values())
    assert inside == "Not visited: this site holds it itself."
    assert made == "Not visited: its host makes the data when asked for them."


def test_no_secret_is_shown(host: FileHost, read: Read) -> None:
    url = host.url.replace("//", "//user:secret@") + "/wells.csv?token=secret"
    # A resource without a name is shown with its URL.
    make(resources=[{"url": url}])
    run(20 * DAY)
    page = read(PATH)
    assert "secret" not in page.decode()
    assert "***@127.0.0.1" in text(page.select("#freshness-visits")[0])
    shown = call_action("freshness_show", id="files")
    assert "secret" not in json.dumps(shown)
    assert "***@127.0.0.1" in shown["deciding_resource"]["name"]


def test_of_another_url_nothing_is_known(host: FileHost, read: Read) -> None:
    dataset = make(f"{host.url}/wells.csv")
    run(20 * DAY)
    user = {"user": factories.Sysadmin()["name"]}
    # CKAN gives a resource that was written without its id a new one. The results for its URL stay.
    call_action("package_patch", user, id="files", resources=[{"url": f"{host.url}/wells.csv"}])
    assert len(moments(read(PATH), "#freshness-visits")) == 1
    call_action("package_patch", user, id="files", resources=[{"url": f"{host.url}/stocks.csv"}])
    assert "Never visited" in text(read(PATH).select_one("#freshness-visits"))
    assert dataset["num_resources"] == 1


def test_of_many_those_that_fail_are_shown(
    host: FileHost, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_checks, "MOST", 2)
    make(*(f"{host.url}/{name}.csv" for name in ("stocks", "boundaries", "registry", "wells")))
    run(20 * DAY)
    page = read(PATH)
    assert list(rows(page)) == ["File 3", "File 2"]
    assert "These are 2 of 4 resources, those that fail first." in text(page)


def test_a_dataset_without_resources(read: Read) -> None:
    make(resources=[])
    page = read(PATH)
    assert "The dataset has no resources." in text(page)
    assert rows(page) == {}


def test_resources_are_read_together(read: Read) -> None:
    package_id = make(*(f"https://data.example.org/{number}" for number in range(7)))["id"]
    statements: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        statements.append(statement)

    engine = model.Session.get_bind()
    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        assert link_checks.of_dataset(package_id, NOW)["total"] == 7
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)
    # One query for results, a cursor for the next checks, one query for copies; none per resource.
    assert len(statements) == 7


@pytest.mark.parametrize("outcome", list(Outcome))
def test_each_outcome_has_its_sentence(outcome: Outcome) -> None:
    assert labels.outcome_label(outcome).endswith(".")


def buttons(page: BeautifulSoup) -> list[Tag]:
    return page.select(f"form[method=post][action='{PATH}/check']")


@pytest.mark.usefixtures("clean_queues")
def test_editors_have_the_urls_visited(
    app: Any, host: FileHost, read: Read, editor: dict[str, Any]
) -> None:
    make(f"{host.url}/stocks.csv", owner_org="relief")
    for user in (None, factories.UserWithToken()):
        assert buttons(read(PATH, user)) == []
        headers = {"Authorization": user["token"]} if user else {}
        app.post(f"{PATH}/check", headers=headers, status=403)
    assert jobs.get_queue().jobs == []

    (form,) = buttons(read(PATH, editor))
    assert text(form) == "Visit the URLs now"
    headers = {"Authorization": editor["token"]}
    for words_of_page in (
        "A background worker will visit the URLs.",
        "A visit of the URLs is under way already",
    ):
        answer = app.post(f"{PATH}/check", headers=headers)
        page = BeautifulSoup(answer.body, "html.parser")
        assert words_of_page in text(page)
        assert page.select("#freshness-visits")
    jobs.Worker().work(burst=True)
    model.Session.remove()
    (row,) = rows(read(PATH)).values()
    assert found(row).startswith("Its content was read for the first time.")
    assert host.count("/stocks.csv") == 1


def test_copies_are_linked(read: Read, clean_site: None) -> None:
    dataset = make(*(f"https://data.example.org/{name}" for name in "abc"))
    both, one, none = (link["id"] for link in dataset["resources"])
    for resource_id, zip_key in ((both, "b.zip"), (one, None)):
        model.Session.add(
            Copy(
                resource_id=resource_id,
                package_id=dataset["id"],
                key=resource_id,
                zip_key=zip_key,
                size=1,
                sha256="0" * 64,
                filename="a.csv",
                source_url="https://data.example.org/a",
                stored_at=NOW.replace(tzinfo=None),
                verified_at=NOW.replace(tzinfo=None),
            )
        )
    model.Session.commit()
    links = [
        [str(link["href"]) for link in row.select(".freshness-copy a")]
        for row in rows(read(PATH)).values()
    ]
    start = f"http://test.ckan.net/dataset/{dataset['id']}/resource"
    assert links == [
        [f"{start}/{both}/copy", f"{start}/{both}/copy.zip"],
        [f"{start}/{one}/copy"],
        [],
    ]
    shown = {
        one["id"]: one for one in call_action("freshness_show", id="files")["visits"]["resources"]
    }
    assert shown[none]["cached_url"] is None


def test_strangers_do_not_learn_of_private_datasets(app: Any, editor: dict[str, Any]) -> None:
    make("https://data.example.org/a", owner_org="relief", private=True)
    stranger = {"Authorization": factories.UserWithToken()["token"]}
    for path in (PATH, f"{PATH}/check", "/dataset/nothing/freshness/check"):
        app.post(path, headers=stranger, status=404)
    app.get(f"{PATH}/check", headers=stranger, status=404)


@pytest.mark.usefixtures("clean_queues")
def test_other_sites_cannot_ask_for_visits(
    monkeypatch: pytest.MonkeyPatch, make_app: Any, clean_site: None
) -> None:
    make("https://data.example.org/a")
    monkeypatch.setitem(tk_config(), "WTF_CSRF_ENABLED", True)
    browser = logged_in(make_app)
    browser.post(f"{PATH}/check", status=400)
    assert jobs.get_queue().jobs == []
    (form,) = buttons(BeautifulSoup(browser.get(PATH).body, "html.parser"))
    sent = {str(one["name"]): one["value"] for one in form.select("input")}
    browser.post(f"{PATH}/check", data=sent, status=200)
    assert len(jobs.get_queue().jobs) == 1
    jobs.get_queue().empty()


def test_in_german(host: FileHost, read: Read) -> None:
    make(f"{host.url}/wells.csv", f"{host.url}/stocks.csv")
    run(20 * DAY)
    page = read(f"/de{PATH}")
    wells, stocks = (found(row) for row in rows(page).values())
    assert wells.startswith("Es konnte nicht gelesen werden.")
    assert stocks == "Der Inhalt wurde zum ersten Mal gelesen. HTTP-Status 200"
    assert "Was unter den URLs zu finden ist" in text(page)


def test_when_the_next_visit_comes(read: Read, clean_site: None) -> None:
    """The page names URLs in the rotation, and does not announce a check of a failing URL for now."""
    make("http://127.0.0.1:9/due")
    factories.Dataset(name="unsaid", resources=[{"url": "http://127.0.0.1:9/unsaid"}])
    check_run.plan(CheckScope(), NOW)
    assert "on, when its turn comes" in text(read("/dataset/unsaid/freshness"))
    check_run.check(CheckScope(), lambda: NOW + 20 * DAY)
    (shown,) = link_checks.of_dataset(
        call_action("package_show", id="files")["id"], NOW + 20 * DAY + DAY / 2
    )["resources"]
    assert shown["failures"] == 1
    assert (shown["next_visit"], shown["next_in_turn"]) == (
        utc_text(utc(NOW + 21 * DAY - timedelta(hours=1))),
        False,
    )


def test_files(read: Read, app: Any, clean_site: None, host: FileHost) -> None:
    """CSV has the resources, JSON everything, for users who may see the dataset."""
    dataset = of_host(host)
    run(DAY)
    rows = list(csv.DictReader(io.StringIO(app.get(f"{PATH}.csv").body)))
    assert {row["name"] for row in rows} == {file.title for file in FILES}
    assert {bool(row["next_visit"]) for row in rows} == {True}
    shown = json.loads(app.get(f"{PATH}.json").body)
    assert shown["id"] == dataset["id"]
    owner = factories.Organization()["id"]
    context = {"user": factories.Sysadmin()["name"]}
    call_action("package_patch", context, id=dataset["id"], private=True, owner_org=owner)
    for ending in ("csv", "json"):
        app.get(f"{PATH}.{ending}", status=404)


def test_many_dates_are_not_all_on_the_page(read: Read, clean_site: None) -> None:
    make(*(f"http://127.0.0.1:9/{number}" for number in range(150)))
    page = read(PATH)
    assert len(page.select("#freshness-evidence tbody tr")) == 100
    assert "These are the newest 100 of 150 dates" in text(page.select("body")[0])
