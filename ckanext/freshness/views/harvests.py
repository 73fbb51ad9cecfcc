"""The pages of harvest sources: previews and held deletions."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk
from flask import Blueprint
from flask.typing import ResponseReturnValue

from ..reporting import harvests
from ..runs import requested
from .responses import (
    call,
    error_text,
    guarded,
    is_htmx,
    redirect_to,
    render,
    to_login,
)

harvest = guarded(Blueprint("freshness_harvest", __name__))


@harvest.before_request
def _log_in() -> ResponseReturnValue | None:
    # Mails lead to these pages, and CKAN's login after a refusal does not come back to them.
    return to_login() if tk.current_user.is_anonymous and not is_htmx() else None


@harvest.before_request
def _prepare() -> None:
    # ckanext-harvest's templates read the type of their pages from here.
    tk.g.dataset_type = "harvest"


@harvest.route("/harvest/<source>/preview", methods=["GET"])
def preview(source: str) -> ResponseReturnValue:
    """Show what the next job of a source would do, or how far its preview is.

    htmx asks for the part that changes.
    """
    shown = _source(source)
    values = {
        "harvest_source": shown,
        "progress": _call("freshness_harvest_preview_show", id=shown["id"]),
        "waits": requested.no_worker(),
    }
    is_part = is_htmx()
    name = "snippets/preview_state.html" if is_part else "preview.html"
    return render(f"freshness/harvest/{name}", values)


@harvest.route("/harvest/<source>/preview", methods=["POST"])
def start_preview(source: str) -> ResponseReturnValue:
    """Queue a preview."""
    return _do("freshness_harvest_preview", source, page="preview")


@harvest.route("/harvest/<source>/held", methods=["GET"])
def held(source: str) -> ResponseReturnValue:
    """Show the held deletions of a source."""
    shown = _source(source)
    return render(
        "freshness/harvest/held.html",
        {
            "harvest_source": shown,
            "hold": _call("freshness_harvest_hold_show", id=shown["id"]),
        },
    )


@harvest.route("/harvest/<source>/held/delete", methods=["GET"])
def confirm(source: str) -> ResponseReturnValue:
    """Ask whether the held datasets are to be deleted, if the list is still the one that the user has seen."""
    shown = _source(source)
    hold = _call("freshness_harvest_hold_show", id=shown["id"])
    if hold is None or hold["released_at"] or hold["list_id"] != tk.request.args.get("list_id"):
        # Without a list, and after its approval, the page itself says how things are.
        if hold is not None and not hold["released_at"]:
            words = tk._("The list has changed since you looked at it. This is the new one.")
            tk.h.flash_error(words)
        return redirect_to("freshness_harvest.held", source=source)
    return render("freshness/harvest/confirm.html", {"harvest_source": shown, "hold": hold})


@harvest.route("/harvest/<source>/held", methods=["POST"])
def release(source: str) -> ResponseReturnValue:
    """Release the list of deletions that the form showed."""
    return _do("freshness_harvest_release", source)


@harvest.route("/harvest/<source>/held/keep", methods=["POST"])
def keep(source: str) -> ResponseReturnValue:
    """Keep the records of the list that the form showed."""
    return _do("freshness_harvest_keep", source)


@harvest.route("/harvest/<source>/held/undo", methods=["POST"])
def take_back(source: str) -> ResponseReturnValue:
    """Take the release of the list back that the form showed."""
    done = tk._("These deletions are on hold again.")
    return _do("freshness_harvest_take_back", source, done=done)


def _do(action: str, source: str, *, page: str = "held", done: str = "") -> ResponseReturnValue:
    """Call an action for a form, and show a page of the source again.

    :param done: what to say on the page if the action was not refused
    """
    try:
        _call(action, id=source, list_id=tk.request.form.get("list_id", ""))
        if done:
            tk.h.flash_success(done)
    except tk.ValidationError as error:
        tk.h.flash_error(error_text(error))
    return redirect_to(f"freshness_harvest.{page}", source=source)


@harvest.route("/harvest/<source>/clear", methods=["GET", "POST"])
def clear(source: str) -> ResponseReturnValue:
    """Ask whether all datasets and jobs of a source are to go, with their titles; then delete them."""
    shown = _source(source)
    if tk.request.method == "GET":
        values = {"harvest_source": shown, "datasets": harvests.datasets_of(shown["id"])}
        return render("freshness/harvest/clear.html", values)
    _call("harvest_source_clear", id=shown["id"])
    tk.h.flash_success(tk._("All datasets and jobs of this source were deleted."))
    return redirect_to("harvester.admin", id=shown["name"])


def _source(name: str) -> dict[str, Any]:
    """Return the source, or end the request if the user may not change it."""
    _call("freshness_harvest_hold_show", id=name)
    return dict(_call("harvest_source_show", id=name))


def _call(action: str, **data: Any) -> Any:
    words = tk._(
        "Log in as an editor of this harvest source to see its previews and held deletions"
    )
    return call(action, tk._("Harvest source not found"), words, **data)
