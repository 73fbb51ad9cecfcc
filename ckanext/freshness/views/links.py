"""The pages about broken links by their cause."""

from __future__ import annotations

from flask import Blueprint
from flask.typing import ResponseReturnValue

from ..reporting import link_causes, report_tables, visibility
from .report import LONG, filters, table_and_request, with_error_pages
from .responses import page_number, render

links = Blueprint("freshness_links", __name__)


@links.route("/freshness/broken/servers")
@with_error_pages
def causes() -> ResponseReturnValue:
    """Show the broken links by server and reason."""
    table, request = table_and_request(report_tables.BROKEN.name)
    groups, are_more = link_causes.read(request)
    number = page_number()
    return render(
        "freshness/causes.html",
        {
            "table": table,
            "asked": filters(),
            "groups": groups[(number - 1) * LONG : number * LONG],
            "total": len(groups),
            "size": LONG,
            "number": number,
            "most": link_causes.MOST if are_more else None,
            "listed": link_causes.LISTED,
            "edits": visibility.edited_organizations(request.context),
        },
    )
