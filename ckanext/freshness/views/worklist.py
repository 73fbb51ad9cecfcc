"""The worklist of an editor, of all their organizations or of one."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from flask import Blueprint
from flask.typing import ResponseReturnValue

from ..dates import utc_now
from ..reporting import worklist as tasks
from .responses import FORMATS, abort, file_of, render, require_csrf_token

worklist = Blueprint("freshness_worklist", __name__)
worklist.before_request(require_csrf_token)

_FIELDS = (
    *("group", "name", "title", "status", "due", "last_modified", "frequency_days"),
    *("resource_id", "resource", "failing_since", "failures", "words"),
)
_ENDINGS = ",".join(FORMATS)


@worklist.route("/freshness/mine")
def read() -> ResponseReturnValue:
    """Show what the user has to do now."""
    organizations = _organizations()
    shown = tasks.worklist(organizations, utc_now())
    group = tk.request.args.get("group")
    return render(
        "freshness/mine.html",
        {
            "shown": shown,
            "group": group if group in tasks.GROUPS else None,
            "organization": tk.request.args.get("organization"),
        },
    )


@worklist.route(f"/freshness/mine.<any({_ENDINGS}):ending>")
def file(ending: str) -> ResponseReturnValue:
    """Return all tasks as a file."""
    shown = tasks.worklist(_organizations(), utc_now(), most=None)
    rows = ({"group": group, **row} for group in tasks.GROUPS for row in shown.tasks[group])
    return file_of(rows, _FIELDS, "freshness-mine", ending)


def _organizations() -> list[str]:
    user = tk.current_user
    if user.is_anonymous:
        abort(403, tk._("Log in to see your datasets"))
    context = {"user": user.name, "auth_user_obj": user}
    try:
        return tasks.organizations_of(context, tk.request.args.get("organization") or None)
    except tk.NotAuthorized as error:
        abort(403, str(error))
