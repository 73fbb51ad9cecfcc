"""The dashboard of the site and of an organization: what each reader sees, and in which order."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from ckan import authz
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.reporting import counts
from ckanext.freshness.reporting.counts import of_statuses
from ckanext.freshness.tests.pages.conftest import Get, Read
from ckanext.freshness.tests.pages.reports import (
    DAY,
    NOW,
    World,
    judge,
    make,
    make_world,
    text_of,
)
from ckanext.freshness.tests.pages.test_runs import run

__all__ = ["make_world"]


def section(page: BeautifulSoup, heading: str) -> str:
    """Return the words of the section with a heading; empty if there is none."""
    found = [one for one in page.select("h2") if one.get_text(strip=True) == heading]
    return text_of(found[0].find_parent("section")) if found else ""


def headings(page: BeautifulSoup) -> list[str]:
    return [one.get_text(strip=True) for one in page.select(".fr h2")]


def cards(page: BeautifulSoup) -> dict[str, tuple[str, str, Any]]:
    """Return the figures by their labels: value, small print and colour."""
    return {
        text_of(one.select_one("span")): (
            text_of(one.select_one("b")),
            text_of(one.select_one("small")),
            one.get("data-state"),
        )
        for one in page.select(".fr-card")
    }


def test_the_answer_comes_first(read: Read, world: World) -> None:
    page = read("/freshness")
    answer = text_of(page.select_one(".fr-answer"))
    assert answer.startswith("50% of 4 datasets with known freshness are up to date.")
    assert "Up 10 points from 40% a month ago." in answer
    # A busy machine takes minutes to make the site.
    assert re.search(r"Links were last checked 3\d minutes ago", answer)
    assert "Not counted: 1 dataset whose freshness is unknown" in text_of(page)
    assert "haven't been checked" not in page.get_text()
    # Those who see private datasets count them; the past has only public ones.
    answer = text_of(read("/freshness", "sysadmin").select_one(".fr-answer"))
    assert answer.startswith("40% of 5 datasets with known freshness are up to date.")
    assert "Public datasets: 50%. Up 10 points from 40% a month ago." in answer


def test_the_trend_of_an_organization(read: Read, clean_site: None) -> None:
    worse, new = (factories.Organization(title=title) for title in ("Worse", "New"))
    unknown = {"unavailable": 5}

    def store(days: int, **found: dict[str, int]) -> None:
        ids = {"worse": worse["id"], "new": new["id"]}
        stored = [{"id": ids[name], "counts": of_statuses(found[name])} for name in found]
        counts.store(NOW - days * DAY, of_statuses(unknown), stored)

    store(30, worse={"fresh": 9, "delinquent": 1})
    # Whatever was stored last night, the figures of now are compared.
    store(0, worse={"fresh": 4, "delinquent": 6}, new={"fresh": 1})
    for owner in (worse, new):
        make(f"data-{owner['title'].lower()}", 9, owner_org=owner["id"])
    judge()
    user = factories.SysadminWithToken()
    pages = {
        owner["title"]: text_of(read(f"/freshness/organization/{owner['name']}", user))
        for owner in (worse, new)
    }
    assert "Down 90 points from 90% a month ago." in pages["Worse"]
    for page in (pages["New"], text_of(read("/freshness"))):
        assert "a month ago" not in page


CARDS: dict[str, dict[str, tuple[str, str, str | None]]] = {
    "nobody": {
        "Need an update": ("2", "of 4 with known freshness; 1 is long overdue", "warn"),
        "Broken links": ("1", "of 2 checked; 3 not checked yet", "bad"),
    },
    "editor": {
        "Need an update": ("3", "of 5 with known freshness; 1 is long overdue", "warn"),
        "Broken links": ("2", "of 3 checked; 4 not checked yet", "bad"),
        "Deletions on hold": ("3", "from 1 source", "bad"),
    },
    "sysadmin": {
        "Need an update": ("3", "of 5 with known freshness; 1 is long overdue", "warn"),
        "Broken links": ("2", "of 3 checked; 4 not checked yet", "bad"),
        "Deletions on hold": ("3", "from 1 source", "bad"),
        "Sources with errors": ("1", "in their last job", "warn"),
        "Last run": ("Finished", "490 links checked in 30 minutes", None),
    },
}
CARDS["stranger"] = CARDS["nobody"]


@pytest.mark.parametrize("role", CARDS)
def test_figures_of_each_role(read: Read, world: World, role: str) -> None:
    assert cards(read("/freshness", role)) == CARDS[role]


def test_what_waits_for_each_role(read: Read, world: World) -> None:
    holding = (
        "About holding : 3 datasets would be deleted. Nothing is deleted until you approve it."
    )
    notes = {
        role: [text_of(one) for one in read("/freshness", user).select(".fr-note")]
        for role, user in world.people.items()
    }
    assert notes["nobody"] == notes["stranger"] == notes["member"] == []
    (sources, own) = notes["editor"]
    assert sources == f"One harvest source needs attention {holding}"
    assert own.startswith("5 tasks in your datasets")
    (sources,) = notes["sysadmin"]
    assert sources.startswith(f"2 harvest sources need attention {holding} About failing")
    # Within another organization there is nothing to do for them.
    assert not read("/freshness/organization/roads", "editor").select(".fr-note")


def test_organizations_and_sources(read: Read, world: World) -> None:
    ranking = section(read("/freshness"), "Organizations")
    assert "Road Office 0% of 1 up to date Relief Works 67% of 3 up to date" in ranking
    assert "Nothing Yet" not in ranking
    sources = {
        role: section(read("/freshness", user), "Harvest sources")
        for role, user in world.people.items()
    }
    assert not any(sources[role] for role in ("nobody", "stranger", "member"))
    assert "3 deletions are on hold until somebody approves them" in sources["editor"]
    assert "About failing" not in sources["editor"]
    assert "About concealed" in sources["sysadmin"]
    # The own organizations of an editor come before the answer for the whole site.
    for role, own in (("nobody", 0), ("editor", 1), ("both", 2), ("sysadmin", 0)):
        page = read("/freshness", role)
        assert len(page.select("[aria-labelledby=part-own] li")) == own, role
    assert "50% of 4 up to date" in section(read("/freshness", "editor"), "Your organizations")


def test_those_who_may_not_search_see_nothing(
    read: Read, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tk.auth_allow_anonymous_access
    def refuse(context: Any, data_dict: Any) -> dict[str, Any]:
        return {"success": False, "msg": "This site is closed"}

    monkeypatch.setitem(authz._AuthFunctions._functions, "package_search", refuse)
    for path in (
        "",
        ".csv",
        "/organization/relief",
        "/organization/relief.csv",
        "/data.atom",
    ):
        page = read(f"/freshness{path}", status=403)
        assert "wells" not in page.get_text(), path


# Sites with next to nothing.


def test_a_site_with_little(read: Read, clean_site: None) -> None:
    make("first", extras=[])
    page = read("/freshness")
    assert "We can't say yet which datasets are up to date." in page.get_text()
    assert cards(page) == {}
    make("second", 3)
    judge()
    counts.record(NOW - timedelta(days=1))
    page = read("/freshness")
    assert "100% of 1 dataset with known freshness is up to date." in text_of(page)
    assert "Links haven't been checked yet. These figures are based on metadata only." in text_of(
        page
    )
    # All is well: no colour says otherwise.
    assert cards(page) == {"Need an update": ("0", "of 1 with known freshness", None)}
    # Uploads are not checked, and do not wait for it.
    root = factories.Sysadmin()["name"]
    for name in ("first", "second"):
        files = [{"url": "table.csv", "url_type": "upload"}]
        call_action("package_patch", {"user": root}, id=name, resources=files)
    model.Session.add(run("night", NOW, 0.5))
    model.Session.commit()
    assert "haven't been checked" not in text_of(read("/freshness"))


def test_before_the_first_refresh(read: Read, get: Get, clean_site: None) -> None:
    make("data")
    model.Session.execute(sa.text("DELETE FROM freshness_dataset"))
    model.Session.commit()
    page = text_of(read("/freshness"))
    assert "We can't say yet which datasets are up to date." in page
    assert "Not counted: 1 dataset whose freshness is unknown" in page
    (row,) = json.loads(get("/freshness/datasets.json?status=unavailable").body)
    assert (row["name"], row["status_label"]) == ("data", "Freshness unknown")
