"""Actions that return the report's tables, changes of data and runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ckan.plugins.toolkit as tk

from ..ckan_adapter.core import may, model, same_user
from ..dates import utc_now, utc_text
from ..model import CheckRun
from ..reporting import changes, counts, report_tables, runs, visibility
from ..reporting.tables import TableRequest

_LISTED = 100
_RUNS = 20
_MOST = 1000


@tk.side_effect_free
def freshness_report(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Return how fresh the datasets are that the user may see.

    :param table: ``statuses``, ``history``, ``changes``, ``data``, ``links``, ``organizations``, ``sources`` or
        ``datasets`` (optional; without it only the present counts are returned)
    :type table: string
    :param organization: name or id of the organization to report on (optional, default: all)
    :type organization: string
    :param since: for ``changes``, ``data`` and ``history``: a date, the id of a run, or ``last`` for the last
        check
    :type since: string
    :param status: for ``datasets``: the status that they have now (optional, default: any)
    :type status: string
    :param state: for ``links``: the state that they have now, as of ``freshness_show``, or ``undetectable`` or
        ``wrong_format`` (optional, default: any)
    :type state: string
    :param q: a text, to list only rows that contain it (optional, default: all rows)
    :type q: string
    :param sort: the column to sort by, with a minus before it for descending order
    :type sort: string
    :param limit: the number of rows (optional, default: 100, at most 1000)
    :type limit: int
    :param offset: the number of rows to skip (optional, default: 0)
    :type offset: int
    :returns: without ``table`` a dictionary with

        * ``datasets`` (number of datasets)
        * ``fresh_percent`` (number or null): of datasets with known freshness
        * ``statuses`` (dictionary): numbers of datasets by status

        With ``table``, a dictionary with

        * ``table`` (string): its name
        * ``fields`` (list of strings): the names of its columns
        * ``rows`` (list of dictionaries): values by the name of their column
        * ``more`` (boolean): whether there are further rows
    :rtype: dictionary
    :raises ValidationError: an argument has an impossible value
    :raises ObjectNotFound: there is no such organization
    """
    now = utc_now()
    if not data_dict.get("table"):
        return _counts(context, data_dict)
    table = report_tables.named(str(data_dict["table"]))
    limit = min(data_dict.get("limit", _LISTED), _MOST)
    offset = data_dict.get("offset", 0)
    asked = report_tables.request_for(context, table, data_dict, now)
    rows = list(table.read(replace(asked, offset=offset, limit=limit + 1)))
    return {
        "table": table.name,
        "fields": table.fields,
        "rows": table.records(rows[:limit]),
        "more": len(rows) > limit,
    }


def _counts(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    every, _ = counts.count(
        context, visibility.organization_id(context, data_dict.get("organization"))
    )
    return {
        **{name: every.row()[name] for name in ("datasets", "fresh_percent")},
        "statuses": dict(every.statuses),
    }


@tk.side_effect_free
def freshness_change_list(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Return changes of data, in the order in which they were stored.

    Call it again with the ``cursor`` of its result to get what has been stored since: nothing is left out and
    nothing comes twice. Each change has how we know of it: ``hash`` (another file, confirmed by a second
    download), ``http header`` (a newer Last-Modified), ``upload`` (a file was uploaded, or dated by hand),
    ``url`` (another URL), ``harvest`` (the source states a newer date) or ``script``. A confirmation is no
    change. Changes are kept for two years; a cursor whose change was deleted is refused.

    :param cursor: the cursor of an earlier result (optional, default: begin with the oldest change)
    :type cursor: string
    :param since: a date, the id of a run, or ``last`` for the last check: only changes that were noticed since
        then (optional)
    :type since: string
    :param organization: name or id of an organization (optional, default: all)
    :type organization: string
    :param id: id or name of a dataset (optional, default: all)
    :type id: string
    :param limit: the number of changes (optional, default: 100, at most 1000)
    :type limit: int
    :returns: a dictionary with

        * ``cursor`` (string): for the next call
        * ``more`` (boolean): whether there are further changes now
        * ``changes`` (list of dictionaries): each with ``id``, ``seen_at`` (moment: when it was noticed),
          ``package_id``, ``name``, ``title``, ``organization``, ``resource_id`` (null if the date of the whole
          dataset changed), ``resource`` (its name), ``url`` (without secrets), ``evidence``, ``changed_after``
          and ``changed_before`` (moments between which it happened), ``stated_at`` (its date as the server,
          the source or an editor states it); ``hash_before`` and ``hash_after``, ``size_before`` and
          ``size_after`` (bytes), ``media_type_before`` and ``media_type_after``; and ``summary``:
          ``data_until``, the periods up to which the data reached before and reach now, and, if the tables of
          both files could be compared, ``tables``, each with the ``name`` of its sheet, ``rows`` (before and
          after), the columns that were ``added``, ``removed`` or ``renamed``, and ``features`` (true for a
          GeoJSON file); and the sheets that were ``added`` or ``removed``
    :rtype: dictionary
    :raises ValidationError: an argument has an impossible value, or the change that the cursor names is not
        kept any more
    :raises ObjectNotFound: there is no such organization or dataset, or the user may not see it
    """
    asked = TableRequest(
        same_user(context),
        utc_now(),
        organization=visibility.organization_id(context, data_dict.get("organization")),
        dataset=_dataset(context, data_dict.get("id")),
        since=report_tables.since_date(data_dict.get("since"))[0],
    )
    limit = min(data_dict.get("limit", _LISTED), _MOST)
    return changes.page(asked, limit, data_dict.get("cursor") or None)


def _dataset(context: dict[str, Any], given: str | None) -> str | None:
    if not given:
        return None
    package = model.Package.get(given)
    if package is None or not may("package_show", context, id=package.id):
        raise tk.ObjectNotFound(tk._("Dataset not found"))
    return str(package.id)


@tk.side_effect_free
def freshness_run_list(context: dict[str, Any], data_dict: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the runs of the checker, the newest first.

    :param limit: the number of runs (optional, default: 20, at most 1000)
    :type limit: int
    :param offset: the number of newer runs to skip (optional, default: 0)
    :type offset: int
    :returns: a list of dictionaries with

        * ``id``, ``kind`` (strings)
        * ``started_at``, ``ended_at`` (moments; ``ended_at`` is null if it still runs or was killed)
        * ``checked`` (number of checked resources)
        * ``error`` (string): why it ended early
        * ``version`` (string): of this extension
    :rtype: list of dictionaries
    :raises ValidationError: limit or offset is no whole number of 0 or more
    """
    limit = data_dict.get("limit", _RUNS)
    offset = data_dict.get("offset", 0)
    rows = (
        model.Session.query(CheckRun)
        .order_by(CheckRun.started_at.desc(), CheckRun.id)
        .limit(min(limit, _MOST))
        .offset(offset)
    )
    return [_run(row) for row in rows]


@tk.side_effect_free
def freshness_run_show(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Return a run of the checker with its counts.

    :param id: id of the run (optional, default: the newest check of all links)
    :type id: string
    :returns: a dictionary as in the list of ``freshness_run_list``, and

        * ``options`` (dictionary): the arguments of the call
        * ``resources``, ``datasets`` (dictionaries): counts by label
        * ``frequencies`` (dictionary): datasets that are ``live``, ``never``, ``as needed``
        * ``text`` (string): the counts in HDX's layout
    :rtype: dictionary
    :raises ObjectNotFound: there is no such run, or no run at all
    """
    query = model.Session.query(CheckRun)
    row = query.get(data_dict["id"]) if data_dict.get("id") else runs.full_checks().first()
    if row is None:
        raise tk.ObjectNotFound(tk._("There is no such run"))
    names = ("resources", "datasets", "frequencies")
    figures = {name: getattr(row, name) or {} for name in names}
    return {
        **_run(row),
        "options": row.options,
        **figures,
        "text": runs.hdx_text(figures),
    }


def _run(row: Any) -> dict[str, Any]:
    return {
        "id": row.id,
        "kind": row.kind,
        "started_at": utc_text(row.started_at),
        "ended_at": utc_text(row.ended_at),
        "checked": row.checked,
        "error": row.error,
        "version": row.version,
    }
