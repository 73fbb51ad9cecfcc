"""The package type ``catalog``, which is ours unless another plugin has one."""

from __future__ import annotations

import re
from typing import Any

import ckan.plugins as p

CATALOG = "catalog"

_ASKED_FOR = re.compile(r'\bdataset_type:\s*(?:\([^()]*)?"?catalog\b')


def types_of(form: p.IDatasetForm) -> list[str]:
    """Return the package types that our form serves.

    Empty if another plugin has the type, such as ckanext-scheming with a schema for it: CKAN does not start
    with two.
    """
    others = (other for other in p.PluginImplementations(p.IDatasetForm) if other is not form)
    return [] if any(CATALOG in other.package_types() for other in others) else [CATALOG]


def only_if_asked_for(search_params: dict[str, Any]) -> dict[str, Any]:
    """Exclude catalogs from a search that does not name their type, as CKAN excludes harvest sources.

    Otherwise CKAN's dataset page would list them among the datasets (``ckan.search.show_all_types``).
    """
    queries = [
        search_params.get("q"),
        search_params.get("fq"),
        *(search_params.get("fq_list") or ()),
    ]
    if not any(_ASKED_FOR.search(query) for query in queries if isinstance(query, str)):
        search_params["fq"] = f"{search_params.get('fq') or ''} -dataset_type:{CATALOG}".strip()
    return search_params
