"""The page of a dataset that says how fresh it is, and why."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk
from flask import Blueprint, jsonify
from flask.typing import ResponseReturnValue

from ..aging.messages import N_
from ..dates import utc_now
from ..reporting import link_checks
from .files import file_of
from .protection import protect

dataset = Blueprint("freshness_dataset", __name__)
dataset.before_request(protect)

_FORBIDDEN = {
    "freshness_confirm": N_("Only those who may change this dataset may confirm its data"),
    "freshness_check": N_("Only those who may change this dataset may have its URLs visited"),
}
"""What is said to those who may see a dataset, and not do that."""


@dataset.route("/dataset/<id>/freshness", methods=["GET"])
def read(id: str) -> ResponseReturnValue:
    """Why a dataset has its status, and when that will change."""
    package = _call("package_show", id=id)
    if id != package["name"]:
        return tk.redirect_to("freshness_dataset.read", id=package["name"])
    return tk.render(
        "freshness/dataset.html",
        {
            "pkg_dict": package,
            "pkg": package,
            "dataset_type": package["type"],
            "shown": _call("freshness_show", id=package["id"]),
        },
    )


_RESOURCE = (
    *("id", "name", "url", "not_visited", "tried_at", "outcome", "status", "words", "final_url"),
    *("broken", "promised", "found", "failures", "failing_since", "changed_at", "next_visit"),
    *("cached_url", "cached_zip_url"),
)


@dataset.route("/dataset/<id>/freshness.<any(csv,json):ending>", methods=["GET"])
def file(id: str, ending: str) -> ResponseReturnValue:
    """The same as a file: all of it as JSON, as CSV its resources."""
    shown = _call("freshness_show", id=id)
    if ending == "json":
        return jsonify(shown)
    every = link_checks.of_dataset(shown["id"], utc_now(), every=True)
    return file_of(every["resources"], _RESOURCE, f"freshness-{shown['name']}", ending)


@dataset.route("/dataset/<id>/freshness", methods=["POST"])
def confirm(id: str) -> ResponseReturnValue:
    """Confirm the data of a dataset, or take the last confirmation back."""
    withdraw = "withdraw" in tk.request.form
    try:
        _call("freshness_confirm", id=id, withdraw=withdraw)
    except tk.ValidationError as error:
        tk.h.flash_error(_words(error))
    else:
        words = (
            tk._("The confirmation was taken back.")
            if withdraw
            else tk._("Thank you: it is noted that the data are up to date as of now.")
        )
        tk.h.flash_success(words)
    return tk.redirect_to("freshness_dataset.read", id=id)


@dataset.route("/dataset/<id>/freshness/check", methods=["POST"])
def check(id: str) -> ResponseReturnValue:
    """Somebody who looks after the dataset wants its URLs visited."""
    try:
        queued = _call("freshness_check", id=id)["queued"]
    except tk.ValidationError as error:
        tk.h.flash_error(_words(error))
        return tk.redirect_to("freshness_dataset.read", id=id)
    if queued:
        words = tk._(
            "A background worker will visit the URLs. Come back in a while to see the result."
        )
    else:
        words = tk._("A visit of the URLs is under way already, or waits for a background worker.")
    tk.h.flash_notice(words)
    return tk.redirect_to("freshness_dataset.read", id=id)


def _call(action: str, **data: Any) -> Any:
    try:
        return tk.get_action(action)({"for_view": True}, data)
    except tk.ObjectNotFound:
        tk.abort(404, tk._("Dataset not found"))
    except tk.NotAuthorized:
        if action in _FORBIDDEN and _call("freshness_show", **data):
            tk.abort(403, tk._(_FORBIDDEN[action]))
        # As CKAN's own pages: whether there is such a dataset is nobody else's business.
        tk.abort(404, tk._("Dataset not found"))


def _words(error: tk.ValidationError) -> str:
    return " ".join(message for messages in error.error_dict.values() for message in messages)
