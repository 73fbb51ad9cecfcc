"""Broken links by server."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from bs4 import BeautifulSoup
from ckan.tests import factories

from ckanext.freshness.aging.status import Status
from ckanext.freshness.reporting import link_causes
from ckanext.freshness.tests.pages.conftest import Read
from ckanext.freshness.tests.pages.datasets import break_link, make_dataset
from ckanext.freshness.tests.pages.reports import rows_of, text_of

NOW = datetime.now(timezone.utc).replace(tzinfo=None, microsecond=0)
NIGHT = NOW - timedelta(days=9)
GONE, AWAY = ({"status": 404}, {"status": None, "reason": "name not found"})

LINKS: dict[str, tuple[str, datetime, dict[str, Any]]] = {
    # The private dataset's link is of the night of the others.
    "wells": ("old.example.org", NIGHT, GONE),
    "camps": ("old.example.org", NIGHT + timedelta(hours=3), GONE),
    "secret": ("old.example.org", NIGHT, GONE),
    "roads": ("old.example.org", NIGHT, AWAY),
    "rain": ("rain.example.org", NIGHT, GONE),
    "snow": ("rain.example.org", NIGHT - timedelta(days=3), GONE),
}
"""Broken links by dataset: the server, since when, and the last answer."""


def make_world() -> dict[str, Any]:
    """Create datasets with a broken link each; an organization has the private one."""
    people: dict[str, Any] = {
        "nobody": None,
        "editor": dict(factories.UserWithToken()),
        "stranger": dict(factories.UserWithToken()),
        "sysadmin": dict(factories.SysadminWithToken()),
    }
    factories.Organization(
        name="relief", users=[{"name": people["editor"]["name"], "capacity": "editor"}]
    )
    factories.Organization(name="roads")
    for name, (host, since, answer) in LINKS.items():
        owner = "roads" if name == "snow" else "relief"
        dataset = make_dataset(Status.FRESH, name, owner_org=owner, private=name == "secret")
        attempt = {"outcome": "error", "words": "failed", **answer}
        break_link(dataset, host=host, failing_since=since, attempts=[attempt])
    return people


def groups_of(page: BeautifulSoup) -> dict[str, set[str]]:
    """Return the datasets of each group by its words."""
    return {
        text_of(group.summary): {
            str(link["href"]).split("/")[2] for link in group.select("small a")
        }
        for group in page.select("details[id^=server]")
    }


def night(days: int = 0) -> str:
    return f"{NIGHT - timedelta(days=days):%-d %b}"


@pytest.mark.parametrize("who", ["nobody", "stranger", "editor", "sysadmin"])
def test_links_of_one_server_that_fail_for_one_reason_are_together(
    read: Read, app: Any, world: dict[str, Any], who: str
) -> None:
    page = read("/freshness/broken/servers", world[who])
    sees_all = who in ("editor", "sysadmin")
    number = 3 if sees_all else 2
    several = "links on this server have failed"
    one = f"1 link on this server has failed since the night of {night()}."
    assert groups_of(page) == {
        f"old.example.org {number} {several} since the same night ({night()}). "
        "The file is gone (404 Not Found).": {"wells", "camps", *["secret"] * sees_all},
        f"rain.example.org 2 {several}, the first since {night(3)}, the last since {night()}. "
        "The file is gone (404 Not Found).": {"rain", "snow"},
        f"old.example.org {one} There is no server of this name.": {"roads"},
    }
    # Each link of the list is in one group, and has one row in the files.
    link = page.select_one('a[href*="broken.csv"]')
    assert link is not None
    headers = {"Authorization": world[who]["token"]} if world[who] else {}
    rows = rows_of(app.get(str(link["href"]).partition("?")[0], headers=headers))
    assert sorted(row["name"] for row in rows) == sorted(
        name for names in groups_of(page).values() for name in names
    )


def test_groups_can_be_restricted_as_the_list_can(read: Read, world: dict[str, Any]) -> None:
    for query, names in {"organization=roads": {"snow"}, "q=roads": {"roads"}}.items():
        page = read(f"/freshness/broken/servers?{query}")
        assert set().union(*groups_of(page).values()) == names
    empty = read("/freshness/broken/servers?q=nothing")
    assert "Nothing matches your search." in text_of(empty)
    assert read("/freshness/broken?q=rain").select_one('a[href*="/broken/servers?q=rain"]')
    read("/freshness/broken/servers?organization=unknown", status=404)


def test_a_page_says_that_it_has_not_all_links(
    read: Read, world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_causes, "MOST", 4)
    monkeypatch.setattr(link_causes, "LISTED", 1)
    page = read("/freshness/broken/servers")
    assert "the 4 links that have been broken for longest" in text_of(page)
    assert sum(len(names) for names in groups_of(page).values()) < 4
    assert page.select_one('details a.fr-more[href*="q=old.example.org"], details a.fr-more')
