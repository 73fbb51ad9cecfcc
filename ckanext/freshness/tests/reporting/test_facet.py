"""The two levels of the facet."""

from __future__ import annotations

from typing import Any

import pytest

from ckanext.freshness.reporting.marks import FacetValue, levels


def items(text: str) -> list[dict[str, Any]]:
    """Return items of a facet as CKAN gives them: ``"due:2 fresh:1*"``, an asterisk for a chosen one."""
    found = []
    for one in text.split():
        name, count = one.rstrip("*").split(":")
        found.append({"name": name, "count": int(count), "active": one.endswith("*")})
    return found


def shown(values: tuple[FacetValue, ...] | list[FacetValue]) -> str:
    found = []
    for value in values:
        under = f"({shown(value.under)})" if value.under else ""
        field = value.field.removeprefix("freshness").lstrip("_") or "status"
        mark = "*" * value.active
        found.append(f"{field}={value.name}:{value.count}{mark}{under}")
    return " ".join(found)


@pytest.mark.parametrize(
    ("groups", "statuses", "expected"),
    [
        ("", "", ""),
        pytest.param(
            "unknown:3 needs_update:7 up_to_date:9",
            "fresh:9 delinquent:1 due:4 overdue:2 unavailable:3",
            "group=up_to_date:9 "
            "group=needs_update:7(status=due:4 status=overdue:2 status=delinquent:1) "
            "group=unknown:3",
            id="in the order of aging",
        ),
        pytest.param(
            "needs_update:2*",
            "overdue:2*",
            "group=needs_update:2*(status=overdue:2*)",
            id="both levels chosen",
        ),
        pytest.param(
            "up_to_date:5",
            "fresh:5*",
            "group=up_to_date:5(status=fresh:5*)",
            id="a link to a status that is alone in its group",
        ),
        pytest.param(
            "needs_update:1",
            "due:1 fresh:4 overdue:1",
            "status=fresh:4 status=due:1 status=overdue:1",
            id="documents without a group",
        ),
        pytest.param("", "due:1*", "status=due:1*", id="no document has a group"),
    ],
)
def test_statuses_stand_under_their_groups(groups: str, statuses: str, expected: str) -> None:
    assert shown(levels(items(groups), items(statuses))) == expected
