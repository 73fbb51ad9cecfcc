"""The pages about IATI. A site has them if its plugin ``iati_harvester`` is on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ckan.plugins.toolkit as tk
from flask import Blueprint
from flask.typing import ResponseReturnValue

from ..dates import utc_now
from ..iati import overview
from ..reporting import tables
from .responses import (
    FORMATS,
    abort,
    file_of,
    may,
    page_number,
    redirect_to,
    refuse_address,
    render,
    user_context,
)

iati_page = Blueprint("freshness_iati_page", __name__)

LONG = 50
"""Failing files on a page."""

_ENDINGS = ",".join(FORMATS)


@iati_page.route("/iati")
def read() -> ResponseReturnValue:
    """Show the downloads, the last cycle and the first failing files of each source."""
    shown = overview.sources(_reader(), utc_now())
    return render(
        "freshness/iati.html",
        {"sources": shown, "reason": overview.reason, "sees_runs": may("freshness_run_list")},
    )


@iati_page.route("/iati/failing")
def failing() -> ResponseReturnValue:
    """List all failing files."""
    try:
        number = page_number()
    except tk.ValidationError as error:
        refuse_address(error)
    rows = overview.failing(_reader(), offset=(number - 1) * LONG, limit=LONG + 1)
    page = tables.page(rows, number, LONG)
    if number > 1 and not page.rows:
        return redirect_to("freshness_iati_page.failing")
    return render("freshness/iati_failing.html", {"page": page, "reason": overview.reason})


@iati_page.route(f"/iati/failing.<any({_ENDINGS}):ending>")
def failing_file(ending: str) -> ResponseReturnValue:
    """Download the list of failing files."""
    return file_of(overview.failing(_reader()), overview.FIELDS, "iati-failing", ending)


def _reader() -> Mapping[str, Any]:
    """Return the context of the user, who must be allowed to read reports."""
    if not may("freshness_report"):
        abort(403, tk._("Log in to see this page"))
    return user_context()
