"""What ckanext-harvest's report of a job leaves out: warnings, what becomes no dataset, duplicates.

Facts that belong to no harvest object have a table of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..ckan_adapter.packages import EXTRA
from ..model import HarvestReport
from . import known_records
from .legal_values import clean_all
from .messages import HarvestMessage, Message, MessageCode, from_column, to_column
from .object_writer import ObjectWriter
from .record import spellings
from .sources import our_names
from .survey import Survey

_table = HarvestReport.__table__


def not_harvested(found: Survey) -> list[dict[str, Any]]:
    """Return what a source lists and becomes no dataset: ``kind``, ``count`` and ``examples``, by kind."""
    return [
        clean_all({"kind": kind, "count": one.count, "examples": sorted(one.examples)})
        for kind, one in sorted(found.crawl.not_harvested.items())
    ]


def nothing_found(found: Survey) -> HarvestMessage | None:
    """Return an error for people if a source that was never harvested has nothing to harvest.

    :returns: None if it has, or if another error says why not.
    """
    failures = len(found.crawl.errors) + found.record_errors
    if found.current or failures or sum(found.counts.values()):
        return None
    listed = [f"{one['count']} x {one['kind']}" for one in not_harvested(found)]
    if catalogs := len(found.crawl.containers.catalogs):
        listed.insert(0, f"{catalogs} x catalog")
    return HarvestMessage(MessageCode.LISTS_NOTHING, details=", ".join(listed))


def separate_codes(report: dict[str, Any]) -> None:
    """Separate the codes of messages in ckanext-harvest's report from their texts.

    Each error gets ``message_code``: the code with its values, or None.
    """
    errors = [error for record in report["object_errors"].values() for error in record["errors"]]
    for error in (*report["gather_errors"], *errors):
        error |= from_column(error["message"])


def keep(
    source_id: str, job_id: str, found: Survey, writer: ObjectWriter, warnings: Sequence[Message]
) -> None:
    """Keep what a job found that belongs to no harvest object. No commit.

    :param writer: it wrote the job's objects.
    :param warnings: those about the source itself.
    """
    jobs = sa.select(harvest.JOB.c.id)
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
            unchanged=writer.unchanged,
            unchanged_warnings=clean_all(writer.unchanged_warnings),
            warnings=clean_all(list(map(to_column, warnings))),
            not_harvested=not_harvested(found),
        )
    )


def count_unchanged(jobs: Iterable[dict[str, Any]]) -> None:
    """Add the number of unchanged records, which have no harvest objects, to the ``stats`` of jobs.

    :param jobs: as ckanext-harvest's actions return them. Those of other harvesters stay as they are.
    """
    stats = {job["id"]: job["stats"] for job in jobs if "stats" in job}
    rows = model.Session.execute(
        sa.select(_table.c.job_id, _table.c.unchanged).where(_table.c.job_id.in_(stats))
    )
    for job_id, unchanged in rows:
        # The objects of records that it inherited, and of those that wait for their import
        stats[job_id].pop(None, None)
        stats[job_id]["not modified"] += unchanged


def of_no_field(job_id: str) -> dict[str, Any]:
    """Return what a job found that belongs to no field of a dataset.

    :returns: ``warnings``, a list of dictionaries with ``url`` and ``guid`` of a record and ``messages``,
        sorted by URL, and of unchanged records the first thousand; ``warning_count``, the number of these
        messages;
        ``source_warnings``, a list of dictionaries with ``message`` and ``message_code``: those about the
        source itself; ``not_harvested``, a list of dictionaries with ``kind``, ``count`` and
        ``examples`` of what the source lists besides datasets. All are empty for jobs of other harvesters.
    """
    source = harvest.source_row(harvest.job_row(job_id).source_id)
    is_ours = source.type in our_names()
    row = model.Session.execute(sa.select(_table).where(_table.c.job_id == job_id)).one_or_none()
    unchanged = row.unchanged_warnings if row else []
    warnings = sorted([*_warnings(job_id), *unchanged], key=_url) if is_ours else []
    return {
        "warnings": warnings,
        "warning_count": sum(len(warning["messages"]) for warning in warnings),
        "source_warnings": list(map(from_column, row.warnings)) if row else [],
        "not_harvested": row.not_harvested if row else [],
    }


def _warnings(job_id: str) -> list[dict[str, Any]]:
    """Return the warnings of the records of a job that have harvest objects."""
    objects, extras = harvest.OBJECT, harvest.OBJECT_EXTRA
    rows = model.Session.execute(
        sa.select(objects.c.id, objects.c.guid, extras.c.value)
        .join(extras, extras.c.harvest_object_id == objects.c.id)
        .where(objects.c.harvest_job_id == job_id, extras.c.key == "warnings")
    ).all()
    urls = known_records.extras_of(
        [row.id for row in rows], extras.c.key.in_(("dataset_url", "catalog_url"))
    )
    return [
        {
            "url": urls[row.id].get("dataset_url") or urls[row.id].get("catalog_url"),
            "guid": row.guid,
            "messages": json.loads(row.value),
        }
        for row in rows
    ]


def _url(warning: Mapping[str, Any]) -> str:
    return str(warning["url"])


# Datasets that would be here twice


def harvested_elsewhere(source_id: str, urls: Iterable[str]) -> list[HarvestMessage]:
    """Return a warning for each other active source that has harvested some of a source's new records.

    The records of all other sources are read once, so call it before the first harvest of a source only.

    :param source_id: the source that lists the records.
    :param urls: the URLs of its new records.
    """
    wanted = {one for url in urls for one in (url, *spellings(url))}
    if not wanted:
        return []
    rows = model.Session.execute(
        sa.text(_IN_OTHER_SOURCES), {"source": source_id, "urls": sorted(wanted)}
    )
    return [
        HarvestMessage(
            MessageCode.ELSEWHERE,
            {"count": row.datasets, "source": row.title},
            f"the other source is {row.name}, an example is {row.example}",
        )
        for row in rows
    ]


_IN_OTHER_SOURCES = f"""
WITH other AS (
    SELECT o.id, o.package_id, k.name, coalesce(nullif(s.title, ''), s.url) AS title
    FROM harvest_object o JOIN harvest_source s ON s.id = o.harvest_source_id JOIN package k ON k.id = s.id
    JOIN package p ON p.id = o.package_id AND p.state = 'active'
    WHERE o.current AND s.active AND s.id <> :source
), every_url AS (
    SELECT other.*, x.value AS url
    FROM other JOIN harvest_object_extra x ON x.harvest_object_id = other.id
    WHERE x.key IN ('dataset_url', 'subject')
    UNION ALL SELECT other.*, {EXTRA.format(key="'uri'")}
    FROM other JOIN package p ON p.id = other.package_id
)
SELECT name, title, count(DISTINCT package_id) AS datasets, min(url) AS example
FROM every_url WHERE url = ANY(:urls) GROUP BY name, title ORDER BY datasets DESC, title, name"""
"""SQL: the other active sources that have current records with ``:urls``, with the number of their datasets and
one URL. Packages of other harvesters state the URL of their record as ``uri``."""
