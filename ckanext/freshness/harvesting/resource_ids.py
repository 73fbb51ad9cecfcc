"""Ids of resources: a distribution that comes back gets the id that its resource had.

CKAN removes the row of a resource for good some time after the resource was removed, so that it cannot be
asked for the id. Ids are therefore made from the dataset's id and the distribution's URI. Those of
resources that were there before, made by another harvester, are remembered when they go.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import harvest_tables, model
from .object_writer import RESOURCE_IDS
from .url_spelling import loose_spelling

_RESOURCES = uuid.UUID("9e0a8f4e-53a4-4d5f-8d3f-6a5f0c8b3d15")
"""Namespace of the ids."""


def identified(
    package_id: str, resources: Iterable[Mapping[str, Any]], remembered: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the resources of a dataset, with an id for each that has none.

    :param remembered: ids of earlier resources by :func:`key_of`.
    """
    found = [dict(one) for one in resources]
    taken = {one["id"] for one in found if one.get("id")}
    for one in found:
        key = key_of(one)
        if one.get("id") or not key:
            continue
        for resource_id in (remembered.get(key), made_id(package_id, key)):
            if resource_id and resource_id not in taken:
                one["id"] = resource_id
                taken.add(resource_id)
                break
    return found


def gone(
    package_id: str, before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]
) -> dict[str, str]:
    """Return the ids to remember of resources that a dataset no longer has, by :func:`key_of`."""
    kept = {one.get("id") for one in after}
    return {
        key: one["id"]
        for one in before
        if one["id"] not in kept and (key := key_of(one)) and one["id"] != made_id(package_id, key)
    }


def key_of(resource: Mapping[str, Any]) -> str:
    """Return what a resource is recognised by: its distribution's URI, or else its URL."""
    return loose_spelling(resource.get("uri") or resource.get("url") or "")


def made_id(package_id: str, key: str) -> str:
    """Return the id of a resource that has had no other."""
    return str(uuid.uuid5(_RESOURCES, f"{package_id} {key}"))


def remembered_ids(package_id: str) -> dict[str, str]:
    """Return the ids that earlier imports of a dataset have remembered."""
    object_, extra = harvest_tables.OBJECT, harvest_tables.OBJECT_EXTRA
    rows: Sequence[str] = (
        model.Session.execute(
            sa.select(extra.c.value)
            .select_from(extra.join(object_, object_.c.id == extra.c.harvest_object_id))
            .where(object_.c.package_id == package_id, extra.c.key == RESOURCE_IDS)
        )
        .scalars()
        .all()
    )
    found: dict[str, str] = {}
    for text in rows:
        found |= json.loads(text)
    return found
