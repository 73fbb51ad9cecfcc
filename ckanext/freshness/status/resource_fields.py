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
from ..ckan_adapter import model
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
        if result.handed_to is not None or row.url_type == "upload":
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
