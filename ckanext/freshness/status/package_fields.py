"""Writes one field of a package through CKAN's own actions."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk

from ..ckan_adapter import declared_fields


def write_field(context: dict[str, Any], package_id: str, key: str, value: str) -> None:
    """Set one field of a package, or the extra of that name if the site's schema has no such field.

    If the value is empty, the extra is removed.

    :raises tk.ValidationError: CKAN does not take the package with it.
    """
    # Locked from here on, so that nobody's edit of other extras in between is lost.
    shown = tk.get_action("package_show")(
        {**same_user(context), "for_update": True}, {"id": package_id}
    )
    if key in declared_fields(shown["type"]):
        patch: dict[str, Any] = {key: value}
    else:
        extras = [one for one in shown.get("extras", []) if one["key"] != key]
        patch = {"extras": [*extras, {"key": key, "value": value}] if value else extras}
    tk.get_action("package_patch")(same_user(context), {"id": shown["id"], **patch})


def same_user(context: dict[str, Any]) -> dict[str, Any]:
    """Return a new context for the same user, since actions store their own values in a context."""
    keys = ("user", "auth_user_obj", "ignore_auth", "session", "model")
    return {key: context[key] for key in keys if key in context}
