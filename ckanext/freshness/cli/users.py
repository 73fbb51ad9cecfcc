"""In whose name commands act."""

from __future__ import annotations

import ckan.plugins.toolkit as tk


def site_user() -> str:
    """The name of the site's own user."""
    return tk.get_action("get_site_user")({"ignore_auth": True}, {})["name"]
