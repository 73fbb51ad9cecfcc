"""The names of this site's extras, Solr fields and facet."""

from __future__ import annotations

import ckan.plugins.toolkit as tk

from ..field_names import FieldNames, with_prefix

OPTION = "ckanext.freshness.field_prefix"


def site_names() -> FieldNames:
    """Return the names with the site's prefix. Without it, they may be those of the site's own fields."""
    return with_prefix(str(tk.config.get(OPTION) or ""))
