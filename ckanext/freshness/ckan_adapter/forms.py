"""Forms: the fields of dataset forms, and the protection against cross-site request forgery."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
from ckan.lib.plugins import lookup_package_plugin
from flask import Blueprint

from ..field_names import FieldNames
from .site_names import site_names


def declared_fields(package_type: str) -> frozenset[str]:
    """Return the fields that the form's plugin and ckanext-scheming declare for a package type."""
    fields = set(lookup_package_plugin(package_type).update_package_schema())
    if p.plugin_loaded("scheming_datasets"):
        try:
            show = tk.get_action("scheming_dataset_schema_show")
            schema = show({"ignore_auth": True}, {"type": package_type})
        except tk.ObjectNotFound:
            return frozenset(fields)
        fields |= {field["field_name"] for field in schema["dataset_fields"]}
    return frozenset(fields)


def form_mistakes(
    package_type: str, action: str, context: Mapping[str, Any], data: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the mistakes in a package's form, as an action's ValidationError has them.

    :param action: ``package_create`` or ``package_update``
    """
    plugin = lookup_package_plugin(package_type)
    is_new = action == "package_create"
    schema = plugin.create_package_schema() if is_new else plugin.update_package_schema()
    _, errors = tk.navl_validate(deepcopy(dict(data)), schema, dict(context))
    return dict(errors)


def own_extras(package_type: str, names: FieldNames | None = None) -> tuple[str, ...]:
    """Return the extras that this extension writes, which are all that the site's schema does not declare.

    :param names: other names than the site's
    """
    declared = declared_fields(package_type)
    return tuple(key for key in (names or site_names()).extras if key not in declared)


def exempt_from_csrf(blueprint: Blueprint) -> None:
    """Allow posts without a CSRF token to a blueprint, whose URLs hold secrets of their own."""
    # Exists only once CKAN creates its application.
    from ckan.config.middleware.flask_app import csrf

    csrf.exempt(blueprint)
