"""The page about IATI, and downloads of the files of its sources."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from flask import Blueprint
from flask.typing import ResponseReturnValue

from ckanext.freshness.copies.store import StoreError
from ckanext.freshness.settings import OptionError
from ckanext.freshness.views import guarded
from ckanext.freshness.views.report import reader
from ckanext.freshness.views.responses import (
    abort,
    download,
    may,
    refuse_store,
    render,
)

from . import publication, report

iati = guarded(Blueprint("freshness_iati_page", __name__))


@iati.route("/iati", strict_slashes=False)
def read() -> ResponseReturnValue:
    """Show the downloads, the last cycle and up to 100 failing files of each source."""
    shown = report.sources(reader())
    return render(
        "freshness/iati.html",
        {"sources": shown, "reason": report.reason, "sees_runs": may("freshness_run_list")},
    )


@iati.route("/iati/<filename>", methods=["GET"])
@iati.route("/iati/<source>/<filename>", methods=["GET"])
def published(filename: str, source: str | None = None) -> ResponseReturnValue:
    """Download an index file or a bulk ZIP of an IATI source (id or name), without a name of the only one."""
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
    mimetype = "application/zip" if filename.endswith(".zip") else "application/json"
    return download(found.key, found.size, filename, mimetype, found.etag, found.modified)
