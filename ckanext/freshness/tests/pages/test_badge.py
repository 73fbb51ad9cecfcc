"""Badges in lists, on pages and for other websites; the facet; pages that hide our extras."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any
from xml.etree import ElementTree

from bs4 import BeautifulSoup
from ckan.tests import factories

from ckanext.freshness.aging.status import Status
from ckanext.freshness.reporting import labels
from ckanext.freshness.tests.pages.conftest import Read
from ckanext.freshness.tests.pages.datasets import LABELS, make_dataset

COUNTS = {status: number % 3 + 1 for number, status in enumerate(Status)}
"""Datasets of the organization by status."""
FACET = [
    ("Up to date", "1"),
    ("Need an update", "6"),
    ("Due", "2"),
    ("Overdue", "3"),
    ("Long overdue", "1"),
    ("Freshness unknown", "2"),
]


def make_world() -> dict[str, Any]:
    """An organization with datasets of each status and a private one, and an organization without any."""
    user = factories.UserWithToken()
    members = [{"name": user["name"], "capacity": "editor"}]
    factories.Organization(name="relief", title="<i>Relief & Co", users=members)
    factories.Organization(name="without")
    for status, count in COUNTS.items():
        for number in range(count):
            make_dataset(status, f"data-{status.value}-{number}", owner_org="relief")
    hidden = [{"key": "freshness_of_fish", "value": "fine"}]
    make_dataset(Status.DUE, "secret", owner_org="relief", private=True, extras=hidden)
    return {"editor": user}


def badges(page: BeautifulSoup) -> list[str]:
    return [one.get_text(strip=True) for one in page.select(".fr-badge")]


def facet(page: BeautifulSoup) -> list[tuple[str, str]]:
    """Return labels and counts, in order."""
    return [(label, count) for label, count, _ in values(page)]


def values(page: BeautifulSoup) -> list[tuple[str, str, str]]:
    """Return the label, the count and the address of each value of the facet, in order."""
    (section,) = (
        one
        for one in page.select("section:has(> .module-heading)")
        if one.select(".module-heading")[0].get_text(strip=True) == "Freshness"
    )
    labels = [one.get_text(strip=True) for one in section.select(".item-label")]
    counts = [one.get_text(strip=True) for one in section.select(".item-count")]
    links = [str(one["href"]) for one in section.select("a:has(.item-label)")]
    return list(zip(labels, counts, links, strict=True))


def test_lists_and_pages_say_the_status(read: Read, world: dict[str, Any]) -> None:
    expected = sorted(LABELS[status] for status, count in COUNTS.items() for _ in range(count))
    assert sorted(badges(read("/dataset/"))) == expected
    for status, label in LABELS.items():
        name = f"data-{status.value}-0"
        page = read(f"/dataset/{name}")
        assert badges(page) == [label]
        (badge,) = page.select("h1 a.fr-badge")
        (in_list,) = read("/dataset/").select(f"a.fr-badge[href='/dataset/{name}/freshness']")
        for one in (badge, in_list):
            assert one["href"] == f"/dataset/{name}/freshness"
            assert one["title"] == labels.label("meaning", status.value)


def additional_info(page: BeautifulSoup) -> dict[str, str]:
    rows = page.select("tr:has(th.dataset-label)")
    return {
        one.select("th")[0].get_text(strip=True): one.select("td")[0].get_text(strip=True)
        for one in rows
    }


def test_additional_info_says_when_the_data_changed(read: Read, world: dict[str, Any]) -> None:
    rows = additional_info(read("/dataset/data-due-0"))
    changed, due = (datetime.now(timezone.utc) - timedelta(days=days) for days in (8, 1))
    for label, day in (("Data last changed", changed), ("Update expected by", due)):
        assert rows[label] == labels.in_words(day, "year")
    assert rows["Update frequency"] == "Every week"
    assert "Metadata edited" in rows and not [one for one in rows if "freshness" in one]


def pills(page: BeautifulSoup) -> list[str]:
    return [one.get_text(strip=True) for one in page.select(".filtered.pill")]


def test_the_facet_has_groups_with_their_statuses(read: Read, world: dict[str, Any]) -> None:
    assert facet(read("/dataset/")) == FACET
    assert facet(read("/organization/relief")) == FACET
    # Each value finds the badges that it counts, and is then a pill.
    for path in ("/dataset/", "/organization/relief"):
        for label, count, link in values(read(path)):
            found = read(link)
            assert (len(badges(found)), pills(found)) == (int(count), [label])
            assert label == "Need an update" or set(badges(found)) == {label}
    page = read("/dataset/?freshness_group=needs_update")
    assert set(badges(page)) == {"Due", "Overdue", "Long overdue"}
    assert len(badges(page)) == 6
    assert facet(page) == FACET[1:5]
    page = read("/dataset/?freshness_group=needs_update&freshness=overdue")
    assert badges(page) == ["Overdue"] * 3
    assert facet(page) == [("Need an update", "3"), ("Overdue", "3")]
    assert pills(page) == ["Need an update", "Overdue"]
    chosen = page.select(".nav-facet a[aria-current]")
    # The second of them takes the status away and leaves the group.
    assert "freshness_group=needs_update" in str(chosen[1]["href"])
    assert "freshness=overdue" not in str(chosen[1]["href"])


def test_a_search_can_be_sorted_by_the_last_data_update(read: Read, world: dict[str, Any]) -> None:
    for path in ("/dataset/", "/organization/relief"):
        page = read(path)
        orders = {
            str(one["value"]): one.get_text() for one in page.select("#field-order-by option")
        }
        assert next(iter(orders)).startswith("score desc")
        assert list(orders.items())[-1] == ("freshness_last_modified_date desc", "Last data update")
    page = read("/dataset/?sort=freshness_last_modified_date+desc")
    (selected,) = page.select("#field-order-by option[selected]")
    assert selected.get_text() == "Last data update"
    ages = [badge for badge in badges(page) if badge != LABELS[Status.UNAVAILABLE]]
    order = [LABELS[status] for status in Status]
    assert ages == sorted(ages, key=order.index)
    assert "Last data update" not in str(read("/organization/").select("#field-order-by"))


def test_badges_for_other_websites(app: Any, world: dict[str, Any]) -> None:
    for status, label in LABELS.items():
        badge = app.get(f"/dataset/data-{status.value}-0/freshness.svg", status=200).body
        assert ElementTree.fromstring(badge).attrib["aria-label"] == f"freshness: {label.lower()}"
