"""The jobs of harvest sources as their pages show them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter.ckan_core import model
from ..dates import aware
from ..harvesting.messages import from_column
from ..harvesting.record import Record
from ..harvesting.sources import our_names
from . import harvest_words
from .display import JOBS, State

_COUNTED = ("added", "updated", "deleted", "not modified", "errored", "held")

_JOBS = """
SELECT j.*, c.*, jsonb_array_length(h.held) AS held,
    (SELECT count(*) FROM harvest_gather_error e WHERE e.harvest_job_id = j.id) AS gather_errors
FROM unnest(CAST(:sources AS text[])) AS source(id)
CROSS JOIN LATERAL (
    SELECT id, source_id, status, created, gather_started, gather_finished, finished
    FROM harvest_job WHERE source_id = source.id AND (:job IS NULL OR id = :job)
    ORDER BY created DESC LIMIT :most
) j
CROSS JOIN LATERAL (
    SELECT count(*) AS objects,
        count(*) FILTER (WHERE report_status = 'added') AS "added",
        count(*) FILTER (WHERE report_status = 'updated') AS "updated",
        count(*) FILTER (WHERE report_status = 'deleted') AS "deleted",
        count(*) FILTER (WHERE report_status = 'not modified') AS "not modified",
        count(*) FILTER (WHERE state = 'ERROR') AS "errored"
    FROM harvest_object WHERE harvest_job_id = j.id
) c
LEFT JOIN freshness_harvest_hold h ON h.source_id = source.id AND h.job_id = j.id AND h.released_at IS NULL
ORDER BY j.created DESC"""

_GATHER_ERRORS = """
SELECT job.id, e.message FROM unnest(CAST(:jobs AS text[])) AS job(id)
CROSS JOIN LATERAL (
    SELECT message FROM harvest_gather_error WHERE harvest_job_id = job.id
    ORDER BY created, id LIMIT :most
) e"""

_RECORD_ERRORS = """
SELECT job.id AS job_id, e.*, u.value AS url, p.name, p.title
FROM unnest(CAST(:jobs AS text[])) AS job(id)
CROSS JOIN LATERAL (
    SELECT o.id, o.guid, o.content, o.package_id, o.harvest_source_id, r.message
    FROM harvest_object o JOIN harvest_object_error r ON r.harvest_object_id = o.id
    WHERE o.harvest_job_id = job.id ORDER BY r.created, r.id LIMIT :most
) e
LEFT JOIN LATERAL (
    SELECT value FROM harvest_object_extra x
    WHERE x.harvest_object_id = e.id AND x.key IN ('dataset_url', 'catalog_url')
    ORDER BY x.key DESC LIMIT 1
) u ON true
LEFT JOIN LATERAL (
    SELECT k.name, coalesce(nullif(k.title, ''), k.name) AS title FROM package k
    WHERE k.state = 'active' AND k.id = coalesce(e.package_id, (
        SELECT o.package_id FROM harvest_object o
        WHERE o.guid = e.guid AND o.harvest_source_id = e.harvest_source_id AND o.current LIMIT 1
    ))
) p ON true"""

_TROUBLED = """
SELECT s.id, p.name, p.title FROM harvest_source s JOIN package p ON p.id = s.id
WHERE s.active AND p.state = 'active' AND s.type = ANY(:types)
ORDER BY p.title, p.name"""


@dataclass(frozen=True, slots=True)
class RecordError:
    """A record that a job could not harvest.

    :ivar title: of its dataset, or at the source; None if neither is known
    :ivar name: its dataset's, if it has one
    :ivar url: of the record
    """

    error: harvest_words.PlainError
    title: str | None = None
    name: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class HarvestJob:
    """A job of a source.

    :ivar counts: numbers of records without zeros
    :ivar source_errors: faults of the source itself
    :ivar record_errors: the first faults of records; ``counts["errored"]`` has their number
    """

    id: str
    source_id: str
    state: State
    created: datetime
    started: datetime | None
    finished: datetime | None
    counts: Mapping[str, int]
    source_errors: Sequence[harvest_words.PlainError] = ()
    record_errors: Sequence[RecordError] = field(default=())

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens in the job."""
        return self.state not in (JOBS["waiting"], JOBS["running"])

    @property
    def is_troubled(self) -> bool:
        """Whether somebody should look at the job."""
        return self.state.colour in ("warn", "bad")


def jobs(
    sources: Iterable[str], most: int, *, job_id: str | None = None, errors: int = 2
) -> list[HarvestJob]:
    """Return the newest jobs of sources, the newest first.

    :param most: how many of each source
    :param job_id: only this job
    :param errors: how many errors of each kind to name
    """
    values = {"sources": list(sources), "most": most, "job": job_id}
    rows = list(model.Session.execute(sa.text(_JOBS), values).mappings())
    named = [row["id"] for row in rows if row["gather_errors"] or row["errored"]]
    of_sources, of_records = _errors(named, errors)
    return [
        HarvestJob(
            row["id"],
            row["source_id"],
            JOBS[state(row)],
            aware(row["created"]),
            aware(row["gather_started"]),
            aware(row["finished"]),
            {key: row[key] for key in _COUNTED if row[key]},
            of_sources.get(row["id"], ()),
            of_records.get(row["id"], ()),
        )
        for row in rows
    ]


def troubled_sources() -> list[tuple[Mapping[str, Any], HarvestJob]]:
    """Return our sources whose last job failed, had errors or holds deletions, with that job."""
    rows = model.Session.execute(sa.text(_TROUBLED), {"types": our_names()}).mappings()
    sources = {row["id"]: row for row in rows}
    last = jobs(sources, 1, errors=1)
    return [(sources[job.source_id], job) for job in last if job.is_troubled]


def state(row: Mapping[str, Any]) -> str:
    """Return the state of a job, as a key of :data:`.display.JOBS`.

    :param row: the job's columns, whether it has ``objects``, and the numbers ``gather_errors``, ``errored``
        and ``held``
    """
    if row["status"] == "Aborted":
        return "stopped"
    if row["status"] != "Finished":
        return "running" if row["gather_started"] else "waiting"
    if row["held"]:
        return "held"
    if row["gather_errors"] and not row["objects"]:
        return "failed"
    return "errors" if row["gather_errors"] or row["errored"] else "finished"


def _errors(
    job_ids: list[str], most: int
) -> tuple[dict[str, list[harvest_words.PlainError]], dict[str, list[RecordError]]]:
    values = {"jobs": job_ids, "most": most}
    of_sources: dict[str, list[harvest_words.PlainError]] = {}
    of_records: dict[str, list[RecordError]] = {}
    if not job_ids:
        return of_sources, of_records
    for job_id, message in model.Session.execute(sa.text(_GATHER_ERRORS), values):
        of_sources.setdefault(job_id, []).append(harvest_words.error(from_column(message)))
    for row in model.Session.execute(sa.text(_RECORD_ERRORS), values).mappings():
        error = harvest_words.error(from_column(row["message"]))
        title = row["title"] or _title(row["content"])
        found = RecordError(error, title, row["name"], row["url"])
        of_records.setdefault(row["job_id"], []).append(found)
    return of_sources, of_records


def _title(content: str | None) -> str | None:
    """Return the title that the source gives a record; None if the content is no record of ours."""
    with contextlib.suppress(ValueError):
        return str(Record.from_json(content or "").fields.get("title") or "") or None
    return None
