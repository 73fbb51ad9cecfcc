"""The page about a dataset's freshness, and downloads of the copies of its resources."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import ckan.plugins.toolkit as tk
from dateutil.parser import isoparse
from flask import Blueprint, Response, jsonify
from flask.typing import ResponseReturnValue

from ..aging.status import GROUPS
from ..dates import aware, utc_now
from ..reporting import harvests, links, worklist
from ..runs import copies as kept_copies
from ..runs import requested
from ..translation import N_
from .responses import (
    abort,
    call,
    download,
    error_page,
    error_text,
    file_of,
    guarded,
    is_htmx,
    mark_private,
    redirect_to,
    render,
)

dataset = guarded(Blueprint("freshness_dataset", __name__))

_FORBIDDEN = {
    "freshness_confirm": N_("Log in as an editor of this dataset to confirm its data"),
    "freshness_check": N_("Log in as an editor of this dataset to check its links"),
    "freshness_date_column": N_("Log in as an editor of this dataset to answer this question"),
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
            "timeline": timeline(shown, now),
            "harvest_source": harvests.of_packages([package["id"]]).get(package["id"]),
            "ignored": shown["may_confirm"] and worklist.ignored(package["id"]),
            "ignored_links": worklist.ignored_links(package["id"]) if shown["may_confirm"] else {},
            "checking": shown["may_check"] and requested.checking_in_words(package["id"]),
            "now": now,
        },
    )


def timeline(shown: dict[str, Any], now: datetime) -> dict[str, Any] | None:
    """Return the coming statuses of a dataset, as zones of a line that are drawn equally wide.

    :returns: ``zones``, each with its ``status``, its ``begin`` (None for the first), its ``end`` (None for the
        last) and whether it is ``current``; ``today``: the place of now on the line, in percent; None if the
        status has no boundaries
    """
    if not shown["boundaries"]:
        return None
    edges = [isoparse(shown["boundaries"][name]) for name in ("due", "overdue", "delinquent")]
    begins, ends = [None, *edges], [*edges, None]
    statuses = (*GROUPS["up_to_date"], *GROUPS["needs_update"])
    index = sum(now >= edge for edge in edges)
    since = max(
        filter(None, (shown["last_modified"], (shown.get("confirmation") or {}).get("date")))
    )
    begin = begins[index] or isoparse(since)
    # The last zone has no end: let it seem as long as the one before it.
    length = (ends[index] or edges[2] + (edges[2] - edges[1])) - begin
    part = (now - begin) / length if length > timedelta(0) else 0.0
    zones = [
        {"status": status, "begin": begins[at], "end": ends[at], "current": at == index}
        for at, status in enumerate(statuses)
    ]
    return {"zones": zones, "today": 100 * (index + min(max(part, 0.0), 0.95)) / len(zones)}


@dataset.route("/dataset/<id>/freshness.<any(csv,json):ending>", methods=["GET"])
def file(id: str, ending: str) -> ResponseReturnValue:
    """Download the page's facts: all as JSON, or those of the resources as CSV."""
    shown = _call("freshness_show", id=id)
    if ending == "json":
        return jsonify(shown)
    every = links.of_dataset(shown["id"], every=True)
    return file_of(every["resources"], links.FIELDS, f"freshness-{shown['name']}", ending)


@dataset.route("/dataset/<id>/freshness", methods=["POST"])
def confirm(id: str) -> ResponseReturnValue:
    """Confirm that a dataset's data are up to date, or withdraw the confirmation of the date in the form."""
    date = tk.request.form.get("withdraw")
    _call("freshness_confirm", id=id, withdraw=bool(date), date=date)
    words = (
        tk._("The confirmation was undone.")
        if date
        else tk._("Thank you. You confirmed that the data are still accurate.")
    )
    tk.h.flash_success(words)
    return _back(id)


@dataset.route("/dataset/<id>/freshness/check", methods=["POST"])
def check(id: str) -> ResponseReturnValue:
    """Queue a check of the dataset's URLs."""
    queued = _call("freshness_check", id=id)["queued"]
    words = (
        tk._("Link check queued.") if queued else tk._("A check of these links is already queued.")
    )
    tk.h.flash_notice(f"{words} {requested.when_checked()}")
    return _back(id)


@dataset.route("/dataset/<id>/freshness/check", methods=["GET"])
def check_ended(id: str) -> ResponseReturnValue:
    """Have htmx load the page anew if no check of the dataset's URLs is queued or running any more."""
    package_id = _call("package_show", id=id)["id"]
    if not is_htmx():
        return redirect_to("freshness_dataset.read", id=id)
    if requested.is_checking(package_id):
        return Response(status=204)
    return Response(headers={"HX-Refresh": "true"})


@dataset.route("/dataset/<id>/freshness/column", methods=["POST"])
def date_column(id: str) -> ResponseReturnValue:
    """Store which column says up to when the data of a file reach."""
    resource, column = (tk.request.form.get(name, "") for name in ("resource", "column"))
    _call("freshness_date_column", id=id, resource_id=resource, column=column)
    tk.h.flash_success(tk._("Thank you. Your answer counts from now on."))
    return _back(id)


@dataset.errorhandler(tk.ValidationError)
def refuse(error: tk.ValidationError) -> ResponseReturnValue:
    """Say on the page of the dataset why a form was refused."""
    if tk.request.method == "GET":
        return error_page(error)
    tk.h.flash_error(error_text(error))
    return _back((tk.request.view_args or {})["id"])


def _back(id: str) -> ResponseReturnValue:
    """Return to the page of a dataset, to the resource of the form if it is about one."""
    resource = tk.request.form.get("resource")
    anchor = {"_anchor": f"freshness-link-{resource}"} if resource else {}
    return redirect_to("freshness_dataset.read", id=id, **anchor)


def _call(action: str, **data: Any) -> Any:
    missing, refused = tk._("Dataset not found"), None
    if action in _FORBIDDEN:
        # Only those who may see the dataset learn that it exists.
        call("package_show", missing, id=data["id"])
        refused = tk._(_FORBIDDEN[action])
    return call(action, missing, refused, **data)


@dataset.route("/dataset/<id>/resource/<resource_id>/copy", methods=["GET"])
def copy(id: str, resource_id: str) -> ResponseReturnValue:
    """Download the last known good copy of a resource."""
    row = _copy(id, resource_id)
    mimetype = row.mimetype or "application/octet-stream"
    return download(row.key, row.size, row.filename, mimetype, row.sha256, aware(row.stored_at))


@dataset.route("/dataset/<id>/resource/<resource_id>/copy.zip", methods=["GET"])
def copy_zip(id: str, resource_id: str) -> ResponseReturnValue:
    """Download the ZIP of a resource's copy."""
    row = _copy(id, resource_id)
    if row.zip_key is None:
        abort(404, tk._("There is no ZIP of this copy"))
    name = kept_copies.zip_name(row.filename)
    etag = f"{row.sha256}-zip"
    return download(row.zip_key, row.zip_size, name, "application/zip", etag, aware(row.stored_at))


def _copy(package: str, resource_id: str) -> Any:
    """Return the row of a resource's copy, or end the request with 404 if there is none."""
    missing = tk._("Resource not found")
    resource = call("resource_show", missing, id=resource_id)
    if resource["package_id"] != call("package_show", missing, id=package)["id"]:
        abort(404, missing)
    row = kept_copies.of_resource(resource["id"])
    if row is None:
        abort(404, tk._("No copy of this resource is kept"))
    if tk.current_user.is_authenticated:
        mark_private()
    return row
