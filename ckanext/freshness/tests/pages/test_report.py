"""The report's tables, files, feed and metrics: their contents, and who sees them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from ckan.cli.cli import ckan
from ckan.lib import search
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.reporting import counts, report_tables, worklist
from ckanext.freshness.tests.pages.conftest import Get, Read
from ckanext.freshness.tests.pages.reports import (
    DAY,
    NOW,
    PLAIN,
    World,
    add_run,
    changed,
    data_changed,
    judge,
    make,
    make_world,
    rows_of,
    text_of,
    visited,
)
from ckanext.freshness.tests.usual_site import use_hooks_of

__all__ = ["make_world"]


def names(rows: Any) -> set[str]:
    return {row["name"] for row in rows}


# Visibility.

OF_DATASETS = ("datasets", "changes", "data", "links")
PAGES = (
    "",
    "/organization/relief",
    "/organization/relief.csv",
    "/organization/relief.json",
    "/data.atom",
)


def sees_only(
    get: Get, user: dict[str, Any] | None, seen: dict[str, set[str]], every: set[str]
) -> None:
    """Require that a user finds exactly these datasets in each table, and in no page another one."""
    everything = set.union(*seen.values())
    for name, found in seen.items():
        table, _, query = name.partition("?")
        rows = rows_of(get(f"/freshness/{table}.csv?{query}", user))
        assert names(rows) == found, name
        assert not hidden(get(f"/freshness/{name}", user), every - found), name
    assert names(json.loads(get("/freshness/datasets.json", user).body)) == seen["datasets"]
    for path in PAGES:
        answer = get(f"/freshness{path}", user)
        assert not hidden(answer, every - everything), path
        assert "secret" not in answer.get_data(as_text=True), path
    statuses = rows_of(get("/freshness/statuses.csv", user))
    assert sum(int(row["datasets"]) for row in statuses) == len(everything)


def hidden(answer: Any, names: set[str]) -> list[str]:
    """Return the names that a page or file contains though it must not."""
    text = answer.get_data(as_text=True)
    return [name for name in names if f"About {name}" in text or f"/{name}/" in text]


@pytest.mark.parametrize("role", ["nobody", "stranger", "member", "sysadmin"])
def test_everybody_sees_what_they_may_see(get: Get, world: World, role: str) -> None:
    private = {"clinics", "hidden"} if role in ("member", "sysadmin") else set()
    every = set(world.datasets)
    seen = {
        "datasets": every - {"clinics", "hidden"} | private,
        "datasets?status=due_soon": {"wells", "bridges"},
        "changes": {"camps", "highways"} | private - {"hidden"},
        "data": {"wells"} | private - {"hidden"},
        "links?state=broken": {"wells"} | private - {"hidden"},
        "links?state=wrong_format": {"wells"} | private - {"hidden"},
    }
    sees_only(get, world.people[role], seen, every)
    rows = rows_of(get("/freshness/organizations.csv", role))
    assert {row["name"]: int(row["datasets"]) for row in rows} == {
        "relief": 3 + len(private),
        "roads": 1,
    }


@pytest.fixture
def labels_of_others(with_plugins: Any) -> Iterator[None]:
    """Hide datasets whose notes begin with "Proposed:" from all but admins, as another plugin might."""
    with use_hooks_of("example_ipermissionlabels"):
        yield


@pytest.fixture
def people(clean_site: None) -> dict[str, Any]:
    """An empty site with a run, and its users."""
    add_run()
    return {"stranger": factories.UserWithToken(), "sysadmin": factories.SysadminWithToken()}


def test_sources_count_what_one_may_see(get: Get, read: Read, world: World) -> None:
    public = {"harvested": "1", "holding": "0", "failing": "0"}
    seen = {"nobody": public, "sysadmin": {**public, "harvested": "2", "concealed": "0"}}
    for role, numbers in seen.items():
        rows = rows_of(get("/freshness/sources.csv", role))
        assert {row["name"]: row["datasets"] for row in rows} == numbers
        # Private datasets may be among those that would be deleted.
        held = {row["held"] for row in rows if row["name"] == "holding"}
        assert held == {"" if role == "nobody" else "3"}
    page = read("/freshness/sources")
    assert page.select('a[href="/harvest/harvested"]')
    states = {text_of(row.select_one(".fr-title")): badge(row) for row in page.select("tbody tr")}
    assert states == {
        "About harvested": ("Finished", "ok"),
        "About holding": ("Deletions on hold", "bad"),
        "About failing": ("Failed", "bad"),
    }
    assert "concealed" not in page.get_text()


def badge(row: Any) -> tuple[str, Any]:
    """Return the words and the colour of a row's badge."""
    found = row.select_one(".fr-badge")
    return text_of(found), found["data-state"]


# Parts of a table.


def test_no_cache_gives_to_others_what_somebody_sees(get: Get, world: World) -> None:
    for name in ("datasets.csv", "datasets.json", "data.atom"):
        kept = get(f"/freshness/{name}").headers["Cache-Control"]
        assert "private" in kept and "public" not in kept, name


def test_collaborators_and_creators_see_private_datasets(
    get: Get, clean_site: None, ckan_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ckan_config, "ckan.auth.allow_dataset_collaborators", True)
    user, root = factories.UserWithToken(), factories.Sysadmin()
    owner = factories.Organization()["id"]
    for name in ("shared", "kept"):
        changed(made := make(name, owner_org=owner, private=True))
        visited(made)
    model.Session.remove()
    call_action(
        "package_collaborator_create",
        {"user": root["name"]},
        **{"id": "shared", "user_id": user["id"], "capacity": "member"},
    )
    judge()
    search.rebuild(force=True)
    for name in ("changes", "links", "datasets"):
        assert names(rows_of(get(f"/freshness/{name}.csv", user))) == {"shared"}, name


# Sites of their own.


def test_other_plugins_decide_who_sees_what(
    get: Get, labels_of_others: None, clean_site: None
) -> None:
    owner = factories.Organization(name="relief")["id"]
    for name, notes in (("wells", "For all"), ("shelters", "Proposed: not yet for all")):
        dataset = make(name, owner_org=owner, notes=notes)
        visited(dataset)
        changed(dataset)
        data_changed(dataset)
    judge()
    every = {"wells", "shelters"}
    for user in (None, factories.UserWithToken(), factories.SysadminWithToken()):
        seen = every if user and user["sysadmin"] else {"wells"}
        sees_only(get, user, dict.fromkeys(OF_DATASETS, seen), every)
        page = BeautifulSoup(get("/freshness", user).body, "html.parser")
        assert "haven't been checked" not in page.get_text()
        (broken,) = [one for one in page.select(".fr-card") if "Broken links" in one.get_text()]
        assert text_of(broken).startswith(f"Broken links {len(seen)}")


# Invalid requests.


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


def test_a_site_without_anything(read: Read, get: Get, people: dict[str, Any]) -> None:
    for path in ("", *(f"/{name}" for name in report_tables.TABLES)):
        read(f"/freshness{path}", people["sysadmin"])
        for ending in ("csv", "json"):
            get(f"/freshness{path}.{ending}", people["sysadmin"])


def test_figures(get: Get, app: Any, people: dict[str, Any], ckan_config: Any) -> None:
    private = make("wells", owner_org=factories.Organization()["id"], private=True)
    judge()
    visited(private)
    visited(deleted := make("gone"))
    # The check is about a URL that the resource no longer has.
    visited(moved := make("moved"))
    model.Session.execute(
        sa.text("UPDATE resource SET url = 'http://new.example.org' WHERE package_id = :id"),
        {"id": moved["id"]},
    )
    call_action("package_delete", {"user": people["sysadmin"]["name"]}, id=deleted["id"])
    # A later check of one dataset failed.
    some = {"package_ids": [private["id"]]}
    add_run(
        id="asked", started_at=PLAIN, ended_at=PLAIN, options=some, error="It failed", checked=1
    )
    text = get("/freshness/metrics", people["sysadmin"]).body
    lines = text.splitlines()
    assert "freshness_run_checked 490.0" in lines
    assert "freshness_run_failed 0.0" in lines
    assert 'freshness_datasets{status="fresh"} 2.0' in lines
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


@pytest.fixture
def solr_away(clean_site: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from ckan.lib.search import common

    away = "http://127.0.0.1:9/solr/none"
    monkeypatch.setitem(tk.config, "solr_url", away)
    if hasattr(common, "SolrSettings"):  # CKAN 2.11 reads the option once
        monkeypatch.setattr(common.SolrSettings, "_url", away)


def test_search_that_is_away(read: Read, labels_of_others: None, solr_away: None) -> None:
    page = read("/freshness", status=503)
    assert "The search does not answer" in page.get_text()


def test_tasks_need_no_search(labels_of_others: None, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("clean_site")
    user = factories.User()
    editors = [{"name": user["name"], "capacity": "editor"}]
    visited(make("wells", owner_org=factories.Organization(users=editors)["id"]))
    request.getfixturevalue("solr_away")
    context = {"user": user["name"], "auth_user_obj": model.User.get(user["name"])}
    assert worklist.total(context) == 1
    found = worklist.worklist(context, worklist.scope(context))
    assert [row["name"] for row in found.tasks["broken"]] == ["wells"]


# The command and the action.


def test_the_command(cli: Any, clean_site: None) -> None:
    dataset = make("wells", 9, owner_org=factories.Organization(name="relief")["id"], private=True)
    judge()
    visited(dataset)
    changed(dataset)
    told = cli.invoke(ckan, ["freshness", "report"])
    assert told.exit_code == 0, told.output
    assert "wells  Up to date -> Due  (" in told.output
    # The stored counts cover only public datasets.
    ((_, stored),) = counts.days(NOW.date())
    assert stored.statuses["due"] == 0
    for arguments, words in (
        (["--since", "soon"], "--since: soon is neither a date"),
        (["--since", "soon"], "nor last, the last check"),
    ):
        failed = cli.invoke(ckan, ["freshness", "report", *arguments])
        assert failed.exit_code == 1
        assert words in failed.output
