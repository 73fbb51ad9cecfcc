"""The figures of the dashboard, of the whole site or of one organization."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from dateutil.relativedelta import relativedelta

from ..aging.messages import NN_
from ..aging.status import Status
from ..ckan_adapter.core import model
from ..model import HistoryDay
from . import counts, harvests, labels, report_tables, runs, tables, visibility, worklist
from .counts import StatusCounts
from .tables import Row, TableRequest

KNOWN = tuple(
    status.value for status in (Status.FRESH, Status.DUE, Status.OVERDUE, Status.DELINQUENT)
)
"""The statuses that shares are made of: datasets with known freshness."""

LISTED = 5
"""Rows of each short list."""
MOST_CHECKED = 5_000
"""The greatest number of checked links that are counted: to count all takes seconds."""

YEAR = relativedelta(years=1)

_LISTS = {
    "due": (report_tables.DATASETS, counts.DUE_SOON, None),
    "broken": (report_tables.BROKEN, None, "-failing_since"),
    "changes": (report_tables.CHANGES, None, None),
}
"""The tables of the short lists, their filters and their order there."""
_OF_MONTH = (report_tables.BROKEN, report_tables.NEWLY_BROKEN)


def overview(asked: TableRequest) -> dict[str, Any]:
    """Return everything that the dashboard shows to a reader.

    :param asked: whose ``organization`` makes it the dashboard of one organization
    :returns: ``counts``: StatusCounts; ``need_update``: number of due, overdue and delinquent datasets;
        ``trend``: of :func:`trend`; ``month``: of :func:`sentences`, and ``counted_on``, their day;
        ``month_broken``: numbers of an organization's public links that are broken, and newly broken;
        ``chart``: of :func:`stacked`; ``checked``, ``broken``, ``newly_broken``: each a number of
        links or datasets, and whether there are more; ``unchecked``: of :func:`_unchecked`; ``lists``: the
        first rows of some tables by their names, without empty ones; ``own`` and ``organizations``: of
        :func:`ranking`, those whose datasets the reader edits, and all; ``sources``: harvest sources that the
        reader may edit, beginning with those that need attention; ``held`` and ``failing``: those of them that
        hold deletions, and whose last job had errors; ``attention``: of :func:`.harvests.in_trouble`;
        ``tasks``: the editor's worklist without rows, None for readers who edit no datasets, and for sysadmins;
        ``run``: the newest check of all
        links with its ``state``, None before the first
    """
    organization = asked.organization
    user = asked.context["auth_user_obj"]
    is_visitor, is_sysadmin = user is None, visibility.sees_all(asked.context)
    every, organizations = counts.count(asked.context, organization)
    days = counts.days((asked.now - YEAR).date(), organization)
    pages = {
        name: tables.page(
            table.read(replace(asked, status=status, sort=sort, limit=LISTED + 1)), 1, LISTED
        )
        for name, (table, status, sort) in _LISTS.items()
    }
    within = None if is_visitor or is_sysadmin else _edited(asked)
    edited = within["organizations"] if within else ()
    rows = () if is_visitor else harvests.sources(asked)
    sources = [row for row in rows if is_sysadmin or row["owner_org"] in edited]
    month, public = compared(asked.now.date()), replace(asked, context=visibility.NOBODY)
    ranked = () if organization else ranking(organizations)
    return {
        "counts": every,
        "need_update": sum(every.statuses[status] for status in counts.NEED_UPDATE),
        "trend": trend(month, organization),
        "month": sentences(month, organization),
        "month_broken": [table.count(public, None)[0] for table in _OF_MONTH]
        if organization
        else (),
        "counted_on": month and month[1].day,
        "chart": stacked(days),
        "checked": report_tables.CHECKED.count(asked, MOST_CHECKED),
        "unchecked": _unchecked(asked),
        "broken": report_tables.BROKEN.count(asked),
        "newly_broken": report_tables.NEWLY_BROKEN.count(asked),
        "lists": {name: page for name, page in pages.items() if page.rows},
        "own": tables.page([row for row in ranked if row["id"] in edited], 1, LISTED),
        "organizations": tables.page(ranked, 1, LISTED),
        "sources": tables.page(sources, 1, LISTED),
        "held": [row for row in sources if row["held"]],
        "failing": [row for row in sources if row["errors"]],
        "attention": harvests.in_trouble(sources),
        "tasks": worklist.worklist(within, limit=0) if within and edited else None,
        "run": runs.last_check(asked.now),
    }


def _unchecked(asked: TableRequest) -> dict[str, int]:
    """Return the numbers of links that no check has seen, by state; nothing if there are many links."""
    numbers = report_tables.LINKS.counts(asked, "state", MOST_CHECKED)
    states = ("internal", "elsewhere", "excluded", "waiting")
    return {state: numbers[state] for state in states if state in numbers}


def _edited(asked: TableRequest) -> worklist.Scope | None:
    """Return the requested datasets that the reader may edit; None if there are none."""
    try:
        return worklist.scope(asked.context, asked.organization)
    except tk.NotAuthorized:
        return None


def ranking(organizations: Iterable[Row]) -> list[Row]:
    """Return organizations with datasets of known freshness, the smallest share of fresh ones first.

    :param organizations: of :func:`.counts.count`
    """
    known = [one for one in organizations if one["counts"].known]
    known.sort(key=lambda one: (one["counts"].fresh_percent, one["title"].casefold()))
    return known


# What happened in a month. Days are compared as they were stored.

AGO = (timedelta(days=30), timedelta(days=45))
"""The least and the greatest age of the day with which the newest one is compared."""
RECENT = timedelta(days=2)
"""The greatest age of a day that stands for the present."""
_DAYS = HistoryDay.__table__


@dataclass(frozen=True, slots=True)
class Day:
    """The counts of public datasets on a stored day, of all and by the id of their organization."""

    day: date
    every: StatusCounts
    organizations: Mapping[str, StatusCounts]

    def of(self, organization: str | None) -> StatusCounts:
        """Return the counts of an organization; of all datasets without one."""
        if organization is None:
            return self.every
        return self.organizations.get(organization, StatusCounts())


Month = tuple[Day, Day]
"""The day of a month ago and the newest day."""


def compared(today: date) -> Month | None:
    """Return the day of a month ago and the newest day; None if one of them was not stored."""
    least, greatest = AGO
    before, now = _day(today - greatest, today - least), _day(today - RECENT, today)
    return None if before is None or now is None else (before, now)


def trend(days: Month | None, organization: str | None) -> tuple[int, int] | None:
    """Return the share of fresh datasets a month ago and on the newest day, in percent.

    :returns: None if one of the days is missing, or has no datasets of known freshness
    """
    if days is None or not all(day.of(organization).known for day in days):
        return None
    before, now = (round(day.of(organization).fresh_percent) for day in days)
    return before, now


def sentences(days: Month | None, organization: str | None) -> list[str]:
    """Return what changed between two days; nothing if one is missing, or nothing is known of the newer."""
    if days is None or not days[1].of(organization).known:
        return []
    before, now = days
    found = _why(before, now, organization)
    was, is_now = before.of(organization), now.of(organization)
    if organization is None or not was.known:
        return found
    return [
        tk._("{share} are up to date, {before} a month ago.").format(
            share=labels.percent(is_now.statuses[Status.FRESH.value], is_now.known),
            before=labels.percent(was.statuses[Status.FRESH.value], was.known),
        ),
        *found,
        labels.counted(NN_("{count} public dataset.", "{count} public datasets."), is_now.total)
        + " "
        + tk._("A month ago: {count}.").format(count=was.total),
    ]


def _why(before: Day, now: Day, organization: str | None) -> list[str]:
    """Return how many more or fewer datasets are long overdue, and which organization has most of them."""
    late = Status.DELINQUENT.value
    more = now.of(organization).statuses[late] - before.of(organization).statuses[late]
    if not more:
        return []
    rise = NN_(
        "{count} more is long overdue than a month ago",
        "{count} more are long overdue than a month ago",
    )
    fall = NN_(
        "{count} fewer is long overdue than a month ago",
        "{count} fewer are long overdue than a month ago",
    )
    words = labels.counted(rise if more > 0 else fall, abs(more))
    if organization is None and more > 0:
        grown = {
            one: now.of(one).statuses[late] - before.of(one).statuses[late]
            for one in now.organizations
        }
        most = max(grown, key=grown.__getitem__, default=None)
        group = model.Group.get(most) if most else None
        if most and group is not None and group.state == "active" and grown[most] > 0:
            text = tk._("{words}, {count} of them from {title}.")
            values = {"count": min(grown[most], more), "title": group.title or group.name}
            return [text.format(words=words, **values)]
    return [f"{words}."]


def _day(since: date, until: date) -> Day | None:
    """Return the newest stored day of a period."""
    row = model.Session.execute(
        sa.select(_DAYS.c.day, _DAYS.c.statuses, _DAYS.c.organizations)
        .where(_DAYS.c.day.between(since, until))
        .order_by(_DAYS.c.day.desc())
        .limit(1)
    ).first()
    if row is None:
        return None
    organizations = {key: counts.of_statuses(numbers) for key, numbers in row.organizations.items()}
    return Day(row.day, counts.of_statuses(row.statuses), organizations)


# The chart of shares, as inline SVG. The numbers are in a table, too.

WIDTH, HEIGHT = 120, 100
"""The viewBox. The picture is stretched to the page; its words are HTML."""


def stacked(days: Iterable[tuple[date, StatusCounts]]) -> dict[str, Any] | None:
    """Return the chart of the shares of statuses, with the first status at the bottom.

    :param days: in order
    :returns: ``areas``: statuses, each with the ``points`` of its polygon; ``months``: the last ``day`` of each
        month with its ``counts``, its left edge ``x`` and its ``width``; the ``first``, ``middle`` and ``last``
        day; None if fewer than two days have datasets of known freshness
    """
    drawn = [(day, found.statuses, found.known) for day, found in days if found.known]
    if len(drawn) < 2:
        return None
    first, last = drawn[0][0], drawn[-1][0]
    xs = [(day - first).days / ((last - first).days or 1) * WIDTH for day, *_ in drawn]
    below = [0.0] * len(drawn)
    areas = []
    for status in KNOWN:
        above = [
            low + statuses[status] / known
            for low, (_, statuses, known) in zip(below, drawn, strict=True)
        ]
        edges = (zip(xs, above, strict=True), reversed(list(zip(xs, below, strict=True))))
        points = (f"{x:.1f},{(1 - share) * HEIGHT:.1f}" for edge in edges for x, share in edge)
        areas.append((status, " ".join(points)))
        below = above
    months, left = [], 0.0
    for number, (day, statuses, _) in enumerate(drawn):
        after = drawn[number + 1][0] if number + 1 < len(drawn) else None
        if after is None or (after.year, after.month) != (day.year, day.month):
            known_counts = {status: statuses[status] for status in KNOWN}
            width = round(xs[number] - left, 1)
            months.append({"day": day, "counts": known_counts, "x": round(left, 1), "width": width})
            left = xs[number]
    middle = first + (last - first) / 2
    return {"areas": areas, "months": months, "first": first, "middle": middle, "last": last}
