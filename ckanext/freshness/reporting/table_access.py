"""Requests for tables of the report, validated; and the daily counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..ckan_adapter.ckan_core import model
from ..dates import aware, parse_date
from ..model import CheckRun
from ..status.package_fields import same_user
from . import counts, history, lists, observed_frequencies, report, streamed_lists, tables
from .tables import Row, Table, TablePage, TableRequest

NOBODY: Mapping[str, Any] = {"user": "", "auth_user_obj": None}
"""The context of a visitor who has not logged in and sees only public datasets."""
SITE: Mapping[str, Any] = {"ignore_auth": True, "user": "", "auth_user_obj": None}
"""The context of the site itself, which sees all datasets."""

ANONYMOUS_ROWS = 25_000
"""Rows of a table for visitors who have not logged in, since each batch of rows costs a search."""


_LONGEST = 200
"""Characters of a text to search for. The rest of a longer one is ignored."""


def record(now: datetime) -> counts.StatusCounts:
    """Store today's counts of public datasets, by status and by host, and return those by status.

    Also store the update frequencies that the data of datasets suggest.
    """
    observed_frequencies.store(now)
    found = counts.count(NOBODY)
    hosts: dict[str, int] = {}
    every = streamed_lists.DATASETS.rows(TableRequest(NOBODY, now))
    while part := [row["id"] for row in islice(every, 5000)]:
        for host, count in lists.count_hosts(part).items():
            hosts[host] = hosts.get(host, 0) + count
    history.record(now, found, hosts)
    return found.every


def table_named(name: str) -> Table:
    """Return a table of the report.

    :raises tk.ValidationError: no table has this name; the text lists the names
    """
    if name not in report.TABLES:
        words = tk._("There is no table {name}: choose {names}")
        raise tk.ValidationError(
            {"table": [words.format(name=name, names=", ".join(sorted(report.TABLES)))]}
        )
    return report.TABLES[name]


def validated_request(
    context: Mapping[str, Any], table: Table, data: Mapping[str, Any], now: datetime
) -> TableRequest:
    """Return a request for rows of a table from a user's parameters.

    :param data: ``organization`` (name or id), ``since`` (a date, or a run), ``status``, ``q`` (a
        text to search for), ``sort``
    :raises tk.ValidationError: a value is not allowed; the text says which ones are
    :raises tk.ObjectNotFound: the organization does not exist, or the user may not see it
    """
    since, run = _since(data.get("since"))
    return TableRequest(
        context=same_user(context),
        now=now,
        organization=_organization(context, table, data.get("organization")),
        since=since,
        run=run,
        status=_one_of("status", data.get("status"), (*counts.STATUSES, lists.NEEDS_UPDATE)),
        search=str(data.get("q") or "").strip()[:_LONGEST] or None,
        sort=_sort(table, data.get("sort")),
    )


def _organization(context: Mapping[str, Any], table: Table, given: object) -> str | None:
    if not given:
        return None
    if table.name not in report.OF_ORGANIZATION:
        words = tk._("The table {table} is of all organizations")
        raise tk.ValidationError({"organization": [words.format(table=table.name)]})
    return str(organization(context, str(given))["name"])


def organization(context: Mapping[str, Any], given: str) -> dict[str, Any]:
    """Return the ``id``, ``name`` and ``title`` of an organization.

    :raises tk.ObjectNotFound: no organization has this name or id, or the user may not see it
    """
    found = model.Group.get(given)
    if found is None or not found.is_organization or found.state != "active":
        raise tk.ObjectNotFound(tk._("Organization not found"))
    try:
        tk.check_access("organization_show", same_user(context), {"id": found.id})
    except tk.NotAuthorized as error:
        raise tk.ObjectNotFound(tk._("Organization not found")) from error
    return {"id": found.id, "name": found.name, "title": found.title or found.name}


def organizations(context: Mapping[str, Any]) -> list[Row]:
    """Return the ``name`` and ``title`` of the organizations that the user may see, by title."""
    try:
        tk.check_access("organization_list", same_user(context), {})
    except tk.NotAuthorized:
        return []
    group = model.Group
    title = sa.func.coalesce(sa.func.nullif(group.title, ""), group.name).label("title")
    rows = (
        model.Session.query(group.name, title)
        .filter(group.is_organization, group.state == "active")
        .order_by(sa.func.lower(title))
    )
    return [{"name": row.name, "title": row.title} for row in rows]


def _since(given: object) -> tuple[datetime | None, str | None]:
    """Return the earliest moment, and the id of the run if a run was given."""
    if given in (None, ""):
        return None, None
    text = str(given)
    run = model.Session.query(CheckRun).get(text)
    if text == "last":
        checks = model.Session.query(CheckRun).filter_by(kind="check")
        run = checks.order_by(CheckRun.started_at.desc()).first()
    if run is not None:
        return aware(run.started_at), run.id
    moment = parse_date(text)
    if moment is None:
        words = tk._(
            "{text} is neither a date such as 2026-01-31 nor the id of a run nor last, the last check"
        )
        raise tk.ValidationError({"since": [words.format(text=text[:80])]})
    return moment, None


def _sort(table: Table, given: object) -> str | None:
    if given in (None, ""):
        return None
    text = str(given)
    _one_of("sort", text.removeprefix("-"), sorted(table.sorts()))
    return text


def _one_of(key: str, given: object, allowed: Any) -> str | None:
    if given in (None, ""):
        return None
    if given not in allowed:
        words = tk._("must be one of {allowed}, not {given}")
        text = words.format(allowed=", ".join(allowed) or "-", given=str(given)[:80])
        raise tk.ValidationError({key: [text]})
    return str(given)


def page(table: Table, request: TableRequest, number: int, size: int) -> TablePage:
    """Return a page of a table.

    :param number: counted from 1
    """
    part = replace(request, offset=(number - 1) * size, limit=size + 1)
    return tables.page(rows(table, part), number, size)


def listing(table: Table, request: TableRequest, number: int, size: int) -> TablePage:
    """Return a page of a table, with the number of all rows.

    :param number: counted from 1
    :raises tk.ValidationError: the visitor has not logged in and requests only later rows
    """
    _rows_left(replace(request, offset=(number - 1) * size))
    return report.page(table, request, number, size)


def _rows_left(request: TableRequest) -> int | None:
    """Return the number of rows from the offset on that the user may read; None for all."""
    if request.context.get("user") or request.context.get("ignore_auth"):
        return None
    left = ANONYMOUS_ROWS - request.offset
    if left <= 0:
        words = tk._("Log in to see more than the first {most} rows")
        raise tk.ValidationError({"offset": [words.format(most=ANONYMOUS_ROWS)]})
    return left


def rows(table: Table, request: TableRequest) -> Iterator[Row]:
    """Yield the rows of a table; only the first :data:`ANONYMOUS_ROWS` if the visitor has not logged in.

    :raises tk.ValidationError: the visitor has not logged in and requests only later rows
    """
    left = _rows_left(request)
    if left is not None:
        request = replace(request, limit=min(left, request.limit or left))
    return report.rows(table, request)
