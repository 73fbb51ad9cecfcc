"""Whole runs against a real file host, each at a given moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
import sqlalchemy as sa
from ckan.tests import factories, helpers

from ckanext.freshness.checking import run_records
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.database import locked_if_free
from ckanext.freshness.ckan_adapter.packages import package_extras
from ckanext.freshness.mails import news
from ckanext.freshness.model import DatasetFreshness, ResourceCheck
from ckanext.freshness.reporting import changes
from ckanext.freshness.runs import check_run
from ckanext.freshness.runs.check_run import CheckScope, RunResult
from ckanext.freshness.status import indexing
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.checking.workbooks import archive
from ckanext.freshness.tests.processes import until
from ckanext.freshness.tests.servers.base import Answer, Request
from ckanext.freshness.tests.servers.faults import Hold, Status
from ckanext.freshness.tests.servers.file_host import FILES, FileHost, HostedFile
from ckanext.freshness.tests.status.measuring import measured
from ckanext.freshness.tests.web.support import FileServer

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index", "impatient_checks")

DAY = timedelta(days=1)
START = datetime.now(timezone.utc).replace(microsecond=0)
"""When CKAN creates the datasets, by its own clock."""

WHAT = {file.path: file for file in FILES}


class Host(FileHost):
    """A file host with a URL that redirects to another host."""

    elsewhere = ""

    def answer(self, request: Request) -> Answer:
        if request.path == "/elsewhere":
            return Answer(302, b"", {"Location": self.elsewhere})
        return super().answer(request)


@pytest.fixture
def host() -> Iterator[Host]:
    # Its newest file is a day old when it is visited.
    with Host(now=START + 10 * DAY) as server:
        yield server


Make = Callable[..., dict[str, Any]]


@pytest.fixture
def make(host: Host) -> Make:
    """Return a function that creates a weekly dataset with a resource for each file."""

    def dataset(*files: HostedFile, **more: Any) -> dict[str, Any]:
        resources = [
            {"url": host.url_of(file), "name": file.title, "format": file.format} for file in files
        ]
        extras = [{"key": "frequency", "value": "7"}]
        return factories.Dataset(**{"resources": resources, "extras": extras, **more})

    return dataset


def run(after: timedelta, scope: CheckScope | None = None) -> RunResult:
    """Do a run and a refresh at a time after the start."""
    _, done = check_run.check(scope or CheckScope(), lambda: START + after)
    refresh(START + after)
    model.Session.remove()
    return done


def stored(dataset: dict[str, Any]) -> dict[str, str]:
    """Return the extras in the database."""
    model.Session.remove()
    return package_extras(model.Package.get(dataset["id"]))


def history(resource: dict[str, Any]) -> dict[str, Any]:
    model.Session.remove()
    return helpers.call_action("freshness_resource_history", id=resource["id"])


def test_a_link_without_a_scheme_is_the_one_that_ckan_shows(
    host: Host, make: Make, app: Any
) -> None:
    url = host.url_of(WHAT["/stocks.csv"])
    given = {"with slashes": url.removeprefix("http:"), "without": url.removeprefix("http://")}
    dataset = make(resources=[{"url": one, "name": name} for name, one in given.items()])
    shown = helpers.call_action("package_show", id=dataset["id"])["resources"]
    assert [resource["url"] for resource in shown] == [url, url]
    assert run(10 * DAY).counts.columns()["resources"] == {"first hash": 2}
    links = helpers.call_action("freshness_show", id=dataset["id"])["links"]["resources"]
    assert [(link["url"], link["state"]) for link in links] == [(url, "works"), (url, "works")]
    # What checks say of themselves.
    said = host.requests[-1].headers
    assert said["User-Agent"].startswith("Mozilla/5.0 (compatible; ckanext-freshness/")
    assert said["User-Agent"].endswith(f"; +{tk.config['ckan.site_url'].rstrip('/')}/)")
    assert said["Accept-Language"] == "en, *;q=0.5"
    assert said["Accept"] == "*/*"
    assert {history(resource)["url"] for resource in shown} == {url}
    page = app.get(f"/dataset/{dataset['name']}/freshness", status=200)
    assert page.body.count(url) >= 2
    for name in (f"dataset/{dataset['name']}/freshness.csv", "freshness/links.csv"):
        assert app.get(f"/{name}", status=200).body.count(url) == 2


def test_a_file_that_its_store_gives_to_nobody_is_broken(host: Host, make: Make, app: Any) -> None:
    file = WHAT["/stocks.csv"]
    dataset = make(file)
    run(10 * DAY)
    body = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"
    host.faults[file.path] = Status(403, body, {"Content-Type": "application/xml"})
    for days in range(20, 23):
        run(days * DAY)
    (link,) = helpers.call_action("freshness_show", id=dataset["id"])["links"]["resources"]
    assert link["state"] == "broken"
    words = "The file is gone or not public any more, or the link to it has expired."
    assert words in link["explanation"]
    assert words in app.get(f"/dataset/{dataset['name']}/freshness", status=200).body


def test_a_file_that_comes_as_another_kind_is_an_update() -> None:
    """An archive replaces the file, is written anew, and cannot be opened for a night."""
    first, anew = (archive({"a.csv": "id,name\n1,Ada\n"}, year=year) for year in (2020, 2021))
    nights = {
        b"id,name\n1,Ada\n2,Grace\n": ("first hash", "delinquent"),
        first: ("hash", "fresh"),
        anew[:-30]: ("first hash", "delinquent"),
        anew: ("same hash", "delinquent"),
        b"id,name\n1,Ada\n": ("hash", "fresh"),
    }
    with FileServer() as server:
        resources = [{"url": f"{server.url}/file"}]
        dataset = factories.Dataset(
            resources=resources, extras=[{"key": "frequency", "value": "7"}]
        )
        found = {}
        for number, body in enumerate(nights, 1):
            server.files["/file"] = Answer(200, body)
            (outcome,) = run(number * 30 * DAY).counts.columns()["resources"]
            found[body] = outcome, model.Session.get(DatasetFreshness, dataset["id"]).status
    assert found == nights


def test_a_file_that_is_written_anew_says_up_to_when_its_data_reach(app: Any) -> None:
    with FileServer() as server:
        dataset, other = (
            factories.Dataset(
                resources=[{"url": f"{server.url}/{name}", "format": "CSV"}],
                extras=[{"key": "frequency", "value": frequency}],
            )
            # The status of the second one never changes by itself.
            for name, frequency in {"data": "7", "older": "-1"}.items()
        )

        def night(number: int, *days: str) -> dict[str, Any]:
            rows = "".join(f"{day},{number}\n" for day in days)
            server.files["/data"] = Answer(200, f"date,v\n{rows}".encode())
            server.files["/older"] = Answer(200, b"year,v\n" + b"2019,1\n" * 3)
            run(number * 30 * DAY)
            shown = helpers.call_action("freshness_show", id=dataset["id"])
            return {**shown["data_until"], "status": stored(dataset)["freshness"]}

        march = ("2020-03-01", "2020-03-31", "2020-02-01")
        assert night(1, *march)["period"] == "2020-03-31"
        found = night(2, *march)
        assert found["status"] == "fresh"
        assert (found["until"], found["column"]) == ("2020-03-31", "date")
        assert stored(dataset)["freshness_data_until"] == "2020-03-31"
        assert stored(other)["freshness_data_until"] == "2019"
        # For a dataset of each week, it has changed for a month without newer data.
        stands = "The file changed on"
        assert stands in app.get(f"/dataset/{dataset['name']}/freshness", status=200).body
        assert stands not in app.get(f"/dataset/{other['name']}/freshness", status=200).body
        listed = app.get("/dataset/?freshness_data=stands", status=200).body
        assert "File changes, data do not" in listed
        assert f"/dataset/{dataset['name']}" in listed
        assert f"/dataset/{other['name']}" not in listed
        (mail,) = [one for one in news.overdue(START + 60 * DAY) if one.details]
        assert mail.package_id == dataset["id"]
        for path, words in {
            f"/dataset/{dataset['name']}/freshness": "Data up to 31 March 2020.",
            f"/dataset/{dataset['name']}": "31 March 2020",
            f"/dataset/{other['name']}/freshness": "Data up to 2019.",
        }.items():
            assert words in app.get(path, status=200).body
        newest = helpers.call_action("package_search", sort="freshness_data_until_date desc")
        assert [one["id"] for one in newest["results"]] == [dataset["id"], other["id"]]
        assert night(3, *march, "2020-04-01")["stands_since"] is None
        assert not [one for one in news.overdue(START + 90 * DAY) if one.details]
        # A plan stays one when its time has come.
        assert night(4, *march, "2999-01-01")["reason"] == "schedule"
        assert night(5, *march)["reason"] == "schedule"
        assert "freshness_data_until" not in stored(dataset)


def test_how_far_data_lie_behind_is_learned_from_four_updates(app: Any) -> None:
    with FileServer() as server:
        dataset = factories.Dataset(resources=[{"url": f"{server.url}/data", "format": "CSV"}])
        for number in range(1, 6):
            # A change that only checks see counts in the middle between them.
            days = [START + (30 * number - 60 - age) * DAY for age in range(3)]
            rows = "".join(f"{day:%Y-%m-%d},1\n" for day in days)
            server.files["/data"] = Answer(200, f"date,v\n{rows}".encode())
            run(number * 30 * DAY)
            shown = helpers.call_action("freshness_show", id=dataset["id"])
            lag = shown["data_until"]["lag"]
            assert (lag is None) is (number < 4)
        newest, expected = (f"{START + days * DAY:%Y-%m-%d}" for days in (90, 165))
        assert lag == {
            **{"days": 45, "lowest_days": 45, "highest_days": 45, "step_days": 30, "updates": 4},
            "next_expected": expected,
        }
        listed = helpers.call_action("freshness_change_list", id=dataset["id"])["changes"]
        assert listed[-1]["summary"]["data_until"][1] == newest
        assert changes.change_label(listed[-1]).startswith("3 rows; now up to ")
        page = app.get(f"/dataset/{dataset['name']}/freshness", status=200).body
        assert "Usually 45 days behind; the next are expected about" in page


@pytest.mark.parametrize(
    ("policy", "outcomes", "status", "undetermined"),
    [
        ("hdx", ("first hash", "hash"), "fresh", None),
        ("learned", ("page", "page"), "unavailable", "page"),
    ],
)
def test_a_page_that_changes_is_new_data_for_hdx_alone(
    app: Any,
    ckan_config: Any,
    monkeypatch: pytest.MonkeyPatch,
    policy: str,
    outcomes: tuple[str, ...],
    status: str,
    undetermined: str | None,
) -> None:
    monkeypatch.setitem(ckan_config, "ckanext.freshness.check.policy", policy)
    with FileServer() as server:
        resources = [{"url": f"{server.url}/page", "format": "HTML"}]
        dataset = factories.Dataset(
            resources=resources, extras=[{"key": "frequency", "value": "7"}]
        )
        for number, outcome in enumerate(outcomes, 1):
            headers = {
                "Last-Modified": format_datetime(START + number * 30 * DAY - DAY, usegmt=True)
            }
            body = b"<!DOCTYPE html><html><title>News %d</title></html>" % number
            server.files["/page"] = Answer(200, body, headers if policy == "learned" else {})
            (found,) = run(number * 30 * DAY).counts.columns()["resources"]
            assert found == outcome
    extras = stored(dataset)
    assert extras["freshness"] == status
    assert extras.get("freshness_undetermined") == undetermined
    page = app.get(f"/dataset/{dataset['name']}/freshness", status=200)
    assert ("updates of the data can&#39;t be detected" in page.body) is (policy == "learned")


@pytest.mark.parametrize("policy", ["hdx", "learned"])
def test_a_link_that_fails_is_checked_each_night_and_broken_within_three(
    host: Host, make: Make, ckan_config: Any, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    """Neither a dataset without an update frequency nor a budget of one check a night delays it."""
    monkeypatch.setitem(ckan_config, "ckanext.freshness.check.policy", policy)
    monkeypatch.setitem(ckan_config, "ckanext.freshness.check.checks_per_run", 1)
    (dead,) = make(WHAT["/stocks.csv"], extras=[])["resources"]
    make(WHAT["/boundaries.csv"], extras=[{"key": "frequency", "value": "1"}])

    for night in (1, 2):
        run(night * DAY)
    host.faults["/stocks.csv"] = Status(code=404)
    failed = {}
    for night in range(31, 36):
        before = host.count("/stocks.csv")
        run(night * DAY)
        if host.count("/stocks.csv") > before:
            failed[night] = history(dead)["broken"]
    # Another file may be read in the first of these nights.
    first = min(failed)
    assert first <= 32
    assert failed == {first: False, first + 1: False, first + 2: True}


def test_a_run_beside_another_leaves_its_hosts_to_it(host: Host, make: Make) -> None:
    make(WHAT["/stocks.csv"])
    with locked_if_free(run_records.CHECKING):
        done = run(10 * DAY)
    assert (done.refused, done.counts.checks) == (True, 0)
    assert "Another run is checking hosts" in check_run.missing_in_words(done)[0]
    assert host.count("/stocks.csv") == 0
    assert run(10 * DAY).counts.checks == 1


def test_a_url_that_was_edited_meanwhile_keeps_nothing_of_the_old_one(
    host: Host, make: Make
) -> None:
    dataset = make(WHAT["/stocks.csv"])
    resource = dataset["resources"][0]
    hold = host.faults["/stocks.csv"] = Hold()
    with ThreadPoolExecutor(1) as other:
        running = other.submit(run, 10 * DAY)
        until(lambda: host.count("/stocks.csv") == 1)
        new = host.url_of(WHAT["/boundaries.csv"])
        user = {"user": factories.Sysadmin()["name"]}
        helpers.call_action("resource_patch", user, id=resource["id"], url=new)
        hold.release()
        assert running.result(60).counts.checks == 1
    known = history(resource)
    assert (known["url"], known["hash"], known["attempts"]) == (new, None, [])
    assert run(20 * DAY).counts.columns()["resources"] == {"first hash": 1}


def test_a_check_of_one_dataset_leaves_all_others_alone(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It neither waits for a run nor compares other resources, and other runs may write meanwhile."""
    asked, other = make(WHAT["/stocks.csv"]), make(WHAT["/boundaries.csv"])
    model.Session.execute(
        sa.text("DELETE FROM freshness_dataset WHERE package_id = :id"), {"id": other["id"]}
    )
    model.Session.commit()
    named = CheckScope(package_ids=(asked["id"],))
    with locked_if_free(run_records.CHECKING), measured(monkeypatch) as found:
        for _ in range(2):
            _, done = check_run.check(named, lambda: START + DAY)
            assert done.counts.checks == 1, "it is due, or not"
    assert not [one for one in found.statements if "pg_advisory_xact_lock(" in one]
    known = model.Session.query(ResourceCheck.package_id).all()
    assert [row.package_id for row in known] == [asked["id"]]
    assert model.Session.query(DatasetFreshness).get(other["id"]) is None
    assert run(2 * DAY, CheckScope(everything=True)).counts.checks == 2


def test_a_dataset_is_indexed_once_whenever_its_files_are_visited(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = make(WHAT["/stocks.csv"], WHAT["/boundaries.csv"], WHAT["/bulletin.csv"])
    other = make(WHAT["/stocks.csv"])
    monkeypatch.setattr(check_run, "RESULT_BATCH", 1)
    with measured(monkeypatch) as found:
        check_run.check(CheckScope(), lambda: START + 10 * DAY)
    assert sorted(found.documents) == sorted([several["id"], other["id"]])
    assert indexing.heal() == (0, []), "nothing is left to be indexed"
