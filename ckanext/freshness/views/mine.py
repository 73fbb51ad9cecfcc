"""The worklist of an editor: all tasks in one page."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from flask import Blueprint
from flask.typing import ResponseReturnValue

from ..reporting import worklist as tasks
from ..reporting.tables import Context
from .deeds import LISTS
from .report import with_error_pages
from .responses import FORMATS, file_of, last_page, page_number, redirect_to, render, user_context

worklist = Blueprint("freshness_worklist", __name__)

_FIELDS = (
    *("group", "name", "title", "status", "due", "last_modified", "confirmed_at", "frequency_days"),
    *("resource_id", "resource", "failing_since", "failures", "words"),
    *("declared_days", "suggested_days", "days", "factor", "changes", "basis"),
)
_ENDINGS = ",".join(FORMATS)
_BACK = ("organization", "group", "page")
"""Arguments of the page that forms send back."""


@worklist.route("/freshness/mine")
@with_error_pages
def read() -> ResponseReturnValue:
    """Show what the user has to do now."""
    if tk.current_user.is_anonymous:
        here = tk.h.url_for("freshness_worklist.read", **_back())
        return redirect_to("user.login", next=here)
    group, size, number = _group(), tasks.FIRST, 1
    if group:
        size, number = tasks.LONG, page_number()
    shown = tasks.worklist(_scope(), group=group, offset=(number - 1) * size, limit=size)
    if group and number > 1 and not shown.tasks.get(group):
        # The tasks of this page are done.
        last = last_page(shown.counts[group], size)
        return redirect_to("freshness_worklist.read", **{**_back(), "page": last})
    if "organization" not in _back():
        tasks.remember(_context(), shown.total)
    return render(
        "freshness/mine.html",
        {
            "shown": shown,
            "group": group,
            "page": number,
            "size": size,
            "has_next": group is not None
            and len(shown.tasks.get(group, ())) == size
            and (group in shown.more or shown.counts[group] > number * size),
            "back": _back(),
            "verbs": LISTS,
            "organizations": tasks.organizations(_context()),
        },
    )


@worklist.route(f"/freshness/mine.<any({_ENDINGS}):ending>")
@with_error_pages
def file(ending: str) -> ResponseReturnValue:
    """Return all tasks as a file."""
    shown = tasks.worklist(_scope(), group=_group(), limit=None)
    rows = ({"group": name, **row} for name, found in shown.tasks.items() for row in found)
    return file_of(rows, _FIELDS, "freshness-mine", ending)


def _scope() -> tasks.Scope:
    return tasks.scope(_context(), tk.request.values.get("organization") or None)


def _context() -> Context:
    if tk.current_user.is_anonymous:
        raise tk.NotAuthorized(tk._("Log in to see your tasks."))
    return user_context()


def _group() -> str | None:
    group = tk.request.args.get("group")
    return group if group in tasks.GROUPS else None


def _back() -> dict[str, str]:
    values = tk.request.values
    return {key: values[key] for key in _BACK if values.get(key)}
