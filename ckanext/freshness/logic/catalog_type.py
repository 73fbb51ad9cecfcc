"""The package type ``catalog``: ours on sites where nobody else has one."""

from __future__ import annotations

import re
from typing import Any

import ckan.plugins as p

CATALOG = "catalog"

_ASKED_FOR = re.compile(r'\bdataset_type:\s*(?:\([^()]*)?"?catalog\b')


def types_of(form: p.IDatasetForm) -> list[str]:
    """The package types that our form has to serve.

    None where another plugin has the type, such as ckanext-scheming with a schema for it: CKAN does
    not start with two.
    """
    others = (one for one in p.PluginImplementations(p.IDatasetForm) if one is not form)
    return [] if any(CATALOG in one.package_types() for one in others) else [CATALOG]


def only_if_asked_for(search_params: dict[str, Any]) -> dict[str, Any]:
    """Leave catalogs out of a search that does not name their type, as harvest sources are left out.

    CKAN's dataset page would otherwise list them among the datasets (``ckan.search.show_all_types``).
    """
    words = [search_params.get("q"), search_params.get("fq"), *(search_params.get("fq_list") or ())]
    if not any(_ASKED_FOR.search(one) for one in words if isinstance(one, str)):
        search_params["fq"] = f"{search_params.get('fq') or ''} -dataset_type:{CATALOG}".strip()
    return search_params
