"""Facts that ckanext-harvest's report of a job leaves out: warnings, drafts, properties without a field.

Those that belong to no harvest object have a table of their own.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import harvest_tables
from ..ckan_adapter.ckan_core import model
from ..model import HarvestReport
from . import known_records
from .legal_values import clean_all
from .messages import code_of, from_column
from .sources import our_names
from .survey import Survey, count_unmapped

_table = HarvestReport.__table__


def separate_codes(report: dict[str, Any]) -> None:
    """Separate the codes of messages in ckanext-harvest's report from their texts.

    Each error gets ``message_code``: the code with its values, or None.
    """
    errors = [error for record in report["object_errors"].values() for error in record["errors"]]
    for error in (*report["gather_errors"], *errors):
        message = from_column(error["message"])
        error |= {"message": str(message), "message_code": code_of(message)}


def keep(source_id: str, job_id: str, found: Survey) -> None:
    """Keep what a job found that belongs to no harvest object. No commit."""
    jobs = sa.select(harvest_tables.JOB.c.id)
    model.Session.execute(
        sa.delete(_table).where(
            _table.c.source_id == source_id,
            sa.or_(_table.c.job_id == job_id, _table.c.job_id.not_in(jobs)),
        )
    )
    model.Session.execute(
        sa.insert(_table).values(
            job_id=job_id,
            source_id=source_id,
            drafts=found.drafts,
            warnings=clean_all(list(found.source_warnings)),
            not_harvested=[
                clean_all({"kind": kind, **asdict(one)})
                for kind, one in sorted(found.not_harvested.items())
            ],
        )
    )


def of_no_field(job_id: str) -> dict[str, Any]:
    """Return what a job found that belongs to no field of a dataset.

    :returns: ``warnings``, a list of dictionaries with ``url`` and ``guid`` of a record and ``messages``,
        sorted by URL, those about the source itself first; ``warning_count``, the number of all messages;
        ``drafts``, the number of records and distributions that are listed and were never readable;
        ``not_harvested``, a list of dictionaries with ``kind``, ``count`` and ``examples`` of what the source
        lists besides datasets; and ``unmapped``, a list of dictionaries with ``name``, ``records`` and
        ``example``. All are empty for jobs of other harvesters.
    """
    source = harvest_tables.source_row(harvest_tables.job_row(job_id).source_id)
    if source.type not in our_names():
        return {
            **{"warnings": [], "warning_count": 0, "drafts": 0},
            **{"not_harvested": [], "unmapped": []},
        }
    row = model.Session.execute(sa.select(_table).where(_table.c.job_id == job_id)).one_or_none()
    warnings = _warnings(job_id)
    if row is not None and row.warnings:
        warnings.insert(0, {"url": source.url, "guid": None, "messages": row.warnings})
    unmapped = count_unmapped(known_records.unmapped_properties(source.id).values())
    return {
        "warnings": warnings,
        "warning_count": sum(len(warning["messages"]) for warning in warnings),
        "drafts": row.drafts if row else 0,
        "not_harvested": row.not_harvested if row else [],
        "unmapped": [asdict(counted) for counted in unmapped],
    }


def _warnings(job_id: str) -> list[dict[str, Any]]:
    """Return the warnings of the records of a job, sorted by URL."""
    objects, extras = harvest_tables.OBJECT, harvest_tables.OBJECT_EXTRA
    reported = extras.alias()
    rows = model.Session.execute(
        sa.select(objects.c.id, objects.c.guid, extras.c.key, extras.c.value)
        .select_from(objects.join(extras, extras.c.harvest_object_id == objects.c.id))
        .where(
            objects.c.harvest_job_id == job_id,
            extras.c.key.in_(("warnings", "dataset_url", "catalog_url")),
            sa.exists().where(
                reported.c.harvest_object_id == objects.c.id, reported.c.key == "warnings"
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
    ]
    return sorted(warnings, key=lambda warning: str(warning["url"]))
