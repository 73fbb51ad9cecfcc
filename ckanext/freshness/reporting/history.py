"""Daily counts of statuses. They cover public datasets only, so that everybody may see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..ckan_adapter.ckan_core import model
from ..dates import utc
from ..model import HistoryDay
from .counts import CurrentCounts


@dataclass(frozen=True, slots=True)
class HistoryCounts:
    """The counts of one day.

    :ivar statuses: numbers of datasets by status, of the site or of one organization
    """

    day: date
    statuses: Mapping[str, int]


def record(now: datetime, report: CurrentCounts, hosts: Mapping[str, int]) -> None:
    """Store the counts of today, replacing earlier counts of the same day, and commit.

    :param report: counts of public datasets
    :param hosts: numbers of their resources by host
    """
    ids = _ids(report.organizations)
    values = {
        "made_at": utc(now),
        "statuses": dict(report.every.statuses),
        "organizations": {
            ids[name]: dict(counts.statuses)
            for name, counts in report.organizations.items()
            if name in ids
        },
        "hosts": dict(hosts),
    }
    table = HistoryDay.__table__
    insert = sa.dialects.postgresql.insert(table).values(day=utc(now).date(), **values)
    model.Session.execute(insert.on_conflict_do_update(index_elements=["day"], set_=values))
    model.Session.commit()


def days(since: date, organization: str | None = None) -> list[HistoryCounts]:
    """Return the counts from a day on, in order.

    :param organization: the present name of an organization; None for all datasets
    """
    table = HistoryDay.__table__
    counted: Any = table.c.statuses
    if organization is not None:
        # The whole column would hold every organization of the site.
        counted = table.c.organizations[_ids([organization]).get(organization, "")]
    rows = model.Session.execute(
        sa.select(table.c.day, counted).where(table.c.day >= since).order_by(table.c.day)
    ).all()
    return [HistoryCounts(day, statuses) for day, statuses in rows if statuses]


def _ids(names: Iterable[str]) -> dict[str, str]:
    """Return the ids of organizations by name. Rows refer to ids because names change."""
    group = model.Group.__table__
    rows = model.Session.execute(
        sa.select(group.c.name, group.c.id).where(group.c.name.in_(list(names)))
    )
    return {row.name: row.id for row in rows}


def newest_hosts() -> tuple[datetime, dict[str, int]] | None:
    """Return the time of the last count and the numbers of resources by host; None before the first count."""
    table = HistoryDay.__table__
    row = model.Session.execute(
        sa.select(table.c.made_at, table.c.hosts).order_by(table.c.day.desc()).limit(1)
    ).first()
    return None if row is None else (row.made_at, row.hosts)


def retention() -> timedelta:
    """Return the site's retention of daily counts and status changes."""
    return timedelta(days=int(settings.option("report.keep_days")))


def prune(now: datetime, keep: timedelta) -> int:
    """Delete days older than ``keep`` and commit; return how many."""
    table = HistoryDay.__table__
    gone = model.Session.execute(sa.delete(table).where(table.c.day < utc(now - keep).date()))
    model.Session.commit()
    return int(gone.rowcount)


def as_series(found: Sequence[HistoryCounts]) -> list[tuple[date, Mapping[str, int]]]:
    """Convert days to the argument of :func:`ckanext.freshness.reporting.chart.stacked`."""
    return [(counts.day, counts.statuses) for counts in found]
