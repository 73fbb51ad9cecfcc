"""The figures of the dashboard, of the whole site or of one organization."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import ckan.plugins.toolkit as tk
from dateutil.relativedelta import relativedelta

from .. import settings
from ..aging.status import Status
from . import counts, harvests, month, report_tables, runs, tables, visibility, worklist
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

_LISTS = (
    (report_tables.DUE, None),
    (report_tables.BROKEN, "-failing_since"),
    (report_tables.CHANGES, None),
)
"""The tables of the short lists, and their order there."""


def overview(asked: TableRequest) -> dict[str, Any]:
    """Return everything that the dashboard shows to a reader.

    :param asked: whose ``organization`` makes it the dashboard of one organization
    :returns: ``counts``: StatusCounts; ``need_update``: number of due, overdue and delinquent datasets;
        ``trend``: of :func:`trend`; ``month``: of
        :func:`.month.sentences`; ``chart``: of :func:`stacked`; ``checked``, ``broken``, ``newly_broken``,
        ``misfits``: each a number of links or datasets, and whether there are more; ``unchecked``: of
        :func:`_unchecked`; ``lists``: the first rows
        of some tables by their names, without empty ones; ``own`` and ``organizations``: of :func:`ranking`,
        those whose datasets the reader edits, and all; ``sources``: harvest sources that the reader may edit,
        beginning with those that need attention; ``held`` and ``failing``: those of them that hold deletions,
        and whose last job had errors; ``attention``: of :func:`.harvests.in_trouble`;
        ``tasks``: the editor's worklist without rows, None for readers who edit no datasets, and for sysadmins;
        ``hosts``: numbers of public files by the site's own groups of hosts; ``run``: the newest check of all
        links with its ``state``, None before the first
    """
    organization = asked.organization
    user = asked.context["auth_user_obj"]
    is_visitor, is_sysadmin = user is None, visibility.sees_all(asked.context)
    found = counts.count(asked.context, organization)
    days = counts.days((asked.now - YEAR).date(), organization)
    pages = {
        table.name: tables.page(table.read(replace(asked, sort=sort, limit=LISTED + 1)), 1, LISTED)
        for table, sort in _LISTS
    }
    within = None if is_visitor or is_sysadmin else _edited(asked)
    edited = within.organizations if within else ()
    rows = () if is_visitor else harvests.sources(asked)
    sources = [row for row in rows if is_sysadmin or row["owner_org"] in edited]
    compared = month.compared(asked.now.date())
    ranked = () if organization else ranking(found, compared)
    has_groups = organization is None and settings.words("report.host_groups")
    return {
        "counts": found.every,
        "need_update": sum(found.every.statuses[status] for status in counts.NEED_UPDATE),
        "trend": trend(days, asked.now.date(), found.every if is_visitor else None),
        "month": month.sentences(compared, organization),
        "chart": stacked(days),
        "checked": report_tables.LINKS.count(asked, MOST_CHECKED),
        "unchecked": _unchecked(asked),
        "broken": report_tables.BROKEN.count(asked),
        "newly_broken": report_tables.NEWLY_BROKEN.count(asked),
        "misfits": report_tables.FREQUENCIES.count(asked),
        "lists": {name: page for name, page in pages.items() if page.rows},
        "own": tables.page([row for row in ranked if row["id"] in edited], 1, LISTED),
        "organizations": tables.page(ranked, 1, LISTED),
        "sources": tables.page(sources, 1, LISTED),
        "held": [row for row in sources if row["held"]],
        "failing": [row for row in sources if row["errors"]],
        "attention": harvests.in_trouble(sources),
        "tasks": worklist.worklist(within, limit=0) if within and edited else None,
        "hosts": counts.host_rows(asked) if has_groups else [],
        "run": runs.last_check(asked.now),
    }


def _unchecked(asked: TableRequest) -> dict[str, int]:
    """Return the numbers of links that no check has seen, by state; nothing if there are many links."""
    numbers = report_tables.EVERY_LINK.counts(asked, "state", MOST_CHECKED)
    states = ("internal", "cycle", "excluded", "waiting")
    return {state: numbers[state] for state in states if state in numbers}


def _edited(asked: TableRequest) -> worklist.Scope | None:
    """Return the requested datasets that the reader may edit; None if there are none."""
    try:
        return worklist.scope(asked.context, asked.organization)
    except tk.NotAuthorized:
        return None


def ranking(
    found: counts.CurrentCounts, days: tuple[month.Day, month.Day] | None = None
) -> list[Row]:
    """Return organizations with datasets of known freshness, the smallest share of fresh ones first.

    :param days: of :func:`.month.compared`, for the movement of each organization in a month
    """
    known = [one for one in found.organizations if one.counts.known]
    known.sort(key=lambda one: (one.counts.fresh_percent, one.title.casefold()))
    return [
        {"id": one.id, "name": one.name, "title": one.title, "counts": one.counts}
        | {"movement": month.movement(days, one.id)}
        for one in known
    ]


def trend(
    days: Sequence[tuple[date, StatusCounts]], today: date, present: StatusCounts | None
) -> tuple[int, int, int] | None:
    """Compare the present share of fresh datasets with that of a month ago.

    :param days: in order
    :param present: the present counts of public datasets; None to take those of the newest day
    :returns: the difference in percentage points, the share at that time and the present share, in percent;
        None if no day about a month ago has datasets of known freshness, or the present none
    """
    least, greatest = month.AGO
    earlier = [one for day, one in days if least <= today - day <= greatest and one.known]
    newest = (
        [one for day, one in days if today - day <= month.RECENT] if present is None else [present]
    )
    if not earlier or not newest or not newest[-1].known:
        return None
    before, now = round(earlier[-1].fresh_percent), round(newest[-1].fresh_percent)
    return now - before, before, now


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
