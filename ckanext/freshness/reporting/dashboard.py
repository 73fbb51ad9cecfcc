"""The figures of the dashboard, of the whole site or of one organization."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import ckan.plugins.toolkit as tk
from dateutil.relativedelta import relativedelta

from ..aging.status import Status
from . import counts, harvests, report_tables, runs, visibility, worklist
from .counts import StatusCounts
from .tables import Row, TableRequest

KNOWN = tuple(status for status in counts.STATUSES if status != Status.UNAVAILABLE.value)
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


def overview(asked: TableRequest) -> dict[str, Any]:
    """Return everything that the dashboard shows to a reader.

    :param asked: whose ``organization`` makes it the dashboard of one organization
    :returns: ``counts``: StatusCounts; ``need_update``: number of due, overdue and delinquent datasets;
        ``trend``: of :func:`trend`; ``chart``: of :func:`stacked`; ``checked``, ``broken``,
        ``newly_broken``: each a number of links or datasets, and whether there are more; ``unchecked``: of
        :func:`_unchecked`; ``lists``: the first rows of some tables by their names, without empty ones;
        ``own`` and ``organizations``: of :func:`ranking`, those whose datasets the reader edits, and all;
        ``sources``: harvest sources that the reader may edit, beginning with those that need attention;
        ``held`` and ``failing``: those of them that hold deletions, and whose last job had errors;
        ``attention``: of :func:`.harvests.in_trouble`; ``tasks``: the editor's worklist without rows, None
        for readers who edit no datasets, and for sysadmins; ``run``: the newest check of all links with its
        ``state``, None before the first
    """
    organization = asked.organization
    user = asked.context["auth_user_obj"]
    is_visitor, is_sysadmin = user is None, visibility.sees_all(asked.context)
    every, organizations = counts.count(asked.context, organization)
    days = counts.days((asked.now - YEAR).date(), organization)
    # The past has only public datasets.
    public = every if is_visitor else counts.count(visibility.NOBODY, organization)[0]
    lists = {
        name: list(table.read(replace(asked, status=status, sort=sort, limit=LISTED)))
        for name, (table, status, sort) in _LISTS.items()
    }
    edited = () if is_visitor or is_sysadmin else _edited(asked)
    rows = () if is_visitor else harvests.sources(asked)
    sources = [row for row in rows if is_sysadmin or row["owner_org"] in edited]
    ranked = [] if organization else ranking(organizations)
    return {
        "counts": every,
        "need_update": sum(every.statuses[status] for status in counts.NEED_UPDATE),
        "trend": trend(days, public, asked.now.date()),
        "chart": stacked(days),
        "checked": report_tables.CHECKED.count(asked, MOST_CHECKED),
        "unchecked": _unchecked(asked),
        "broken": report_tables.BROKEN.count(asked),
        "newly_broken": report_tables.NEWLY_BROKEN.count(asked),
        "lists": {name: rows for name, rows in lists.items() if rows},
        "own": [row for row in ranked if row["id"] in edited][:LISTED],
        "organizations": ranked[:LISTED],
        "sources": sources[:LISTED],
        "held": [row for row in sources if row["held"]],
        "failing": [row for row in sources if row["errors"]],
        "attention": harvests.in_trouble(sources),
        "tasks": worklist.worklist(asked.context, edited, limit=0) if edited else None,
        "run": runs.last_check(asked.now),
    }


def _unchecked(asked: TableRequest) -> dict[str, int]:
    """Return the numbers of links that no check has seen, by state; nothing if there are many links."""
    numbers = report_tables.LINKS.counts(asked, MOST_CHECKED) or {}
    states = ("internal", "elsewhere", "excluded", "waiting")
    return {state: numbers[state] for state in states if state in numbers}


def _edited(asked: TableRequest) -> worklist.Scope:
    """Return the ids of the requested organizations whose datasets the reader may change."""
    try:
        return worklist.scope(asked.context, asked.organization)
    except tk.NotAuthorized:
        return ()


def ranking(organizations: Iterable[Row]) -> list[Row]:
    """Return organizations with datasets of known freshness, the smallest share of fresh ones first.

    :param organizations: of :func:`.counts.count`
    """
    known = [one for one in organizations if one["counts"].known]
    known.sort(key=lambda one: (one["counts"].fresh_percent, one["title"].casefold()))
    return known


AGO = (timedelta(days=30), timedelta(days=45))
"""The least and the greatest age of the day with which the present is compared."""


def trend(
    days: Sequence[tuple[date, StatusCounts]], public: StatusCounts, today: date
) -> tuple[int, int] | None:
    """Return the share of fresh datasets among public ones a month ago and now, in percent.

    :param days: in order
    :param public: the present counts of public datasets
    :returns: None if no such day was stored, or one of them has no datasets of known freshness
    """
    least, greatest = (today - age for age in AGO)
    found = (numbers for day, numbers in reversed(days) if greatest <= day <= least)
    before = next(found, StatusCounts())
    if not (before.known and public.known):
        return None
    return round(before.fresh_percent), round(public.fresh_percent)


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
