"""The values that checks write into a resource's own fields: last_modified, size, mimetype and hash.

A check fills in fields that are empty or proved wrong, and only for links. What it wrote is stored under the
fields' names, for two reasons: it is never mistaken for the publisher's word, and it is restored when another
update empties the field. What was written while the resource had another URL is kept under the names with
``old_`` in front, for the first reason alone.

Values are as in JSON: moments are text in UTC without zone, which sorts by time. The fields are written by SQL,
which calls no hooks and changes neither activities nor ``metadata_modified``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter.core import model
from ..dates import utc
from .decisions import CheckResult, Outcome

FIELDS = ("last_modified", "size", "mimetype", "hash")
"""Columns of CKAN's table ``resource``."""

Fields = Mapping[str, Any]

_SAYS_NOTHING = frozenset(
    {"application/octet-stream", "binary/octet-stream", "application/x-download", "text/plain"}
)
"""Media types that servers send for files that they do not know."""


def stored(*values: Any) -> dict[str, Any]:
    """Return a resource's fields for comparison, without empty ones.

    :param values: of :data:`FIELDS`
    """
    as_json = (one.isoformat() if isinstance(one, datetime) else one for one in values)
    fields = zip(FIELDS, as_json, strict=True)
    return {name: value for name, value in fields if value not in (None, "")}


def found(result: CheckResult) -> dict[str, Any]:
    """Return the values of the fields by a check, as far as it found them; none if a page came."""
    if result.outcome is Outcome.PAGE:
        return {}
    dates = [date for date in (result.modified, result.changed_at) if date is not None]
    values = {
        "last_modified": utc(max(dates)).isoformat(timespec="seconds") if dates else None,
        "size": result.size,
        "mimetype": None if result.mimetype in _SAYS_NOTHING else result.mimetype,
        "hash": None if result.known.outdated else result.known.hash,
    }
    return {name: value for name, value in values.items() if value is not None}


def after_check(
    has: Fields, wrote: Fields, said: Fields, allowed: Collection[str]
) -> dict[str, Any]:
    """Return what to write into a resource's fields after a check.

    :param has: the resource's fields, see :func:`stored`
    :param wrote: what earlier checks wrote into them
    :param said: the values by the check, see :func:`found`
    :param allowed: the fields that may be written
    """
    return {
        name: value
        for name, value in said.items()
        if name in allowed
        and has.get(name) != value
        and (name not in has or has[name] == ours(wrote, name) or _is_wrong(name, has[name], value))
    }


def again(has: Fields, wrote: Fields, allowed: Collection[str]) -> dict[str, Any]:
    """Return what to write into a resource's fields again after another update emptied them."""
    return {
        name: wrote[name]
        for name in FIELDS
        if name in allowed
        and name in wrote
        and (name not in has or (name == "last_modified" and has[name] < wrote[name]))
    }


def ours(wrote: Fields, name: str) -> Any:
    """Return the value of a check that a field may have; None if there is none."""
    return wrote.get(name, wrote.get(f"old_{name}"))


OURS = "coalesce(c.wrote ->> '{0}', c.wrote ->> 'old_{0}')"
"""SQL of :func:`ours`, as text."""


def _is_wrong(name: str, has: Any, said: Any) -> bool:
    """Decide whether a field's value is wrong if a check found another one."""
    # The server may be wrong about the media type, and the publisher's hash may be of another kind.
    return name == "size" or (name == "last_modified" and has < said)


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
        has = stored(row.last_modified, row.size, row.mimetype, row.hash)
        if wanted := after_check(has, row.wrote, found(result), allowed):
            changes[result.resource.resource_id] = wanted
            packages.add(result.resource.package_id)
    if changes:
        _write(changes)
        model.Session.execute(sa.text(_REMEMBER), {"rows": _rows(changes)})
    return sorted(packages)


def restore_in_session(resources: Iterable[Any], allowed: Collection[str]) -> None:
    """Write values of earlier checks again that an action has just emptied, so that it indexes them.

    :param resources: the snapshots of the resources of the package that the action writes
    :param allowed: the fields that may be written
    """
    changes = {}
    for resource in resources:
        if resource.wrote and resource.url_type != "upload":
            wrote = json.loads(resource.wrote)
            if missing := again(stored(*resource.fields), wrote, allowed):
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
    name: f"coalesce(r.{name} = CAST({OURS.format(name)} AS {type_}), false)"
    for name, type_ in _TYPES.items()
}
"""SQL: whether a field still has the value of a check."""
_EMPTY = dict.fromkeys(_TYPES, "NULL") | {"hash": "''"}
"""SQL: the values of empty fields. CKAN's empty hash is an empty text."""
