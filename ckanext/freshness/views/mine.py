"""The pages of a user: the worklist of an editor with the actions in its rows, and the choice of mails."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk
from flask import Blueprint
from flask.typing import ResponseReturnValue

from .. import settings
from ..ckan_adapter.core import exempt_from_csrf
from ..ckan_adapter.mailer import remember_app
from ..mails import recipients
from ..mails.kinds import KINDS, offered
from ..mails.recipients import EVERY_KIND, Person
from ..reporting import worklist as tasks
from .responses import (
    FORMATS,
    abort,
    error_text,
    file_of,
    last_page,
    page_number,
    redirect_to,
    refuse_address,
    render,
    require_csrf_token,
    user_context,
)

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
def read() -> ResponseReturnValue:
    """Show what the user has to do now."""
    if tk.current_user.is_anonymous:
        here = tk.h.url_for("freshness_worklist.read", **_back())
        return redirect_to("user.login", next=here)
    group, size, number = _group(), tasks.FIRST, 1
    if group:
        size, number = tasks.LONG, _page_number()
    shown = tasks.worklist(_scope(), group=group, offset=(number - 1) * size, limit=size)
    if group and number > 1 and not shown.tasks.get(group):
        # The tasks of this page are done.
        last = last_page(shown.counts[group], size)
        return redirect_to("freshness_worklist.read", **{**_back(), "page": last})
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
            "organizations": tasks.organizations(_context()),
        },
    )


@worklist.route(f"/freshness/mine.<any({_ENDINGS}):ending>")
def file(ending: str) -> ResponseReturnValue:
    """Return all tasks as a file."""
    shown = tasks.worklist(_scope(), group=_group(), limit=None)
    rows = ({"group": name, **row} for name, found in shown.tasks.items() for row in found)
    return file_of(rows, _FIELDS, "freshness-mine", ending)


def _scope() -> tasks.Scope:
    try:
        return tasks.scope(_context(), tk.request.values.get("organization") or None)
    except tk.NotAuthorized as error:
        abort(403, str(error))


def _context() -> dict[str, Any]:
    user = tk.current_user
    if user.is_anonymous:
        abort(403, tk._("Log in to see your tasks."))
    return dict(user_context())


def _group() -> str | None:
    group = tk.request.args.get("group")
    return group if group in tasks.GROUPS else None


def _page_number() -> int:
    try:
        return page_number()
    except tk.ValidationError as error:
        refuse_address(error)


def _back() -> dict[str, str]:
    values = tk.request.values
    return {key: values[key] for key in _BACK if values.get(key)}


# Mails

mails = Blueprint("freshness_mails", __name__)
mails.before_request(require_csrf_token)

mail_link = Blueprint("freshness_mail_link", __name__)
# Mail programs unsubscribe with one request (RFC 8058), without a session. The token authorizes it.
mail_link.record(lambda state: exempt_from_csrf(mail_link))
mail_link.record(lambda state: remember_app(state.app))


@mails.route("/freshness/mails", methods=["GET"], endpoint="read")
def read_mails() -> ResponseReturnValue:
    """Show the choice of the user, after a login if that is missing."""
    if tk.current_user.is_anonymous:
        return redirect_to("user.login", next=tk.h.url_for("freshness_mails.read"))
    return _mails_page(_user())


@mails.route("/freshness/mails", methods=["POST"], endpoint="write")
def write_mails() -> ResponseReturnValue:
    """Store the choice of the user."""
    person = _user()
    recipients.write(person.address, _chosen_off(person))
    tk.h.flash_success(tk._("Your choice is saved."))
    return redirect_to("freshness_mails.read")


@mail_link.route("/freshness/mails/<token>", methods=["GET"])
def read_link(token: str) -> ResponseReturnValue:
    """Show the choice of a mail's recipient. Change nothing, because programs follow links, too."""
    return _mails_page(_holder(token))


@mail_link.route("/freshness/mails/<token>", methods=["POST"])
def write_link(token: str) -> ResponseReturnValue:
    """Store the choice of a mail's recipient, without a login."""
    person = _holder(token)
    recipients.write(person.address, _chosen_off(person))
    return _mails_page(_holder(token), is_saved=True)


def _chosen_off(person: Person) -> list[str]:
    """Return the kinds to switch off: those without a check mark in our form, all by one click elsewhere."""
    form = tk.request.form
    if form.get("mails") != "chosen":
        return [EVERY_KIND]
    kinds, wanted = offered(person.address), form.getlist("kind")
    # Somebody who becomes a sysadmin later gets no mails that were off as well.
    chosen = {kind: kind in wanted for kind in kinds}
    return [kind for kind in KINDS if not chosen.get(kind, person.wants(kind))]


def _user() -> Person:
    try:
        address = tk.get_action("freshness_opt_out_show")({}, {})["address"]
    except tk.NotAuthorized:
        abort(403, tk._("Log in to say whether you want mails"))
    except tk.ValidationError as error:
        abort(400, error_text(error))
    return recipients.people([address])[address]


def _holder(token: str) -> Person:
    person = recipients.holder(token)
    if person is not None:
        return person
    abort(404, tk._("This link is not whole: copy all of it from the mail"))


def _mails_page(person: Person, *, is_saved: bool = False) -> str:
    kinds = offered(person.address)
    shown = {
        "address": person.address,
        "kinds": [
            {"value": kind, "name": KINDS[kind].name, "is_on": person.wants(kind)} for kind in kinds
        ],
        "gets_none": not any(person.wants(kind) for kind in kinds),
        "is_saved": is_saved,
        "are_mails_on": settings.flag("notify.enabled"),
    }
    return render("freshness/mails/page.html", shown)
