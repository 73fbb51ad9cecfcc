"""Protection of our forms against being sent by other sites."""

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
