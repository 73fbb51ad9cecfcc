"""The pages of the report: the dashboard, a table, an organization, a run; each as CSV and JSON too."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from typing import Any, ParamSpec

import ckan.plugins.toolkit as tk
from dateutil.relativedelta import relativedelta
from flask import Blueprint, Response
from flask.typing import ResponseReturnValue
from prometheus_client import CONTENT_TYPE_LATEST

from ..ckan_adapter import SEARCH_FAULTS
from ..ckan_adapter.tables import TablesMissingError
from ..dates import utc_now
from ..reporting import (
    chart,
    counts,
    history,
    lists,
    prometheus_metrics,
    report,
    run_tables,
    table_access,
    tables,
    visibility,
)
from ..reporting.table_request import TableRequest
from ..reporting.tables import Row, Table, TablePage
from . import feed
from .files import FORMATS, file_of

report_pages = Blueprint("freshness", __name__)

SHORT = 5
"""Rows of a table on a page with several."""
LONG = 50
"""Rows of a page with one table."""
DRAWN = relativedelta(years=1)

Params = ParamSpec("Params")
Page_ = Callable[Params, ResponseReturnValue]

_NAMES = ",".join(report.TABLES)
_ENDINGS = ",".join(FORMATS)


@dataclass(frozen=True, slots=True)
class ReportPart:
    """A table as a page shows it.

    :ivar file: the URL of its rows, without an ending
    :ivar more: the URL of the page with all of them
    """

    table: Table[TableRequest]
    page: TablePage
    file: str
    more: str


def _answered(page: Page_[Params]) -> Page_[Params]:
    """Faults of what was asked for, and of Solr, as people get them."""

    @wraps(page)
    def answered(*args: Params.args, **kwargs: Params.kwargs) -> ResponseReturnValue:
        try:
            return page(*args, **kwargs)
        except TablesMissingError:
            raise
        except tk.ValidationError as error:
            words = (f"{key}: {text}" for key, all in error.error_dict.items() for text in all)
            return tk.abort(400, " ".join(words))
        except tk.ObjectNotFound as error:
            return tk.abort(404, str(error))
        except tk.NotAuthorized as error:
            return tk.abort(403, str(error))
        except SEARCH_FAULTS:
            return tk.abort(503, tk._("The search does not answer. Please try again in a while."))

    return answered


@report_pages.route("/freshness")
@_answered
def dashboard() -> ResponseReturnValue:
    """What needs somebody, and how it was before."""
    context = _context()
    what = TableRequest(context, utc_now())
    found = counts.count(context)
    made: dict[str, list[Row]] = {
        report.STATUSES.name: lists.status_rows(found.every),
        report.ORGANIZATIONS.name: lists.organization_rows(
            found, replace(what, sort="fresh_percent" if found.organizations else None)
        ),
    }
    return tk.render(
        "freshness/dashboard.html",
        {
            "counts": found.every,
            "chart": _chart(None, what.now),
            "parts": {
                table.name: _part(table, what, made.get(table.name)) for table in _shown(context)
            },
            "last_run": run_tables.last(),
            "stale": run_tables.is_missing(what.now),
        },
    )


@report_pages.route("/freshness/organization/<name>")
@_answered
def organization(name: str) -> ResponseReturnValue:
    """The same of one organization."""
    context = _context()
    found = table_access.organization(context, name)
    if name != found["name"]:
        return tk.redirect_to("freshness.organization", name=found["name"])
    what = TableRequest(context, utc_now(), organization=name)
    every = counts.count(context, visibility.of_organization(name)).every
    made: dict[str, list[Row]] = {report.STATUSES.name: lists.status_rows(every)}
    asked = [table for table in _shown(context) if table.name in report.OF_ORGANIZATION]
    return tk.render(
        "freshness/organization.html",
        {
            "organization": found,
            "counts": every,
            "chart": _chart(name, what.now),
            "parts": {table.name: _part(table, what, made.get(table.name)) for table in asked},
        },
    )


@report_pages.route("/freshness/changes.atom")
@_answered
def changes_feed() -> ResponseReturnValue:
    """The changes of statuses as a feed."""
    _, what = _asked(report.CHANGES.name)
    return feed.changes(what if what.since else replace(what, since=what.now - feed.PERIOD))


@report_pages.route(f"/freshness.<any({_ENDINGS}):ending>")
@_answered
def dashboard_file(ending: str) -> ResponseReturnValue:
    """How many datasets are how fresh, as a file."""
    return table_file(report.STATUSES.name, ending)


@report_pages.route(f"/freshness/organization/<name>.<any({_ENDINGS}):ending>")
@_answered
def organization_file(name: str, ending: str) -> ResponseReturnValue:
    """The datasets of an organization with their statuses, as a file."""
    context = _context()
    found = table_access.organization(context, name)["name"]
    what = TableRequest(context, utc_now(), organization=found)
    rows = table_access.rows(report.DATASETS, what)
    return file_of(rows, report.DATASETS.fields, f"freshness-{found}", ending)


@report_pages.route(f"/freshness/<any({_NAMES}):name>")
@_answered
def table(name: str) -> ResponseReturnValue:
    """All rows of a table, in pages."""
    found, what = _asked(name)
    number = _page_number()
    return tk.render(
        "freshness/table.html",
        {
            "table": found,
            "page": table_access.page(found, what, number, LONG),
            "asked": {key: tk.request.args[key] for key in _FILTERS if tk.request.args.get(key)},
            "statuses": table_access.STATUSES if found is report.DATASETS else (),
        },
    )


@report_pages.route(f"/freshness/<any({_NAMES}):name>.<any({_ENDINGS}):ending>")
@_answered
def table_file(name: str, ending: str) -> ResponseReturnValue:
    """All rows of a table as a file."""
    found, what = _asked(name)
    return file_of(table_access.rows(found, what), found.fields, f"freshness-{name}", ending)


@report_pages.route("/freshness/run/<id>")
@_answered
def run(id: str) -> ResponseReturnValue:
    """What a run counted."""
    shown = tk.get_action("freshness_run_show")(dict(_context()), {"id": id})
    return tk.render(
        "freshness/run.html",
        {"run": shown, "tables": {part.name: part for part in run_tables.tables(shown)}},
    )


@report_pages.route(f"/freshness/run/<id>.<any({_ENDINGS}):ending>")
@_answered
def run_file(id: str, ending: str) -> ResponseReturnValue:
    """What a run counted, as a file."""
    shown = tk.get_action("freshness_run_show")(dict(_context()), {"id": id})
    return file_of(
        run_tables.flat(shown), run_tables.FIELDS, f"freshness-run-{shown['id']}", ending
    )


@report_pages.route("/freshness/metrics")
@_answered
def metrics() -> ResponseReturnValue:
    """The site's figures, for Prometheus: for sysadmins, or who knows the token."""
    if not _has_token():
        try:
            tk.check_access("freshness_run_list", dict(_context()), {})
        except tk.NotAuthorized:
            words = tk._(
                "These figures are for sysadmins, and for those who send the token of the option "
                "{option} (Authorization: Bearer ...)"
            )
            raise tk.NotAuthorized(words.format(option=_TOKEN)) from None
    everybody = {"ignore_auth": True, "user": "", "auth_user_obj": None}
    return Response(prometheus_metrics.text(everybody, utc_now()), content_type=CONTENT_TYPE_LATEST)


_TOKEN = "ckanext.freshness.metrics.token"


def _has_token() -> bool:
    wanted = tk.config.get(_TOKEN) or ""
    scheme, _, given = tk.request.headers.get("Authorization", "").partition(" ")
    is_given = hmac.compare_digest(given.strip().encode(), wanted.encode())
    return bool(wanted) and scheme.lower() == "bearer" and is_given


_FILTERS = ("organization", "since", "status", "sort")


def _asked(name: str) -> tuple[Table[TableRequest], TableRequest]:
    context = _context()
    tk.check_access("freshness_report", dict(context), {})
    found = table_access.table_named(name)
    if name in report.FOR_SYSADMINS:
        tk.check_access("freshness_run_list", dict(context), {})
    return found, table_access.asked(context, found, tk.request.args, utc_now())


def _context() -> Mapping[str, Any]:
    user = tk.current_user
    if user.is_anonymous:
        return table_access.NOBODY
    return {"user": user.name, "auth_user_obj": user}


def _shown(context: Mapping[str, Any]) -> list[Table[TableRequest]]:
    hidden = {report.DATASETS.name, report.HISTORY.name}
    if not _may_see_runs(context):
        hidden |= report.FOR_SYSADMINS
    return [table for name, table in report.TABLES.items() if name not in hidden]


def _may_see_runs(context: Mapping[str, Any]) -> bool:
    try:
        tk.check_access("freshness_run_list", dict(context), {})
    except tk.NotAuthorized:
        return False
    return True


def _part(table: Table[TableRequest], what: TableRequest, made: list[Row] | None) -> ReportPart:
    of = {"organization": what.organization} if what.organization else {}
    url = tk.h.url_for("freshness.table", name=table.name, **of)
    size = LONG if table in (report.STATUSES, report.HOSTS) else SHORT
    if made is None:
        return ReportPart(table, table_access.page(table, what, 1, size), url, url)
    return ReportPart(table, tables.page(made, 1, size), url, url)


def _chart(organization: str | None, now: datetime) -> chart.Chart | None:
    days = history.days((now - DRAWN).date(), organization)
    return chart.stacked(history.as_series(days), table_access.STATUSES)


def _page_number() -> int:
    given = tk.request.args.get("page") or "1"
    if not given.isdecimal() or len(given) > 6 or not 1 <= int(given) <= 100_000:
        words = tk._("must be a number of 1 or more, not {given}")
        raise tk.ValidationError({"page": [words.format(given=given[:20])]})
    return int(given)
