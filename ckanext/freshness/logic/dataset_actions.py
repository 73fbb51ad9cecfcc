"""Actions of CKAN's core that this extension wraps, and what it does in their hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk

from .. import settings
from ..ckan_adapter import model, package_extras, tables
from ..dates import utc_now
from ..field_names import NAMES
from ..reporting import url_facts
from ..status import defaults, extras, resource_notes
from ..status.assessment import TransitionCause, assess_packages
from ..status.frequencies import FrequencySource
from . import frequency_form, harvest_actions


def chained() -> dict[str, Callable[..., Any]]:
    """Return the wrapped actions by name."""
    return {
        "package_create": package_create,
        "package_update": package_update,
        **dict.fromkeys(resource_notes.ACTIONS, resource_notes.resource_action),
    }


@tk.chained_action
def package_create(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> Any:
    """Create a package without what the caller says under the names of this extension's extras."""
    data_dict = dict(data_dict)
    if data_dict.get("type") == "harvest" and p.plugin_loaded("harvest"):
        harvest_actions.before_source_create(context, data_dict)
    if _is_judged(data_dict.get("type") or "dataset"):
        frequency_form.take(data_dict, settings.aging().frequency_keys)
        data_dict = extras.protected(data_dict, None)
    return url_facts.write(original, context, data_dict)


@tk.chained_action
def package_update(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> Any:
    """Update a package with this extension's extras as they are, whatever the caller says of them.

    A dataset that was never looked at is looked at first: what changes is noticed by comparing.
    """
    data_dict = dict(data_dict)
    reference = data_dict.get("id") or data_dict.get("name")
    package = model.Package.get(reference) if isinstance(reference, str) else None
    if package is not None and package.type == "harvest" and p.plugin_loaded("harvest"):
        harvest_actions.before_source_update(context, data_dict)
    if package is None or not _is_judged(package.type):
        return url_facts.write(original, context, data_dict)
    frequency_form.take(data_dict, settings.aging().frequency_keys)
    if package_extras(package).keys().isdisjoint(NAMES.extras):
        _assess(package.id)
    return url_facts.write(
        original, context, {**extras.protected(data_dict, package), "id": package.id}
    )


@tables.optional
def after_write(context: Mapping[str, Any], data_dict: Mapping[str, Any], action: str) -> None:
    """Judge a package that was created or updated, in the same transaction.

    If it is a harvest source, the next refresh judges its datasets.

    :param action: the action that wrote it, unless a resource action noted what it does.
    """
    package_type = data_dict.get("type") or "dataset"
    if package_type == "harvest" and p.plugin_loaded("harvest"):
        defaults.may_have_changed(FrequencySource.SOURCE, data_dict["id"])
    if _is_judged(package_type):
        # An action on behalf of nobody, as in a migration, has no user.
        writer = context.get("user") or None
        edit = resource_notes.noted(data_dict) or resource_notes.DatasetEdit(action)
        extras.write_in_hook(data_dict["id"], utc_now(), writer=writer, edit=edit)


@tables.optional
def after_organization_edit(organization: Any) -> None:
    """An organization was edited: what it assumes for its datasets may be something else now."""
    defaults.may_have_changed(FrequencySource.ORGANIZATION, organization.id)


@tables.optional
def _assess(package_id: str) -> None:
    assess_packages([package_id], utc_now(), cause=TransitionCause.EDIT)


def _is_judged(package_type: Any) -> bool:
    return package_type in settings.aging().dataset_types
