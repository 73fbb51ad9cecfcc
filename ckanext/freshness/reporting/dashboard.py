"""The figures of the dashboard, of the whole site or of one organization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

import ckan.plugins.toolkit as tk
from dateutil.relativedelta import relativedelta

from .. import settings
from ..aging.status import Status
from . import (
    chart,
    counts,
    dataset_tables,
    harvest_jobs,
    history,
    report_tables,
    run_problems,
    run_summary,
    tables,
    visibility,
    worklist,
)
from .counts import StatusCounts
from .tables import Row, TableRequest

KNOWN = tuple(
    status.value for status in (Status.FRESH, Status.DUE, Status.OVERDUE, Status.DELINQUENT)
)
"""The statuses that shares are made of: datasets with known freshness."""

LISTED = 5
"""Rows of each short list."""

YEAR = relativedelta(years=1)
MONTH_AGO = (timedelta(days=30), timedelta(days=45))
"""The least and the greatest age of the day with which the present share is compared."""
RECENT = timedelta(days=2)
"""The greatest age of a day that stands for the present."""


@dataclass(frozen=True, slots=True)
class Trend:
    """The share of fresh public datasets, compared with a month ago.

    :ivar points: the difference in percentage points
    :ivar before: the share at that time, in percent
    """

    points: int
    before: int


MOST_CHECKED = 5_000
"""The greatest number of checked links that are counted: to count all takes seconds."""


@dataclass(frozen=True, slots=True)
class LinkSummary:
    """Numbers of links of the datasets that a user may see.

    :ivar checked: links with at least one check; a number greater than ``most_checked`` stands for more
    :ivar broken: links that failed several times, spread over time; a number greater than ``most_broken``
        stands for more
    :ivar newly_broken: those of them that work no longer since a week
    """

    checked: int
    broken: int
    newly_broken: int
    most_checked: int = MOST_CHECKED
    most_broken: int = tables.MOST_COUNTED


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest check of all datasets.

    :ivar state: ``finished``, ``running``, ``failed`` or ``late`` (the next one should have come)
    """

    state: str
    run: run_problems.FinishedRun


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything that the dashboard shows to a reader.

    :ivar trend: None if no day about a month ago was counted
    :ivar chart: None before two days were counted
    :ivar lists: the first rows of some tables by their names; tables without rows are left out
    :ivar organizations: those with the smallest share of fresh datasets first
    :ivar sources: harvest sources, beginning with those that need attention; empty for visitors
    :ivar attention: the sources that the reader may edit and that hold deletions or had errors
    :ivar tasks: numbers of the editor's tasks; None for readers who edit no datasets, and for sysadmins
    :ivar hosts: numbers of public files by the site's own groups of hosts; empty if it has none
    :ivar run: None before the first run
    :ivar misfits: number of datasets whose declared update frequency does not fit; a number greater than
        ``most_misfits`` stands for more
    """

    counts: StatusCounts
    trend: Trend | None
    links: LinkSummary
    chart: chart.Chart | None
    lists: Mapping[str, tables.TablePage]
    organizations: tables.TablePage
    sources: tables.TablePage
    attention: Sequence[Row]
    tasks: worklist.Worklist | None
    hosts: Sequence[Row]
    run: LastRun | None
    misfits: int
    most_misfits: int = tables.MOST_COUNTED

    @property
    def need_update(self) -> int:
        """The number of due, overdue and delinquent datasets."""
        return sum(self.counts.statuses[status] for status in counts.NEED_UPDATE)


_LISTS = (report_tables.DUE, report_tables.BROKEN, report_tables.CHANGES)


def overview(asked: TableRequest) -> Overview:
    """Return what the dashboard shows to a reader.

    :param asked: whose ``organization`` makes it the dashboard of one organization
    """
    name = asked.organization
    user = asked.context["auth_user_obj"]
    is_visitor, is_sysadmin = user is None, visibility.sees_all(asked.context)
    found = counts.count(asked.context, name)
    days = history.days((asked.now - YEAR).date(), name)
    pages = {
        table.name: tables.page(table.read(_first_rows(table, asked)), 1, LISTED)
        for table in _LISTS
    }
    within = None if is_visitor or is_sysadmin else _edited(asked)
    edited = within.organizations if within else ()
    sources = () if is_visitor else list(harvest_jobs.sources(asked))
    return Overview(
        counts=found.every,
        trend=trend(days, asked.now.date(), found.every if is_visitor else None),
        links=LinkSummary(
            dataset_tables.CHECKED.count_some(asked, MOST_CHECKED),
            dataset_tables.BROKEN.count_some(asked),
            dataset_tables.NEWLY_BROKEN.count_some(asked),
        ),
        chart=chart.stacked([(day.day, day.statuses) for day in days], KNOWN),
        lists={key: page for key, page in pages.items() if page.rows},
        organizations=tables.page(() if name else ranking(found), 1, LISTED),
        sources=tables.page(sources, 1, LISTED),
        attention=[
            row
            for row in sources
            if (row["held"] or row["errors"]) and (is_sysadmin or row["owner_org"] in edited)
        ],
        tasks=worklist.worklist(within, limit=0) if within and edited else None,
        hosts=() if name else _hosts(),
        run=_last_run(asked.now),
        misfits=dataset_tables.FREQUENCIES.count_some(asked),
    )


def _first_rows(table: tables.Table, asked: TableRequest) -> TableRequest:
    order = "-failing_since" if table is report_tables.BROKEN else None
    return replace(asked, sort=order, limit=LISTED + 1)


def _edited(asked: TableRequest) -> worklist.Scope | None:
    """Return the requested datasets that the reader may edit; None if there are none."""
    try:
        return worklist.scope(asked.context, asked.organization)
    except tk.NotAuthorized:
        return None


def _hosts() -> list[Row]:
    if not settings.words("report.host_groups"):
        return []
    return history.host_rows((history.newest_hosts() or (None, {}))[1])[:-1]


def ranking(found: counts.CurrentCounts) -> list[Row]:
    """Return organizations with datasets of known freshness, the smallest share of fresh ones first."""
    rows = [
        {"name": name, "title": found.titles[name], "counts": one}
        for name, one in found.organizations.items()
        if one.known
    ]
    return sorted(rows, key=lambda row: (row["counts"].fresh_percent, row["title"].casefold()))


def trend(
    days: Sequence[history.HistoryCounts], today: date, present: StatusCounts | None
) -> Trend | None:
    """Compare the present share of fresh datasets with that of a month ago.

    :param days: in order
    :param present: the present counts of public datasets; None to take those of the newest day
    :returns: None if no day about a month ago has datasets of known freshness, or the present none
    """
    counted = [(today - one.day, counts.of_statuses(one.statuses)) for one in days]
    least, greatest = MONTH_AGO
    earlier = [one for age, one in counted if least <= age <= greatest and one.known]
    newest = [one for age, one in counted if age <= RECENT] if present is None else [present]
    if not earlier or not newest or not newest[-1].known:
        return None
    before = round(earlier[-1].fresh_percent)
    return Trend(round(newest[-1].fresh_percent) - before, before)


def _last_run(now: datetime) -> LastRun | None:
    run = run_problems.newest_check()
    if run is None:
        return None
    is_alive = run.ended_at is None and run_summary.is_alive(run.id, now)
    return LastRun(run_state(run, now, is_alive=is_alive), run)


def run_state(run: run_problems.FinishedRun, now: datetime, *, is_alive: bool = True) -> str:
    """Return the state of a run: ``finished``, ``running``, ``failed`` or ``late``.

    :param is_alive: whether something is still doing a run that has not ended
    """
    if run.error or (run.ended_at is None and now - run.started_at > run_problems.STALLED):
        return "failed"
    if run.ended_at is None:
        return "running" if is_alive else "failed"
    return "late" if run_problems.is_silent(run.started_at, now) else "finished"
