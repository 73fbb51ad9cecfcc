"""The pages of the report: dashboard, tables, organizations, runs; each also as CSV and JSON."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from ..ckan_adapter.services import misplaced_plugins
from ..dates import utc_now
from ..interfaces import IFreshnessOperations
from ..reporting import harvests, labels, report_tables, visibility
from ..reporting import runs as run_pages
from ..reporting.dashboard import overview
from ..reporting.tables import DatasetTable, Table, TableRequest, with_texts
from .responses import (
    FORMATS,
    file_of,
    guarded,
    last_page,
    may,
    never_kept,
    page_number,
    redirect_to,
    render,
    user_context,
)
from .row_actions import LISTS

report_pages = guarded(Blueprint("freshness", __name__))

MOST_LINKS = 50_000
"""The greatest number of links that are counted by state: to count all takes seconds."""
LONG = 50
"""Rows on a page with one table."""

_NAMES = ",".join(report_tables.TABLES)
_ENDINGS = ",".join(FORMATS)


@report_pages.route("/freshness", strict_slashes=False)
def dashboard() -> ResponseReturnValue:
    """Show how the catalogue is doing, and what needs attention."""
    return _dashboard(TableRequest(reader(), utc_now()), None)


@report_pages.route("/freshness/organization/<name>")
def organization(name: str) -> ResponseReturnValue:
    """Show the dashboard of one organization."""
    context = reader()
    found = visibility.organization(context, name)
    if name != found["name"]:
        return redirect_to("freshness.organization", name=found["name"])
    return _dashboard(TableRequest(context, utc_now(), organization=found["id"]), found)


def _dashboard(asked: TableRequest, organization: dict[str, Any] | None) -> str:
    return render(
        "freshness/dashboard.html",
        {
            "shown": overview(asked),
            "sees_runs": organization is None and may("freshness_run_list"),
            "organization": organization,
        },
    )


@report_pages.route(f"/freshness/organization/<name>.<any({_ENDINGS}):ending>")
def organization_file(name: str, ending: str) -> ResponseReturnValue:
    """Download the datasets of an organization with their statuses."""
    context = reader()
    found = visibility.organization(context, name)
    request = TableRequest(context, utc_now(), organization=found["id"])
    rows = report_tables.DATASETS.read(request)
    return file_of(rows, report_tables.DATASETS.fields, f"freshness-{found['name']}", ending)


@report_pages.route(f"/freshness/<any({_NAMES}):name>")
def table(name: str) -> ResponseReturnValue:
    """Show a page of a table."""
    found, request = table_and_request(name)
    number = page_number()
    page = found.page(request, number, LONG)
    asked = filters()
    if number > 1 and not page.rows:
        last = last_page(page.total or 0, LONG)
        return redirect_to("freshness.table", name=name, page=last, **asked)
    edits: set[str | None] = {*visibility.edited_organizations(request.context)}
    if visibility.sees_all(request.context):
        # A sysadmin may change datasets without an organization, too.
        edits.add(None)
    may_act = any(row.get("owner_org") in edits for row in page.rows)
    verbs = LISTS.get(name) if may_act else None
    answer = render(
        "freshness/table.html",
        {
            "table": found,
            "page": page,
            "size": LONG,
            "asked": asked,
            "organizations": visibility.organizations(request.context),
            "siblings": _siblings(found, request),
            "filters": _filters(found, request),
            "edits": edits,
            "verbs": verbs,
            "adds_sources": found is report_tables.SOURCES and _may_add_sources(),
            "misplaced": [*misplaced_plugins()]
            if found is report_tables.SOURCES and None in edits
            else [],
            "sources": harvests.of_packages(
                row["package_id"] for row in page.rows if "package_id" in row
            ),
        },
    )
    return never_kept(answer) if verbs else answer


def _may_add_sources() -> bool:
    return p.plugin_loaded("harvest") and may("harvest_source_create")


def _siblings(found: Table, request: TableRequest) -> list[tuple[DatasetTable, tuple[int, bool]]]:
    """Return the tables that belong together with a table, with their numbers of rows."""
    together = report_tables.SIBLINGS if found in report_tables.SIBLINGS else ()
    return [(each, each.count(request)) for each in together]


def _filters(found: Table, request: TableRequest) -> dict[str, int | None]:
    """Return the numbers of rows by filter, whatever filter is chosen; None if there are too many to count."""
    if not isinstance(found, DatasetTable) or not found.grouped:
        return {}
    most = None if found.is_counted_whole else MOST_LINKS
    numbers = found.counts(replace(request, status=None), most)
    if numbers is None:
        return dict.fromkeys(("", *found.filters))
    # Filters that are no values of the column.
    others = {
        name: found.count(replace(request, status=name), most)[0]
        for name in found.filters
        if name not in labels.LINKS and name not in labels.STATUSES
    }
    return {
        "": sum(numbers.values()),
        **{name: others.get(name, numbers.get(name, 0)) for name in found.filters},
    }


@report_pages.route(f"/freshness.<any({_ENDINGS}):ending>", endpoint="dashboard_file")
@report_pages.route(f"/freshness/<any({_NAMES}):name>.<any({_ENDINGS}):ending>")
def table_file(ending: str, name: str = report_tables.STATUSES.name) -> ResponseReturnValue:
    """Download all rows of a table; of the dashboard, the counts of datasets by status."""
    found, request = table_and_request(name)
    return file_of(found.read(request), found.fields, f"freshness-{name}", ending)


@report_pages.route("/freshness/runs")
def runs() -> ResponseReturnValue:
    """Show the last nightly run, its errors, and the nights before."""
    _check_may_see_runs()
    values = {"shown": run_pages.last_night(), "nights": run_pages.nights()}
    return render("freshness/runs.html", values)


@report_pages.route(f"/freshness/runs.<any({_ENDINGS}):ending>")
def runs_file(ending: str) -> ResponseReturnValue:
    """Download the list of nights."""
    _check_may_see_runs()
    rows = map(with_texts, run_pages.nights())
    return file_of(rows, run_pages.FIELDS, "freshness-runs", ending)


def _check_may_see_runs() -> None:
    tk.check_access("freshness_run_list", dict(user_context()), {})


@report_pages.route("/freshness/metrics")
def site_metrics() -> ResponseReturnValue:
    """Return the site's metrics for Prometheus, to sysadmins and holders of the token."""
    if not _has_token() and not may("freshness_run_list"):
        words = tk._(
            "These figures are for sysadmins, and for those who send the token of the option "
            "{option} (Authorization: Bearer ...)"
        )
        raise tk.NotAuthorized(words.format(option=_TOKEN))
    # Imported only here: web workers need no client of Prometheus.
    from ..reporting import prometheus

    plugins = p.PluginImplementations(IFreshnessOperations)
    others = (gauge for plugin in plugins for gauge in plugin.gauges())
    text = prometheus.text(visibility.SITE, utc_now(), others)
    return Response(text, content_type=prometheus.CONTENT_TYPE_LATEST)


_TOKEN = "ckanext.freshness.metrics.token"


def _has_token() -> bool:
    wanted = tk.config.get(_TOKEN) or ""
    scheme, _, given = tk.request.headers.get("Authorization", "").partition(" ")
    is_given = hmac.compare_digest(given.strip().encode(), wanted.encode())
    return bool(wanted) and scheme.lower() == "bearer" and is_given


_FILTERS = ("organization", "since", "status", "state", "q", "sort")


def filters() -> dict[str, str]:
    """Return the parameters of a table that the page's address has."""
    return {key: tk.request.args[key] for key in _FILTERS if tk.request.args.get(key)}


def table_and_request(name: str) -> tuple[Table, TableRequest]:
    """Return a table, and the request for its rows by the parameters of the page's address."""
    context = reader()
    found = report_tables.named(name)
    return found, report_tables.request_for(context, found, tk.request.args, utc_now())


def reader() -> Mapping[str, Any]:
    """Return the context of a user who may read reports.

    :raises tk.NotAuthorized: the user may not
    """
    context = user_context()
    tk.check_access("freshness_report", dict(context), {})
    return context
