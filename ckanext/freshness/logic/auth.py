"""Who may do what with this extension's actions."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk

from .arguments import reference

__all__ = [
    "freshness_check",
    "freshness_confirm",
    "freshness_harvest_hold_show",
    "freshness_harvest_preview",
    "freshness_harvest_preview_show",
    "freshness_harvest_release",
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
    """Whoever may see a dataset may see how fresh it is."""
    return _as_for("package_show", context, data_dict)


def freshness_confirm(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Whoever may change a dataset may confirm that its data are up to date."""
    return _as_for("package_update", context, data_dict)


def freshness_check(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Whoever may change a dataset may have its URLs visited."""
    return _as_for("package_update", context, data_dict)


@tk.auth_allow_anonymous_access
def freshness_resource_history(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Whoever may see a resource may see what visits to its URL were like."""
    return _as_for("resource_show", context, data_dict)


@tk.auth_allow_anonymous_access
def freshness_report(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Whoever may search for datasets; each sees those that they may see."""
    try:
        tk.check_access("package_search", dict(context), {})
    except tk.NotAuthorized as error:
        return {"success": False, "msg": str(error)}
    return {"success": True}


def freshness_run_list(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Sysadmins alone: private datasets count too, and their hosts are named."""
    return {"success": False, "msg": tk._("Only sysadmins may see what runs counted")}


def freshness_run_show(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Sysadmins alone: private datasets count too, and their hosts are named."""
    return freshness_run_list(context, data_dict)


def freshness_harvest_preview(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Whoever may change a harvest source may ask for a preview of it."""
    return _may_update_source(context, data_dict)


def freshness_harvest_preview_show(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Whoever may change a harvest source may see its preview."""
    return _may_update_source(context, data_dict)


def freshness_harvest_hold_show(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Whoever may change a harvest source may see which of its deletions are held."""
    return _may_update_source(context, data_dict)


def freshness_harvest_release(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Whoever may change a harvest source may release its held deletions."""
    return _may_update_source(context, data_dict)


def freshness_opt_out(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Everybody decides what comes to their own address; sysadmins, for all."""
    if not context.get("user"):
        # CKAN's anonymous user is an object, too, and would pass.
        return {"success": False, "msg": tk._("Log in to say whether you want mails")}
    if data_dict.get("address"):
        return {"success": False, "msg": tk._("Only sysadmins may do so for others")}
    return {"success": True}


def freshness_opt_out_show(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Likewise: addresses, and what their owners want, are nobody else's business."""
    return freshness_opt_out(context, data_dict)


def _may_update_source(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    # ckanext-harvest's function leaves the source in the context, which is not its caller's package.
    asked = {key: value for key, value in context.items() if key != "package"}
    try:
        tk.check_access("harvest_source_update", asked, {"id": reference(data_dict)})
    except tk.NotAuthorized as error:
        return {"success": False, "msg": str(error)}
    return {"success": True}


def _as_for(action: str, context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    dataset = reference(data_dict)
    asked = {key: value for key, value in context.items() if key != "package"}
    try:
        tk.check_access(action, asked, {"id": dataset})
    except tk.NotAuthorized as error:
        return {"success": False, "msg": str(error)}
    return {"success": True}
