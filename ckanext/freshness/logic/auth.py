"""Auth functions of this extension's actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ckan.plugins.toolkit as tk

AuthFunction = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]


def _as(action: str, context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Return what CKAN says of another action."""
    try:
        tk.check_access(action, context, data_dict)
    except tk.NotAuthorized as error:
        return {"success": False, "msg": str(error)}
    return {"success": True}


def _as_for(action: str, who: str) -> AuthFunction:
    """Return an auth function that allows what another action is allowed for the same ``id``.

    :param who: its docstring, which the documentation of the action shows
    """

    def authorize(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
        # Auth functions take the package in the context for the one that the id names, and leave theirs there.
        own = {key: value for key, value in context.items() if key != "package"}
        return _as(action, own, {"id": tk.get_or_bust(data_dict, "id")})

    authorize.__doc__ = who
    return authorize


freshness_show = tk.auth_allow_anonymous_access(
    _as_for("package_show", "Users who may see the dataset.")
)
freshness_resource_history = tk.auth_allow_anonymous_access(
    _as_for("resource_show", "Users who may see the resource.")
)
freshness_confirm = _as_for("package_update", "Users who may edit the dataset.")
freshness_check = _as_for("package_update", "Users who may edit the dataset.")
freshness_date_column = _as_for("package_update", "Users who may edit the dataset.")
freshness_ignore = _as_for("package_update", "Users who may edit the dataset.")

_EDITORS_OF_SOURCE = ("harvest_source_update", "Users who may edit the harvest source.")
freshness_harvest_preview = _as_for(*_EDITORS_OF_SOURCE)
freshness_harvest_preview_show = _as_for(*_EDITORS_OF_SOURCE)
freshness_harvest_hold_show = _as_for(*_EDITORS_OF_SOURCE)
freshness_harvest_release = _as_for(*_EDITORS_OF_SOURCE)
freshness_harvest_take_back = _as_for(*_EDITORS_OF_SOURCE)
freshness_harvest_keep = _as_for(*_EDITORS_OF_SOURCE)


@tk.auth_allow_anonymous_access
def freshness_report(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Users who may search for datasets; the report counts the datasets that the user may see."""
    return _as("package_search", dict(context), {})


@tk.auth_allow_anonymous_access
def freshness_change_list(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Users who may search for datasets; the list has the changes of datasets that the user may see."""
    return _as("package_search", dict(context), {})


@tk.auth_allow_anonymous_access
def freshness_run_list(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Only sysadmins: the counts include private datasets."""
    # CKAN allows sysadmins everything without asking, and would tell others the name of the action.
    if not context.get("user"):
        return {"success": False, "msg": tk._("Log in to see runs")}
    words = tk._("Only sysadmins can see runs. Ask a sysadmin of this site.")
    return {"success": False, "msg": words}


freshness_run_show = freshness_run_list
