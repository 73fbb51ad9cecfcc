"""Protection of our pages: forms against other sites, answers against shared caches."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from flask import current_app


def protect() -> None:
    """Refuse (400) a form without the token of the visitor's session; requests with an API token are free.

    CKAN 2.11 leaves the blueprints of plugins out of its own protection, and CKAN 2.12 forgoes it for
    any view that somebody has once visited without a session.
    """
    if current_app.config["WTF_CSRF_ENABLED"] and not tk.g.get("login_via_auth_header"):
        current_app.extensions["csrf"].protect()


def for_nobody_else() -> None:
    """Keep shared caches from storing the answer to this request, which depends on who asks.

    CKAN calls all other answers ``public``, whatever their headers said; it knows of sessions, and not of
    tokens.
    """
    tk.request.environ["__no_cache__"] = True
