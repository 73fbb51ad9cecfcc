"""Rows of the report's tables about the site as a whole: counts, organizations, harvest sources and runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from dateutil.relativedelta import relativedelta

from .. import settings
from ..ckan_adapter import harvest_tables
from ..ckan_adapter.ckan_core import model
from ..dates import utc_text
from ..model import CheckRun
from ..status.package_fields import same_user
from . import counts, harvest_jobs, history, host_groups
from .tables import BATCH, Context, Row, TableRequest, with_iso_dates
from .visibility import of_organization, search


def statuses(request: TableRequest) -> Iterator[Row]:
    """Count datasets and yield a row for each status."""
    yield from status_rows(counts.count(request.context, _of_organization(request)).every)


def status_rows(every: counts.StatusCounts) -> list[Row]:
    """Return status rows from existing counts."""
    total = every.total or 1
    return [
        {"status": status, "datasets": number, "percent": round(100 * number / total, 1)}
        for status, number in every.statuses.items()
    ]


def organizations(request: TableRequest) -> Iterator[Row]:
    """Count datasets and yield a row for each organization."""
    yield from organization_rows(counts.count(request.context))


def organization_rows(report: counts.CurrentCounts) -> list[Row]:
    """Return organization rows from existing counts."""
    rows: list[Row] = [
        {
            "name": name,
            "title": report.titles[name],
            "datasets": numbers.total,
            "fresh_percent": round(numbers.fresh_percent, 1),
            **numbers.statuses,
        }
        for name, numbers in report.organizations.items()
    ]
    return sorted(rows, key=lambda row: str(row["title"]).casefold())


def sources(request: TableRequest) -> Iterator[Row]:
    """Yield harvest sources with their last job: those that hold deletions first, then by errors."""
    found = _sources(request) if p.plugin_loaded("harvest") else {}
    if not found:
        return
    rows = model.Session.execute(sa.text(harvest_tables.LAST_JOBS), {"ids": list(found)}).mappings()
    numbers = _harvested(request.context)
    listed = [
        {
            **found[row["id"]],
            **with_iso_dates(row, "created", "finished"),
            "errors": row["gather_errors"] + row["errored"],
            "state": _state(row),
            "datasets": numbers.get(row["id"], 0),
        }
        for row in rows
    ]
    yield from sorted(listed, key=lambda row: (not row["held"], -(row["errors"] or 0)))


def _state(row: Mapping[str, Any]) -> str | None:
    if row["held"]:
        # Whatever the last job did, somebody must decide about the deletions of an earlier one.
        return "held"
    return harvest_jobs.state(row) if row["status"] else None


def _sources(request: TableRequest) -> dict[str, Row]:
    found: dict[str, Row] = {}
    while True:
        answer = tk.get_action("package_search")(
            same_user(request.context),
            {
                "fq": f"+dataset_type:harvest {_of_organization(request)}",
                "rows": BATCH,
                "start": len(found),
                "sort": "id asc",
                "include_private": True,
                "fl": ["id", "name", "title"],
                "facet": "false",
            },
        )["results"]
        found |= {
            document["id"]: {"name": document["name"], "title": document["title"]}
            for document in answer
        }
        if len(answer) < BATCH:
            return found


def _harvested(context: Context) -> dict[str, int]:
    """Return the number of visible datasets of each source, by the source's id."""
    key = "harvest_source_id"
    every: dict[str, Any] = {"facet.field": [key], "facet.limit": -1, "facet.mincount": 1}
    found = search(context, "", **every)["search_facets"].get(key, {})
    return {item["name"]: item["count"] for item in found.get("items", ())}


def runs(request: TableRequest) -> Iterator[Row]:
    """Yield runs of checks and of other nightly work, the newest first."""
    rows = model.Session.query(CheckRun).order_by(CheckRun.started_at.desc(), CheckRun.id)
    for row in rows.yield_per(BATCH):
        yield {
            "id": row.id,
            "kind": row.kind,
            "started_at": utc_text(row.started_at),
            "ended_at": utc_text(row.ended_at),
            "visited": row.visited,
            "error": row.error,
        }


def days(request: TableRequest) -> Iterator[Row]:
    """Yield the daily counts of public datasets, the newest first."""
    since = (request.since or request.now - relativedelta(years=1)).date()
    for day in reversed(history.days(since, request.organization)):
        numbers = counts.of_statuses(day.statuses)
        yield {
            "day": day.day.isoformat(),
            "datasets": numbers.total,
            "fresh_percent": round(numbers.fresh_percent, 1),
            **numbers.statuses,
        }


def hosted(request: TableRequest) -> Iterator[Row]:
    """Yield where the files of public datasets are hosted, as the last report counted them."""
    newest = history.newest_hosts()
    yield from host_rows(newest[1] if newest else {})


def host_rows(counted: Mapping[str, int]) -> list[Row]:
    """Return host rows from existing counts: numbers of resources by host."""
    if not counted:
        return []
    groups = host_groups.parse_groups(settings.words("report.host_groups"))
    return [
        {"name": share.name, "resources": share.count, "percent": round(share.percent, 1)}
        for share in host_groups.shares(counted, groups)
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


def _of_organization(request: TableRequest) -> str:
    return of_organization(request.organization) if request.organization else ""
