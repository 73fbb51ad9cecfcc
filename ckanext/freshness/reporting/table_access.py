"""Access to the tables of the report: validated requests, and how many rows a visitor may read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk

from ..ckan_adapter.ckan_core import model
from ..dates import aware, parse_date
from ..model import CheckRun
from ..status.package_fields import same_user
from . import counts, report_tables, tables, visibility
from .tables import Row, Table, TablePage, TableRequest

ANONYMOUS_ROWS = 25_000
"""Rows of a table for visitors who have not logged in, since each batch of rows costs a search."""


_LONGEST = 200
"""Characters of a text to search for. The rest of a longer one is ignored."""


def table_named(name: str) -> Table:
    """Return a table of the report.

    :raises tk.ValidationError: no table has this name; the text lists the names
    """
    if name not in report_tables.TABLES:
        words = tk._("There is no table {name}: choose {names}")
        raise tk.ValidationError(
            {"table": [words.format(name=name, names=", ".join(sorted(report_tables.TABLES)))]}
        )
    return report_tables.TABLES[name]


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
        status=_one_of("status", data.get("status"), (*counts.STATUSES, counts.NEEDS_UPDATE)),
        search=str(data.get("q") or "").strip()[:_LONGEST] or None,
        sort=_sort(table, data.get("sort")),
    )


def _organization(context: Mapping[str, Any], table: Table, given: object) -> str | None:
    if not given:
        return None
    if table.name not in report_tables.OF_ORGANIZATION:
        words = tk._("The table {table} is of all organizations")
        raise tk.ValidationError({"organization": [words.format(table=table.name)]})
    return str(visibility.organization(context, str(given))["name"])


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

    :param number: counted from 1; a page behind the last one has no rows
    :raises tk.NotAuthorized: the visitor has not logged in and requests only later rows
    """
    start = (number - 1) * size
    try:
        _rows_left(replace(request, offset=start))
    except tk.ValidationError as error:
        total = report_tables.page(table, request, 1, size).total
        if total is None or total > start:
            raise tk.NotAuthorized(*error.error_dict["offset"]) from error
        return TablePage((), number, False, total)
    return report_tables.page(table, request, number, size)


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
    return report_tables.rows(table, request)
