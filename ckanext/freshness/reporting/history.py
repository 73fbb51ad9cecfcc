"""Daily counts of statuses and hosts, which the nightly report stores.

They cover public datasets only, so that everybody may see them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any

import sqlalchemy as sa
from dateutil.relativedelta import relativedelta

from .. import settings
from ..ckan_adapter.core import model
from ..dates import utc
from ..model import HistoryDay
from . import counts, dataset_tables, host_groups, observed_frequencies
from .tables import Row, TableRequest
from .visibility import NOBODY

KEEP = timedelta(days=5 * 365 + 1)
"""How long daily counts and changes of statuses are kept."""


@dataclass(frozen=True, slots=True)
class HistoryCounts:
    """The counts of one day.

    :ivar statuses: numbers of datasets by status, of the site or of one organization
    """

    day: date
    statuses: Mapping[str, int]


def record(now: datetime) -> counts.StatusCounts:
    """Store today's counts of public datasets, by status and by host, and return those by status.

    Also store the update frequencies that the data of datasets suggest.
    """
    observed_frequencies.store(now)
    found = counts.count(NOBODY)
    hosts: dict[str, int] = {}
    every = dataset_tables.DATASETS.rows(TableRequest(NOBODY, now))
    while part := [row["id"] for row in islice(every, _AT_ONCE)]:
        for host, number in count_hosts(part).items():
            hosts[host] = hosts.get(host, 0) + number
    store(now, found, hosts)
    return found.every


_AT_ONCE = 5_000
"""Datasets whose hosts are counted in one statement."""


def count_hosts(ids: list[str] | None = None) -> dict[str, int]:
    """Count resources by the host of their URL.

    :param ids: ids of the packages to count; None for all
    """
    among = "" if ids is None else "WHERE package_id = ANY(:ids)"
    rows = model.Session.execute(
        sa.text(f"SELECT host, count(*) FROM freshness_check {among} GROUP BY host"),
        {} if ids is None else {"ids": ids},
    ).all()
    return dict(map(tuple, rows))


def store(now: datetime, report: counts.CurrentCounts, hosts: Mapping[str, int]) -> None:
    """Store the counts of today, replacing earlier counts of the same day, and commit.

    :param report: counts of public datasets
    :param hosts: numbers of their resources by host
    """
    ids = _ids(report.organizations)
    values = {
        "made_at": utc(now),
        "statuses": dict(report.every.statuses),
        "organizations": {
            ids[name]: dict(numbers.statuses)
            for name, numbers in report.organizations.items()
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


def prune(now: datetime, keep: timedelta) -> int:
    """Delete days older than ``keep`` and commit; return how many."""
    table = HistoryDay.__table__
    gone = model.Session.execute(sa.delete(table).where(table.c.day < utc(now - keep).date()))
    model.Session.commit()
    return int(gone.rowcount)


def rows(request: TableRequest) -> Iterator[Row]:
    """Yield the daily counts of public datasets, the newest first."""
    since = (request.since or request.now - relativedelta(years=1)).date()
    for day in reversed(days(since, request.organization)):
        numbers = counts.of_statuses(day.statuses)
        yield {
            "day": day.day.isoformat(),
            "datasets": numbers.total,
            "fresh_percent": round(numbers.fresh_percent, 1),
            **numbers.statuses,
        }


def hosted(request: TableRequest) -> list[Row]:
    """Return where the files of public datasets are hosted, as the last report counted them."""
    newest = newest_hosts()
    return host_rows(newest[1] if newest else {})


def host_rows(counted: Mapping[str, int]) -> list[Row]:
    """Return host rows from existing counts: numbers of resources by host."""
    if not counted:
        return []
    groups = host_groups.parse_groups(settings.words("report.host_groups"))
    return [
        {"name": share.name, "resources": share.count, "percent": round(share.percent, 1)}
        for share in host_groups.shares(counted, groups)
    ]
