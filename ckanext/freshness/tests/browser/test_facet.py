"""The facet and the badges in a browser."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from ckan.tests import factories

from ckanext.freshness.aging.status import Status
from ckanext.freshness.tests.pages.datasets import LABELS, make_dataset

TITLES = {
    Status.FRESH: "Food prices in local markets",
    Status.DUE: "Health facilities and their opening hours",
    Status.OVERDUE: "Water points: functionality survey",
    Status.DELINQUENT: "Displacement tracking, weekly round",
    Status.UNAVAILABLE: "Administrative boundaries",
}
_COUNTS = Counter({LABELS[status]: number % 2 + 1 for number, status in enumerate(Status)})
VALUES = {label: Counter({label: count}) for label, count in _COUNTS.items()} | {
    "Need an update": Counter(
        {
            LABELS[one]: _COUNTS[LABELS[one]]
            for one in (Status.DUE, Status.OVERDUE, Status.DELINQUENT)
        }
    )
}
"""The badges that each value of the facet finds."""


@pytest.fixture
def datasets(clean_db: Any, clean_index: Any) -> dict[str, Any]:
    """Create datasets of each status and return their organization."""
    organization = factories.Organization(name="relief", title="Relief Works")
    for number, status in enumerate(Status):
        for copy in range(number % 2 + 1):
            title = TITLES[status] if not copy else f"{TITLES[status]} (north)"
            notes = "Collected by field teams and published as a table."
            name = f"{status.value}-{copy}"
            make_dataset(status, name, title=title, notes=notes, owner_org=organization["id"])
    return dict(organization)


def badges(page: Any) -> list[str]:
    return [one.strip() for one in page.locator(".dataset-item .fr-badge").all_inner_texts()]


def value_of_facet(page: Any, label: str) -> Any:
    heading = page.locator(".module-heading", has_text="Freshness")
    section = page.locator("section.module-shallow").filter(has=heading)
    return section.locator("a").filter(has=page.get_by_text(label, exact=True))


@pytest.mark.parametrize("path", ["/dataset/", "/organization/relief"])
def test_each_value_of_the_facet_finds_the_badges_that_it_counts(
    page: Any, datasets: dict[str, Any], path: str
) -> None:
    page.goto(path)
    assert len(badges(page)) == 7
    for label, counts in VALUES.items():
        value = value_of_facet(page, label)
        assert int(value.locator(".item-count").inner_text()) == sum(counts.values())
        value.click()
        page.wait_for_url(re.compile("freshness"))
        page.locator(".nav-item.active", has_text=label).first.wait_for()
        assert Counter(badges(page)) == counts
        assert page.locator(".filtered.pill", has_text=label).count() == 1
        value_of_facet(page, label).click()
        page.wait_for_url(lambda url: "freshness" not in url)
        page.locator(".nav-item.active").wait_for(state="detached")
        assert len(badges(page)) == 7
