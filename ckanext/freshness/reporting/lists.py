"""Rows of the report's tables, produced one by one, with only what the user may see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from dateutil.relativedelta import relativedelta

from ..ckan_adapter import model
from ..dates import utc_text
from ..model import CheckRun
from . import counts, history, host_groups, options, tables
from .table_request import PART, Row, TableRequest, moments, sort_of
from .visibility import Context, of_organization, of_user, search

SOON = timedelta(days=7)
"""The period of the table of datasets that become due."""

# Tables from searches.


def datasets(asked: TableRequest) -> Iterator[Row]:
    """Yield all datasets, or those with a status, with the evidence of their last change."""
    only = f"+freshness:{asked.status}" if asked.status else ""
    yield from _searched(asked, only, {"title": "title_string", "due": "freshness_due_date"})


def due_soon(asked: TableRequest) -> Iterator[Row]:
    """Yield fresh datasets that become due within a week, the earliest first."""
    until = utc_text(asked.now + SOON)
    only = f"+freshness_due_date:[{utc_text(asked.now)} TO {until}]"
    yield from _searched(asked, only, {"title": "title_string", "due": "freshness_due_date"}, "due")


def _searched(
    asked: TableRequest, only: str, sorts: Mapping[str, str], standard: str = "title"
) -> Iterator[Row]:
    key, backwards = sort_of(asked, standard)
    order = f"{sorts[key]} {'desc' if backwards else 'asc'}, id asc"
    start = asked.offset
    part = PART if asked.most is None else min(PART, asked.most)
    while True:
        found = search(
            asked.context,
            f"{only} {_of_organization(asked)}",
            rows=part,
            start=start,
            sort=order,
            fl=["id", "name"],
            facet="false",
        )["results"]
        yield from _with_dates([one["id"] for one in found])
        start += part
        if len(found) < part:
            return


def _with_dates(ids: list[str]) -> Iterator[Row]:
    if not ids:
        return
    rows = model.Session.execute(sa.text(_DATASETS), {"ids": ids}).mappings()
    for row in rows:
        yield moments(row, "last_modified", "due", "overdue", "delinquent")


def statuses(asked: TableRequest) -> Iterator[tables.Row]:
    """Count datasets and yield a row for each status."""
    yield from status_rows(counts.count(asked.context, _of_organization(asked)).every)


def status_rows(every: counts.StatusCounts) -> list[tables.Row]:
    """Return status rows from existing counts."""
    total = every.total or 1
    return [
        {"status": status, "datasets": number, "percent": round(100 * number / total, 1)}
        for status, number in every.statuses.items()
    ]


def organizations(asked: TableRequest) -> Iterator[tables.Row]:
    """Count datasets and yield a row for each organization."""
    yield from organization_rows(counts.count(asked.context), asked)


def organization_rows(report: counts.CurrentCounts, asked: TableRequest) -> list[tables.Row]:
    """Return organization rows from existing counts."""
    rows: list[Row] = [
        {
            "name": name,
            "title": report.titles[name],
            "datasets": one.total,
            "fresh_percent": round(one.fresh_percent, 1),
            **one.statuses,
        }
        for name, one in report.organizations.items()
    ]
    return list(_sorted(rows, asked, "title"))


# Other tables.


def sources(asked: TableRequest) -> Iterator[Row]:
    """Yield harvest sources with their last job, those with the most errors first."""
    found = _sources(asked) if p.plugin_loaded("harvest") else {}
    if not found:
        return
    rows = model.Session.execute(sa.text(_JOBS), {"ids": list(found)}).mappings()
    numbers = _harvested(asked.context)
    listed = [
        {
            **found[row["id"]],
            **moments(row, "created", "finished"),
            "datasets": numbers.get(row["id"], 0),
        }
        for row in rows
    ]
    yield from _sorted(listed, asked, "-errors")


def _sources(asked: TableRequest) -> dict[str, Row]:
    found: dict[str, Row] = {}
    while True:
        answer = tk.get_action("package_search")(
            of_user(asked.context),
            {
                "fq": f"+dataset_type:harvest {_of_organization(asked)}",
                "rows": PART,
                "start": len(found),
                "sort": "id asc",
                "include_private": True,
                "fl": ["id", "name", "title"],
                "facet": "false",
            },
        )["results"]
        found |= {one["id"]: {"name": one["name"], "title": one["title"]} for one in answer}
        if len(answer) < PART:
            return found


def _harvested(context: Context) -> dict[str, int]:
    """Return the number of visible datasets of each source, by the source's id."""
    key = "harvest_source_id"
    every: dict[str, Any] = {"facet.field": [key], "facet.limit": -1, "facet.mincount": 1}
    found = search(context, "", **every)["search_facets"].get(key, {})
    return {one["name"]: one["count"] for one in found.get("items", ())}


def runs(asked: TableRequest) -> Iterator[Row]:
    """Yield runs of checks and of other nightly work, the newest first."""
    rows = model.Session.query(CheckRun).order_by(CheckRun.started_at.desc(), CheckRun.id)
    for row in rows.yield_per(PART):
        yield {
            "id": row.id,
            "kind": row.kind,
            "started_at": utc_text(row.started_at),
            "ended_at": utc_text(row.ended_at),
            "visited": row.visited,
            "error": row.error,
        }


def days(asked: TableRequest) -> Iterator[Row]:
    """Yield the daily counts of public datasets."""
    since = (asked.since or asked.now - relativedelta(years=1)).date()
    for one in history.days(since, asked.organization):
        numbers = counts.StatusCounts({**dict.fromkeys(counts.STATUSES, 0), **one.statuses})
        yield {
            "day": one.day.isoformat(),
            "datasets": numbers.total,
            "fresh_percent": round(numbers.fresh_percent, 1),
            **numbers.statuses,
        }


def hosted(asked: TableRequest) -> Iterator[tables.Row]:
    """Yield where the files of public datasets are hosted, as the last report counted them."""
    newest = history.newest_hosts()
    yield from host_rows(newest[1] if newest else {})


def host_rows(counted: Mapping[str, int]) -> list[tables.Row]:
    """Return host rows from existing counts: numbers of resources by host."""
    return [
        {"name": one.name, "resources": one.count, "percent": round(one.percent, 1)}
        for one in host_groups.shares(counted, options.host_groups())
    ]


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


# Shared by all tables.


def _of_organization(asked: TableRequest) -> str:
    return of_organization(asked.organization) if asked.organization else ""


def _sorted(rows: list[Row], asked: TableRequest, standard: str) -> list[Row]:
    key, backwards = sort_of(asked, standard)

    def order(row: Row) -> Any:
        value = row[key]
        return value.casefold() if isinstance(value, str) else value

    there = [row for row in rows if row[key] is not None]
    return sorted(there, key=order, reverse=backwards) + [r for r in rows if r[key] is None]


_DATASETS = """
SELECT p.id, p.name, coalesce(nullif(p.title, ''), p.name) AS title, g.name AS organization,
    coalesce(nullif(g.title, ''), g.name) AS organization_title, p.private,
    f.status, f.last_modified, f.evidence, f.frequency_days, f.due, f.overdue, f.delinquent,
    f.undetermined
FROM unnest(CAST(:ids AS text[])) WITH ORDINALITY AS asked (id, place)
JOIN package p ON p.id = asked.id
LEFT JOIN freshness_dataset f ON f.package_id = p.id
LEFT JOIN "group" g ON g.id = p.owner_org
ORDER BY asked.place"""

_JOBS = """
SELECT s.id, s.type, s.active, j.status, j.created, j.finished,
    (SELECT count(*) FROM harvest_gather_error e WHERE e.harvest_job_id = j.id)
    + (SELECT count(*) FROM harvest_object o WHERE o.harvest_job_id = j.id AND o.state = 'ERROR')
    AS errors
FROM harvest_source s
LEFT JOIN LATERAL (
    SELECT * FROM harvest_job WHERE source_id = s.id ORDER BY created DESC LIMIT 1
) j ON true
WHERE s.id = ANY(:ids)"""
