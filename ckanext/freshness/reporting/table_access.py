"""What is asked of the report, checked; and what the nightly report keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging.status import Status
from ..ckan_adapter import model
from ..dates import aware, parse_date
from ..model import CheckRun
from . import counts, history, lists, report, tables, visibility
from .table_request import TableRequest
from .tables import Row, Table, TablePage

NOBODY: Mapping[str, Any] = {"user": "", "auth_user_obj": None}
"""The context of somebody who has not logged in: sees what is public."""

ANONYMOUS_ROWS = 25_000
"""Rows of a table that visitors who have not logged in can read: each costs a search for what they may see."""

STATUSES = tuple(status.value for status in Status)


def record(now: datetime) -> counts.StatusCounts:
    """Keep how fresh the public datasets are today, and where their files are hosted; how fresh they are."""
    found = counts.count(NOBODY)
    hosts: dict[str, int] = {}
    every = lists.datasets(TableRequest(NOBODY, now))
    while part := [row["id"] for row in islice(every, 5000)]:
        for host, count in lists.count_hosts(part).items():
            hosts[host] = hosts.get(host, 0) + count
    history.record(now, found, hosts)
    return found.every


def table_named(name: str) -> Table[TableRequest]:
    """A table of the report.

    :raises tk.ValidationError: there is none of that name; the text lists those there are.
    """
    if name not in report.TABLES:
        words = tk._("There is no table {name}: choose {names}")
        raise tk.ValidationError(
            {"table": [words.format(name=name, names=", ".join(sorted(report.TABLES)))]}
        )
    return report.TABLES[name]


def asked(
    context: Mapping[str, Any], table: Table[TableRequest], data: Mapping[str, Any], now: datetime
) -> TableRequest:
    """What rows of a table are asked for.

    :param data: ``organization`` (name or id), ``since`` (a date, or a run), ``status``, ``sort``.
    :raises tk.ValidationError: a value that cannot be; the text says which ones can.
    :raises tk.ObjectNotFound: there is no such organization, or not for who asks.
    """
    since, run = _since(data.get("since"))
    return TableRequest(
        context=visibility.of_user(context),
        now=now,
        organization=_organization(context, table, data.get("organization")),
        since=since,
        run=run,
        status=_one_of("status", data.get("status"), STATUSES),
        sort=_sort(table, data.get("sort")),
    )


def _organization(
    context: Mapping[str, Any], table: Table[TableRequest], given: object
) -> str | None:
    if not given:
        return None
    if table.name not in report.OF_ORGANIZATION:
        words = tk._("The table {table} is of all organizations")
        raise tk.ValidationError({"organization": [words.format(table=table.name)]})
    return organization(context, str(given))["name"]


def organization(context: Mapping[str, Any], given: str) -> dict[str, Any]:
    """The ``id``, ``name`` and ``title`` of an organization.

    :raises tk.ObjectNotFound: there is none of that name or id, or not for who asks.
    """
    found = model.Group.get(given)
    if found is None or not found.is_organization or found.state != "active":
        raise tk.ObjectNotFound(tk._("Organization not found"))
    try:
        tk.check_access("organization_show", visibility.of_user(context), {"id": found.id})
    except tk.NotAuthorized as error:
        raise tk.ObjectNotFound(tk._("Organization not found")) from error
    return {"id": found.id, "name": found.name, "title": found.title or found.name}


def _since(given: object) -> tuple[datetime | None, str | None]:
    """A moment, and the run that is meant if it is one."""
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


def _sort(table: Table[TableRequest], given: object) -> str | None:
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


def page(table: Table[TableRequest], what: TableRequest, number: int, size: int) -> TablePage:
    """A page of a table.

    :param number: from 1.
    """
    some = replace(what, offset=(number - 1) * size, most=size + 1)
    return tables.page(rows(table, some), number, size)


def rows(table: Table[TableRequest], what: TableRequest) -> Iterator[Row]:
    """Yield the rows of a table, to visitors who have not logged in only the first :data:`ANONYMOUS_ROWS`.

    :raises tk.ValidationError: only later rows are asked for.
    """
    if not what.context.get("user") and not what.context.get("ignore_auth"):
        most = ANONYMOUS_ROWS - what.offset
        if most <= 0:
            words = tk._("Log in to see more than the first {most} rows")
            raise tk.ValidationError({"offset": [words.format(most=ANONYMOUS_ROWS)]})
        what = replace(what, most=min(most, what.most or most))
    return report.rows(table, what)
