"""Auth functions of this extension's actions."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk

from .arguments import reference

__all__ = [
    "freshness_change_list",
    "freshness_check",
    "freshness_confirm",
    "freshness_harvest_hold_show",
    "freshness_harvest_preview",
    "freshness_harvest_preview_show",
    "freshness_harvest_release",
    "freshness_harvest_take_back",
    "freshness_opt_out",
    "freshness_opt_out_show",
    "freshness_report",
    "freshness_resource_history",
    "freshness_run_list",
    "freshness_run_show",
    "freshness_show",
]


@tk.auth_allow_anonymous_access
def freshness_show(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Users who may see the dataset."""
    return _as_for("package_show", context, data_dict)


def freshness_confirm(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Users who may edit the dataset."""
    return _as_for("package_update", context, data_dict)


def freshness_check(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Users who may edit the dataset."""
    return _as_for("package_update", context, data_dict)


@tk.auth_allow_anonymous_access
def freshness_resource_history(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Users who may see the resource."""
    return _as_for("resource_show", context, data_dict)


@tk.auth_allow_anonymous_access
def freshness_report(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Users who may search for datasets; the report counts the datasets that the user may see."""
    return _may_search(context)


def _may_search(context: dict[str, Any]) -> dict[str, Any]:
    try:
        tk.check_access("package_search", dict(context), {})
    except tk.NotAuthorized as error:
        return {"success": False, "msg": str(error)}
    return {"success": True}


@tk.auth_allow_anonymous_access
def freshness_change_list(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Users who may search for datasets; the list has the changes of datasets that the user may see."""
    return _may_search(context)


@tk.auth_allow_anonymous_access
def freshness_run_list(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Only sysadmins: the counts include private datasets, and the hosts of these are named."""
    return _no_runs(context)


@tk.auth_allow_anonymous_access
def freshness_run_show(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Only sysadmins: the counts include private datasets, and the hosts of these are named."""
    return _no_runs(context)


def _no_runs(context: dict[str, Any]) -> dict[str, Any]:
    # CKAN allows sysadmins everything without asking, and would tell others the name of the action.
    if not context.get("user"):
        return {"success": False, "msg": tk._("Log in to see runs")}
    words = tk._("Only sysadmins can see runs. Ask a sysadmin of this site.")
    return {"success": False, "msg": words}


def freshness_harvest_preview(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Users who may edit the harvest source."""
    return _as_for("harvest_source_update", context, data_dict)


def freshness_harvest_preview_show(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Users who may edit the harvest source."""
    return _as_for("harvest_source_update", context, data_dict)


def freshness_harvest_hold_show(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Users who may edit the harvest source."""
    return _as_for("harvest_source_update", context, data_dict)


def freshness_harvest_release(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Users who may edit the harvest source."""
    return _as_for("harvest_source_update", context, data_dict)


def freshness_harvest_take_back(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Users who may edit the harvest source."""
    return _as_for("harvest_source_update", context, data_dict)


def freshness_opt_out(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Each user for their own address; sysadmins for all addresses."""
    if not context.get("user"):
        # CKAN's anonymous user is an object, too, which passes the decorator's test.
        return {"success": False, "msg": tk._("Log in to say whether you want mails")}
    if data_dict.get("address"):
        return {"success": False, "msg": tk._("Only sysadmins may do so for others")}
    return {"success": True}


def freshness_opt_out_show(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Each user for their own address; sysadmins for all addresses."""
    return freshness_opt_out(context, data_dict)


def _as_for(action: str, context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Allow what another action is allowed for the same ``id``."""
    # Auth functions take the package in the context for the one that the id names, and leave theirs there.
    own = {key: value for key, value in context.items() if key != "package"}
    try:
        tk.check_access(action, own, {"id": reference(data_dict)})
    except tk.NotAuthorized as error:
        return {"success": False, "msg": str(error)}
    return {"success": True}
