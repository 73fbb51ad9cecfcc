"""Extras of packages and organizations: a column in CKAN 2.12, rows of another table in CKAN 2.11."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from ckan import model

from .version import IS_2_12


def package_extra(package_ids: Sequence[str], key: str) -> dict[str, str]:
    """Return the values of an extra by package id, without the packages that do not have it."""
    if not package_ids:
        return {}
    if IS_2_12:
        package = model.Package.__table__
        value = package.c.extras.op("->>")(key)
        query = sa.select(package.c.id, value).where(
            package.c.id.in_(package_ids), value.is_not(None)
        )
    else:
        extra = model.PackageExtra.__table__
        query = sa.select(extra.c.package_id, extra.c.value).where(
            extra.c.package_id.in_(package_ids), extra.c.key == key, extra.c.state == "active"
        )
    return {package_id: value for package_id, value in model.Session.execute(query)}


PACKAGE_EXTRAS = (
    "p.extras"
    if IS_2_12
    else "(SELECT jsonb_object_agg(key, value) FROM package_extra"
    " WHERE package_id = p.id AND state = 'active' AND key IS NOT NULL)"
)
"""SQL: all extras of the package ``p`` as a JSON object; null if it has none."""

ORGANIZATION_EXTRA = (
    '(SELECT extras ->> :key FROM "group" WHERE id = p.owner_org)'
    if IS_2_12
    else "(SELECT max(value) FROM group_extra"
    " WHERE group_id = p.owner_org AND key = :key AND state = 'active')"
)
"""SQL: the extra ``:key`` of the organization of the package ``p``."""

ORGANIZATION_EXTRAS = (
    "g.extras"
    if IS_2_12
    else "(SELECT jsonb_object_agg(key, value) FROM group_extra"
    " WHERE group_id = g.id AND state = 'active' AND key IS NOT NULL)"
)
"""SQL: all extras of the organization ``g`` as a JSON object; null if it has none."""


EXTRA, WITH_EXTRA = (
    ("p.extras ->> ({key})", "")
    if IS_2_12
    else (
        "e.value",
        "LEFT JOIN package_extra e ON e.package_id = p.id AND e.key = ({key}) AND e.state = 'active'",
    )
)
"""SQL: an extra of the package ``p``, and the join that it needs; ``{key}`` is SQL for its key."""


def package_extras(package: Any) -> dict[str, str]:
    """Return all extras of a package as the session has them."""
    return dict(package.extras or {})


def write_extras_in_session(
    package: Any, stored: Mapping[str, str], wanted: Mapping[str, str], keys: Sequence[str]
) -> None:
    """Set extras of a package inside the action that is writing the package.

    This function does not commit. The action's own index update includes the extras.

    :param stored: all extras of the package as the database has them in this transaction
    :param wanted: the new extras
    :param keys: the keys to set; those missing in `wanted` are removed
    """
    if IS_2_12:
        kept = {key: value for key, value in stored.items() if key not in keys}
        package.extras = {**kept, **wanted}
        # The session may hold equal values that another transaction has changed since.
        sa.orm.attributes.flag_modified(package, "extras")
        return
    if _is_new(package) and not any(key in stored for key in keys):
        # CKAN 2.11 would index a new package a second time for rows that the session adds to it.
        write_extras({package.id: wanted}, keys)
        model.Session.expire(package, ["_extras"])
        return
    # Without this, rows that the action has just written under these keys would be lost.
    model.Session.expire(package, ["_extras"])
    for key in keys:
        if key in wanted:
            package.extras[key] = wanted[key]
        elif key in package.extras:
            del package.extras[key]


def _is_new(package: Any) -> bool:
    """Decide whether the current transaction creates a package: CKAN notes this when it flushes."""
    cache = getattr(model.Session(), "_object_cache", None)
    return cache is not None and package in cache["new"]


def write_extras(values: Mapping[str, Mapping[str, str]], keys: Sequence[str]) -> None:
    """Set extras of packages by SQL, without hooks, index update and commit.

    :param values: the new extras by package id
    :param keys: the keys to set; those missing in a package's `values` are removed
    """
    rows = json.dumps([{"id": id_, "extras": dict(extras)} for id_, extras in values.items()])
    for statement in _WRITE_EXTRAS:
        model.Session.execute(sa.text(statement), {"rows": rows, "keys": list(keys)})


_ROWS = "jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (id text, extras jsonb)"
_WRITE_EXTRAS = (
    (
        f"""
        UPDATE package p SET extras = (coalesce(p.extras, '{{}}') - CAST(:keys AS text[])) || r.extras
        FROM {_ROWS}
        WHERE p.id = r.id
        """,
    )
    if IS_2_12
    else (
        f"""
        DELETE FROM package_extra e USING {_ROWS}
        WHERE e.package_id = r.id AND e.key = ANY(:keys)
        AND (e.state IS DISTINCT FROM 'active' OR r.extras ->> e.key IS DISTINCT FROM e.value)
        """,
        f"""
        INSERT INTO package_extra (id, package_id, key, value, state)
        SELECT md5(r.id || x.key)::uuid::text, r.id, x.key, x.value, 'active'
        FROM {_ROWS} CROSS JOIN jsonb_each_text(r.extras) x
        WHERE x.key = ANY(:keys) AND EXISTS (SELECT 1 FROM package p WHERE p.id = r.id)
        AND NOT EXISTS (
            SELECT 1 FROM package_extra e WHERE e.package_id = r.id AND e.key = x.key
        )
        """,
    )
)


def packages_with_extras(
    keys: Sequence[str],
    *,
    types: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    not_judged_with: str | None = None,
) -> list[tuple[str, str, dict[str, str]]]:
    """Return the packages that have an extra under any of the keys, sorted by id.

    :param types: only packages of these types that are not deleted
    :param ids: only these packages
    :param not_judged_with: only packages without extras of this extension under names with this prefix
    :returns: of each its id, its type and these extras
    """
    conditions = {
        "types": "p.type = ANY(:types) AND p.state <> 'deleted'",
        "ids": "p.id = ANY(:ids)",
        "prefix": "NOT EXISTS (SELECT 1 FROM freshness_dataset d"
        " WHERE d.package_id = p.id AND d.field_prefix = :prefix)",
    }
    given = {"types": types, "ids": ids, "prefix": not_judged_with}
    values = {name: value for name, value in given.items() if value is not None}
    where = " AND ".join(["true", *(conditions[name] for name in values)])
    statement = sa.text(_WITH_EXTRAS.format(where=where))
    rows = model.Session.execute(statement, {"keys": list(keys), **values})
    return [(package_id, package_type, extras) for package_id, package_type, extras in rows]


_WITH_EXTRAS = (
    """
    SELECT p.id, p.type, (
        SELECT jsonb_object_agg(x.key, coalesce(x.value, '')) FROM jsonb_each_text(p.extras) x
        WHERE x.key = ANY(:keys)
    )
    FROM package p WHERE p.extras ?| CAST(:keys AS text[]) AND {where} ORDER BY p.id"""
    if IS_2_12
    else """
    SELECT p.id, p.type, jsonb_object_agg(e.key, coalesce(e.value, ''))
    FROM package_extra e JOIN package p ON p.id = e.package_id
    WHERE e.key = ANY(:keys) AND e.state = 'active' AND {where} GROUP BY p.id ORDER BY p.id"""
)


_TRUE = "IN ('true', 'yes', 'on', 't', 'y', '1')"


def packages_with_true_extra(keys: str) -> str:
    """Return SQL that selects the ids of packages, as ``package_id``, for which any of some extras is true.

    :param keys: the name of the SQL parameter with the extras' keys
    """
    return f"SELECT package_id FROM ({packages_with_true_extras(keys)}) flags WHERE {keys}"


def packages_with_true_extras(*names: str) -> str:
    """Return SQL that selects ``package_id``, and for each of some lists of extras whether any of them is true.

    All packages are read, once. Those that have none of the extras are left out.

    :param names: the names of the SQL parameters with the extras' keys, and of the columns
    """
    if IS_2_12:
        columns = ", ".join(
            f"""EXISTS (
                SELECT 1 FROM jsonb_each_text(extras) x
                WHERE x.key = ANY(:{name}) AND lower(btrim(x.value)) {_TRUE}
            ) AS {name}"""
            for name in names
        )
        keys = " || ".join(f"CAST(:{name} AS text[])" for name in names)
        return f"SELECT id AS package_id, {columns} FROM package WHERE extras ?| ({keys})"
    columns = ", ".join(
        f"bool_or(key = ANY(:{name}) AND lower(btrim(value)) {_TRUE}) AS {name}" for name in names
    )
    return f"""
    SELECT package_id, {columns} FROM package_extra WHERE state = 'active'
    AND ({" OR ".join(f"key = ANY(:{name})" for name in names)}) GROUP BY package_id"""
