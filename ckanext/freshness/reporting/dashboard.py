"""The figures of the dashboard, of the whole site or of one organization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dateutil.relativedelta import relativedelta

from ..aging.status import Status
from . import (
    chart,
    counts,
    history,
    link_summary,
    lists,
    report,
    run_problems,
    run_tables,
    table_access,
    tables,
    visibility,
)
from .counts import StatusCounts
from .tables import Row, TableRequest

KNOWN = tuple(
    status.value for status in (Status.FRESH, Status.DUE, Status.OVERDUE, Status.DELINQUENT)
)
"""The statuses that shares are made of: datasets with known freshness."""

LISTED = 5
"""Rows of each short list."""

MONTH = timedelta(days=30)
YEAR = relativedelta(years=1)


@dataclass(frozen=True, slots=True)
class Trend:
    """The share of fresh public datasets, compared with a month ago.

    :ivar points: the difference in percentage points
    :ivar before: the share at that time, in percent
    """

    points: int
    before: int


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest check of all datasets.

    :ivar state: ``finished``, ``running``, ``failed`` or ``late`` (the next one should have come)
    """

    state: str
    run: run_problems.FinishedRun


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything that the dashboard shows.

    :ivar chart: None before two days were counted
    :ivar lists: the first rows of some tables by their names; tables without rows are left out
    :ivar organizations: those with the smallest share of fresh datasets
    :ivar sources: those that need somebody first
    :ivar attention: those of the sources that hold deletions or whose last job had errors
    :ivar run: None before the first run
    """

    counts: StatusCounts
    trend: Trend | None
    links: link_summary.LinkSummary
    chart: chart.Chart | None
    lists: Mapping[str, tables.TablePage]
    organizations: Sequence[Row]
    sources: Sequence[Row]
    attention: Sequence[Row]
    run: LastRun | None

    @property
    def need_update(self) -> int:
        """The number of due, overdue and delinquent datasets."""
        return sum(self.counts.statuses[status] for status in lists.NEED_UPDATE)


_LISTS = (report.DUE, report.BROKEN, report.CHANGES)


def overview(asked: TableRequest) -> Overview:
    """Return what the dashboard shows to a user.

    :param asked: whose ``organization`` makes it the dashboard of one organization
    """
    name = asked.organization
    found = counts.count(asked.context, visibility.of_organization(name) if name else "")
    days = history.days((asked.now - YEAR).date(), name)
    sources = list(lists.sources(asked))
    pages = {
        table.name: table_access.page(table, _newest_first(table.name, asked), 1, LISTED)
        for table in _LISTS
        if name is None or table.name in report.OF_ORGANIZATION
    }
    return Overview(
        counts=found.every,
        trend=trend(days),
        links=link_summary.summary(asked),
        chart=chart.stacked(history.as_series(days), KNOWN),
        lists={key: page for key, page in pages.items() if page.rows},
        organizations=ranking(found)[:LISTED] if name is None else (),
        sources=sources[:LISTED],
        attention=[row for row in sources if row["held"] or row["errors"]],
        run=_last_run(asked.now),
    )


def _newest_first(name: str, asked: TableRequest) -> TableRequest:
    return replace(asked, sort="-failing_since") if name == report.BROKEN.name else asked


def ranking(found: counts.CurrentCounts) -> list[Row]:
    """Return organizations with datasets of known freshness, those with most to do first."""
    rows = [
        {"name": name, "title": found.titles[name], "counts": one, "known": one.known}
        for name, one in found.organizations.items()
        if one.known
    ]
    return sorted(rows, key=lambda row: (row["counts"].fresh_percent, row["title"].casefold()))


def trend(days: Sequence[history.HistoryCounts]) -> Trend | None:
    """Compare the newest day with the last one that is a month or more before it.

    :returns: None before there are two such days with datasets of known freshness
    """
    counted = [(one.day, counts.of_statuses(one.statuses)) for one in days]
    known = [(day, numbers) for day, numbers in counted if numbers.known]
    earlier = [numbers for day, numbers in known if day <= known[-1][0] - MONTH]
    if not earlier:
        return None
    before = round(earlier[-1].fresh_percent)
    return Trend(round(known[-1][1].fresh_percent) - before, before)


def _last_run(now: datetime) -> LastRun | None:
    run = next((run for run in run_tables.newest() if run.is_whole), None)
    return None if run is None else LastRun(run_state(run, now), run)


def run_state(run: run_problems.FinishedRun, now: datetime) -> str:
    """Return the state of a run: ``finished``, ``running``, ``failed`` or ``late``."""
    if run.error or (run.ended_at is None and now - run.started_at > run_problems.STALLED):
        return "failed"
    if run.ended_at is None:
        return "running"
    return "late" if run_problems.is_silent(run.started_at, now) else "finished"
