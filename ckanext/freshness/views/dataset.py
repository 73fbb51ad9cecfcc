"""The page of a dataset that says how fresh it is, and why."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk
from flask import Blueprint
from flask.typing import ResponseReturnValue

from .csrf import protect

dataset = Blueprint("freshness_dataset", __name__)
dataset.before_request(protect)


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


@dataset.route("/dataset/<id>/freshness", methods=["POST"])
def confirm(id: str) -> ResponseReturnValue:
    """Somebody who looks after the dataset says that its data are up to date."""
    try:
        _call("freshness_confirm", id=id)
    except tk.ValidationError as error:
        tk.h.flash_error(_words(error))
    else:
        tk.h.flash_success(tk._("Thank you: it is noted that the data are up to date as of now."))
    return tk.redirect_to("freshness_dataset.read", id=id)


def _call(action: str, **data: Any) -> Any:
    try:
        return tk.get_action(action)({"for_view": True}, data)
    except tk.ObjectNotFound:
        tk.abort(404, tk._("Dataset not found"))
    except tk.NotAuthorized:
        if action == "freshness_confirm":
            tk.abort(403, tk._("Only those who may change this dataset may confirm its data"))
        # As CKAN's own pages: whether there is such a dataset is nobody else's business.
        tk.abort(404, tk._("Dataset not found"))


def _words(error: tk.ValidationError) -> str:
    return " ".join(message for messages in error.error_dict.values() for message in messages)
