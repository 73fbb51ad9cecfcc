"""Writes the results of checks into resources' own fields, by SQL.

Calls no hooks, and changes neither activities nor ``metadata_modified``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from ..checking import fields
from ..checking.results import CheckResult
from ..ckan_adapter.core import model
from .snapshot import ResourceSnapshot


def write_found(written: Iterable[tuple[CheckResult, Any]], allowed: Collection[str]) -> list[str]:
    """Write the results of checks into the fields of links; nothing is committed.

    :param written: the results that :func:`..checking.result_writer.write` has written in this transaction
    :param allowed: the fields that may be written
    :returns: the ids of the packages whose documents have changed
    """
    changes: dict[str, dict[str, Any]] = {}
    packages = set()
    for result, row in written:
        if row.url_type == "upload":
            continue
        has = fields.stored(row.last_modified, row.size, row.mimetype, row.hash)
        if wanted := fields.after_check(has, row.wrote, fields.found(result), allowed):
            changes[result.resource.resource_id] = wanted
            packages.add(result.resource.package_id)
    if changes:
        _write(changes)
        model.Session.execute(sa.text(_REMEMBER), {"rows": _rows(changes)})
    return sorted(packages)


def restore_in_session(resources: Iterable[ResourceSnapshot], allowed: Collection[str]) -> None:
    """Write values of earlier checks again that an action has just emptied, so that it indexes them.

    :param resources: the resources of the package that the action writes
    :param allowed: the fields that may be written
    """
    changes = {}
    for resource in resources:
        if resource.wrote and resource.url_type != "upload":
            wrote = json.loads(resource.wrote)
            if missing := fields.again(fields.stored(*resource.fields), wrote, allowed):
                changes[resource.id] = missing
    if not changes:
        return
    _write(changes)
    for resource_id, values in changes.items():
        resource = model.Session.get(model.Resource, resource_id)
        if resource is not None:
            model.Session.expire(resource, list(values))


def packages_with_found() -> list[str]:
    """Return the ids of the packages with links whose fields still have values of checks."""
    statement = (
        f"SELECT DISTINCT r.package_id FROM {_WITH_FOUND} AND ({' OR '.join(_IS_OURS.values())})"
    )
    return list(model.Session.execute(sa.text(statement)).scalars())


def take_out(package_ids: Iterable[str]) -> None:
    """Empty the fields of the packages' links that still have values of checks; nothing is committed."""
    emptied = ", ".join(
        f"{name} = CASE WHEN {is_ours} THEN {_EMPTY[name]} ELSE r.{name} END"
        for name, is_ours in _IS_OURS.items()
    )
    statement = f"""
    UPDATE resource SET {emptied} FROM {_WITH_FOUND} AND resource.id = r.id
    AND r.package_id = ANY(:ids) AND ({" OR ".join(_IS_OURS.values())})"""
    model.Session.execute(sa.text(statement), {"ids": list(package_ids)})


def _write(changes: Mapping[str, Mapping[str, Any]]) -> None:
    model.Session.execute(sa.text(_WRITE), {"rows": _rows(changes)})


def _rows(changes: Mapping[str, Mapping[str, Any]]) -> str:
    return json.dumps([{"id": id_, "fields": values} for id_, values in changes.items()])


_RECORDS = "jsonb_to_recordset(CAST(:rows AS jsonb)) AS f (id text, fields jsonb)"
_WRITE = f"""
UPDATE resource r SET
    last_modified = coalesce(CAST(f.fields ->> 'last_modified' AS timestamp), r.last_modified),
    size = coalesce(CAST(f.fields ->> 'size' AS bigint), r.size),
    mimetype = coalesce(f.fields ->> 'mimetype', r.mimetype),
    hash = coalesce(f.fields ->> 'hash', r.hash)
FROM {_RECORDS} WHERE r.id = f.id"""
_REMEMBER = f"""
UPDATE freshness_check c SET wrote = c.wrote || f.fields FROM {_RECORDS} WHERE c.resource_id = f.id"""

_WITH_FOUND = """resource r JOIN freshness_check c ON c.resource_id = r.id
WHERE c.wrote <> '{}' AND r.url_type IS DISTINCT FROM 'upload'"""
"""SQL: the links ``r`` for which a check ``c`` has filled in fields."""
_TYPES = {"last_modified": "timestamp", "size": "bigint", "mimetype": "text", "hash": "text"}
_IS_OURS = {
    name: f"coalesce(r.{name} = CAST({fields.OURS.format(name)} AS {type_}), false)"
    for name, type_ in _TYPES.items()
}
"""SQL: whether a field still has the value of a check."""
_EMPTY = dict.fromkeys(_TYPES, "NULL") | {"hash": "''"}
"""SQL: the values of empty fields. CKAN's empty hash is an empty text."""
