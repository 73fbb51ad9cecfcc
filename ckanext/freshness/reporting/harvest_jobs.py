"""Harvest sources and their jobs as pages show them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import ckan.plugins as p
import sqlalchemy as sa

from .. import settings
from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..ckan_adapter.database import is_held
from ..dates import aware, utc, utc_now
from ..harvesting.holds import gather_lock
from ..harvesting.messages import from_column
from ..harvesting.progress import BEGINNING, CRON, STILL, is_importing
from ..harvesting.record import Record
from ..harvesting.sources import our_names
from . import harvest_words, visibility
from .display import JOBS, State
from .tables import Context, Row, TableRequest, with_iso_dates

_COUNTED = ("added", "updated", "deleted", "not modified", "errored", "held")


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
class JobProgress:
    """What a job that has begun and not ended is doing.

    :ivar is_gathered: the source has been read
    :ivar waiting: records that are still to be imported
    :ivar idle_since: since when nothing has happened that should have; None if all is well
    """

    is_gathered: bool
    waiting: int
    idle_since: datetime | None = None


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
    progress: JobProgress | None = None
    """None for a job that has not begun or has ended."""

    @property
    def figures(self) -> list[str]:
        """The numbers of records in words."""
        return harvest_words.job_counts(dict(self.counts))

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
    rows = list(model.Session.execute(sa.text(harvest.NEWEST_JOBS), values).mappings())
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
            _progress(row),
        )
        for row in rows
    ]


def troubled_sources() -> list[tuple[Mapping[str, Any], HarvestJob]]:
    """Return our sources whose last job failed, had errors or holds deletions, with that job."""
    rows = model.Session.execute(sa.text(harvest.ACTIVE_SOURCES), {"types": our_names()}).mappings()
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


def _progress(row: Mapping[str, Any]) -> JobProgress | None:
    if state(row) != "running":
        return None
    gathered, now = row["gather_finished"], utc(utc_now())
    if gathered is None:
        began = row["gather_started"]
        # Our gathers hold a lock while they run. Those of killed consumers do not.
        is_idle = now - began > BEGINNING and not is_held(gather_lock(row["id"]))
        return JobProgress(False, 0, aware(began) if is_idle else None)
    last = max(gathered, row["progress"] or gathered)
    is_idle = now - last > (STILL if row["waiting"] else CRON)
    if is_idle and row["waiting"] and not row["taken"]:
        # While a consumer imports other records, those of this job wait for their turn.
        is_idle = not is_importing(utc_now())
    return JobProgress(True, row["waiting"], aware(last) if is_idle else None)


def _errors(
    job_ids: list[str], most: int
) -> tuple[dict[str, list[harvest_words.PlainError]], dict[str, list[RecordError]]]:
    values = {"jobs": job_ids, "most": most}
    of_sources: dict[str, list[harvest_words.PlainError]] = {}
    of_records: dict[str, list[RecordError]] = {}
    if not job_ids:
        return of_sources, of_records
    for job_id, message in model.Session.execute(sa.text(harvest.FIRST_GATHER_ERRORS), values):
        of_sources.setdefault(job_id, []).append(harvest_words.error(from_column(message)))
    for row in model.Session.execute(sa.text(harvest.FIRST_RECORD_ERRORS), values).mappings():
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


def sources(request: TableRequest) -> Iterator[Row]:
    """Yield harvest sources with their last job: those that hold deletions first, then by errors."""
    if not p.plugin_loaded("harvest"):
        return
    visible, values = visibility.condition(request.context)
    statement = sa.text(harvest.LAST_JOBS.format(visible=visible))
    values = {**values, "organization": request.organization}
    rows = model.Session.execute(statement, values).mappings().all()
    numbers = _harvested(request.context)
    listed = [
        {
            **with_iso_dates(row, "created", "finished"),
            "errors": row["gather_errors"] + row["errored"],
            "state": _state(row),
            "datasets": numbers.get(row["id"], 0),
        }
        for row in rows
    ]
    yield from sorted(listed, key=lambda row: (not row["held"], -(row["errors"] or 0)))


def _state(row: Mapping[str, Any]) -> str | None:
    if row["held"]:
        # Whatever the last job did, somebody must decide about the deletions of an earlier one.
        return "held"
    return state(row) if row["status"] else None


def _harvested(context: Context) -> dict[str, int]:
    """Return the number of visible datasets of each source, by the source's id."""
    visible, values = visibility.condition(context)
    statement = sa.text(harvest.DATASETS_OF_SOURCES.format(visible=visible))
    types = sorted(settings.aging().dataset_types)
    return dict(map(tuple, model.Session.execute(statement, {**values, "types": types})))


def of_packages(package_ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return ``id`` and ``title`` of the harvest source of each dataset that is harvested, by its id.

    Whoever edits such a dataset here loses the edit at the next harvest.
    """
    ids = sorted(set(package_ids))
    if not ids or not p.plugin_loaded("harvest"):
        return {}
    rows = model.Session.execute(sa.text(harvest.SOURCES_OF_PACKAGES), {"ids": ids})
    return {row.package_id: {"id": row.id, "title": row.title} for row in rows}
