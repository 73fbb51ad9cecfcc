"""The page about a dataset's freshness."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
from dateutil.parser import isoparse
from flask import Blueprint, Response, jsonify
from flask.typing import ResponseReturnValue

from ..aging.messages import N_
from ..dates import EARLIEST, utc_now
from ..reporting import chart, harvest_jobs, link_checks
from ..reporting.tables import TableRequest
from ..runs import queued_run
from . import feed as status_feed
from .responses import (
    abort,
    error_text,
    file_of,
    is_htmx,
    redirect_to,
    render,
    require_csrf_token,
    user_context,
)

dataset = Blueprint("freshness_dataset", __name__)
dataset.before_request(require_csrf_token)

_FORBIDDEN = {
    "freshness_confirm": N_("Log in as an editor of this dataset to confirm its data"),
    "freshness_check": N_("Log in as an editor of this dataset to check its links"),
}
"""Refusals for users who may see the dataset but not do this, by action."""


@dataset.route("/dataset/<id>/freshness", methods=["GET"])
def read(id: str) -> ResponseReturnValue:
    """Show why a dataset has its status, and when it changes next."""
    package = _call("package_show", id=id)
    if id != package["name"]:
        return redirect_to("freshness_dataset.read", id=package["name"])
    shown = _call("freshness_show", id=package["id"])
    now = utc_now()
    return render(
        "freshness/dataset.html",
        {
            "pkg_dict": package,
            "pkg": package,
            "dataset_type": package["type"],
            "shown": shown,
            "timeline": _timeline(shown, now),
            "harvest_source": harvest_jobs.of_packages([package["id"]]).get(package["id"]),
            "checking": shown["may_check"] and queued_run.is_checking(package["id"]),
            "now": now,
        },
    )


def _timeline(shown: dict[str, Any], now: datetime) -> chart.Timeline | None:
    if not shown["boundaries"] or not shown["last_modified"]:
        return None
    edges = {name: isoparse(moment) for name, moment in shown["boundaries"].items()}
    return chart.timeline(isoparse(shown["last_modified"]), **edges, now=now)


_RESOURCE = (
    *(
        "id",
        "name",
        "url",
        "state",
        "not_visited",
        "tried_at",
        "outcome",
        "status",
        "words",
        "final_url",
    ),
    *("broken", "promised", "found", "failures", "failing_since", "succeeded_at", "changed_at"),
    *("next_visit", "strip", "cached_url", "cached_zip_url", "cached_at"),
)


@dataset.route("/dataset/<id>/freshness.<any(csv,json):ending>", methods=["GET"])
def file(id: str, ending: str) -> ResponseReturnValue:
    """Download the page's facts: all as JSON, or those of the resources as CSV."""
    shown = _call("freshness_show", id=id)
    if ending == "json":
        return jsonify(shown)
    every = link_checks.of_dataset(shown["id"], utc_now(), every=True)
    return file_of(every["resources"], _RESOURCE, f"freshness-{shown['name']}", ending)


@dataset.route("/dataset/<id>/freshness.atom", methods=["GET"])
def feed(id: str) -> ResponseReturnValue:
    """Return the changes of a dataset's status as a feed."""
    package = _call("package_show", id=id)
    transitions = _call("freshness_show", id=package["id"])["transitions"]
    return status_feed.of_dataset(package, [one for one in transitions if one["from"] != one["to"]])


@dataset.route("/dataset/<id>/freshness/data.atom", methods=["GET"])
def data_feed(id: str) -> ResponseReturnValue:
    """Return the changes of a dataset's data as a feed."""
    package = _call("package_show", id=id)
    return status_feed.data(
        TableRequest(user_context(), utc_now(), dataset=package["id"], since=EARLIEST),
        title=package["title"] or package["name"],
        url=tk.h.url_for("freshness_dataset.data_feed", id=package["name"], _external=True),
        page=tk.h.url_for("freshness_dataset.read", id=package["name"], _external=True),
        empty_since=isoparse(f"{package['metadata_created']}Z"),
    )


@dataset.route("/dataset/<id>/freshness", methods=["POST"])
def confirm(id: str) -> ResponseReturnValue:
    """Confirm that a dataset's data are up to date, or withdraw the last confirmation."""
    withdraw = "withdraw" in tk.request.form
    try:
        _call("freshness_confirm", id=id, withdraw=withdraw)
    except tk.ValidationError as error:
        tk.h.flash_error(error_text(error))
    else:
        words = (
            tk._("The confirmation was undone.")
            if withdraw
            else tk._("Thank you. The dataset counts as updated today.")
        )
        tk.h.flash_success(words)
    return redirect_to("freshness_dataset.read", id=id)


@dataset.route("/dataset/<id>/freshness/check", methods=["POST"])
def check(id: str) -> ResponseReturnValue:
    """Queue a check of the dataset's URLs."""
    try:
        queued = _call("freshness_check", id=id)["queued"]
    except tk.ValidationError as error:
        tk.h.flash_error(error_text(error))
        return redirect_to("freshness_dataset.read", id=id)
    if queued:
        words = tk._("Link check queued. Results usually appear here within a minute.")
    else:
        words = tk._("A check of these links is already queued.")
    tk.h.flash_notice(words)
    resource = tk.request.form.get("resource")
    anchor = {"_anchor": f"freshness-link-{resource}"} if resource else {}
    return redirect_to("freshness_dataset.read", id=id, **anchor)


@dataset.route("/dataset/<id>/freshness/check", methods=["GET"])
def check_ended(id: str) -> ResponseReturnValue:
    """Have htmx load the page anew if no check of the dataset's URLs is queued or running any more."""
    package_id = _call("package_show", id=id)["id"]
    if not is_htmx():
        return redirect_to("freshness_dataset.read", id=id)
    if queued_run.is_checking(package_id):
        return Response(status=204)
    return Response(headers={"HX-Refresh": "true"})


def _call(action: str, **data: Any) -> Any:
    try:
        return tk.get_action(action)({"for_view": True}, data)
    except tk.ObjectNotFound:
        abort(404, tk._("Dataset not found"))
    except tk.NotAuthorized:
        if action in _FORBIDDEN and _call("freshness_show", **data):
            abort(403, tk._(_FORBIDDEN[action]))
        # As on CKAN's own pages, the response does not reveal whether the dataset exists.
        abort(404, tk._("Dataset not found"))
