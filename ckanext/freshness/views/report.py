"""The pages of the report: dashboard, tables, organizations, runs; each also as CSV and JSON."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec

import ckan.plugins.toolkit as tk
from flask import Blueprint, Response
from flask.typing import ResponseReturnValue
from prometheus_client import CONTENT_TYPE_LATEST

from ..ckan_adapter.core import same_user
from ..ckan_adapter.database import TablesMissingError
from ..ckan_adapter.packages import SEARCH_FAULTS
from ..dates import utc_now
from ..iati.gauges import gauges
from ..reporting import (
    counts,
    dataset_tables,
    harvest_jobs,
    labels,
    prometheus_metrics,
    report_tables,
    run_summary,
    visibility,
)
from ..reporting import metrics as run_metrics
from ..reporting.dashboard import overview
from ..reporting.tables import MOST_COUNTED, Table, TableRequest
from . import feed
from .responses import (
    FORMATS,
    abort,
    file_of,
    last_page,
    may,
    page_number,
    redirect_to,
    refuse_address,
    render,
    user_context,
)

report_pages = Blueprint("freshness", __name__)

LONG = 50
"""Rows on a page with one table."""

Params = ParamSpec("Params")
View = Callable[Params, ResponseReturnValue]

_NAMES = ",".join(report_tables.TABLES)
_ENDINGS = ",".join(FORMATS)


def _with_error_pages(view: View[Params]) -> View[Params]:
    """Return a view that shows invalid requests and failures of Solr as error pages."""

    @wraps(view)
    def wrapped(*args: Params.args, **kwargs: Params.kwargs) -> ResponseReturnValue:
        try:
            return view(*args, **kwargs)
        except TablesMissingError:
            raise
        except tk.ValidationError as error:
            refuse_address(error)
        except tk.ObjectNotFound as error:
            abort(404, str(error))
        except tk.NotAuthorized as error:
            abort(403, str(error))
        except SEARCH_FAULTS:
            abort(503, tk._("The search does not answer. Please try again in a while."))

    return wrapped


@report_pages.route("/freshness")
@_with_error_pages
def dashboard() -> ResponseReturnValue:
    """Show how the catalogue is doing, and what needs attention."""
    context = _reader()
    shown = overview(TableRequest(context, utc_now()))
    return render(
        "freshness/dashboard.html", {"shown": shown, "sees_runs": may("freshness_run_list")}
    )


@report_pages.route("/freshness/organization/<name>")
@_with_error_pages
def organization(name: str) -> ResponseReturnValue:
    """Show the dashboard of one organization."""
    context = _reader()
    found = visibility.organization(context, name)
    if name != found["name"]:
        return redirect_to("freshness.organization", name=found["name"])
    shown = overview(TableRequest(context, utc_now(), organization=name))
    return render(
        "freshness/organization.html", {"shown": shown, "sees_runs": False, "organization": found}
    )


@report_pages.route("/freshness/changes.atom")
@_with_error_pages
def changes_feed() -> ResponseReturnValue:
    """Return status changes as a feed."""
    _, request = _table_and_request(report_tables.CHANGES.name)
    if request.since is None:
        request = replace(request, since=request.now - feed.PERIOD)
    return feed.changes(request)


@report_pages.route("/freshness/data.atom")
@_with_error_pages
def data_feed() -> ResponseReturnValue:
    """Return changes of data as a feed, of the whole site or of one organization."""
    _, request = _table_and_request(report_tables.DATA.name)
    # Without changes, the feed keeps its date for a day.
    since = (request.now - feed.PERIOD).replace(hour=0, minute=0, second=0, microsecond=0)
    name = request.organization
    return feed.data(
        replace(request, since=request.since or since),
        title=tk.config.get("ckan.site_title", "")
        if name is None
        else visibility.organization(request.context, name)["title"],
        url=tk.h.url_for("freshness.data_feed", organization=name, _external=True),
        page=tk.h.url_for("freshness.table", name="data", organization=name, _external=True),
        empty_since=since,
    )


@report_pages.route(f"/freshness.<any({_ENDINGS}):ending>")
@_with_error_pages
def dashboard_file(ending: str) -> ResponseReturnValue:
    """Download the counts of datasets by status."""
    return table_file(report_tables.STATUSES.name, ending)


@report_pages.route(f"/freshness/organization/<name>.<any({_ENDINGS}):ending>")
@_with_error_pages
def organization_file(name: str, ending: str) -> ResponseReturnValue:
    """Download the datasets of an organization with their statuses."""
    context = _reader()
    found = visibility.organization(context, name)["name"]
    request = TableRequest(context, utc_now(), organization=found)
    rows = report_tables.DATASETS.read(request)
    return file_of(rows, report_tables.DATASETS.fields, f"freshness-{found}", ending)


@report_pages.route(f"/freshness/<any({_NAMES}):name>")
@_with_error_pages
def table(name: str) -> ResponseReturnValue:
    """Show a page of a table."""
    found, request = _table_and_request(name)
    number = page_number()
    page = found.page(request, number, LONG)
    asked = {key: tk.request.args[key] for key in _FILTERS if tk.request.args.get(key)}
    if number > 1 and not page.rows:
        return redirect_to(
            "freshness.table", name=name, page=last_page(page.total or 0, LONG), **asked
        )
    return render(
        "freshness/table.html",
        {
            "table": found,
            "page": page,
            "size": LONG,
            "most": MOST_COUNTED,
            "asked": asked,
            "organizations": visibility.organizations(request.context)
            if name in report_tables.OF_ORGANIZATION
            else [],
            "siblings": _siblings(found, request, page.total),
            "statuses": _statuses(dataset_tables.by_status(request))
            if found is report_tables.DATASETS
            else {},
            "edits": _edited_organizations(request.context),
            "sources": harvest_jobs.of_packages(
                row["package_id"] for row in page.rows if "package_id" in row
            ),
        },
    )


def _siblings(
    found: Table, request: TableRequest, total: int | None
) -> list[tuple[Table, int | None]]:
    """Return the tables that belong together with a table, with their numbers of rows.

    :param total: the number of rows of the table itself
    """
    together = (tables for tables in report_tables.SIBLINGS if found in tables)
    return [
        (each, total if each is found else each.count(request))
        for each in next(together, ())
        if each.count is not None
    ]


def _statuses(numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of datasets by filter."""
    return {
        "": sum(numbers.values()),
        counts.NEEDS_UPDATE: sum(numbers.get(status, 0) for status in counts.NEED_UPDATE),
        **{status: numbers.get(status, 0) for status in counts.STATUSES},
    }


def _edited_organizations(context: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the organizations whose datasets the user may change."""
    if not context.get("user"):
        return frozenset()
    permission = {"permission": "update_dataset"}
    found = tk.get_action("organization_list_for_user")(same_user(context), permission)
    return frozenset(organization["id"] for organization in found)


@report_pages.route(f"/freshness/<any({_NAMES}):name>.<any({_ENDINGS}):ending>")
@_with_error_pages
def table_file(name: str, ending: str) -> ResponseReturnValue:
    """Download all rows of a table."""
    found, request = _table_and_request(name)
    return file_of(found.read(request), found.fields, f"freshness-{name}", ending)


@report_pages.route("/freshness/runs")
@_with_error_pages
def runs() -> ResponseReturnValue:
    """List the runs."""
    tk.check_access("freshness_run_list", dict(user_context()), {})
    only = tk.request.args.get("only") or None
    if only not in (None, *run_summary.filters()):
        words = tk._("must be one of {allowed}, not {given}")
        allowed = ", ".join(run_summary.filters())
        raise tk.ValidationError({"only": [words.format(allowed=allowed, given=str(only)[:20])]})
    number = page_number()
    lines, has_next = run_summary.listed(only, number, LONG, utc_now())
    numbers = run_summary.numbers()
    if number > 1 and not lines:
        return redirect_to("freshness.runs", only=only, page=last_page(numbers[only], LONG))
    return render(
        "freshness/runs.html",
        {
            "lines": lines,
            "number": number,
            "has_next": has_next,
            "numbers": numbers,
            "only": only,
        },
    )


@report_pages.route("/freshness/run/<id>")
@_with_error_pages
def run(id: str) -> ResponseReturnValue:
    """Show what a run did."""
    return _run_page("freshness/run.html", id)


@report_pages.route("/freshness/run/<id>/servers")
@_with_error_pages
def run_servers(id: str) -> ResponseReturnValue:
    """Show all servers in trouble, and the figures of the servers with most links."""
    return _run_page("freshness/run_servers.html", id)


def _run_page(template: str, id: str) -> str:
    run = tk.get_action("freshness_run_show")(dict(user_context()), {"id": id})
    shown = run_summary.page(run["id"], utc_now())
    return render(
        template,
        {
            "run": run,
            "shown": shown,
            "chosen": labels.chosen(shown.sums),
            "tables": {part.name: part for part in run_metrics.tables(run)},
        },
    )


@report_pages.route(f"/freshness/run/<id>.<any({_ENDINGS}):ending>")
@_with_error_pages
def run_file(id: str, ending: str) -> ResponseReturnValue:
    """Download the counts of a run."""
    shown = tk.get_action("freshness_run_show")(dict(user_context()), {"id": id})
    return file_of(
        run_metrics.flat(shown), run_metrics.FIELDS, f"freshness-run-{shown['id']}", ending
    )


@report_pages.route("/freshness/metrics")
@_with_error_pages
def metrics() -> ResponseReturnValue:
    """Return the site's metrics for Prometheus, to sysadmins and holders of the token."""
    if not _has_token() and not may("freshness_run_list"):
        words = tk._(
            "These figures are for sysadmins, and for those who send the token of the option "
            "{option} (Authorization: Bearer ...)"
        )
        raise tk.NotAuthorized(words.format(option=_TOKEN))
    return Response(
        prometheus_metrics.text(visibility.SITE, utc_now(), gauges()),
        content_type=CONTENT_TYPE_LATEST,
    )


_TOKEN = "ckanext.freshness.metrics.token"


def _has_token() -> bool:
    wanted = tk.config.get(_TOKEN) or ""
    scheme, _, given = tk.request.headers.get("Authorization", "").partition(" ")
    is_given = hmac.compare_digest(given.strip().encode(), wanted.encode())
    return bool(wanted) and scheme.lower() == "bearer" and is_given


_FILTERS = ("organization", "since", "status", "q", "sort")


def _table_and_request(name: str) -> tuple[Table, TableRequest]:
    context = _reader()
    found = report_tables.named(name)
    if name in report_tables.FOR_SYSADMINS:
        tk.check_access("freshness_run_list", dict(context), {})
    return found, report_tables.request_for(context, found, tk.request.args, utc_now())


def _reader() -> Mapping[str, Any]:
    """Return the context of a user who may read reports.

    :raises tk.NotAuthorized: the user may not
    """
    context = user_context()
    tk.check_access("freshness_report", dict(context), {})
    return context
