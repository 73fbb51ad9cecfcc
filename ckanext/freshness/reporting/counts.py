"""Numbers of datasets by status, among the datasets that a user may see. Stored statuses are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa

from .. import settings
from ..aging.status import Status
from ..ckan_adapter.core import model
from . import visibility
from .tables import Context, Row, TableRequest

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


def count(context: Context, organization: str | None = None) -> CurrentCounts:
    """Count the datasets that a user may see, in total and by organization.

    :param organization: the name of an organization, to count only its datasets
    """
    visible, values = visibility.condition(context)
    values = {**values, "types": sorted(settings.aging().dataset_types)}
    of = "true"
    if organization is not None:
        of, values["organization"] = "g.name = :organization", organization
    statement = sa.text(_COUNTED.format(visible=visible, of=of))
    statuses, undetermined = dict.fromkeys(STATUSES, 0), Counter[str]()
    by_organization: dict[str, dict[str, int]] = {}
    titles: dict[str, str] = {}
    for row in model.Session.execute(statement, values):
        statuses[row.status] += row.number
        if row.undetermined is not None:
            undetermined[row.undetermined] += row.number
        if row.name is not None:
            numbers = by_organization.setdefault(row.name, dict.fromkeys(STATUSES, 0))
            numbers[row.status] += row.number
            titles[row.name] = row.title
    return CurrentCounts(
        StatusCounts(statuses, undetermined),
        {name: StatusCounts(numbers) for name, numbers in by_organization.items()},
        titles,
    )


_COUNTED = """
SELECT f.status, f.undetermined, g.name, coalesce(nullif(g.title, ''), g.name) AS title, count(*) AS number
FROM package p JOIN freshness_dataset f ON f.package_id = p.id LEFT JOIN "group" g ON g.id = p.owner_org
WHERE p.state = 'active' AND p.type = ANY(:types) AND {visible} AND {of}
GROUP BY f.status, f.undetermined, g.id"""


def status_rows(request: TableRequest) -> list[Row]:
    """Return a row for each status."""
    every = count(request.context, request.organization).every
    total = every.total or 1
    return [
        {"status": status, "datasets": number, "percent": round(100 * number / total, 1)}
        for status, number in every.statuses.items()
    ]


def organization_rows(request: TableRequest) -> list[Row]:
    """Return a row for each organization with datasets."""
    report = count(request.context)
    rows: list[Row] = [
        {
            "name": name,
            "title": report.titles[name],
            "datasets": numbers.total,
            "fresh_percent": round(numbers.fresh_percent, 1),
            **numbers.statuses,
        }
        for name, numbers in report.organizations.items()
    ]
    return sorted(rows, key=lambda row: str(row["title"]).casefold())
