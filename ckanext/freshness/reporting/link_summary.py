"""Numbers of links: how many were checked, are broken, broke lately, and have a copy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..checking.selection import IS_BROKEN
from ..ckan_adapter.ckan_core import model
from ..dates import utc
from ..model.check import CHECKED_LINKS
from . import dataset_tables
from .tables import TableRequest
from .visibility import condition

LATELY = timedelta(days=7)
"""A link that broke within this time is newly broken."""

MOST, MOST_BROKEN = 100_000, 10_000
"""The greatest numbers of checked and of broken links that are counted: counting millions takes a second."""


@dataclass(frozen=True, slots=True)
class LinkSummary:
    """Numbers of links of the datasets that a user may see.

    :ivar checked: links with at least one check, at most :data:`MOST`; None if they cannot be counted
        because another plugin decides who sees what
    :ivar broken: links that failed several times, spread over time; at most :data:`MOST_BROKEN`
    :ivar newly_broken: those of them that work no longer since :data:`LATELY`
    :ivar any_checked: whether any link was checked
    :ivar counted_all_broken: whether all broken links were counted
    """

    checked: int | None
    broken: int
    newly_broken: int
    any_checked: bool
    counted_all_broken: bool

    @property
    def counted_all(self) -> bool:
        """Whether all checked links were counted."""
        return self.checked is not None and self.checked < MOST


def summary(asked: TableRequest) -> LinkSummary:
    """Count the links of the datasets that a user may see."""
    since = asked.now - LATELY
    visible = condition(asked.context)
    if visible is None:
        rows = dataset_tables.BROKEN.rows(replace(asked, sort="-failing_since"))
        failing = [row["failing_since"] for row in islice(rows, MOST_BROKEN)]
        recent = sum(1 for one in failing if datetime.fromisoformat(one) >= since)
        any_checked = model.Session.execute(sa.text(_ANY_CHECKED)).scalar_one()
        return LinkSummary(None, len(failing), recent, any_checked, len(failing) < MOST_BROKEN)
    sql, labels = visible
    values: dict[str, Any] = {
        "types": sorted(settings.aging().dataset_types),
        "organization": asked.organization,
        **settings.checks().broken_values,
        "since": utc(since),
        **labels,
    }
    statement = _BROKEN if asked.organization is None else _BROKEN_OF_ORGANIZATION
    row = model.Session.execute(sa.text(statement.format(visible=sql)), values).one()
    checked = model.Session.execute(sa.text(_CHECKED.format(visible=sql)), values).scalar_one()
    return LinkSummary(checked, row.broken, row.recent, checked > 0, row.candidates < MOST_BROKEN)


_VISIBLE = """p.state = 'active' AND p.type = ANY(:types) AND {visible}
    AND (CAST(:organization AS text) IS NULL
        OR p.owner_org IN (SELECT id FROM "group" WHERE name = :organization))"""

_COUNT_BROKEN = """
SELECT count(*) AS broken, count(*) FILTER (WHERE failing_since >= :since) AS recent"""

# PostgreSQL expects few links to meet the condition, and would then read all failing ones. CASE hides the
# condition from its estimates, so that it reads the newest ones from the index and stops. The links in use are
# looked up one by one, because a join would read all resources.
_BROKEN = f"""
WITH newest AS (
    SELECT c.* FROM freshness_check c
    WHERE c.failing_since IS NOT NULL AND CASE WHEN {IS_BROKEN} THEN true END
    ORDER BY c.failing_since DESC LIMIT {MOST_BROKEN}
)
{_COUNT_BROKEN}, (SELECT count(*) FROM newest) AS candidates
FROM newest c JOIN package p ON p.id = c.package_id
WHERE {_VISIBLE}
    AND (SELECT r.url = c.url AND r.state = 'active' FROM resource r WHERE r.id = c.resource_id)"""

_BROKEN_OF_ORGANIZATION = f"""
{_COUNT_BROKEN}, count(*) AS candidates
FROM (
    SELECT c.failing_since FROM {CHECKED_LINKS}
    WHERE {_VISIBLE} AND {IS_BROKEN}
    ORDER BY c.failing_since DESC LIMIT {MOST_BROKEN}
) newest"""

_CHECKED = f"""
SELECT count(*) FROM (
    SELECT FROM freshness_check c JOIN package p ON p.id = c.package_id
    WHERE {_VISIBLE} AND c.tried_at IS NOT NULL LIMIT {MOST}
) checked"""

_ANY_CHECKED = "SELECT EXISTS (SELECT FROM freshness_check WHERE tried_at IS NOT NULL)"
