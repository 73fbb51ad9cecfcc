"""The pages of mails: their choice, and the links in them."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from .. import settings
from ..ckan_adapter.core import exempt_from_csrf
from ..ckan_adapter.mailer import remember_app
from ..dates import utc_now
from ..logic.hooks import edited_by
from ..mails import recipients, signed_links
from ..mails.recipients import Choice, Person
from .responses import (
    abort,
    error_text,
    guarded,
    redirect_to,
    render,
    to_login,
)

mails = guarded(Blueprint("freshness_mails", __name__))

mail_link = guarded(Blueprint("freshness_mail_link", __name__), is_signed=True)
# Mail programs unsubscribe with one request (RFC 8058), without a session. The token authorizes it.
mail_link.record(lambda state: exempt_from_csrf(mail_link))
mail_link.record(lambda state: remember_app(state.app))


@mail_link.after_request
def keep_address(response: Response) -> Response:
    """Tell no other site the address of a page, which has the token of a link in a mail."""
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


@mails.route("/freshness/mails", methods=["GET"])
def read() -> ResponseReturnValue:
    """Show the choice of the user, after a login if that is missing."""
    if tk.current_user.is_anonymous:
        return to_login()
    return _mails_page(_user())


@mails.route("/freshness/mails", methods=["POST"])
def write() -> ResponseReturnValue:
    """Store the choice of the user."""
    person = _user()
    recipients.write(person.address, _choice())
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
    recipients.write(person.address, _choice())
    return _mails_page(_holder(token), is_saved=True)


@mail_link.route("/freshness/confirm/<token>", methods=["GET"])
def read_confirmation(token: str) -> ResponseReturnValue:
    """Ask whether the data of a dataset are accurate. Change nothing, because programs follow links, too."""
    return _confirmation_page(_asked(token), is_done=False)


@mail_link.route("/freshness/confirm/<token>", methods=["POST"])
def confirm(token: str) -> ResponseReturnValue:
    """Confirm that the data of a dataset are accurate, as the recipient of the mail, without a login."""
    asked = _asked(token)
    if not asked.is_old:
        try:
            _confirm(asked)
        except tk.ValidationError as error:
            abort(400, error_text(error))
    return _confirmation_page(asked, is_done=not asked.is_old)


def _confirm(asked: signed_links.Confirmation) -> None:
    if asked.user is not None:
        context = recipients.context_of(asked.user)
        tk.get_action("freshness_confirm")(context, {"id": asked.package.id})
        return
    # CKAN's activities are of users only.
    site_user = tk.get_action("get_site_user")({"ignore_auth": True}, {})
    with edited_by(asked.address):
        tk.get_action("freshness_confirm")({"user": site_user["name"]}, {"id": asked.package.id})


def _asked(token: str) -> signed_links.Confirmation:
    asked = signed_links.confirmation(token, utc_now())
    if asked is None:
        words = tk._(
            "This link confirms nothing any more: it is older than 30 days or not whole, or you do not look "
            "after this dataset now. If you have an account, log in and open My tasks."
        )
        abort(404, words)
    return asked


def _confirmation_page(asked: signed_links.Confirmation, *, is_done: bool) -> str:
    return render("freshness/mails/confirm.html", {"asked": asked, "is_done": is_done})


def _choice() -> Choice:
    """Return the choice of our form; no mails for one click in a mail program (RFC 8058)."""
    if tk.request.form.get("List-Unsubscribe") == "One-Click":
        return Choice.NONE
    try:
        return Choice(tk.request.form.get("choice"))
    except ValueError:
        abort(400, tk._("Choose your mails, or switch them off"))


def _user() -> Person:
    if tk.current_user.is_anonymous:
        abort(403, tk._("Log in to say whether you want mails"))
    found = recipients.addresses(tk.current_user.email)
    if len(found) != 1:
        abort(400, tk._("You have no e-mail address here: there is nothing to opt out of"))
    return recipients.people(found)[found[0]]


def _holder(token: str) -> Person:
    person = signed_links.holder(token)
    if person is not None:
        return person
    abort(404, tk._("This link is not whole: copy all of it from the mail"))


def _mails_page(person: Person, *, is_saved: bool = False) -> str:
    shown = {
        "address": person.address,
        "choice": person.choice.value,
        "is_saved": is_saved,
        "are_mails_on": settings.flag("notify.enabled"),
        "may_follow": bool(recipients.users_of({person.address})),
        "may_approve": person.address
        in {*recipients.editors([person.address]), *recipients.operators()},
    }
    return render("freshness/mails/page.html", shown)
