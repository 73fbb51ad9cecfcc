"""The list pages: their order, search, filters and totals, what readers may do in a row, and their files."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from bs4 import BeautifulSoup
from ckan.tests import factories

from ckanext.freshness.aging.status import Status
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import CheckRun, FreshnessTransition
from ckanext.freshness.reporting import report_tables
from ckanext.freshness.tests.pages.conftest import Get, Read
from ckanext.freshness.tests.pages.datasets import break_link, make_dataset
from ckanext.freshness.tests.pages.reports import rows_of
from ckanext.freshness.tests.pages.reports import text_of as words
from ckanext.freshness.views import report as pages

People = dict[str, dict[str, Any] | None]

NOW = datetime.now(timezone.utc).replace(tzinfo=None, microsecond=0)


def make_world() -> People:
    """Create two organizations with an editor of the first, and datasets with rows in each list."""
    people: People = {
        name: dict(factories.UserWithToken(name=name)) for name in ("editor", "stranger")
    }
    people["root"] = dict(factories.SysadminWithToken(name="root"))
    people["nobody"] = None
    factories.Organization(
        name="relief", title="Relief Works", users=[{"name": "editor", "capacity": "editor"}]
    )
    factories.Organization(name="roads", title="Autobahnen")
    made = [
        make_dataset(Status.FRESH, "wells", title="Wells", owner_org="relief"),
        make_dataset(Status.DUE, "camps", title="camps", owner_org="relief", private=True),
        make_dataset(Status.OVERDUE, "bridges", title="Bridges 100%", owner_org="roads"),
        make_dataset(Status.UNAVAILABLE, "abc", title="", owner_org="roads"),
    ]
    for number, dataset in enumerate(made):
        break_link(
            dataset,
            host=f"{number}.example.org",
            failures=9 - number,
            failing_since=NOW - timedelta(days=10 + number),
            known={"promised": "CSV", "found": "a ZIP archive"},
            undetermined="api" if dataset["name"] == "abc" else "blocked",
        )
        model.Session.add(
            FreshnessTransition(
                package_id=dataset["id"],
                from_status="fresh",
                to_status="due",
                cause="time",
                evidence="created",
                changed_at=NOW - timedelta(hours=number),
            )
        )
    model.Session.add(
        CheckRun(id="first", kind="check", started_at=NOW, options={}, checked=3, version="1.0")
    )
    model.Session.commit()
    return people


def names(answer: Any) -> list[str]:
    """Return the datasets of a CSV file."""
    return [row["name"] for row in rows_of(answer)]


def listed(page: BeautifulSoup) -> list[str]:
    """Return the datasets of a page by the links to their own pages."""
    links = page.select("tbody .fr-title")
    return [str(link["href"]).split("/")[2] for link in links]


# Whatever a page lists, its files list. Nobody but its editor and sysadmins sees the private dataset.

LISTS = {
    # The one that has been late for longest first.
    "datasets": ["bridges", "wells", "abc"],
    "datasets?sort=status": ["bridges", "abc", "wells"],
    "datasets?status=overdue": ["bridges"],
    "datasets?status=needs_update": ["bridges"],
    "datasets?organization=relief": ["wells"],
    "datasets?q=%20ABC%20": ["abc"],
    "datasets?q=0%25": ["bridges"],
    "links": ["abc", "bridges", "wells"],
    "links?state=broken": ["abc", "bridges", "wells"],
    "links?state=broken&q=2.example": ["bridges"],
    "links?state=wrong_format": ["abc", "bridges", "wells"],
    "links?state=works": [],
    "changes": ["wells", "bridges", "abc"],
}


@pytest.mark.parametrize("path", LISTS)
def test_lists_and_their_files(get: Get, read: Read, path: str) -> None:
    wanted = LISTS[path]
    page = read(f"/freshness/{path}")
    name, _sep, query = path.partition("?")
    assert listed(page) == wanted
    assert sorted(names(get(f"/freshness/{name}.csv?{query}"))) == sorted(wanted)
    rows = json.loads(get(f"/freshness/{name}.json?{query}").body)
    assert sorted(row["name"] for row in rows) == sorted(wanted)
    if wanted:
        assert f"1 to {len(wanted)} of {len(wanted)}" in words(page)
        file = str(page.select(".fr-menu a")[0]["href"]).replace("+", "%20")
        assert file.partition("?")[0] == f"/freshness/{name}.csv"
        assert set(file.partition("?")[2].split("&")) == {
            *filter(None, query.split("&")),
            "bom=true",
        }
    else:
        assert page.select_one(".empty")


def test_files_for_spreadsheets(get: Get) -> None:
    bridges = model.Package.get("bridges")
    bridges.maintainer_email = "keeper@example.org"
    model.Session.commit()
    for who, address in (("nobody", ""), ("editor", ""), ("root", "keeper@example.org")):
        answer = get("/freshness/datasets.csv?q=bridges&bom=true", who)
        text = answer.get_data(as_text=True)
        assert text.startswith("\ufeffname,title,dataset_url,organization_title")
        (row,) = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
        assert row["maintainer_email"] == address, who
        assert row["dataset_url"].endswith("/dataset/bridges")
        assert (row["organization_title"], row["status_label"]) == ("Autobahnen", "Overdue")
        assert row["days_late"].isdecimal()
    assert not get("/freshness/datasets.csv").get_data(as_text=True).startswith("\ufeff")


def test_pages(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "LONG", 2)
    found, path = [], "datasets?sort=title"
    while path:
        page = read(f"/freshness/{path}", "root")
        found += listed(page)
        path = next(
            (str(a["href"]).split("/freshness/")[1] for a in page.select("a[rel=next]")), ""
        )
    assert found == ["abc", "bridges", "camps", "wells"]
    assert "3 to 4 of 4" in words(page)
    assert "Page 2 of 2" in words(page)
    assert page.select("a[rel=prev]")


@pytest.mark.parametrize("name", report_tables.TABLES)
def test_every_column_sorts(read: Read, get: Get, name: str) -> None:
    for column in report_tables.TABLES[name].shown:
        get(f"/freshness/{name}.json?sort=-{column.key}", "root")
    headings = read(f"/freshness/{name}", "root").select("th")
    # The last one is of the actions.
    assert all(heading.select("a") for heading in headings[:-1])


LINK_ACTIONS = ["Edit link", "Check again", "Ignore or postpone"]
ACTIONS = {
    ("links", "nobody"): {},
    ("links", "stranger"): {},
    ("links", "editor"): {"camps": LINK_ACTIONS, "wells": LINK_ACTIONS},
    ("links?state=broken", "editor"): {"camps": LINK_ACTIONS, "wells": LINK_ACTIONS},
    ("datasets", "nobody"): {},
    ("datasets", "editor"): {"camps": ["Confirm"]},
    ("datasets", "root"): {
        "abc": ["Set the frequency"],
        "bridges": ["Confirm"],
        "camps": ["Confirm"],
    },
}


@pytest.mark.parametrize(("name", "who"), ACTIONS)
def test_actions_are_for_editors(read: Read, name: str, who: str) -> None:
    found = {}
    page = read(f"/freshness/{name}", who)
    for row in page.select("tbody tr"):
        actions = [words(action).partition(" :")[0] for action in row.select("td:last-child .btn")]
        if actions:
            found[str(row.select_one(".fr-title")["href"]).split("/")[2]] = actions
    assert found == ACTIONS[name, who]
    # The editor may change some rows of each list.
    assert bool(page.select("[name=id]")) == (who in ("editor", "root"))


REFUSED = {
    "datasets?sort=notes": "must be one of due, evidence, frequency_days, last_modified",
    "datasets?status=old": "must be one of needs_update, fresh, due",
    "changes?since=soon": "soon is neither a date such as 2026-01-31 nor",
    "datasets?page=0": "must be a number of 1 or more, not 0",
    "datasets?page=0000000019999999999999999999": "must be a number of 1 or more",
}


@pytest.mark.parametrize("path", REFUSED)
def test_refused(read: Read, path: str) -> None:
    name = path.partition("?")[2].partition("=")[0]
    advice = f"Correct “{name}” in the address of this page: {REFUSED[path]}"
    assert advice in words(read(f"/freshness/{path}", status=400))
