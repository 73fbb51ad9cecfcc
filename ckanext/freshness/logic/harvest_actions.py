"""Actions of ckanext-harvest that this extension wraps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ckan.plugins.toolkit as tk

from ..ckan_adapter import IS_2_12, reindex_source
from ..harvesting import objects


def chained() -> dict[str, Callable[..., Any]]:
    """The wrapped actions by name; only for sites where ckanext-harvest's plugin is enabled."""
    actions: dict[str, Callable[..., Any]] = {"harvest_jobs_run": harvest_jobs_run}
    if IS_2_12:
        actions["harvest_source_reindex"] = harvest_source_reindex
    return actions


@tk.chained_action
def harvest_jobs_run(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> Any:
    """Also take up records that were left behind when the rest of their page was given up."""
    tk.check_access("harvest_jobs_run", context, data_dict)
    objects.wake_orphans()
    return original(context, data_dict)


@tk.chained_action
@tk.side_effect_free
def harvest_source_reindex(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> bool:
    """Index a harvest source so that ``harvest_source_show`` keeps its type and configuration.

    Takes the place of ckanext-harvest 1.6.3's own on CKAN 2.12; see
    :func:`ckanext.freshness.ckan_adapter.reindex_source`.
    """
    source_id = tk.get_or_bust(data_dict, "id")
    tk.check_access("harvest_source_reindex", context, data_dict)
    reindex_source(source_id, defer_commit=bool(context.get("defer_commit")))
    return True
