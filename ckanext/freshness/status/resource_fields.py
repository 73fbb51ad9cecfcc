"""What the checker knows of resources, in their own fields: written by SQL, and by nobody else.

Neither hooks, nor activities, nor ``metadata_modified``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from ..checking import fields
from ..checking.result_writer import WrittenResult
from ..ckan_adapter import model


def write_found(written: Iterable[WrittenResult], allowed: Collection[str]) -> list[str]:
    """Write what visits found into the fields of links; nothing is committed.

    To be called in the transaction of :func:`..checking.recording.write`, with what that has written.

    :param allowed: the fields that may be written.
    :returns: the ids of packages whose documents say something else now.
    """
    changes: dict[str, dict[str, Any]] = {}
    packages = set()
    for finding, url_type, last_modified, size, mimetype, hash_, wrote, _ in written:
        if finding.handed_to is not None or url_type == "upload":
            continue
        has = fields.stored(last_modified, size, mimetype, hash_)
        said = fields.found(finding)
        # Nearly always, but at the first visit.
        if said.items() <= has.items():
            continue
        if wanted := fields.after_visit(has, json.loads(wrote or "{}"), said, allowed):
            changes[finding.visit.resource_id] = wanted
            packages.add(finding.visit.package_id)
    if changes:
        rows = {"rows": _rows(changes)}
        model.Session.execute(sa.text(_WRITE), rows)
        model.Session.execute(sa.text(_REMEMBER), rows)
    return sorted(packages)


def write(changes: Mapping[str, Mapping[str, Any]]) -> None:
    """Write values into resources' fields, by resource id."""
    model.Session.execute(sa.text(_WRITE), {"rows": _rows(changes)})


def write_in_session(changes: Mapping[str, Mapping[str, Any]]) -> None:
    """The same while an action writes the resources' package, so that it indexes them so."""
    write(changes)
    for resource_id, values in changes.items():
        resource = model.Session.get(model.Resource, resource_id)
        if resource is not None:
            model.Session.expire(resource, list(values))


def _rows(changes: Mapping[str, Mapping[str, Any]]) -> str:
    return json.dumps([{"id": one, "fields": dict(values)} for one, values in changes.items()])


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
