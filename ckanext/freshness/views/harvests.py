"""The pages of harvest sources: previews and held deletions; downloads and failing files of IATI sources."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk
from flask import Blueprint
from flask.typing import ResponseReturnValue

from ckanext.freshness_iati import publication, report

from ..copies.store import StoreError
from ..reporting import harvests, tables
from ..settings import OptionError
from .report import reader, with_error_pages
from .responses import (
    FORMATS,
    abort,
    call,
    download,
    error_text,
    file_of,
    is_htmx,
    may,
    page_number,
    redirect_to,
    refuse_store,
    render,
    require_csrf_token,
)

harvest = Blueprint("freshness_harvest", __name__)
iati = Blueprint("freshness_iati_page", __name__)
harvest.before_request(require_csrf_token)


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
    }
    is_part = is_htmx()
    name = "snippets/preview_state.html" if is_part else "preview.html"
    return render(f"freshness/harvest/{name}", values)


@harvest.route("/harvest/<source>/preview", methods=["POST"])
def start_preview(source: str) -> ResponseReturnValue:
    """Queue a preview."""
    try:
        _call("freshness_harvest_preview", id=source)
    except tk.ValidationError as error:
        tk.h.flash_error(error_text(error))
    return redirect_to("freshness_harvest.preview", source=source)


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
    return _decide("freshness_harvest_release", source)


@harvest.route("/harvest/<source>/held/undo", methods=["POST"])
def take_back(source: str) -> ResponseReturnValue:
    """Take the release of the list back that the form showed."""
    return _decide(
        "freshness_harvest_take_back", source, tk._("These deletions are on hold again.")
    )


def _decide(action: str, source: str, done: str = "") -> ResponseReturnValue:
    try:
        _call(action, id=source, list_id=tk.request.form.get("list_id", ""))
        if done:
            tk.h.flash_success(done)
    except tk.ValidationError as error:
        tk.h.flash_error(error_text(error))
    return redirect_to("freshness_harvest.held", source=source)


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


# IATI. A site has these pages if its plugin ``iati_harvester`` is on.

LONG = 50
"""Failing files on a page."""

_ENDINGS = ",".join(FORMATS)


@iati.route("/iati")
@with_error_pages
def read() -> ResponseReturnValue:
    """Show the downloads, the last cycle and the first failing files of each source."""
    shown = report.sources(reader())
    return render(
        "freshness/iati.html",
        {"sources": shown, "reason": report.reason, "sees_runs": may("freshness_run_list")},
    )


@iati.route("/iati/failing")
@with_error_pages
def failing() -> ResponseReturnValue:
    """List all failing files."""
    number = page_number()
    rows = report.failing(reader(), offset=(number - 1) * LONG, limit=LONG + 1)
    page = tables.page(rows, number, LONG)
    if number > 1 and not page.rows:
        return redirect_to("freshness_iati_page.failing")
    return render("freshness/iati_failing.html", {"page": page, "reason": report.reason})


@iati.route(f"/iati/failing.<any({_ENDINGS}):ending>")
@with_error_pages
def failing_file(ending: str) -> ResponseReturnValue:
    """Download the list of failing files."""
    return file_of(report.failing(reader()), report.FIELDS, "iati-failing", ending)


@iati.route("/iati/<filename>", methods=["GET"])
def of_only_source(filename: str) -> ResponseReturnValue:
    """Download an index file or a bulk ZIP, if only one IATI source publishes."""
    return _published(None, filename)


@iati.route("/iati/<source>/<filename>", methods=["GET"])
def of_source(source: str, filename: str) -> ResponseReturnValue:
    """Download an index file or a bulk ZIP of an IATI source (id or name)."""
    return _published(source, filename)


def _published(source: str | None, filename: str) -> ResponseReturnValue:
    try:
        found = publication.find(source, filename)
    except (StoreError, OptionError) as error:
        refuse_store(error)
    if found is None:
        abort(404, tk._("There is no such file"))
    if not found.is_public:
        # The files still contain data of a dataset that is private or deleted now.
        words = tk._("The files are about to be made anew: a dataset is not public any more")
        abort(503, words)
    return download(found.key, found.size, filename, found.mimetype, found.etag, found.modified)
