"""Facts about the URL of each resource, which CKAN's actions show under one key.

They are read on each call and never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..ckan_adapter import model, tables
from ..dates import utc_text
from . import copy_urls, link_checks

KEY = "freshness_check"

_KEYS = (KEY, copy_urls.CACHED_URL, copy_urls.CACHED_ZIP_URL)
"""Keys of a resource that are never stored. Earlier versions showed the URLs of copies as separate keys."""

_is_writing: ContextVar[bool] = ContextVar("freshness_is_writing", default=False)


@contextmanager
def hidden() -> Iterator[None]:
    """Show no facts within this block.

    CKAN 2.12 compares the package it writes with the result of ``package_show``. The facts would look like
    a change.
    """
    token = _is_writing.set(True)
    try:
        yield
    finally:
        _is_writing.reset(token)


def show(packages: Iterable[dict[str, Any]], context: Mapping[str, Any] | None = None) -> None:
    """Add the facts about each resource's URL, with one query.

    Packages for the index and for activities get no facts, since these are true only at the moment.

    :param context: the context of ``package_show``
    """
    resources = {
        resource["id"]: resource
        for package in packages
        for resource in package.get("resources") or ()
        if isinstance(resource, dict) and "id" in resource
    }
    # Documents that earlier versions indexed contain the keys.
    for resource in resources.values():
        for key in _KEYS:
            resource.pop(key, None)
    if resources and not _is_writing.get() and _is_for_reading(context or {}):
        _add_facts(resources)


@tables.optional_reading
def _add_facts(resources: Mapping[str, dict[str, Any]]) -> None:
    for resource_id, facts in _facts(list(resources)).items():
        resources[resource_id][KEY] = facts


def _is_for_reading(context: Mapping[str, Any]) -> bool:
    # Index updates switch validation off. The activity plugin sets for_view to False.
    return context.get("validate", True) and context.get("for_view") is not False


def without(data_dict: Mapping[str, Any]) -> dict[str, Any]:
    """Return a package without the facts, which callers send back with the package that they have read."""
    resources = data_dict.get("resources")
    if not isinstance(resources, list):
        return dict(data_dict)
    return {**data_dict, "resources": list(_without(resources))}


def _without(resources: Iterable[Any]) -> Iterator[Any]:
    for resource in resources:
        if isinstance(resource, dict) and not resource.keys().isdisjoint(_KEYS):
            yield {key: value for key, value in resource.items() if key not in _KEYS}
        else:
            yield resource


def write(
    original: Callable[..., Any], context: dict[str, Any], data_dict: Mapping[str, Any]
) -> Any:
    """Call an action that writes a package, without the facts in any of its arguments."""
    if context.get("original_package"):
        context["original_package"] = without(context["original_package"])
    with hidden():
        return original(context, without(data_dict))


def _facts(resource_ids: list[str]) -> dict[str, dict[str, Any]]:
    checks = settings.checks()
    rows = model.Session.execute(sa.text(_FACTS), {"ids": resource_ids})
    return {
        row.id: {
            "checked_at": utc_text(row.tried_at),
            "outcome": row.outcome,
            "broken_since": utc_text(row.failing_since)
            if link_checks.is_broken(row, checks)
            else None,
            **(copy_urls.shown(row) if row.has_copy else dict.fromkeys(copy_urls.KEYS)),
        }
        for row in rows
    }


# Results for another URL are left out. Update cycles check the files of IATI registries.
_FACTS = f"""
SELECT r.id, r.package_id, c.key IS NOT NULL AS has_copy, {copy_urls.COLUMNS}, f.*
FROM resource r
LEFT JOIN freshness_copy c ON c.resource_id = r.id AND c.key IS NOT NULL
LEFT JOIN LATERAL (
    SELECT CAST(i.attempts -> 0 ->> 'datetime' AS timestamptz) AT TIME ZONE 'UTC' AS tried_at,
        CASE WHEN CAST(i.attempts -> 0 ->> 'error_occurred' AS boolean) THEN 'error'
            WHEN i.attempts -> 0 ->> 'method' = 'GET' THEN 'downloaded' ELSE 'verified' END AS outcome,
        i.failing_since, i.failures
    FROM freshness_iati i WHERE i.resource_id = r.id AND i.attempts <> '[]'
    UNION ALL
    SELECT k.tried_at, k.attempts -> 0 ->> 'outcome', k.failing_since, k.failures
    FROM freshness_check k WHERE k.resource_id = r.id AND k.url = r.url
    LIMIT 1
) f ON true
WHERE r.id = ANY(:ids) AND (c.key IS NOT NULL OR f.tried_at IS NOT NULL)"""
