"""Numbers of links: how many were checked, are broken, broke lately, and have a copy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..ckan_adapter.ckan_core import model
from ..dates import utc
from . import dataset_tables
from .broken_links import IS_IN_USE, NEWEST_BROKEN
from .tables import TableRequest
from .visibility import condition, organization_id

LATELY = timedelta(days=7)
"""A link that broke within this time is newly broken."""

MOST, MOST_BROKEN = 5_000, 1_000
"""The greatest numbers of checked and of broken links that are counted: to count all takes seconds."""


@dataclass(frozen=True, slots=True)
class LinkSummary:
    """Numbers of links of the datasets that a user may see.

    :ivar checked: links with at least one check, at most :data:`MOST`; None if they cannot be counted
        because another plugin decides who sees what
    :ivar broken: links that failed several times, spread over time; at most :data:`MOST_BROKEN`
    :ivar newly_broken: those of them that work no longer since :data:`LATELY`
    :ivar any_checked: whether any link was checked
    :ivar counted_all_broken: whether all broken links were counted
    :ivar counted_all: whether all checked links were counted
    """

    checked: int | None
    broken: int
    newly_broken: int
    any_checked: bool
    counted_all_broken: bool
    counted_all: bool


def summary(asked: TableRequest) -> LinkSummary:
    """Count the links of the datasets that a user may see."""
    since = asked.now - LATELY
    visible = condition(asked.context)
    if visible is None:
        rows = dataset_tables.BROKEN.rows(replace(asked, sort="-failing_since"))
        failing = [row["failing_since"] for row in islice(rows, MOST_BROKEN)]
        recent = sum(1 for one in failing if datetime.fromisoformat(one) >= since)
        any_checked = model.Session.execute(sa.text(_ANY_CHECKED)).scalar_one()
        return LinkSummary(
            None, len(failing), recent, any_checked, len(failing) < MOST_BROKEN, False
        )
    sql, labels = visible
    values: dict[str, Any] = {
        "types": sorted(settings.aging().dataset_types),
        "organization": asked.organization and organization_id(asked.organization),
        "dataset_ids": list(asked.dataset_ids or ()),
        **settings.checks().broken_values,
        "since": utc(since),
        **labels,
    }
    statement = _BROKEN if asked.organization is None else _BROKEN_OF_ORGANIZATION
    of = "p.owner_org = :organization" if asked.dataset_ids is None else "p.id = ANY(:dataset_ids)"
    row = model.Session.execute(sa.text(statement.format(visible=sql, of=of)), values).one()
    statement = _CHECKED if asked.organization is None else _CHECKED_OF_ORGANIZATION
    checked = model.Session.execute(sa.text(statement.format(visible=sql, of=of)), values).one()
    return LinkSummary(
        checked.links,
        row.broken,
        row.recent,
        checked.links > 0,
        row.candidates < MOST_BROKEN,
        checked.candidates < MOST,
    )


_VISIBLE = "p.state = 'active' AND p.type = ANY(:types) AND {visible}"
_OF_ORGANIZATION = f"{_VISIBLE} AND {{of}}"

_COUNT_BROKEN = """
SELECT count(*) AS broken, count(*) FILTER (WHERE failing_since >= :since) AS recent"""

_BROKEN = f"""
WITH newest AS ({NEWEST_BROKEN} ORDER BY c.failing_since DESC LIMIT {MOST_BROKEN})
{_COUNT_BROKEN}, (SELECT count(*) FROM newest) AS candidates
FROM newest c JOIN package p ON p.id = c.package_id
WHERE {_VISIBLE} AND {IS_IN_USE}"""

_BROKEN_OF_ORGANIZATION = f"""
WITH newest AS (
    SELECT n.* FROM ({NEWEST_BROKEN}) n JOIN package p ON p.id = n.package_id
    WHERE {_OF_ORGANIZATION} ORDER BY n.failing_since DESC LIMIT {MOST_BROKEN}
)
{_COUNT_BROKEN}, (SELECT count(*) FROM newest) AS candidates
FROM newest c WHERE {IS_IN_USE}"""

# First some links, then their datasets: a join would read all datasets.
_CHECKED = f"""
WITH first AS MATERIALIZED (
    SELECT package_id FROM freshness_check WHERE tried_at IS NOT NULL LIMIT {MOST}
)
SELECT count(*) AS links, (SELECT count(*) FROM first) AS candidates
FROM first c JOIN LATERAL (SELECT * FROM package WHERE id = c.package_id LIMIT 1) p ON true
WHERE {_VISIBLE}"""

_CHECKED_OF_ORGANIZATION = f"""
SELECT count(*) AS links, count(*) AS candidates FROM (
    SELECT FROM freshness_check c JOIN package p ON p.id = c.package_id
    WHERE {_OF_ORGANIZATION} AND c.tried_at IS NOT NULL LIMIT {MOST}
) checked"""

_ANY_CHECKED = "SELECT EXISTS (SELECT FROM freshness_check WHERE tried_at IS NOT NULL)"
