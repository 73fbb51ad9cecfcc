"""Rows of the report's tables that are streamed from the database in order: only visible datasets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..ckan_adapter import model
from ..dates import utc
from ..model.check import DECLARED
from ..web.urls import display_url
from . import visibility
from .tables import BATCH, Row, TableRequest, sort_of, with_iso_dates


def changes(request: TableRequest) -> Iterator[Row]:
    """Yield status changes with their cause, the newest first. A dataset's first status is no change."""
    since = request.since or request.now - timedelta(days=1)
    values = {"since": utc(since), "until": utc(request.now), "run": request.run}
    rows = _stream(_CHANGES, request, values, ("changed_at",), "-changed_at", "id")
    for row in rows:
        yield with_iso_dates(row, "changed_at")


def broken(request: TableRequest) -> Iterator[Row]:
    """Yield resources whose URL failed several times, spread over time; the longest failing first."""
    checks = settings.checks()
    values = {"failures": checks.broken_after_failures, "span": checks.broken_after}
    sorts = ("failing_since", "failures", "host")
    rows = _stream(_BROKEN, request, values, sorts, "failing_since", "resource_id")
    for row in rows:
        yield _resource(row, "failing_since", "succeeded_at", "tried_at")


def unclear(request: TableRequest) -> Iterator[Row]:
    """Yield resources that could not be checked, or whose changes cannot be detected."""
    rows = _stream(
        _UNCLEAR,
        request,
        {"adhoc": sorted(settings.adhoc_hosts())},
        ("host", "tried_at"),
        "host",
        "resource_id",
    )
    for row in rows:
        yield _resource(row, "tried_at")


def mismatches(request: TableRequest) -> Iterator[Row]:
    """Yield resources whose file is of another kind than their format says."""
    rows = _stream(_MISMATCHES, request, {}, ("host", "tried_at"), "host", "resource_id")
    for row in rows:
        yield _resource(row, "tried_at")


def _resource(row: Mapping[str, Any], *dated: str) -> Row:
    # Never show users and passwords in URLs.
    return {**with_iso_dates(row, *dated), "url": display_url(row["url"] or "")}


def _stream(
    statement: str,
    request: TableRequest,
    values: Mapping[str, Any],
    sorts: Collection[str],
    default: str,
    tie_breaker: str,
) -> Iterator[Mapping[str, Any]]:
    """Stream the rows of a statement that the user may see, in one transaction of a separate connection.

    :param statement: SQL with the placeholders ``{order}`` in its innermost query, and ``{visible}``
    :param sorts: columns of the innermost query by which the rows may be sorted
    :param default: the table's own order, after a minus for descending order
    :param tie_breaker: the column that orders rows of equal rank
    """
    key, backwards = sort_of(request, default)
    if key not in sorts:
        raise ValueError(f"{key} is not one of {', '.join(sorts)}")
    direction = "DESC" if backwards else "ASC"
    order = f"o.{key} {direction} NULLS LAST, o.{tie_breaker} {direction}"
    visible = visibility.condition(request.context)
    condition, labels = visible or ("true", {})
    ordered = f"{statement.format(order=order, visible=condition)} ORDER BY {order}"
    parameters = {
        "types": sorted(settings.aging().dataset_types),
        "organization": request.organization,
        **values,
        **labels,
    }
    with model.Session.get_bind().connect() as connection:
        streamed = connection.execution_options(stream_results=True, max_row_buffer=BATCH)
        rows = streamed.execute(sa.text(ordered), parameters).mappings()
        if visible:
            yield from rows
        else:
            yield from visibility.only_visible(request.context, rows, _package)


def _package(row: Mapping[str, Any]) -> str:
    return str(row["package_id"])


_OF_PACKAGE = """p.id AS package_id, p.name, coalesce(nullif(p.title, ''), p.name) AS title,
    g.name AS organization, coalesce(nullif(g.title, ''), g.name) AS organization_title"""

# Rows are sorted first and joined one by one afterwards, so that the first page does not wait for the rest.
_JOINED = """
JOIN package p ON p.id = o.package_id AND p.state = 'active' AND p.type = ANY(:types) AND {visible}
LEFT JOIN "group" g ON g.id = p.owner_org"""
_OF_ORGANIZATION = """(CAST(:organization AS text) IS NULL OR package_id IN (
        SELECT p.id FROM package p JOIN "group" g ON g.id = p.owner_org WHERE g.name = :organization
    ))"""

_CHANGES = f"""
SELECT {_OF_PACKAGE}, o.id, o.from_status, o.to_status, o.changed_at, o.evidence, o.cause
FROM (
    SELECT * FROM freshness_transition o
    WHERE from_status IS NOT NULL AND from_status <> to_status
    AND (changed_at >= :since OR run_id = :run) AND changed_at <= :until
    AND {_OF_ORGANIZATION}
    ORDER BY {{order}}
) o {_JOINED}"""

_OF_RESOURCE = f"""{_OF_PACKAGE}, o.resource_id, coalesce(r.name, '') AS resource, o.url, o.host,
    o.tried_at, o.attempts -> 0 ->> 'status' AS status, o.attempts -> 0 ->> 'words' AS words"""

# Results for an earlier URL or a deleted resource stay in the table until the next run.
_AS_IT_IS = """JOIN LATERAL (
    SELECT * FROM resource
    WHERE id = o.resource_id AND state = 'active' AND url = o.url LIMIT 1
) r ON true"""

_BROKEN = f"""
SELECT {_OF_RESOURCE}, o.failing_since, o.failures, o.succeeded_at
FROM (
    SELECT * FROM freshness_check o
    WHERE failing_since IS NOT NULL AND failures >= :failures AND tried_at - failing_since >= :span
    AND {_OF_ORGANIZATION}
    ORDER BY {{order}}
) o {_AS_IT_IS} {_JOINED}"""

_MISMATCHES = f"""
SELECT {_OF_RESOURCE}, o.promised, o.found
FROM (
    SELECT * FROM freshness_check o
    WHERE found IS NOT NULL AND {_OF_ORGANIZATION}
    ORDER BY {{order}}
) o {_AS_IT_IS} {_JOINED}
WHERE o.promised = {DECLARED}"""

_UNCLEAR = f"""
SELECT {_OF_RESOURCE},
    CASE WHEN o.host = ANY(:adhoc) THEN 'adhoc' ELSE o.undetermined END AS undetermined
FROM (
    SELECT * FROM freshness_check o
    WHERE (undetermined IS NOT NULL OR host = ANY(:adhoc)) AND {_OF_ORGANIZATION}
    ORDER BY {{order}}
) o {_AS_IT_IS} {_JOINED}"""
