"""The action that gives the report's tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ckan.plugins.toolkit as tk

from ..dates import utc_now
from ..reporting import counts, report, table_access, visibility

__all__ = ["freshness_report"]

_LISTED = 100
_MOST = 1000
_GREATEST = 1_000_000_000


@tk.side_effect_free
def freshness_report(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """How fresh the datasets are that who asks may see.

    All moments are in UTC, ISO 8601 with ``Z``.

    :param table: ``statuses``, ``history``, ``due``, ``changes``, ``broken``, ``mismatches``,
        ``unclear``, ``organizations``, ``sources``, ``hosts``, ``runs`` (sysadmins alone) or
        ``datasets``; without it the counts of now alone are given
    :param organization: only of this one (name or id)
    :param since: for ``changes`` and ``history``: a date, the id of a run, or ``last`` for the last
        check
    :param status: for ``datasets``: only those that have it now
    :param sort: a column to sort by, behind a minus if the greatest come first
    :param limit: at most so many rows, 100 if left out, 1000 at most
    :param offset: so many of the first rows are left out
    :returns: ``datasets`` (their number), ``fresh_percent`` (of those of which it can be said),
        ``statuses`` and ``undetermined`` (datasets by each); or, with ``table``, its ``table``,
        ``fields``, ``rows``, and ``more`` (whether there are further rows)
    :raises ValidationError: a value that cannot be used
    :raises ObjectNotFound: there is no such organization
    """
    tk.check_access("freshness_report", context, data_dict)
    now = utc_now()
    if not data_dict.get("table"):
        return _counts(context, data_dict)
    table = table_access.table_named(str(data_dict["table"]))
    if table.name in report.FOR_SYSADMINS:
        tk.check_access("freshness_run_list", context, {})
    limit = min(number(data_dict, "limit", _LISTED), _MOST)
    offset = number(data_dict, "offset", 0)
    asked = table_access.asked(context, table, data_dict, now)
    rows = list(table_access.rows(table, replace(asked, offset=offset, most=limit + 1)))
    return {
        "table": table.name,
        "fields": list(table.fields),
        "rows": [{key: row.get(key) for key in table.fields} for row in rows[:limit]],
        "more": len(rows) > limit,
    }


def _counts(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    only = ""
    if data_dict.get("organization"):
        name = table_access.organization(context, data_dict["organization"])["name"]
        only = visibility.of_organization(name)
    every = counts.count(context, only).every
    return {
        "datasets": every.total,
        "fresh_percent": round(every.fresh_percent, 1),
        "statuses": dict(every.statuses),
        "undetermined": dict(every.undetermined),
    }


def number(data_dict: dict[str, Any], key: str, default: int) -> int:
    """A whole number that a caller gives.

    :raises tk.ValidationError: it is none, below 0, or more than Solr and the database count to.
    """
    value = data_dict.get(key)
    if value in (None, ""):
        return default
    try:
        found = int(str(value))
    except ValueError:
        found = -1
    if not 0 <= found <= _GREATEST:
        raise tk.ValidationError({key: [tk._("Must be a whole number of 0 or more")]})
    return found
