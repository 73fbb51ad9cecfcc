"""What ckanext-harvest's report of a job does not tell: warnings, drafts, properties without a field."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import harvest_tables, model
from . import unmapped
from .source_types import our_names


def warnings_and_drafts(job_id: str) -> dict[str, Any]:
    """Return what a job found that was no error.

    :returns: ``warnings``, a list of dictionaries with ``url`` and ``guid`` of a record and ``messages``,
        sorted by URL; ``warning_count``, the number of all messages; and ``drafts``, the number of
        distributions that are listed and were never readable. Empty for jobs of other harvesters.
    """
    objects = harvest_tables.OBJECT
    extras = harvest_tables.OBJECT_EXTRA
    told = extras.alias()
    sources = harvest_tables.SOURCE
    keys = ("warnings", "drafts", "dataset_url", "catalog_url")
    rows = model.Session.execute(
        sa.select(objects.c.id, objects.c.guid, extras.c.key, extras.c.value)
        .select_from(
            objects.join(extras, extras.c.harvest_object_id == objects.c.id).join(
                sources, sources.c.id == objects.c.harvest_source_id
            )
        )
        .where(
            objects.c.harvest_job_id == job_id,
            extras.c.key.in_(keys),
            sources.c.type.in_(our_names()),
            sa.exists().where(
                told.c.harvest_object_id == objects.c.id, told.c.key.in_(("warnings", "drafts"))
            ),
        )
    )
    found: dict[str, dict[str, str]] = {}
    for object_id, guid, key, value in rows:
        found.setdefault(object_id, {"guid": guid})[key] = value
    warnings = [
        {
            "url": one.get("dataset_url") or one.get("catalog_url"),
            "guid": one["guid"],
            "messages": json.loads(one["warnings"]),
        }
        for one in found.values()
        if "warnings" in one
    ]
    return {
        "warnings": sorted(warnings, key=lambda one: str(one["url"])),
        "warning_count": sum(len(one["messages"]) for one in warnings),
        "drafts": sum(int(one.get("drafts", 0)) for one in found.values()),
    }


def unmapped_properties(job_id: str) -> dict[str, Any]:
    """Return the properties of the current records of a job's source that no field has.

    :returns: ``unmapped``, a list of dictionaries with ``name``, ``records`` and ``example``, by name. Empty
        for jobs of other harvesters.
    """
    source = harvest_tables.source_row(harvest_tables.job_row(job_id).source_id)
    records = unmapped.of_current_objects(source.id) if source.type in our_names() else {}
    return {"unmapped": [asdict(one) for one in unmapped.count(records.values())]}
