"""What figures, marks and dates say is the same, and true, on all pages, in all files and in the API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from bs4 import BeautifulSoup
from ckan.cli.cli import ckan
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import NAMES, model
from ckanext.freshness.tests.pages import reports
from ckanext.freshness.tests.pages.conftest import Get
from ckanext.freshness.tests.pages.reports import (
    PLAIN,
    WORKS,
    World,
    add_run,
    judge,
    make,
    rows_of,
    text_of,
    visited,
)
from ckanext.freshness.web.errors import FailureReason, Meaning

BEGUN = PLAIN - timedelta(hours=3)
"""When the run of the links below began."""


def checked(outcome: str, **more: Any) -> dict[str, Any]:
    """What a check has left of a link."""
    attempt = {"outcome": outcome, "status": more.pop("status", 200), **more.pop("attempt", {})}
    failed = {"failed_at": BEGUN} if "failures" in more else {}
    return {**WORKS, "checked_at": BEGUN, "attempts": [attempt], **failed, **more}


LINKS: dict[str, tuple[dict[str, Any], dict[str, Any] | None, str]] = {
    "works": ({}, checked("same hash"), "works"),
    "changed": ({}, checked("hash"), "works"),
    "live": ({}, checked("api", undetermined="api"), "works"),
    "live, then failing": (
        {},
        checked("error", status=404, failures=1, failing_since=BEGUN, undetermined="api"),
        "failing",
    ),
    "failing": ({}, checked("error", status=404, failures=1, failing_since=BEGUN), "failing"),
    "failing, then blocked": (
        {},
        checked("cannot tell", failures=1, failing_since=BEGUN, undetermined="blocked"),
        "failing",
    ),
    "broken": (
        {},
        checked(
            "error",
            status=404,
            failures=5,
            failing_since=BEGUN - timedelta(days=9),
        ),
        "broken",
    ),
    "blocked": ({}, checked("cannot tell", status=403, undetermined="blocked"), "unchecked"),
    "an error of ours": ({}, checked("error", attempt={"reason": "store_error"}), "unchecked"),
    **{
        reason.value: (
            {},
            checked(
                "cannot tell",
                status=None,
                attempt={"reason": reason.value},
                undetermined="blocked",
            ),
            "unchecked",
        )
        for reason in FailureReason
        if reason.meaning is not Meaning.FAILED
    },
    "never checked": ({}, None, "waiting"),
    "made on request": ({"url": "https://proxy.hxlstandard.org/data.csv"}, None, "excluded"),
    "an upload": ({"url": "data.csv", "url_type": "upload"}, None, "internal"),
    "in the datastore": (
        {"url": "http://test.ckan.net/a", "url_type": "datastore"},
        None,
        "internal",
    ),
    "the portal's address": ({"url": "http://test.ckan.net/dataset/a/data.csv"}, None, "waiting"),
}
"""Links by name: the resource, what is known of its check, and its state."""
STATES = sorted({state for _, _, state in LINKS.values()})
GREEN = {"works", "changed", "live"}
"""Those in which a check has found a file."""
UNCHECKED = {name for name, (_, _, state) in LINKS.items() if state == "unchecked"}
"""Those of which nobody can tell, also because of a limit of this site: in grey, and in no list of failures."""


def make_world() -> World:
    """Make the usual site, a dataset with each kind of link, and the run that checked them."""
    world = reports.make_world()
    links = [
        {"name": name, "url": f"http://links.example.org/{number}.csv", **resource}
        for number, (name, (resource, _, _)) in enumerate(LINKS.items())
    ]
    organization = world.datasets["wells"]["owner_org"]
    gauges = make("gauges", 9, owner_org=organization, resources=links)
    judge()
    for resource in gauges["resources"]:
        known = LINKS[resource["name"]][1]
        if known is not None:
            visited({**gauges, "resources": [resource]}, **known)
    outcomes = [known["attempts"][0]["outcome"] for _, known, _ in LINKS.values() if known]
    add_run(
        id="night",
        started_at=BEGUN,
        ended_at=BEGUN + timedelta(minutes=5),
        resources={f"nothing,{outcome}": outcomes.count(outcome) for outcome in outcomes},
        checked=len(outcomes),
    )
    reports.changed(gauges, timedelta(hours=2), run_id="night")
    model.Session.remove()
    return world


def page_of(answer: Any) -> BeautifulSoup:
    return BeautifulSoup(answer.body, "html.parser")


# Green only where a check has succeeded.


def test_a_mark_is_green_only_where_a_check_has_succeeded(get: Get) -> None:
    page = page_of(get("/dataset/gauges/freshness"))
    marks = {text_of(row.select_one("h3")): row["data-state"] for row in page.select(".fr-row")}
    shown = {name.removesuffix(" (CSV)"): state for name, state in marks.items()}
    assert {name for name, state in shown.items() if state == "ok"} == GREEN
    assert {shown[name] for name in UNCHECKED} == {"unknown"}
    assert shown.keys() == LINKS.keys()
    shown = json.loads(get("/dataset/gauges/freshness.json").body)["links"]["resources"]
    files = rows_of(get("/dataset/gauges/freshness.csv"))
    for rows in (shown, files, call_action("freshness_show", id="gauges")["links"]["resources"]):
        assert {row["name"]: row["state"] for row in rows} == {
            name: state for name, (_, _, state) in LINKS.items()
        }


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        *((state, {name for name, one in LINKS.items() if one[2] == state}) for state in STATES),
        ("undetectable", {"live"}),
    ],
)
def test_each_link_is_in_the_list_of_its_state(get: Get, state: str, expected: set[str]) -> None:
    rows = rows_of(get(f"/freshness/links.csv?q=gauges&state={state}"))
    assert {row["resource"] for row in rows} == expected


# Each figure leads to the rows that it counts.


def figures(page: BeautifulSoup) -> Iterator[tuple[str, str, str]]:
    """Yield the address, the number and the words of each figure of a page that leads somewhere."""
    for one in page.select("a.fr-card"):
        number = text_of(one.select_one("b"))
        if number.isdigit():
            yield str(one["href"]), number, text_of(one)
    for one in page.select(".fr-legend li"):
        yield str(one.select("a")[0]["href"]), text_of(one.select_one("b")), text_of(one)
    for one in page.select(".fr-filters a:has(b)"):
        yield str(one["href"]), text_of(one.select_one("b")), text_of(one)
    for one in page.select("a[href*='status=unavailable']"):
        if words := [word for word in text_of(one).split() if word.isdigit()]:
            yield str(one["href"]), words[0], text_of(one)


PAGES = (
    "/freshness",
    "/freshness/organization/relief",
    "/freshness/datasets",
    "/freshness/links",
    "/freshness/links?sort=state",
    "/freshness/links?state=failing",
    "/freshness/links?state=broken",
    "/freshness/changes?since=2020-01-01",
)


@pytest.mark.parametrize(
    ("path", "role"),
    [*product(PAGES, ["nobody", "sysadmin"]), ("/freshness", "editor")],
)
def test_each_figure_leads_to_the_rows_that_it_counts(get: Get, path: str, role: str) -> None:
    found = list(figures(page_of(get(path, role))))
    assert len(found) > (1 if "/changes" in path else 3)
    for address, number, words in found:
        where, _, query = address.partition("?")
        rows = rows_of(get(f"{where}.csv?{query}", role))
        if "status=held" in query:
            assert sum(int(row["held"]) for row in rows) == int(number), words
        else:
            assert str(len(rows)) == number, (words, address)


# The figures of the overview are those of the database, counted without our code.

# One share of fresh datasets.


@pytest.mark.parametrize("role", ["nobody", "sysadmin"])
def test_there_is_one_share_of_fresh_datasets(get: Get, cli: Any, role: str) -> None:
    statuses = rows_of(get("/freshness/statuses.csv", role))
    numbers = {row["status"]: int(row["datasets"]) for row in statuses}
    known = sum(numbers.values()) - numbers["unavailable"]
    share = round(100 * numbers["fresh"] / known, 1)
    assert sum(float(row["percent"] or 0) for row in statuses) == pytest.approx(100, abs=0.2)
    answer = text_of(page_of(get("/freshness", role)).select_one(".fr-answer"))
    assert answer.startswith(f"{round(share)}% of {known} datasets with known freshness")
    shown = json.loads(get("/api/3/action/freshness_report", role).body)["result"]
    assert shown["fresh_percent"] == share
    if role == "sysadmin":
        told = cli.invoke(ckan, ["freshness", "report"]).output
        assert f"({share} percent)" in told


# Two dates: when the data changed, and when somebody confirmed them.


def test_a_confirmation_is_no_change(get: Get, world: World) -> None:
    before = {row["name"]: row for row in rows_of(get("/freshness/datasets.csv", "sysadmin"))}
    root = {"user": world.people["sysadmin"]["name"]}
    call_action("freshness_confirm", root, id="camps")
    try:
        shown = call_action("freshness_show", id="camps")
        rows = {row["name"]: row for row in rows_of(get("/freshness/datasets.csv", "sysadmin"))}
        old, new = before["camps"], rows["camps"]
        for key in ("last_modified", "evidence"):
            assert new[key] == old[key] == shown[key]
            extras = {
                one["key"]: one["value"]
                for one in call_action("package_show", id="camps")["extras"]
            }
            assert extras[f"freshness_{key}"] == old[key]
        assert (old["status"], new["status"], old["confirmed_at"]) == ("delinquent", "fresh", "")
        assert new["confirmed_at"] == shown["confirmation"]["date"] > old["last_modified"]
        words = text_of(
            page_of(get("/dataset/camps/freshness")).select_one("#freshness-explanation")
        )
        assert "Added 30 days ago . Last confirmed" in words
        listed = page_of(get("/freshness/datasets", "sysadmin")).select_one("table")
        assert text_of(listed).count("Last confirmed") == 1
        order = call_action(
            "package_search", sort=f"{NAMES.last_modified_date} desc", include_private=True
        )["results"]
        dated = [one["name"] for one in order if one["name"] in reports.AGES]
        assert dated[-1] == "camps", "the oldest data"
    finally:
        call_action("freshness_confirm", root, id="camps", withdraw=True)
