"""The page of the webhooks of an organization, or of the whole site."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk
from flask import Blueprint
from flask.typing import ResponseReturnValue

from ..mails.webhook_events import TOPICS
from ..reporting import visibility
from .responses import (
    call,
    error_text,
    never_kept,
    redirect_to,
    render,
    require_csrf_token,
    user_context,
)

webhooks = Blueprint("freshness_webhooks", __name__)
webhooks.before_request(require_csrf_token)


@webhooks.route("/freshness/webhooks", methods=["GET"])
def read() -> ResponseReturnValue:
    """List webhooks with their last answers, and the form for another one; after a login if that is missing."""
    if tk.current_user.is_anonymous:
        return redirect_to("user.login", next=tk.request.full_path)
    return _page()


@webhooks.route("/freshness/webhooks", methods=["POST"])
def create() -> ResponseReturnValue:
    """Register a webhook, and show its secret this one time."""
    form = tk.request.form
    given = {**_organization(), "url": form.get("url", "").strip(), "events": form.getlist("event")}
    try:
        made = _call("create", given)
    except tk.ValidationError as error:
        tk.h.flash_error(error_text(error))
        return _page()
    return _page(made)


@webhooks.route("/freshness/webhooks/<id>/<any(test,delete):what>", methods=["POST"])
def change(id: str, what: str) -> ResponseReturnValue:
    """Test or delete a webhook."""
    _call(what, {"id": id})
    done = {
        "test": tk._("A test is being sent. Load this page again in a moment to see the answer."),
        "delete": tk._("The webhook is deleted."),
    }
    tk.h.flash_success(done[what])
    return redirect_to("freshness_webhooks.read", **_organization())


def _call(what: str, given: dict[str, Any]) -> Any:
    words = tk._("Only sysadmins, and admins of the organization, can do this.")
    return call(f"freshness_webhook_{what}", tk._("There is no such webhook."), words, **given)


def _organization() -> dict[str, str]:
    name = tk.request.values.get("organization")
    return {"organization": name} if name else {}


def _page(made: dict[str, Any] | None = None) -> ResponseReturnValue:
    given = _organization()
    values = {
        "webhooks": _call("list", given),
        "organization": visibility.organization(user_context(), *given.values()) if given else None,
        "topics": TOPICS,
        "made": made,
    }
    return never_kept(render("freshness/webhooks.html", values))
