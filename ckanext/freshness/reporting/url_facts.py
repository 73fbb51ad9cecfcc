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
from ..ckan_adapter import database
from ..ckan_adapter.core import model
from ..dates import utc_text
from ..model.runs import CYCLE_RESULTS
from . import link_checks

KEY = "freshness_check"

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


def show(packages: Sequence[dict[str, Any]], context: Mapping[str, Any] | None = None) -> None:
    """Add the facts about each resource's URL, with one query for all of them.

    Packages for the index and for activities get no facts, since these are true only at the moment.

    :param context: the context of ``package_show``
    """
    resources = {
        resource["id"]: resource
        for package in packages
        for resource in package.get("resources") or ()
        if isinstance(resource, dict) and "id" in resource
    }
    for resource in resources.values():
        resource.pop(KEY, None)
    if resources and not _is_writing.get() and _is_for_reading(context or {}):
        _add_facts([package.get("id") for package in packages], resources)


@database.skip_without_tables
def _add_facts(package_ids: Sequence[str | None], resources: Mapping[str, dict[str, Any]]) -> None:
    for resource_id, facts in _facts(package_ids, resources).items():
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
        if isinstance(resource, dict) and KEY in resource:
            yield {key: value for key, value in resource.items() if key != KEY}
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


def _facts(
    package_ids: Sequence[str | None], resources: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {"link": {}, "copy": {}, "cycle": {}}
    # The connection itself saves a sixth of the time.
    for row in model.Session.connection().execute(_FACTS, {"packages": package_ids}).all():
        if row.id in resources:
            rows[row.part][row.id] = row
    # Update cycles check some files.
    results = _current(rows["link"], resources) | rows["cycle"]
    copies = {id: link_checks.copy_shown(row) for id, row in rows["copy"].items()}
    rule = settings.broken_rule() if any(row.failing_since for row in results.values()) else None
    return {
        id: {
            **_result(results.get(id), rule),
            **(copies.get(id) or dict.fromkeys(link_checks.COPY_KEYS)),
        }
        for id in results.keys() | copies.keys()
    }


def _result(row: Any, rule: settings.BrokenRule | None) -> dict[str, Any]:
    if row is None:
        return dict.fromkeys(("checked_at", "outcome", "broken_since"))
    is_broken = rule is not None and link_checks.is_broken(row, rule)
    return {
        "checked_at": utc_text(row.tried_at),
        "outcome": row.outcome,
        "broken_since": utc_text(row.failing_since) if is_broken else None,
    }


def _current(rows: Mapping[str, Any], resources: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the results without those for an earlier URL."""
    # A URL can differ because a plugin shows another one than CKAN stores.
    differing = [id for id, row in rows.items() if row.url != resources[id].get("url")]
    stored = dict(map(tuple, model.Session.execute(_URLS, {"ids": differing}))) if differing else {}
    return {id: row for id, row in rows.items() if stored.get(id, row.url) == row.url}


# Each page of a dataset waits for these. PostgreSQL plans a join for longer than it takes to run all parts, and
# looks at each value of an array: packages are fewer than resources. SQLAlchemy compiles a text anew that is
# not a constant, and describes the columns of each result anew if the text does not name them.
_FACTS = sa.text(f"""
SELECT 'link' AS part, resource_id AS id, package_id, url, tried_at,
    attempts -> 0 ->> 'outcome' AS outcome, failing_since, failed_at, failures,
    NULL AS zip_key, CAST(NULL AS timestamp) AS verified_at, CAST(NULL AS bigint) AS copy_size
FROM freshness_check WHERE package_id = ANY(:packages) AND tried_at IS NOT NULL
UNION ALL
SELECT 'copy', c.resource_id, c.package_id, NULL, NULL, NULL, NULL, NULL, NULL, {link_checks.COPY_COLUMNS}
FROM freshness_copy c WHERE c.package_id = ANY(:packages) AND c.key IS NOT NULL
UNION ALL
SELECT 'cycle', i.resource_id, NULL, NULL, i.tried_at, i.outcome, i.failing_since, i.tried_at, i.failures,
    NULL, NULL, NULL
FROM ({CYCLE_RESULTS}) i""").columns(
    *map(sa.column, ("part", "id", "package_id", "url", "tried_at", "outcome")),
    *map(sa.column, ("failing_since", "failed_at", "failures")),
    *map(sa.column, ("zip_key", "verified_at", "copy_size")),
)
_URLS = sa.text("SELECT id, url FROM resource WHERE id = ANY(:ids)")
