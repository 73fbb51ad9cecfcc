"""Numbers of datasets by status, among the datasets that a user may see.

Solr counts them, because its searches respect permissions. It counts stored statuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..aging.status import Status
from ..ckan_adapter.site_names import site_names
from .tables import Context
from .visibility import search

STATUSES = tuple(status.value for status in Status)
NEEDS_UPDATE = "needs_update"
"""The value of the filter for all statuses of :data:`NEED_UPDATE`."""
NEED_UPDATE = (Status.DUE.value, Status.OVERDUE.value, Status.DELINQUENT.value)


@dataclass(frozen=True, slots=True)
class StatusCounts:
    """Numbers of datasets.

    :ivar statuses: by status, zeros included
    :ivar undetermined: by the reason why changes of the deciding resource cannot be detected
    """

    statuses: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    undetermined: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of all datasets."""
        return sum(self.statuses.values())

    @property
    def known(self) -> int:
        """The number of datasets with known freshness."""
        return self.total - self.statuses.get(Status.UNAVAILABLE.value, 0)

    @property
    def fresh_percent(self) -> float:
        """The percentage of fresh datasets among those with known freshness; 0 if there are none."""
        fresh = self.statuses.get(Status.FRESH.value, 0)
        return 100 * fresh / self.known if self.known else 0.0


def of_statuses(numbers: Mapping[str, int]) -> StatusCounts:
    """Return counts from numbers by status, in which zeros may be missing."""
    return StatusCounts({**dict.fromkeys(STATUSES, 0), **numbers})


@dataclass(frozen=True, slots=True)
class CurrentCounts:
    """The present counts.

    :ivar every: of all datasets
    :ivar organizations: by the organization's name
    :ivar titles: the organizations' titles by their names
    """

    every: StatusCounts
    organizations: Mapping[str, StatusCounts]
    titles: Mapping[str, str]


def count(context: Context, only: str = "") -> CurrentCounts:
    """Count the datasets that a user may see, in total and by organization.

    :param only: a filter query for Solr
    """
    statuses: dict[str, int] = {}
    undetermined: dict[str, int] = {}
    by_organization: dict[str, dict[str, int]] = {}
    titles: dict[str, str] = {}
    for status in STATUSES:
        found = search(
            context,
            f"+{site_names().status}:{status} {only}",
            **{"facet.field": ["organization", site_names().undetermined]},
            **{"facet.limit": -1, "facet.mincount": 1},
        )
        statuses[status] = found["count"]
        for item in _items(found, "organization"):
            numbers = by_organization.setdefault(item["name"], dict.fromkeys(STATUSES, 0))
            numbers[status] = item["count"]
            titles[item["name"]] = item["display_name"]
        for item in _items(found, site_names().undetermined):
            undetermined[item["name"]] = undetermined.get(item["name"], 0) + item["count"]
    return CurrentCounts(
        StatusCounts(statuses, undetermined),
        {name: StatusCounts(numbers) for name, numbers in by_organization.items()},
        titles,
    )


def by_status(context: Context, only: str = "") -> dict[str, int]:
    """Return the numbers of the datasets that a user may see, by status, without zeros.

    :param only: a filter query for Solr
    """
    field = site_names().status
    found = search(
        context, only, **{"facet.field": [field], "facet.limit": -1, "facet.mincount": 1}
    )
    return {item["name"]: item["count"] for item in _items(found, field)}


def _items(found: Mapping[str, Any], facet: str) -> list[dict[str, Any]]:
    return list(found["search_facets"].get(facet, {}).get("items", []))
