"""Actions of CKAN's core that this extension wraps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ... import settings
from ...ckan_adapter import own_tables
from ...ckan_adapter.ckan_core import model
from ...ckan_adapter.extras import package_extras
from ...ckan_adapter.forms import own_extras
from ...ckan_adapter.site_names import site_names
from ...dates import utc_now
from ...model import DatasetFreshness
from ...own_values import as_mapping, claimed, foreign
from ...reporting import url_facts
from ...status.assessment import assess_packages
from ...status.transitions import TransitionCause
from .. import frequency_form
from ..dataset_hooks import noting
from . import chained_harvest


def chained() -> dict[str, Callable[..., Any]]:
    """Return the wrapped actions by name."""
    resource_actions = ("resource_create", "resource_update", "resource_delete")
    return {
        "package_create": package_create,
        "package_update": package_update,
        **dict.fromkeys(resource_actions, resource_action),
    }


@tk.chained_action
def package_create(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> Any:
    """Create a package without the values that the caller sends for this extension's extras."""
    data_dict = dict(data_dict)
    if data_dict.get("type") == "harvest" and p.plugin_loaded("harvest"):
        with chained_harvest.writing_source(context, data_dict, "package_create"):
            return url_facts.write(original, context, data_dict)
    if settings.is_judged(data_dict.get("type")):
        frequency_form.take(data_dict, settings.frequency_keys())
        package_type = data_dict.get("type") or "dataset"
        if not _are_own(claimed, as_mapping(data_dict.get("extras")), package_type):
            data_dict = protected(data_dict, package_type, {})
    return url_facts.write(original, context, data_dict)


@tk.chained_action
def package_update(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> Any:
    """Update a package with the stored values of this extension's extras, whatever the caller sends.

    A dataset that was never judged is judged first, because changes are noticed by comparing.
    """
    data_dict = dict(data_dict)
    reference = data_dict.get("id") or data_dict.get("name")
    package = model.Package.get(reference) if isinstance(reference, str) else None
    if package is not None and package.type == "harvest" and p.plugin_loaded("harvest"):
        with chained_harvest.writing_source(context, data_dict, "package_update"):
            return url_facts.write(original, context, data_dict)
    if package is None or not settings.is_judged(package.type):
        return url_facts.write(original, context, data_dict)
    frequency_form.take(data_dict, settings.frequency_keys())
    stored = package_extras(package)
    sent = as_mapping(data_dict.get("extras"))
    are_own = _are_own(foreign, stored, package.type) or _are_own(claimed, sent, package.type)
    if are_own and not _is_judged(package.id):
        # The site's own fields stay until it has chosen what becomes of them.
        return url_facts.write(original, context, {**data_dict, "id": package.id})
    if stored.keys().isdisjoint(site_names().extras):
        _assess(package.id)
    data_dict = protected(data_dict, package.type, stored)
    return url_facts.write(original, context, {**data_dict, "id": package.id})


def _are_own(
    find: Callable[..., Mapping[str, str]], extras: Mapping[str, str], package_type: str
) -> bool:
    """Decide whether extras have values of the site's own under our names.

    :param find: ``foreign`` for stored extras, ``claimed`` for extras that a caller sends
    """
    names = site_names()
    # Schemas are only asked for if necessary, because CKAN makes them anew each time.
    return bool(find(extras, names)) and bool(find(extras, names, own_extras(package_type)))


def _is_judged(package_id: str) -> bool:
    """Decide whether a dataset has extras of ours under the names of today."""
    if own_tables.missing():
        return False
    prefix = sa.select(DatasetFreshness.field_prefix).where(
        DatasetFreshness.package_id == package_id
    )
    return bool(model.Session.execute(prefix).scalar() == site_names().prefix)


@own_tables.optional
def _assess(package_id: str) -> None:
    assess_packages([package_id], utc_now(), cause=TransitionCause.EDIT)


@tk.chained_action
def resource_action(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> Any:
    """Call one of CKAN's resource actions, and drop its notes when it succeeds or fails."""
    with noting():
        return original(context, data_dict)


def protected(
    data_dict: Mapping[str, Any], package_type: str, stored: Mapping[str, str]
) -> dict[str, Any]:
    """Return what an action is to write, with the stored values of this extension's extras.

    Forms and harvesters leave these extras out. Each of their writes would remove the extras and add them
    again, and CKAN 2.12 would see a change where nothing changed.

    :param data_dict: what the caller sends
    :param stored: all extras that the package has; empty for a new package
    """
    keys = own_extras(package_type)
    result = {key: value for key, value in data_dict.items() if key not in keys}
    ours = {key: stored[key] for key in keys if key in stored}
    extras = data_dict.get("extras")
    if extras is None and ours:
        extras = []
    if isinstance(extras, list):
        result["extras"] = _merged(extras, ours, keys)
    return result


def _merged(extras: list[Any], ours: Mapping[str, str], keys: tuple[str, ...]) -> list[Any]:
    """Put our values in their places among a caller's extras: CKAN takes another order for a change."""
    result = []
    missing = dict(ours)
    for extra in extras:
        key = _key(extra)
        if key not in keys:
            result.append(extra)
        elif key in missing:
            result.append({"key": key, "value": missing.pop(key)})
    for key, value in missing.items():
        place = next((at for at, extra in enumerate(result) if _key(extra) > key), len(result))
        result.insert(place, {"key": key, "value": value})
    return result


def _key(extra: Any) -> str:
    key = extra.get("key") if isinstance(extra, dict) else None
    return key if isinstance(key, str) else ""
