"""Facts that ckanext-harvest's report of a job leaves out: warnings, drafts, properties without a field."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import harvest_tables
from ..ckan_adapter.ckan_core import model
from . import known_records
from .messages import code_of, from_column
from .sources import our_names
from .survey import count_unmapped


def separate_codes(report: dict[str, Any]) -> None:
    """Separate the codes of messages in ckanext-harvest's report from their texts.

    Each error gets ``message_code``: the code with its values, or None.
    """
    errors = [error for record in report["object_errors"].values() for error in record["errors"]]
    for error in (*report["gather_errors"], *errors):
        message = from_column(error["message"])
        error |= {"message": str(message), "message_code": code_of(message)}


def warnings_and_drafts(job_id: str) -> dict[str, Any]:
    """Return the warnings and drafts of a job.

    :returns: ``warnings``, a list of dictionaries with ``url`` and ``guid`` of a record and ``messages``,
        sorted by URL; ``warning_count``, the number of all messages; and ``drafts``, the number of
        distributions that are listed and were never readable. Empty for jobs of other harvesters.
    """
    objects, extras = harvest_tables.OBJECT, harvest_tables.OBJECT_EXTRA
    sources = harvest_tables.SOURCE
    reported = extras.alias()
    rows = model.Session.execute(
        sa.select(objects.c.id, objects.c.guid, extras.c.key, extras.c.value)
        .select_from(
            objects.join(extras, extras.c.harvest_object_id == objects.c.id).join(
                sources, sources.c.id == objects.c.harvest_source_id
            )
        )
        .where(
            objects.c.harvest_job_id == job_id,
            extras.c.key.in_(("warnings", "drafts", "dataset_url", "catalog_url")),
            sources.c.type.in_(our_names()),
            sa.exists().where(
                reported.c.harvest_object_id == objects.c.id,
                reported.c.key.in_(("warnings", "drafts")),
            ),
        )
    )
    records: dict[str, dict[str, str]] = {}
    for object_id, guid, key, value in rows:
        records.setdefault(object_id, {"guid": guid})[key] = value
    warnings = [
        {
            "url": record.get("dataset_url") or record.get("catalog_url"),
            "guid": record["guid"],
            "messages": json.loads(record["warnings"]),
        }
        for record in records.values()
        if "warnings" in record
    ]
    return {
        "warnings": sorted(warnings, key=lambda warning: str(warning["url"])),
        "warning_count": sum(len(warning["messages"]) for warning in warnings),
        "drafts": sum(int(record.get("drafts", 0)) for record in records.values()),
    }


def unmapped_properties(job_id: str) -> dict[str, Any]:
    """Return the properties without a field of their own of the current records of a job's source.

    :returns: ``unmapped``, a list of dictionaries with ``name``, ``records`` and ``example``, by name.
        Empty for jobs of other harvesters.
    """
    source = harvest_tables.source_row(harvest_tables.job_row(job_id).source_id)
    is_ours = source.type in our_names()
    properties = known_records.unmapped_properties(source.id) if is_ours else {}
    return {"unmapped": [asdict(counted) for counted in count_unmapped(properties.values())]}
