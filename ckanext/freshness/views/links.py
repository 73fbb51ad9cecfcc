"""The pages about broken links by their cause, and their repair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import ckan.plugins.toolkit as tk
from flask import Blueprint
from flask.typing import ResponseReturnValue

from ..checking.decisions import ResourceToCheck
from ..dates import utc_now
from ..logic.validators import count_costly
from ..reporting import harvests, link_repairs, report_tables, visibility
from ..reporting import links as link_facts
from ..reporting.tables import Context, Row, TableRequest
from ..runs import requested
from .report import LONG, filters, table_and_request
from .responses import (
    error_text,
    guarded,
    page_number,
    redirect_to,
    render,
    user_context,
)

links = guarded(Blueprint("freshness_links", __name__))

_FIELD = "use:"
"""The beginning of the fields of forms with a new address; the id of the resource follows."""


@links.route("/freshness/links/servers")
def causes() -> ResponseReturnValue:
    """Show the broken links by server, those that the reader edits first, and how to mend these."""
    table, request = table_and_request(report_tables.LINKS.name)
    groups, are_more = link_repairs.read(request)
    edits = visibility.edited_organizations(request.context)
    groups.sort(key=lambda group: -sum(row["owner_org"] in edits for row in group["links"]))
    number = page_number()
    shown = groups[(number - 1) * LONG : number * LONG]
    return render(
        "freshness/causes.html",
        {
            "table": table,
            "asked": _asked(),
            "groups": list(_with_repairs(request, shown)),
            "total": len(groups),
            "size": LONG,
            "number": number,
            "most": link_repairs.MOST if are_more else None,
            "listed": link_repairs.LISTED,
        },
    )


def _asked() -> dict[str, str]:
    """Return the parameters of the list of broken links that the page's address has."""
    return {key: value for key, value in filters().items() if key != "state"}


def _with_repairs(
    request: TableRequest, groups: Iterable[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield groups with what their editors can do.

    :returns: groups with ``repairs``: candidates by the ids of resources; ``fields`` of the form that uses the
        best of each; ``sources``, the titles of the harvest sources of the others
    """
    edits = visibility.edited_organizations(request.context)
    sees_all = visibility.sees_all(request.context)
    for group in groups:
        own = [
            row
            for row in group["links"][: link_repairs.LISTED]
            if sees_all or row["owner_org"] in edits
        ]
        sources = harvests.of_packages(row["package_id"] for row in own)
        found = link_repairs.candidates(request, own)
        edited = {row["resource_id"] for row in own if row["package_id"] not in sources}
        repairs = {id_: some for id_, some in found.items() if id_ in edited}
        yield {
            **group,
            "edited": edited,
            "repairs": repairs,
            "fields": {f"{_FIELD}{id_}": some[0]["url"] for id_, some in repairs.items()},
            "sources": sorted({source["title"] for source in sources.values()}),
        }


@links.route("/freshness/links/repair", methods=["POST"])
def repair() -> ResponseReturnValue:
    """Give broken links the addresses of a form, each after a check that finds its file there."""
    chosen = {
        key.removeprefix(_FIELD): value.strip()
        for key, value in list(tk.request.form.items())
        if key.startswith(_FIELD)
    }
    context, asked = user_context(), _asked()
    refusal = tk._("Nothing was changed: these datasets were deleted, or you may not edit them.")
    rows: list[Row] = []
    try:
        with requested.one_test_of(context["user"]):
            count_costly(context, utc_now())
            rows = list(_repaired(context, chosen))
    except tk.ValidationError as error:
        refusal = error_text(error)
    if not rows:
        tk.h.flash_error(refusal)
        return redirect_to("freshness_links.causes", **asked)
    values = {"rows": rows, "left_out": len(chosen) - len(rows), "table": report_tables.LINKS}
    return render("freshness/repaired.html", {**values, "asked": asked})


@links.route("/dataset/<id>/test-link", methods=["POST"])
def test(id: str) -> ResponseReturnValue:
    """Test the address in the form of a resource, and store nothing. htmx shows the answer in the form."""
    context, url = user_context(), tk.request.form.get("url", "").strip()
    result = None
    try:
        tk.check_access("package_update", dict(context), {"id": id})
        with requested.one_test_of(context["user"]):
            count_costly(context, utc_now())
            to_check = ResourceToCheck("", "", url, format=tk.request.form.get("format"))
            result = requested.tested([to_check]).get("")
        words = requested.tested_in_words(result)
    except tk.ValidationError as error:
        words = error_text(error)
    except (tk.NotAuthorized, tk.ObjectNotFound):
        # As on CKAN's own pages, the response does not reveal whether the dataset exists.
        words = tk._("You may not change this dataset. Log in again if your session has ended.")
    values = {"works": requested.is_working(result), "words": words, "result": result}
    return render("freshness/snippets/link_tested.html", values)


def _repaired(context: Context, chosen: Mapping[str, str]) -> Iterator[Row]:
    """Repair links, and yield for each its resource, whether it ``is_mended``, and a sentence (``words``)."""
    resources, refused = {}, {}
    for id_ in list(chosen)[: link_repairs.LISTED]:
        try:
            tk.check_access("resource_update", dict(context), {"id": id_})
            resources[id_] = tk.get_action("resource_show")(dict(context), {"id": id_})
        except (tk.ObjectNotFound, tk.NotAuthorized):
            # As on CKAN's own pages, the response does not reveal whether the resource exists.
            continue
        refused[id_] = _refusal(resources[id_])
    tests = requested.tested(
        [
            ResourceToCheck(
                id_, one["package_id"], chosen[id_], format=one["format"], mimetype=one["mimetype"]
            )
            for id_, one in resources.items()
            if refused[id_] is None
        ]
    )
    for id_, resource in resources.items():
        result = tests.get(id_)
        words = refused[id_]
        if words is None and not requested.is_working(result):
            words = requested.tested_in_words(result)
        if words is None:
            words = _save(context, resource, chosen[id_])
        yield {
            **resource,
            "address": chosen[id_],
            "is_mended": words is None,
            "words": words or requested.tested_in_words(result),
        }


def _refusal(resource: Mapping[str, Any]) -> str | None:
    """Return why a link is not changed; None if it may be."""
    link = link_facts.of_resource(resource["id"])
    if link is None or link["state"] not in ("broken", "failing"):
        return str(tk._("This link is not broken any more. Somebody may have changed it."))
    if harvests.of_packages([resource["package_id"]]):
        return str(tk._("The next harvest would overwrite the address. Correct it at the source."))
    return None


def _save(context: Context, resource: Mapping[str, Any], url: str) -> str | None:
    """Store the new URL of a resource; return why that failed, or None."""
    # Testing takes a while, in which somebody may have mended the link.
    if (words := _refusal(resource)) is not None:
        return words
    try:
        tk.get_action("resource_patch")(dict(context), {"id": resource["id"], "url": url})
    except tk.ValidationError as error:
        return error_text(error)
    except (tk.NotAuthorized, tk.ObjectNotFound) as error:
        return str(error)
    return None
