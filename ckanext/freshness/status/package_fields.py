"""Writes one field of a package through CKAN's own actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ckan.plugins.toolkit as tk

from ..ckan_adapter.forms import declared_fields


def same_user(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new context for the same user, since actions store their own values in a context."""
    keys = ("user", "auth_user_obj", "ignore_auth")
    return {key: context[key] for key in keys if key in context}


def write_field(context: Mapping[str, Any], package_id: str, key: str, value: str) -> None:
    """Set one field of a package, or the extra of that name if the site's schema has no such field.

    If the value is empty, the extra is removed.

    :raises tk.ValidationError: CKAN refuses the package with this value
    """
    # The lock keeps edits of other extras in between from being lost.
    shown = tk.get_action("package_show")(
        {**same_user(context), "for_update": True}, {"id": package_id}
    )
    if key in declared_fields(shown["type"]):
        patch: dict[str, Any] = {key: value}
    else:
        extras = [extra for extra in shown.get("extras", []) if extra["key"] != key]
        patch = {"extras": [*extras, {"key": key, "value": value}] if value else extras}
    tk.get_action("package_patch")(same_user(context), {"id": shown["id"], **patch})
