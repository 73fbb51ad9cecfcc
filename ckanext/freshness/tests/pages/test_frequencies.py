"""Declared update frequencies that do not fit: the table, the tasks of editors, and what editors can do."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.aging.evidence import Evidence
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.reporting import changes, counts
from ckanext.freshness.tests.pages.conftest import Get, Read
from ckanext.freshness.tests.pages.reports import (
    DAY,
    NOW,
    data_changed,
    judge,
    make,
    rows_of,
    text_of,
    undo,
)

World = dict[str, Any]

QUARTERLY = [20 + 92 * number for number in range(6)]
WEEKLY = [3 + 7 * number for number in range(20)]
DATASETS: dict[str, tuple[str | None, list[int], dict[str, Any]]] = {
    "surveys": ("30", QUARTERLY, {}),
    "rainfall": ("365", WEEKLY, {}),
    "prices": ("7", WEEKLY, {}),
    "clinics": ("30", QUARTERLY, {"private": True}),
    "highways": ("30", QUARTERLY, {"owner_org": "roads"}),
    "names": (None, WEEKLY, {}),
    "live": ("0", WEEKLY, {}),
    "gone": ("30", QUARTERLY, {}),
}


def make_world() -> World:
    """Create two organizations with datasets whose frequency fits and does not."""
    people: World = {
        role: dict(factories.UserWithToken(name=role)) for role in ("editor", "member", "stranger")
    }
    people["root"] = dict(factories.SysadminWithToken(name="root"))
    factories.Organization(
        name="relief",
        title="Relief Works",
        users=[
            {"name": "editor", "capacity": "editor"},
            {"name": "member", "capacity": "member"},
        ],
    )
    factories.Organization(name="roads", title="Road Office")
    for name in DATASETS:
        add(name)
    judge()
    call_action("package_delete", {"user": "root"}, id="gone")
    counts.record(NOW)
    model.Session.remove()
    return people


def add(like: str, name: str | None = None) -> dict[str, Any]:
    """Create a dataset of :data:`DATASETS`, perhaps with another name."""
    frequency, ages, more = DATASETS[like]
    extras = [] if frequency is None else [{"key": "frequency", "value": frequency}]
    made = make(name or like, **{"extras": extras, "owner_org": "relief", **more})
    for age in ages:
        data_changed(made, age * DAY, evidence=Evidence.UPLOAD, changed_after=None)
    return made


def another(name: str) -> str:
    """Create a monthly dataset with quarterly changes for a test that changes it; return its id."""
    made = add("surveys", name)
    judge()
    changes.store_frequencies(NOW)
    model.Session.remove()
    return str(made["id"])


def titles(page: Any, selector: str) -> list[str]:
    return [one.get_text().removeprefix("About ") for one in page.select(selector)]


SEES = {
    None: {"surveys", "rainfall", "highways"},
    "member": {"surveys", "rainfall", "highways", "clinics"},
}


@pytest.mark.parametrize("who", SEES)
def test_the_table_has_the_datasets_that_the_reader_may_see(
    get: Get, read: Read, world: World, who: str | None
) -> None:
    page = read("/freshness/frequencies", who)
    assert set(titles(page, "#freshness-frequencies .fr-title")) == SEES[who]
    rows = rows_of(get("/freshness/frequencies.csv", who))
    assert {row["name"] for row in rows} == SEES[who]
    in_json = get("/freshness/frequencies.json", who).get_json()
    assert {row["name"]: str(row["factor"]) for row in in_json} == {
        row["name"]: row["factor"] for row in rows
    }
    (card,) = (one for one in read("/freshness", who).select(".fr-card") if "frequency" in str(one))
    assert text_of(card) == (
        f"Check the frequency {len(SEES[who])} declared frequency does not fit"
    )
    assert card["href"] == "/freshness/frequencies"


def send(read: Read, do: str) -> BeautifulSoup:
    return read("/freshness/tasks", "editor", data={"do": do, "list": "mine"})


def test_an_editor_keeps_a_frequency(read: Read, world: World) -> None:
    id = another("kept")
    path = "/dataset/kept/freshness"
    assert read(path, "editor").select("#freshness-misfit button")
    assert not read(path, "stranger").select("#freshness-misfit")
    page = send(read, f"keep:::{id}")
    assert "About kept keeps its update frequency." in text_of(page)
    changes.store_frequencies(NOW + DAY)
    model.Session.remove()
    for shown in (read("/freshness/mine", "editor"), read("/freshness/frequencies")):
        assert "kept" not in titles(shown, ".fr-title")
    assert not read(path, "editor").select("#freshness-misfit")
    page = send(read, undo(page))
    assert "kept" in titles(page, "section:has(> #tasks-misfit) h3 a")
    # Another declared frequency is compared anew.
    send(read, f"keep:::{id}")
    extras = [{"key": "frequency", "value": "14"}]
    call_action("package_patch", {"user": "root"}, id=id, extras=extras)
    changes.store_frequencies(NOW + 2 * DAY)
    model.Session.remove()
    assert "kept" in titles(read("/freshness/frequencies"), ".fr-title")
