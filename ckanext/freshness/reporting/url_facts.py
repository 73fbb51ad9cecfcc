"""Facts about the URL of each resource, which CKAN's actions show under one key.

They are read on each call and never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    """Add the facts about each resource's URL, with a few queries for all of them.

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
    for resource_id, facts in _facts(resources).items():
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


def _facts(resources: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    ids = {"ids": list(resources)}
    run = model.Session.execute
    copies = {row.id: copy_urls.shown(row) for row in run(_COPIES, ids)}
    results = _current(run(_CHECKS, ids).all(), resources)
    # Update cycles check the files of IATI registries.
    results |= {row.id: row for row in run(_IATI_CHECKS, ids)}
    return {
        resource_id: {
            **_result(results.get(resource_id)),
            **(copies.get(resource_id) or dict.fromkeys(copy_urls.KEYS)),
        }
        for resource_id in results.keys() | copies.keys()
    }


def _result(row: Any) -> dict[str, Any]:
    if row is None:
        return dict.fromkeys(("checked_at", "outcome", "broken_since"))
    is_broken = row.failing_since and link_checks.is_broken(row, settings.checks())
    return {
        "checked_at": utc_text(row.tried_at),
        "outcome": row.outcome,
        "broken_since": utc_text(row.failing_since) if is_broken else None,
    }


def _current(rows: Sequence[Any], resources: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the results by resource id, without those for an earlier URL."""
    # A URL can differ because a plugin shows another one than CKAN stores.
    differing = [row.id for row in rows if row.url != resources[row.id].get("url")]
    stored = dict(map(tuple, model.Session.execute(_URLS, {"ids": differing}))) if differing else {}
    return {row.id: row for row in rows if stored.get(row.id, row.url) == row.url}


# Each page of a dataset waits for these. One statement with joins would take PostgreSQL longer to plan than
# all of these take together.
_CHECKS = sa.text("""
SELECT resource_id AS id, url, tried_at, attempts -> 0 ->> 'outcome' AS outcome, failing_since, failures
FROM freshness_check WHERE resource_id = ANY(:ids) AND tried_at IS NOT NULL""")
_URLS = sa.text("SELECT id, url FROM resource WHERE id = ANY(:ids)")
_COPIES = sa.text(f"""
SELECT c.resource_id AS id, c.package_id, {copy_urls.COLUMNS} FROM freshness_copy c
WHERE c.resource_id = ANY(:ids) AND c.key IS NOT NULL""")
_IATI_CHECKS = sa.text("""
SELECT resource_id AS id, failing_since, failures,
    CAST(attempts -> 0 ->> 'datetime' AS timestamptz) AT TIME ZONE 'UTC' AS tried_at,
    CASE WHEN CAST(attempts -> 0 ->> 'error_occurred' AS boolean) THEN 'error'
        WHEN attempts -> 0 ->> 'method' = 'GET' THEN 'downloaded' ELSE 'verified' END AS outcome
FROM freshness_iati WHERE resource_id = ANY(:ids) AND attempts <> '[]'""")
