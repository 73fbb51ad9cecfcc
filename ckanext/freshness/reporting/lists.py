"""Rows of the report's tables, each made when it is read, and only of what who asks may see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from .. import settings
from ..aging.status import Boundaries, status_at
from ..ckan_adapter import model
from ..model import CheckRun
from ..model.moments import utc, utc_text
from ..web.urls import display_url
from . import counts, history, hosts, options, tables
from .sight import Context, of_organization, of_user, only_visible, search

SOON = timedelta(days=7)
"""How far what becomes due is looked ahead."""

_PART = 500
"""Rows that are read at a time."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What rows are asked for.

    :ivar now: with its zone
    :ivar organization: the name of the one whose datasets are meant; None for all
    :ivar since: from when changes are told, with its zone; a day before now where it is None
    :ivar run: what this run wrote is told, too
    :ivar status: only datasets that have it now
    :ivar sort: key of a column, behind a minus if the greatest come first; None for the table's order
    :ivar offset: so many of the first rows are left out
    :ivar most: no more rows than this will be read; None for all
    """

    context: Context
    now: datetime
    organization: str | None = None
    since: datetime | None = None
    run: str | None = None
    status: str | None = None
    sort: str | None = None
    offset: int = 0
    most: int | None = None


Row = dict[str, Any]


# By searches.


def datasets(asked: Asked) -> Iterator[Row]:
    """All datasets, or those with a status, and why they have it."""
    only = f"+freshness:{asked.status}" if asked.status else ""
    yield from _searched(asked, only, {"title": "title_string", "due": "freshness_due_date"})


def due_soon(asked: Asked) -> Iterator[Row]:
    """Datasets that are fresh and become due within a week, the first ones first."""
    until = utc_text(utc(asked.now + SOON))
    only = f"+freshness_due_date:[{utc_text(utc(asked.now))} TO {until}]"
    yield from _searched(asked, only, {"title": "title_string", "due": "freshness_due_date"}, "due")


def _searched(
    asked: Asked, only: str, sorts: Mapping[str, str], standard: str = "title"
) -> Iterator[Row]:
    key, backwards = _sort(asked, standard)
    order = f"{sorts[key]} {'desc' if backwards else 'asc'}, id asc"
    start = asked.offset
    part = _PART if asked.most is None else min(_PART, asked.most)
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
        yield from _with_dates([one["id"] for one in found], asked.now)
        start += part
        if len(found) < part:
            return


def _with_dates(ids: list[str], now: datetime) -> Iterator[Row]:
    if not ids:
        return
    rows = model.Session.execute(sa.text(_DATASETS), {"ids": ids}).mappings()
    for row in rows:
        dated = {**row, "status": _status(row, now)}
        yield _moments(dated, "last_modified", "due", "overdue", "delinquent")


def _status(row: Mapping[str, Any], now: datetime) -> str | None:
    """The status of now, whatever was last written: searches go by the dates, too."""
    dates = [row[key] for key in ("due", "overdue", "delinquent")]
    if None in dates:
        return None if row["status"] is None else str(row["status"])
    return status_at(Boundaries(*(one.replace(tzinfo=timezone.utc) for one in dates)), now).value


def statuses(asked: Asked) -> Iterator[tables.Row]:
    """How many datasets have which status."""
    yield from status_rows(counts.count(asked.context, _of_organization(asked)).every)


def status_rows(every: counts.Counts) -> list[tables.Row]:
    """The same of what is counted already."""
    total = every.total or 1
    return [
        {"status": status, "datasets": number, "percent": round(100 * number / total, 1)}
        for status, number in every.statuses.items()
    ]


def organizations(asked: Asked) -> Iterator[tables.Row]:
    """How fresh the datasets of each organization are."""
    yield from organization_rows(counts.count(asked.context), asked)


def organization_rows(report: counts.Report, asked: Asked) -> list[tables.Row]:
    """The same of what is counted already."""
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


# From the database, seen by those who may.


def changes(asked: Asked) -> Iterator[Row]:
    """Statuses that changed, from what to what and why, the newest first; first ones are no change."""
    since = asked.since or asked.now - timedelta(days=1)
    values = {"since": utc(since), "until": utc(asked.now), "run": asked.run}
    rows = _stream(_CHANGES, asked, values, {"changed_at": "t.changed_at"}, "-changed_at", "t.id")
    for row in only_visible(asked.context, rows, _package):
        yield _moments(row, "changed_at")


def broken(asked: Asked) -> Iterator[Row]:
    """Resources whose URLs failed several times, spread over time; the longest first."""
    checks = settings.checks()
    values = {"failures": checks.broken_after_failures, "span": checks.broken_after}
    sorts = {"failing_since": "c.failing_since", "failures": "c.failures", "host": "c.host"}
    rows = _stream(_BROKEN, asked, values, sorts, "failing_since", "c.resource_id")
    for row in only_visible(asked.context, rows, _package):
        yield _resource(row, "failing_since", "succeeded_at", "tried_at")


def unclear(asked: Asked) -> Iterator[Row]:
    """Resources of which cannot be told whether they changed, or whether they are there."""
    rows = _stream(
        _UNCLEAR,
        asked,
        {"adhoc": sorted(settings.adhoc_hosts())},
        {"host": "c.host", "tried_at": "c.tried_at"},
        "host",
        "c.resource_id",
    )
    for row in only_visible(asked.context, rows, _package):
        yield _resource(row, "tried_at")


def _resource(row: Mapping[str, Any], *moments: str) -> Row:
    # For reading: users and passwords in URLs are nobody's business.
    return {**_moments(row, *moments), "url": display_url(row["url"] or "")}


def _stream(
    statement: str,
    asked: Asked,
    values: Mapping[str, Any],
    sorts: Mapping[str, str],
    standard: str,
    last: str,
) -> Iterator[Mapping[str, Any]]:
    """Rows of a statement in parts, in one transaction of a connection of its own."""
    key, backwards = _sort(asked, standard)
    direction = "DESC" if backwards else "ASC"
    ordered = f"{statement} ORDER BY {sorts[key]} {direction} NULLS LAST, {last} {direction}"
    parameters = {
        "types": sorted(settings.aging().dataset_types),
        "organization": asked.organization,
        **values,
    }
    with model.Session.get_bind().connect() as connection:
        streamed = connection.execution_options(stream_results=True, max_row_buffer=_PART)
        yield from streamed.execute(sa.text(ordered), parameters).mappings()


def _package(row: Mapping[str, Any]) -> str:
    return str(row["package_id"])


# What else there is.


def sources(asked: Asked) -> Iterator[Row]:
    """Harvest sources with their last job, those that failed first."""
    found = _sources(asked) if p.plugin_loaded("harvest") else {}
    if not found:
        return
    rows = model.Session.execute(sa.text(_JOBS), {"ids": list(found)}).mappings()
    numbers = _harvested(asked.context)
    listed = [
        {
            **found[row["id"]],
            **_moments(row, "created", "finished"),
            "datasets": numbers.get(row["id"], 0),
        }
        for row in rows
    ]
    yield from _sorted(listed, asked, "-errors")


def _sources(asked: Asked) -> dict[str, Row]:
    found: dict[str, Row] = {}
    while True:
        answer = tk.get_action("package_search")(
            of_user(asked.context),
            {
                "fq": f"+dataset_type:harvest {_of_organization(asked)}",
                "rows": _PART,
                "start": len(found),
                "sort": "id asc",
                "include_private": True,
                "fl": ["id", "name", "title"],
                "facet": "false",
            },
        )["results"]
        found |= {one["id"]: {"name": one["name"], "title": one["title"]} for one in answer}
        if len(answer) < _PART:
            return found


def _harvested(context: Context) -> dict[str, int]:
    """How many datasets that somebody may see each source has, by its id."""
    key = "harvest_source_id"
    every: dict[str, Any] = {"facet.field": [key], "facet.limit": -1, "facet.mincount": 1}
    found = search(context, "", **every)["search_facets"].get(key, {})
    return {one["name"]: one["count"] for one in found.get("items", ())}


def runs(asked: Asked) -> Iterator[Row]:
    """The runs of the checker and of other nightly work, the newest first."""
    rows = model.Session.query(CheckRun).order_by(CheckRun.started_at.desc(), CheckRun.id)
    for row in rows.yield_per(_PART):
        yield {
            "id": row.id,
            "kind": row.kind,
            "started_at": utc_text(row.started_at),
            "ended_at": utc_text(row.ended_at),
            "visited": row.visited,
            "error": row.error,
        }


def days(asked: Asked) -> Iterator[Row]:
    """How fresh the public datasets were, day by day."""
    since = (asked.since or asked.now - timedelta(days=366)).date()
    for one in history.days(since, asked.organization):
        numbers = counts.Counts({**dict.fromkeys(counts.STATUSES, 0), **one.statuses})
        yield {
            "day": one.day.isoformat(),
            "datasets": numbers.total,
            "fresh_percent": round(numbers.fresh_percent, 1),
            **numbers.statuses,
        }


def hosted(asked: Asked) -> Iterator[tables.Row]:
    """Where the files of public datasets are hosted, as counted by the last report."""
    newest = history.newest_hosts()
    yield from host_rows(newest[1] if newest else {})


def host_rows(counted: Mapping[str, int]) -> list[tables.Row]:
    """The same of what is counted already: resources by host."""
    return [
        {"name": one.name, "resources": one.count, "percent": round(one.percent, 1)}
        for one in hosts.shares(counted, options.host_groups())
    ]


def count_hosts(ids: list[str] | None = None) -> dict[str, int]:
    """Resources by the host of their URL.

    :param ids: of these packages; None for all.
    """
    among = "" if ids is None else "WHERE package_id = ANY(:ids)"
    rows = model.Session.execute(
        sa.text(f"SELECT host, count(*) FROM freshness_check {among} GROUP BY host"),
        {} if ids is None else {"ids": ids},
    ).all()
    return dict(map(tuple, rows))


# Common to all.


def _of_organization(asked: Asked) -> str:
    return of_organization(asked.organization) if asked.organization else ""


def _sort(asked: Asked, standard: str) -> tuple[str, bool]:
    asked_for = asked.sort or standard
    return asked_for.removeprefix("-"), asked_for.startswith("-")


def _sorted(rows: list[Row], asked: Asked, standard: str) -> list[Row]:
    key, backwards = _sort(asked, standard)

    def order(row: Row) -> Any:
        value = row[key]
        return value.casefold() if isinstance(value, str) else value

    there = [row for row in rows if row[key] is not None]
    return sorted(there, key=order, reverse=backwards) + [r for r in rows if r[key] is None]


def _moments(row: Mapping[str, Any], *keys: str) -> Row:
    return {**row, **{key: utc_text(row[key]) for key in keys}}


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

_OF_PACKAGE = """p.id AS package_id, p.name, coalesce(nullif(p.title, ''), p.name) AS title,
    g.name AS organization, coalesce(nullif(g.title, ''), g.name) AS organization_title"""

_JOINED = """
JOIN package p ON p.id = {package} AND p.state = 'active' AND p.type = ANY(:types)
LEFT JOIN "group" g ON g.id = p.owner_org
WHERE (CAST(:organization AS text) IS NULL OR g.name = :organization)"""

_CHANGES = f"""
SELECT {_OF_PACKAGE}, t.id, t.from_status, t.to_status, t.changed_at, t.evidence, t.cause
FROM freshness_transition t {_JOINED.format(package="t.package_id")}
AND t.from_status IS NOT NULL AND t.from_status <> t.to_status
AND (t.changed_at >= :since OR t.run_id = :run) AND t.changed_at <= :until"""

_OF_RESOURCE = f"""{_OF_PACKAGE}, c.resource_id, coalesce(r.name, '') AS resource, c.url, c.host,
    c.tried_at, c.attempts -> 0 ->> 'status' AS status, c.attempts -> 0 ->> 'words' AS words"""

# What was found at another URL, or for a resource that is gone, stays until the next run.
_AS_IT_IS = "JOIN resource r ON r.id = c.resource_id AND r.state = 'active' AND r.url = c.url"

_BROKEN = f"""
SELECT {_OF_RESOURCE}, c.failing_since, c.failures, c.succeeded_at
FROM freshness_check c {_AS_IT_IS}
{_JOINED.format(package="c.package_id")}
AND c.failing_since IS NOT NULL AND c.failures >= :failures AND c.tried_at - c.failing_since >= :span"""

_UNCLEAR = f"""
SELECT {_OF_RESOURCE},
    CASE WHEN c.host = ANY(:adhoc) THEN 'adhoc' ELSE c.undetermined END AS undetermined
FROM freshness_check c {_AS_IT_IS}
{_JOINED.format(package="c.package_id")}
AND (c.undetermined IS NOT NULL OR c.host = ANY(:adhoc))"""

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
