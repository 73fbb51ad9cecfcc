"""The action that returns the report's tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ckan.plugins.toolkit as tk

from ...dates import utc_now
from ...reporting import counts, report_tables, visibility
from ..arguments import whole_number

__all__ = ["freshness_report"]

_LISTED = 100
_MOST = 1000


@tk.side_effect_free
def freshness_report(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Return how fresh the datasets are that the user may see.

    All moments are in UTC, ISO 8601 with ``Z``.

    :param table: ``statuses``, ``history``, ``due``, ``changes``, ``data``, ``broken``, ``mismatches``,
        ``unclear``, ``frequencies``, ``organizations``, ``sources``, ``hosts``, ``runs`` (sysadmins alone)
        or ``datasets`` (optional; without it only the present counts are returned)
    :param organization: name or id of the organization to report on (optional, default: all)
    :param since: for ``changes``, ``data`` and ``history``: a date, the id of a run, or ``last`` for the last
        check
    :param status: for ``datasets``: the status that they have now (optional, default: any)
    :param q: a text, to list only rows that contain it (optional, default: all rows)
    :param sort: the column to sort by, with a minus before it for descending order
    :param limit: the number of rows (optional, default: 100, at most 1000)
    :param offset: the number of rows to skip (optional, default: 0)
    :returns: ``datasets`` (their number), ``fresh_percent`` (of the datasets with known freshness),
        ``statuses`` and ``undetermined`` (numbers of datasets by status and by reason); or, with ``table``,
        its ``table``, ``fields``, ``rows``, and ``more`` (whether there are further rows)
    :raises ValidationError: an argument has an impossible value
    :raises ObjectNotFound: there is no such organization
    """
    tk.check_access("freshness_report", context, data_dict)
    now = utc_now()
    if not data_dict.get("table"):
        return _counts(context, data_dict)
    table = report_tables.named(str(data_dict["table"]))
    if table.name in report_tables.FOR_SYSADMINS:
        tk.check_access("freshness_run_list", context, {})
    limit = min(whole_number(data_dict, "limit", _LISTED), _MOST)
    offset = whole_number(data_dict, "offset", 0)
    asked = report_tables.request_for(context, table, data_dict, now)
    rows = list(table.read(replace(asked, offset=offset, limit=limit + 1)))
    return {
        "table": table.name,
        "fields": list(table.fields),
        "rows": [{key: row.get(key) for key in table.fields} for row in rows[:limit]],
        "more": len(rows) > limit,
    }


def _counts(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    name = data_dict.get("organization") or None
    if name is not None:
        name = visibility.organization(context, name)["name"]
    every = counts.count(context, name).every
    return {
        "datasets": every.total,
        "fresh_percent": round(every.fresh_percent, 1),
        "statuses": dict(every.statuses),
        "undetermined": dict(every.undetermined),
    }
