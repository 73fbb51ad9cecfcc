"""Writes one field of a package through CKAN's own actions, such as its update frequency."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ckan.plugins.toolkit as tk

from .. import settings
from ..ckan_adapter.core import declared_fields, model
from ..ckan_adapter.packages import lock_packages, package_extras
from ..model import DatasetFreshness


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


def change_frequency(
    context: dict[str, Any],
    package: Any,
    wanted: str,
    *,
    expected: str | None = None,
    expected_days: str | None = None,
) -> str | None:
    """Change the update frequency of a dataset as a user, and return the one before.

    :param wanted: a text that the dataset then states; empty to state none
    :param expected: the present text, if another one must stay as it is
    :param expected_days: the present number of days as text, if another one must stay as it is
    :returns: None if the dataset states this already, as after a double click
    :raises tk.ValidationError: CKAN refuses the dataset with this frequency, or another one was expected
    """
    lock_packages([package.id])
    model.Session.refresh(package)
    key = _frequency_key(package)
    present = package_extras(package).get(key) or ""
    if present == wanted:
        # Release the lock.
        model.Session.commit()
        return None
    if (expected is not None and present != expected) or (
        expected_days is not None and expected_days != _days(package.id)
    ):
        # Release the lock.
        model.Session.commit()
        words = tk._("Somebody has changed the update frequency since then. It stays as it is.")
        raise tk.ValidationError({"frequency": [words]})
    write_field(context, package.id, key, wanted)
    return present


def _days(package_id: str) -> str:
    """Return the number of days of a dataset's present frequency as text; empty if it has none."""
    row = model.Session.get(DatasetFreshness, package_id, populate_existing=True)
    return "" if row is None or row.frequency_days is None else str(row.frequency_days)


def _frequency_key(package: Any) -> str:
    """Return the key to write: one that the dataset has, else one of the site's schema, else the first."""
    keys = settings.frequency_keys()
    extras = package_extras(package)
    declared = declared_fields(package.type)
    candidates = (
        *(key for key in keys if (extras.get(key) or "").strip()),
        *(key for key in keys if key in declared),
        keys[0],
    )
    return candidates[0]
