"""The badge in lists and on the dataset's page, the facet, and pages that hide our extras."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from ckan.tests import factories

from ckanext.freshness import helpers
from ckanext.freshness.aging.status import Status
from ckanext.freshness.tests.pages.conftest import Read
from ckanext.freshness.tests.pages.datasets import LABELS, make_dataset

HTMX = {"HX-Request": "true"}


def badges(page: BeautifulSoup) -> list[str]:
    return [one.get_text(strip=True) for one in page.select(".freshness-badge")]


def facet(page: BeautifulSoup) -> list[tuple[str, str]]:
    """Return labels and counts, in order."""
    (section,) = (
        one
        for one in page.select("section:has(> .module-heading)")
        if one.select(".module-heading")[0].get_text(strip=True) == "Freshness"
    )
    labels = [one.get_text(strip=True) for one in section.select(".item-label")]
    counts = [one.get_text(strip=True) for one in section.select(".item-count")]
    return list(zip(labels, counts, strict=True))


def test_lists_and_pages_say_the_status(read: Read) -> None:
    for status in Status:
        make_dataset(status)
    page = read("/dataset/?sort=name+asc")
    assert badges(page) == [LABELS[Status(one)] for one in sorted(s.value for s in Status)]
    for status, label in LABELS.items():
        name = f"data-{status.value}"
        page = read(f"/dataset/{name}")
        assert badges(page) == [label]
        (badge,) = page.select("h1 a.freshness-badge")
        assert badge["href"] == f"/dataset/{name}/freshness"
        assert badge["data-freshness"] == status.value


def test_the_facet_is_in_the_order_of_aging(read: Read) -> None:
    """Values are ordered by status, not by count, with the full texts of the badges."""
    organization = factories.Organization()
    for number, status in enumerate(Status):
        for copy in range(number % 3 + 1):
            make_dataset(status, f"data-{status.value}-{copy}", owner_org=organization["id"])
    counts = ("1", "2", "3", "1", "2")
    wanted = list(zip(LABELS.values(), counts, strict=True))
    assert facet(read("/dataset/")) == wanted
    assert facet(read(f"/organization/{organization['name']}")) == wanted
    page = read("/dataset/?freshness=overdue")
    assert badges(page) == [LABELS[Status.OVERDUE]] * 3
    assert [one.get_text(strip=True) for one in page.select(".filtered.pill")] == [
        LABELS[Status.OVERDUE]
    ]


def test_a_facet_without_values(read: Read) -> None:
    page = read("/dataset/")
    assert facet(page) == []
    assert "There are no Freshness that match this search" in page.get_text()


@pytest.mark.usefixtures("clean_site")
def test_badges_come_with_what_htmx_swaps(app: Any) -> None:
    """Every page has the style sheet, with or without badges."""
    assert "badge" in "".join(styles(app.get("/dataset/").body))
    make_dataset(Status.DUE)
    page = BeautifulSoup(app.get("/dataset/?freshness=due", headers=HTMX).body, "html.parser")
    assert badges(page) == [LABELS[Status.DUE]]
    assert facet(page) == [(LABELS[Status.DUE], "1")]


def styles(body: str) -> list[str]:
    page = BeautifulSoup(body, "html.parser")
    return [str(one["href"]) for one in page.select("link[rel=stylesheet]")]


def test_types_that_are_not_judged_have_neither_badge_nor_tab(
    read: Read, ckan_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ckan_config, "ckanext.freshness.dataset_types", ["geodata"])
    make_dataset(Status.DUE)
    page = read("/dataset/data-due")
    assert badges(page) == []
    assert page.select("a[href='/dataset/data-due/freshness']") == []


def test_additional_info_does_not_list_our_extras(read: Read) -> None:
    make_dataset(Status.DUE, "data", extras=[{"key": "freshness_of_fish", "value": "fine"}])
    page = read("/dataset/data")
    labels = [one.get_text(strip=True) for one in page.select(".additional-info th.dataset-label")]
    assert [one for one in labels if one.startswith("freshness")] == ["freshness_of_fish"]


@pytest.mark.parametrize(
    ("package", "status"),
    [
        ({}, None),
        ({"extras": None}, None),
        ({"extras": [{"key": "freshness", "value": "due"}]}, "due"),
        ({"freshness": "fresh", "extras": []}, "fresh"),
        ({"extras": [{"key": "freshness", "value": "<b>"}]}, None),
        ({"extras": [{"key": "freshness"}]}, None),
    ],
)
def test_what_a_badge_is_made_of(package: dict[str, Any], status: str | None) -> None:
    assert helpers.freshness_status(package) == status
