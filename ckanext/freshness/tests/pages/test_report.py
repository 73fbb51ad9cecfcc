"""The report's pages, files, feed and metrics: their contents, and who sees them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import ckan.plugins.toolkit as tk
import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from ckan.cli.cli import ckan
from ckan.lib import search
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter import model
from ckanext.freshness.model import CheckRun, FreshnessTransition, ResourceCheck
from ckanext.freshness.reporting import history, report, table_access
from ckanext.freshness.runs import night_parts
from ckanext.freshness.tests.pages.conftest import Read
from ckanext.freshness.tests.reporting.test_metrics import FIRST, FREQUENCIES, NUMBERS
from ckanext.freshness.tests.usual_site import use_hooks_of
from ckanext.harvest import model as harvest_model

NOW = datetime.now(timezone.utc).replace(microsecond=0)
PLAIN = NOW.replace(tzinfo=None)
DAY = timedelta(days=1)
Get = Callable[..., Any]


def make(name: str, age: float = 1, **more: Any) -> dict[str, Any]:
    """Create a weekly dataset of an age in days, with a broken link whose changes cannot be detected."""
    dataset = factories.Dataset(
        **{
            "name": name,
            "title": f"About {name}",
            "extras": [{"key": "frequency", "value": "7"}],
            "resources": [
                {"url": f"http://user:secret@{name}.example.org/{name}.csv", "name": name}
            ],
            **more,
        }
    )
    old = PLAIN - age * DAY
    for table, column in (("resource", "created"), ("freshness_evidence", "happened_at")):
        key = "package_id"
        statement = f"UPDATE {table} SET {column} = :old WHERE {key} = :id"
        model.Session.execute(sa.text(statement), {"old": old, "id": dataset["id"]})
    model.Session.commit()
    return dict(dataset)


def judge() -> None:
    """Write and index the present statuses."""
    from ckanext.freshness.status.refresh import refresh

    refresh(NOW, everything=True)
    model.Session.remove()


def visited(dataset: dict[str, Any], **more: Any) -> None:
    """Add the row of a broken link for a dataset's resource."""
    resource = dataset["resources"][0]
    known: dict[str, Any] = {
        "resource_id": resource["id"],
        "package_id": dataset["id"],
        "url": resource["url"],
        "host": f"{dataset['name']}.example.org",
        "first_seen": PLAIN - 90 * DAY,
        "earlier": [],
        "outdated": False,
        "promised": resource["format"],
        "found": "a ZIP archive",
        "unconfirmed": False,
        "failures": 5,
        "failing_since": PLAIN - 9 * DAY,
        "tried_at": PLAIN - DAY,
        "undetermined": "blocked",
        "attempts": [{"status": 404, "words": "answered 404 (Not Found)"}],
        "wrote": {},
    }
    model.Session.add(ResourceCheck(**{**known, **more}))
    model.Session.commit()


def changed(dataset: dict[str, Any], ago: timedelta = DAY / 2, **more: Any) -> None:
    """Add a change of a dataset's status."""
    row = {"from_status": "fresh", "to_status": "due", "cause": "time", "evidence": "created"}
    moved = FreshnessTransition(package_id=dataset["id"], changed_at=PLAIN - ago, **{**row, **more})
    model.Session.add(moved)
    model.Session.commit()


@pytest.fixture
def get(app: Any, clean_site: None) -> Get:
    """A function that requests a page or a file."""

    def get(path: str, user: dict[str, Any] | None = None, status: int = 200) -> Any:
        headers = {"Authorization": user["token"]} if user else {}
        return app.get(path, headers=headers, status=status)

    return get


def rows_of(answer: Any) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(answer.get_data(as_text=True))))


def names(rows: Any) -> set[str]:
    return {row["name"] for row in rows}


def table(page: BeautifulSoup, name: str) -> list[list[str]]:
    """Return the cells of a table's body."""
    found = page.select_one(f"#freshness-{name}")
    return [
        [" ".join(cell.get_text().split()) for cell in row.select("td")]
        for row in (found.select("tbody tr") if found else ())
    ]


# Visibility.

OF_DATASETS = ("datasets", "due", "changes", "broken", "mismatches", "unclear")


@pytest.fixture
def labels_of_others(with_plugins: Any) -> Iterator[None]:
    """Hide datasets whose notes begin with "Proposed:" from all but admins, as another plugin might."""
    with use_hooks_of("example_ipermissionlabels"):
        yield


@pytest.fixture
def three(people: dict[str, Any]) -> dict[str, Any]:
    """Create a public dataset, a private one and one that ``labels_of_others`` hides, and users."""
    member = [{"name": people["member"]["name"], "capacity": "member"}]
    owner = factories.Organization(name="relief", users=member)["id"]
    made = [
        make("wells", owner_org=owner),
        make("clinics", owner_org=owner, private=True),
        make("shelters", owner_org=owner, notes="Proposed: not yet for all"),
    ]
    judge()
    for dataset in made:
        visited(dataset)
        changed(dataset)
    return people


SEES = {
    "nobody": {"wells"},
    "stranger": {"wells"},
    "member": {"wells", "clinics"},
    "sysadmin": {"wells", "clinics", "shelters"},
}


def test_everybody_sees_what_they_may_see(
    get: Get, labels_of_others: None, three: dict[str, Any]
) -> None:
    everything = SEES["sysadmin"]
    for who, seen in SEES.items():
        user, hidden = three[who], everything - seen
        for name in OF_DATASETS:
            assert names(rows_of(get(f"/freshness/{name}.csv", user))) == seen, (who, name)
            assert names(json.loads(get(f"/freshness/{name}.json", user).body)) == seen, (who, name)
        pages = [
            "",
            "/organization/relief",
            "/organization/relief.csv",
            "/organization/relief.json",
        ]
        pages += ["/changes.atom", *(f"/{name}" for name in OF_DATASETS)]
        for path in pages:
            body = get(f"/freshness{path}", user).get_data(as_text=True)
            assert not [one for one in hidden if one in body], (who, path)
            # The history and the organizations name no dataset; all others do.
            assert all(one in body for one in seen), (who, path)
            assert "secret" not in body, (who, path)
        statuses = rows_of(get("/freshness/statuses.csv", user))
        assert sum(int(row["datasets"]) for row in statuses) == len(seen), who
        (organization,) = rows_of(get("/freshness/organizations.csv", user))
        assert int(organization["datasets"]) == len(seen), who
    # History and hosts cover public datasets.
    table_access.record(NOW)
    (day,) = rows_of(get("/freshness/history.csv"))
    assert (day["day"], day["datasets"], day["fresh"]) == (f"{NOW:%Y-%m-%d}", "1", "1")
    assert history.newest_hosts() == (PLAIN, {"wells.example.org": 1})
    (of_one,) = rows_of(get("/freshness/history.csv?organization=relief"))
    assert of_one["datasets"] == "1"


def test_the_history_of_an_organization_goes_on_under_another_name(
    get: Get, three: dict[str, Any]
) -> None:
    table_access.record(NOW - DAY)
    call_action(
        "organization_patch",
        {"user": three["sysadmin"]["name"]},
        id="relief",
        name="relief-works",
        title="Relief Works",
    )
    search.rebuild(force=True)
    table_access.record(NOW)
    (before, after) = rows_of(get("/freshness/history.csv?organization=relief-works"))
    assert (before["datasets"], after["datasets"]) == ("2", "2")
    page = BeautifulSoup(get("/freshness/organization/relief-works").body, "html.parser")
    assert page.select("svg.freshness-chart polygon")
    # Another organization that takes the freed name has no history yet.
    factories.Organization(name="relief")
    assert rows_of(get("/freshness/history.csv?organization=relief")) == []


def test_the_lines_of_hosts_are_in_the_language_of_the_page(
    get: Get, three: dict[str, Any]
) -> None:
    table_access.record(NOW)
    for path, ours in (("", ["Others", "Total"]), ("/de", ["Andere", "Gesamt"])):
        page = BeautifulSoup(get(f"{path}/freshness/hosts").body, "html.parser")
        names = [row[0] for row in table(page, "hosts")]
        assert (names[0], names[-2:]) == ("File Store", ours), path
    # Keys for programs do not depend on the language.
    rows = rows_of(get("/de/freshness/hosts.csv"))
    assert [row["name"] for row in rows[-2:]] == ["Others", "Total"]


FOR_SYSADMINS = (
    ("/freshness/runs", "nobody", 403),
    ("/freshness/runs.csv", "stranger", 403),
    ("/freshness/runs", "sysadmin", 200),
    ("/freshness/run/first", "nobody", 403),
    ("/freshness/run/first.json", "member", 403),
    ("/freshness/run/first", "sysadmin", 200),
    ("/freshness/run/none", "sysadmin", 404),
    ("/freshness/metrics", "nobody", 403),
    ("/freshness/metrics", "member", 403),
    ("/freshness/metrics", "sysadmin", 200),
)


def test_what_counts_private_datasets_is_for_sysadmins(get: Get, people: dict[str, Any]) -> None:
    for path, who, status in FOR_SYSADMINS:
        get(path, people[who], status=status)


@pytest.fixture
def people(clean_site: None, a_run: None) -> dict[str, Any]:
    return {
        "nobody": None,
        "stranger": factories.UserWithToken(),
        "member": factories.UserWithToken(),
        "sysadmin": factories.SysadminWithToken(),
    }


@pytest.fixture
def a_run(clean_site: None) -> Iterator[None]:
    """Add a check of all datasets, an hour ago."""
    hosts = {"*": {**NUMBERS, "visits": 22}, "files.example.org": {**NUMBERS, "visits": 22}}
    model.Session.add(
        CheckRun(
            id="first",
            kind="check",
            started_at=PLAIN - DAY / 24,
            ended_at=PLAIN - DAY / 48,
            options={},
            resources=FIRST,
            datasets={"0: Fresh, Updated nothing": 22160},
            frequencies=FREQUENCIES,
            hosts=hosts,
            visited=490,
            version="1.0",
        )
    )
    model.Session.commit()
    yield


# Contents.


def test_the_dashboard(read: Read, clean_site: None) -> None:
    owner = factories.Organization(name="relief", title="Relief")["id"]
    made = {name: make(name, age, owner_org=owner) for name, age in AGES.items()}
    make("unknown", extras=[])
    judge()
    visited(made["wells"])
    changed(made["clinics"], to_status="overdue", from_status="due")
    page = read("/freshness")
    assert table(page, "statuses") == [
        ["Fresh", "2", "33.3 %"],
        ["Needs update (due)", "1", "16.7 %"],
        ["Needs update (overdue)", "1", "16.7 %"],
        ["Needs update (delinquent)", "1", "16.7 %"],
        ["Unavailable", "1", "16.7 %"],
    ]
    assert "40 % fresh: 2 of the 5 datasets" in " ".join(page.get_text().split())
    assert [row[0] for row in table(page, "due")] == ["About wells", "About bridges"]
    (change,) = [row for row in table(page, "changes") if row[5] == "Time passed"]
    assert change[1:6] == [
        *("About clinics", "Relief", "Needs update (due)", "Needs update (overdue)"),
        "Time passed",
    ]
    (broken,) = table(page, "broken")
    assert broken[:2] == ["About wells", "wells"]
    assert broken[-2:] == ["5", "answered 404 (Not Found)"]
    (mismatch,) = table(page, "mismatches")
    assert (mismatch[0], mismatch[-3:-1]) == ("About wells", ["CSV", "a ZIP archive"])
    assert table(page, "unclear")[0][0] == "About wells"
    assert table(page, "organizations") == [["Relief", "5", "40.0 %", "1", "1", "1", "0"]]
    assert page.select_one("#freshness-runs") is None
    assert page.select_one("#freshness-stale") is not None


AGES = {"wells": 6.5, "bridges": 1, "roads": 9, "clinics": 16, "camps": 30}


def test_the_page_of_an_organization(read: Read, clean_site: None) -> None:
    owners = [factories.Organization(name=name)["id"] for name in ("relief", "roads")]
    make("wells", 9, owner_org=owners[0])
    make("bridges", 9, owner_org=owners[1])
    judge()
    page = read("/freshness/organization/relief")
    assert table(page, "statuses")[1][:2] == ["Needs update (due)", "1"]
    assert "bridges" not in page.get_text()
    read("/freshness/organization/nobody", status=404)
    rows = read("/freshness/datasets?organization=roads")
    assert [row[0] for row in table(rows, "datasets")] == ["About bridges"]


def test_the_chart_has_its_table(read: Read, clean_site: None) -> None:
    make("wells")
    judge()
    table_access.record(NOW - DAY)
    assert read("/freshness").select_one("svg.freshness-chart") is None
    table_access.record(NOW)
    page = read("/freshness")
    assert len(page.select("svg.freshness-chart polygon")) == 5
    (link,) = [a["href"] for a in page.select("#part-history ~ p a") if "table" in a.get_text()]
    assert len(table(read(str(link)), "history")) == 2


def test_a_day_is_counted_once(read: Read, clean_site: None) -> None:
    table_access.record(NOW)
    make("wells")
    judge()
    table_access.record(NOW)
    (day,) = history.days(NOW.date())
    assert day.statuses["fresh"] == 1
    assert history.prune(NOW, DAY) == 0
    assert history.prune(NOW + 3 * DAY, DAY) == 1


def test_resources_are_told_of_as_they_are(get: Get, clean_site: None) -> None:
    links = [{"url": f"http://a.example.org/{number}.csv"} for number in range(3)]
    dataset = make("wells", resources=links)
    judge()
    for resource in dataset["resources"]:
        visited({**dataset, "resources": [resource]})
    kept, mended = dataset["resources"][:2]
    links = [kept, {**mended, "url": "http://a.example.org/mended.csv"}]
    context = {"user": factories.Sysadmin()["name"]}
    call_action("package_patch", context, id=dataset["id"], resources=links)
    for name in ("broken", "mismatches", "unclear"):
        found = [row["url"] for row in rows_of(get(f"/freshness/{name}.csv"))]
        assert found == [kept["url"]], name


def test_sources_count_what_one_may_see(get: Get, read: Read, clean_site: None) -> None:
    owner = factories.Organization(name="relief")["id"]
    root = factories.SysadminWithToken()
    made = {}
    for name, private in (("known", False), ("secret-source", True)):
        source = call_action(
            "harvest_source_create",
            {"user": root["name"]},
            **{"name": name, "title": f"About {name}", "url": f"http://{name}.example.org"},
            **{"source_type": "fdp", "owner_org": owner},
        )
        made[name] = source["id"]
        if private:
            call_action("package_patch", {"user": root["name"]}, id=source["id"], private=True)
    for name, private in (("wells", False), ("clinics", True)):
        dataset = make(name, owner_org=owner, private=private)
        source = harvest_model.HarvestSource.get(made["known"])
        job = harvest_model.HarvestJob(source=source)
        job.save()
        one = harvest_model.HarvestObject(
            guid=name, job=job, source=source, package_id=dataset["id"], current=True
        )
        one.save()
    call_action("package_patch", {"user": root["name"]}, id="wells", notes="Indexed")
    call_action("package_patch", {"user": root["name"]}, id="clinics", notes="Indexed")
    for user, seen in ((None, {"known": "1"}), (root, {"known": "2", "secret-source": "0"})):
        rows = rows_of(get("/freshness/sources.csv", user))
        assert {row["name"]: row["datasets"] for row in rows} == seen
    page = read("/freshness/sources")
    assert [row[0] for row in table(page, "sources")] == ["About known"]
    assert page.select('a[href="/harvest/known"]')


def test_mails_are_linked_for_who_is_logged_in(read: Read, people: dict[str, Any]) -> None:
    link = 'a[href="/freshness/mails"]'
    assert read("/freshness", people["stranger"]).select(link)
    assert not read("/freshness").select(link)


# Sorting, pages, filters.


SORTED = {
    "": ["a", "b", "c"],
    "sort=-title": ["c", "b", "a"],
    "sort=due": ["c", "a", "b"],
    "status=fresh": ["b"],
    "status=due&sort=-title": ["c", "a"],
}


def test_sorted_and_chosen(get: Get, clean_site: None) -> None:
    for name, age in {"a": 9, "b": 1, "c": 10}.items():
        make(f"data-{name}", age, title=name)
    judge()
    for query, found in SORTED.items():
        rows = rows_of(get(f"/freshness/datasets.csv?{query}"))
        assert [row["title"] for row in rows] == found, query


def test_pages(read: Read, clean_site: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from ckanext.freshness.views import report as pages

    monkeypatch.setattr(pages, "LONG", 2)
    for name in "abc":
        make(f"data-{name}", title=name)
    judge()
    first = read("/freshness/datasets?sort=title")
    assert [row[0] for row in table(first, "datasets")] == ["a", "b"]
    (link,) = first.select('a[rel="next"]')
    second = read(str(link["href"]))
    assert [row[0] for row in table(second, "datasets")] == ["c"]
    assert not second.select('a[rel="next"]')
    assert second.select('a[rel="prev"]')


def test_any_table_begins_where_it_is_asked_to(get: Get, clean_site: None) -> None:
    for name in "abc":
        dataset = make(f"data-{name}", title=name)
        visited(dataset)
        changed(dataset)
    judge()
    for name in OF_DATASETS:
        url = f"/api/action/freshness_report?table={name}"
        every = [row["name"] for row in json.loads(get(url).body)["result"]["rows"]]
        assert len(every) == 3, name
        for offset in range(4):
            answer = json.loads(get(f"{url}&limit=1&offset={offset}").body)["result"]
            assert [row["name"] for row in answer["rows"]] == every[offset : offset + 1], name
            assert answer["more"] is (offset < 2), name


REFUSED = {
    "datasets?sort=notes": "sort: must be one of due, title, not notes",
    "datasets?status=old": "status: must be one of fresh, due, overdue",
    "changes?since=soon": "since: soon is neither a date such as 2026-01-31 nor",
    "datasets?page=0": "page: must be a number of 1 or more, not 0",
    "datasets?page=0000000019999999999999999999": "page: must be a number of 1 or more",
    "datasets?page=501": "offset: Log in to see more than the first 25000 rows",
    "hosts?organization=relief": "organization: The table hosts is of all organizations",
}


def test_what_cannot_be_asked_is_said(read: Read) -> None:
    factories.Organization(name="relief")
    for query, words in REFUSED.items():
        page = read(f"/freshness/{query}", status=400)
        assert words in " ".join(page.get_text().split()), query


def test_visitors_read_the_first_rows(
    get: Get, people: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        make(f"data-{name}", title=name)
    judge()
    monkeypatch.setattr(table_access, "ANONYMOUS_ROWS", 2)
    path = "/freshness/datasets.csv"
    assert [len(rows_of(get(path))), len(rows_of(get(path, people["sysadmin"])))] == [2, 3]
    url = "/api/action/freshness_report?table=datasets&offset={}"
    assert len(json.loads(get(url.format(1)).body)["result"]["rows"]) == 1
    get(url.format(2), status=409)


def test_changes_since(get: Get, people: dict[str, Any]) -> None:
    dataset = make("wells")
    judge()
    for hours in (0.5, 2, 30, 80):
        changed(dataset, hours * DAY / 24)
    # The run writes boundaries that had passed before it.
    changed(dataset, 60 * DAY / 24, run_id="first")
    changed(dataset, 3 * DAY / 24, from_status=None)
    since = f"{PLAIN - 2 * DAY:%Y-%m-%dT%H:%M:%S}"
    for query, count in (("", 2), (f"?since={since}", 3), ("?since=first", 2), ("?since=last", 2)):
        assert len(rows_of(get(f"/freshness/changes.csv{query}"))) == count, query


# Invalid requests.


def test_odd_names_stay_words(read: Read, get: Get, clean_site: None) -> None:
    owner = factories.Organization(name="odd", title="<b>Odd</b>" + "o" * 9000)["id"]
    dataset = make("odd", 9, title="<script>alert(1)</script>" + "x" * 10_000, owner_org=owner)
    judge()
    visited(dataset, attempts=[{"status": 200, "words": "<img src=x onerror=1>" * 50}])
    changed(dataset)
    for path in ("", "/organization/odd", "/datasets", "/changes", "/broken", "/organizations"):
        page = read(f"/freshness{path}")
        assert not page.select("main script, [role=main] script, [role=main] b, [role=main] img"), (
            path
        )
        assert "<script>alert(1)" in page.get_text() or "<b>Odd" in page.get_text(), path


def test_odd_names_of_organizations(get: Get, read: Read, clean_site: None) -> None:
    name = 'a"b\\ OR *:*'
    owner = factories.Organization(name="odd")["id"]
    make("wells", 9, owner_org=owner)
    make("bridges", 9, owner_org=factories.Organization(name="other")["id"])
    judge()
    # Other programs may write this; CKAN's validators refuse it.
    model.Session.execute(
        sa.text('UPDATE "group" SET name = :name WHERE id = :id'), {"name": name, "id": owner}
    )
    model.Session.commit()
    search.rebuild(force=True)
    page = read(f"/freshness/organization/{quote(name, safe='')}")
    assert table(page, "statuses")[1][:2] == ["Needs update (due)", "1"]
    assert names(rows_of(get(f"/freshness/datasets.csv?organization={quote(name)}"))) == {"wells"}


def test_a_site_without_anything(read: Read, get: Get, people: dict[str, Any]) -> None:
    for path in ("", *(f"/{name}" for name in report.TABLES)):
        read(f"/freshness{path}", people["sysadmin"])
        for ending in ("csv", "json"):
            get(f"/freshness{path}.{ending}", people["sysadmin"])
    factories.Organization(name="alone")
    assert "0 % fresh" in " ".join(read("/freshness/organization/alone").get_text().split())


def test_the_feed(get: Get, clean_site: None) -> None:
    dataset = make("wells", title="Wells <old> & \u0008 new")
    judge()
    changed(dataset, 5 * DAY)
    answer = get("/freshness/changes.atom")
    assert answer.content_type == "application/atom+xml; charset=utf-8"
    root = ElementTree.fromstring(answer.body)
    atom = {"a": "http://www.w3.org/2005/Atom"}
    (entry,) = root.findall("a:entry", atom)
    title = entry.findtext("a:title", namespaces=atom)
    assert title == "Wells <old> & \u0020 new: Needs update (due)"
    assert entry.findtext("a:summary", namespaces=atom) == "It was: Fresh. Time passed."
    links = [link.get("href") for link in entry.findall("a:link", atom)]
    assert links == ["http://test.ckan.net/dataset/wells/freshness"]
    again = get("/freshness/changes.atom")
    assert again.body == answer.body or "updated" in again.body


def test_figures(get: Get, app: Any, people: dict[str, Any], ckan_config: Any) -> None:
    private = make("wells", owner_org=factories.Organization()["id"], private=True)
    judge()
    visited(private)
    visited(deleted := make("gone"))
    call_action("package_delete", {"user": people["sysadmin"]["name"]}, id=deleted["id"])
    # A later check of one dataset failed.
    model.Session.add(
        CheckRun(
            id="asked",
            kind="check",
            started_at=PLAIN,
            ended_at=PLAIN,
            options={"package_ids": [private["id"]]},
            error="It failed",
            visited=1,
            version="1.0",
        )
    )
    model.Session.commit()
    text = get("/freshness/metrics", people["sysadmin"]).body
    lines = text.splitlines()
    assert "freshness_run_visited 490.0" in lines
    assert "freshness_run_failed 0.0" in lines
    assert 'freshness_datasets{status="fresh"} 1.0' in lines
    assert "freshness_resources_broken 1.0" in lines
    assert "freshness_run_missing 0.0" in lines
    started = (NOW - DAY / 24).timestamp()
    (last,) = [line for line in lines if line.startswith("freshness_last_run_timestamp_seconds ")]
    assert float(last.split()[1]) == started
    ckan_config["ckanext.freshness.metrics.token"] = "long and random"
    for token, status in (("long and random", 200), ("long and", 403), ("", 403)):
        headers = {"Authorization": f"Bearer {token}"}
        app.get("/freshness/metrics", headers=headers, status=status)
    ckan_config["ckanext.freshness.metrics.token"] = ""
    refused = app.get("/freshness/metrics", headers={"Authorization": "Bearer "}, status=403)
    assert "the token of the option ckanext.freshness.metrics.token" in refused.body


@pytest.mark.usefixtures("clean_site")
def test_no_cache_gives_to_others_what_somebody_sees(get: Get) -> None:
    for name in ("datasets.csv", "datasets.json", "changes.atom"):
        kept = get(f"/freshness/{name}").headers["Cache-Control"]
        assert "private" in kept and "public" not in kept, name


def test_search_that_is_away(read: Read, clean_site: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from ckan.lib.search import common

    away = "http://127.0.0.1:9/solr/none"
    monkeypatch.setitem(tk.config, "solr_url", away)
    if hasattr(common, "SolrSettings"):  # CKAN 2.11 reads the option once
        monkeypatch.setattr(common.SolrSettings, "_url", away)
    page = read("/freshness", status=503)
    assert "The search does not answer" in page.get_text()


# The command and the action.


def test_the_command(cli: Any, clean_site: None) -> None:
    dataset = make("wells", 9, owner_org=factories.Organization(name="relief")["id"], private=True)
    judge()
    visited(dataset)
    changed(dataset)
    told = cli.invoke(ckan, ["freshness", "report", "--hosts"])
    assert told.exit_code == 0, told.output
    lines = told.output.splitlines()
    assert "due                 1  100.0 %" in lines
    assert "0.0 percent fresh: 0 of the 1 dataset of which it can be said" in lines
    assert any("wells  fresh -> due  (time, created)" in line for line in lines)
    assert [line.split() for line in lines[-2:]] == [
        ["Others", "1", "100.0", "%"],
        ["Total", "1", "100.0", "%"],
    ]
    # The stored counts cover only public datasets.
    assert history.days(NOW.date())[0].statuses["due"] == 0
    output = cli.invoke(ckan, ["freshness", "report", "--json"]).stdout
    # On CKAN 2.11, the output contains the log.
    as_json = json.loads(output[output.index("{") :])
    assert as_json["changes"][0]["to_status"] == "due"
    for arguments, words in (
        (["--since", "soon"], "--since: soon is neither a date"),
        (["--since", "soon"], "nor last, the last check"),
        (["--organization", "none"], "There is no organization none"),
    ):
        failed = cli.invoke(ckan, ["freshness", "report", *arguments])
        assert failed.exit_code == 1
        assert words in failed.output


def test_how_many_are_fresh_is_the_same_everywhere(cli: Any, read: Read, clean_site: None) -> None:
    """The share is of datasets with known freshness, not of all datasets."""
    make("up-to-date", 0)
    for number in range(3):
        make(f"old-{number}", 9)
    for number in range(2):
        factories.Dataset(name=f"unknown-{number}")
    judge()
    share = "25.0 percent fresh: 1 of the 4 datasets of which it can be said"
    assert share in cli.invoke(ckan, ["freshness", "report"]).output.splitlines()
    assert night_parts.report(NOW).words == f"Of public datasets {share}"
    page = " ".join(read("/freshness").get_text().split())
    assert share.replace("25.0 percent", "25 %") in page


def test_the_action(app: Any, get: Get, clean_site: None) -> None:
    make("wells", 9)
    judge()
    answer = json.loads(get("/api/action/freshness_report").body)["result"]
    assert (answer["datasets"], answer["statuses"]["due"], answer["fresh_percent"]) == (1, 1, 0.0)
    rows = json.loads(get("/api/action/freshness_report?table=datasets&limit=1").body)["result"]
    assert (names(rows["rows"]), rows["more"]) == ({"wells"}, False)
    refused = json.loads(get("/api/action/freshness_report?table=none", status=409).body)
    assert "There is no table none: choose broken, changes" in refused["error"]["table"][0]
    for name in ("datasets", "broken"):
        url = f"/api/action/freshness_report?table={name}&offset={'9' * 30}"
        assert "whole number" in get(url, status=409).body
    get("/api/action/freshness_report?table=runs", status=403)
    get("/api/action/freshness_report?organization=none", status=404)
