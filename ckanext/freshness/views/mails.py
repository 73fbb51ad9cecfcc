"""The pages on which people choose whether to receive mails about freshness."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk
from flask import Blueprint
from flask.typing import ResponseReturnValue

from ..ckan_adapter import exempt_from_csrf
from ..dates import utc_now
from ..mails import opt_outs
from .responses import abort, error_text, redirect_to, render, require_csrf_token

mails = Blueprint("freshness_mails", __name__)
mails.before_request(require_csrf_token)

mail_link = Blueprint("freshness_mail_link", __name__)
# Mail programs unsubscribe with one request (RFC 8058), without a session. The token authorizes it.
mail_link.record(lambda state: exempt_from_csrf(mail_link))


@mails.route("/freshness/mails", methods=["GET"])
def read() -> ResponseReturnValue:
    """Show the choice of the user."""
    return _page(_call("freshness_opt_out_show"))


@mails.route("/freshness/mails", methods=["POST"])
def write() -> ResponseReturnValue:
    """Store the choice of the user."""
    _call("freshness_opt_out", opted_out=_wants_none())
    return redirect_to("freshness_mails.read")


@mail_link.route("/freshness/mails/<token>", methods=["GET"])
def read_link(token: str) -> ResponseReturnValue:
    """Show the choice of a mail's recipient. Change nothing, because programs follow links, too."""
    person = _person(token)
    return _page({"address": person.address, "opted_out": person.opted_out})


@mail_link.route("/freshness/mails/<token>", methods=["POST"])
def write_link(token: str) -> ResponseReturnValue:
    """Store the choice of a mail's recipient, without a login."""
    person = _person(token)
    opted_out = _wants_none()
    opt_outs.write(person.address, utc_now(), opted_out=opted_out)
    return _page({"address": person.address, "opted_out": opted_out})


def _wants_none() -> bool:
    return bool(tk.request.form.get("mails") != "yes")


def _person(token: str) -> opt_outs.MailPreference:
    person = opt_outs.of_token(token)
    if person is not None:
        return person
    abort(404, tk._("This link is not whole: copy all of it from the mail"))


def _page(shown: dict[str, Any]) -> str:
    return render("freshness/mails/page.html", shown)


def _call(action: str, **data: Any) -> Any:
    try:
        return tk.get_action(action)({"for_view": True}, data)
    except tk.NotAuthorized:
        abort(403, tk._("Log in to say whether you want mails"))
    except tk.ValidationError as error:
        abort(400, error_text(error))
