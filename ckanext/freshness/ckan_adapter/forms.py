"""Dataset forms and what they declare."""

from __future__ import annotations

import ckan.plugins as p
import ckan.plugins.toolkit as tk
from ckan.lib.plugins import lookup_package_plugin


def declared_fields(package_type: str) -> frozenset[str]:
    """The fields that a site's schema declares for packages of a type: its plugin's, and scheming's."""
    fields = set(lookup_package_plugin(package_type).update_package_schema())
    if p.plugin_loaded("scheming_datasets"):
        try:
            show = tk.get_action("scheming_dataset_schema_show")
            schema = show({"ignore_auth": True}, {"type": package_type})
        except tk.ObjectNotFound:
            return frozenset(fields)
        fields |= {field["field_name"] for field in schema["dataset_fields"]}
    return frozenset(fields)
