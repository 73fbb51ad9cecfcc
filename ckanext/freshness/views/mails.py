"""The pages on which people choose the mails about freshness that they receive."""

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
from .responses import abort, error_text, redirect_to, render, require_csrf_token

mails = Blueprint("freshness_mails", __name__)
mails.before_request(require_csrf_token)

mail_link = Blueprint("freshness_mail_link", __name__)
# Mail programs unsubscribe with one request (RFC 8058), without a session. The token authorizes it.
mail_link.record(lambda state: exempt_from_csrf(mail_link))
mail_link.record(lambda state: remember_app(state.app))


@mails.route("/freshness/mails", methods=["GET"])
def read() -> ResponseReturnValue:
    """Show the choice of the user, after a login if that is missing."""
    if tk.current_user.is_anonymous:
        return redirect_to("user.login", next=tk.h.url_for("freshness_mails.read"))
    return _page(_user())


@mails.route("/freshness/mails", methods=["POST"])
def write() -> ResponseReturnValue:
    """Store the choice of the user."""
    person = _user()
    recipients.write(person.address, _chosen_off(person))
    tk.h.flash_success(tk._("Your choice is saved."))
    return redirect_to("freshness_mails.read")


@mail_link.route("/freshness/mails/<token>", methods=["GET"])
def read_link(token: str) -> ResponseReturnValue:
    """Show the choice of a mail's recipient. Change nothing, because programs follow links, too."""
    return _page(_holder(token))


@mail_link.route("/freshness/mails/<token>", methods=["POST"])
def write_link(token: str) -> ResponseReturnValue:
    """Store the choice of a mail's recipient, without a login."""
    person = _holder(token)
    recipients.write(person.address, _chosen_off(person))
    return _page(_holder(token), is_saved=True)


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
    address = _call("freshness_opt_out_show")["address"]
    return recipients.people([address])[address]


def _holder(token: str) -> Person:
    person = recipients.holder(token)
    if person is not None:
        return person
    abort(404, tk._("This link is not whole: copy all of it from the mail"))


def _page(person: Person, *, is_saved: bool = False) -> str:
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


def _call(action: str, **data: Any) -> Any:
    try:
        return tk.get_action(action)({"for_view": True}, data)
    except tk.NotAuthorized:
        abort(403, tk._("Log in to say whether you want mails"))
    except tk.ValidationError as error:
        abort(400, error_text(error))
