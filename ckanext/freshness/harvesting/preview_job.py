"""Previews as background jobs: a crawl can take minutes, which no web request may.

The job is the store as well. RQ keeps its state, and its result for a day, in Redis: a preview is no
truth but a look at one moment, so there is nothing of it to keep in a table, to migrate or to prune.
One job per source, under a name made of the source's id.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

import ckan.plugins.toolkit as tk
from rq import get_current_job
from rq.job import Job, JobStatus

from ..ckan_adapter import harvest_tables, job_from_id
from ..dates import aware, utc_now, utc_text
from .preview import ForeignSource, preview
from .source_config import ConfigError

LONGEST = timedelta(hours=2)
"""As long as ckanext-harvest gives a gather."""
KEPT = timedelta(days=1)
LISTED = 200
"""How many records of each kind are kept for the page; the command line tells all."""
_DEAD_AFTER = timedelta(minutes=5)
"""RQ's workers give a sign of life every 30 seconds while they work on a job."""


class PreviewState(str, enum.Enum):
    """How far a source's preview is."""

    NONE = "none"
    WAITING = "waiting"
    """No background worker has taken it up yet."""
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PreviewProgress:
    """A source's preview as it is now."""

    state: PreviewState
    asked_at: datetime | None = None
    asked_by: str | None = None
    read: int = 0
    """Records read so far."""
    error: str | None = None
    """Why there is no preview, for people."""
    result: dict[str, Any] | None = None
    """:meth:`ckanext.freshness.harvesting.preview.Preview.as_dict`."""

    @property
    def under_way(self) -> bool:
        """Whether it is worth waiting for."""
        return self.state in (PreviewState.WAITING, PreviewState.RUNNING)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "state": self.state.value,
            "asked_at": utc_text(self.asked_at),
            "asked_by": self.asked_by,
            "read": self.read,
            "error": self.error,
            "preview": self.result,
        }


class _TooLong(Exception):
    """A preview that took longer than it may."""


def start(source_id: str, title: str, user: str, now: datetime) -> PreviewProgress:
    """Ask for a preview, unless one is under way."""
    before = _job(source_id)
    if before is not None:
        found = _progress(before, now)
        if found.under_way:
            return found
        before.delete()
    job = tk.enqueue_job(
        run,
        [source_id],
        title=f"Preview of the harvest source {title}",
        rq_kwargs={
            "job_id": _job_id(source_id),
            # RQ's own end comes as a signal into the middle of the event loop; ours comes before.
            "timeout": int((LONGEST + timedelta(minutes=10)).total_seconds()),
            "result_ttl": int(KEPT.total_seconds()),
            "failure_ttl": int(KEPT.total_seconds()),
            "meta": {"asked_by": user},
        },
    )
    return _progress(job, now)


def progress(source_id: str, now: datetime) -> PreviewProgress:
    """How far the preview of a source is."""
    job = _job(source_id)
    return PreviewProgress(PreviewState.NONE) if job is None else _progress(job, now)


def run(source_id: str) -> dict[str, Any]:
    """Make a preview; called by a background worker.

    :returns: ``{"preview": ...}``, or ``{"error": ...}`` for people.
    """
    source = harvest_tables.source_row(source_id)
    if source is None:
        return {"error": "The source has been removed"}
    now = utc_now()
    try:
        made = preview(source, now=now, progress=_watch(get_current_job()))
    except (ForeignSource, ConfigError) as error:
        return {"error": str(error)}
    except _TooLong:
        hours = LONGEST.total_seconds() / 3600
        return {
            "error": f"Given up after {hours:g} hours: the source has too many records, or is too slow"
        }
    return {"preview": made.as_dict(LISTED)}


def _watch(job: Job | None) -> Callable[[int], None]:
    """Notes in a job how many records were read, at most once a second, and ends it in time."""
    end = monotonic() + LONGEST.total_seconds()
    told = 0.0

    def read(count: int) -> None:
        nonlocal told
        moment = monotonic()
        if moment > end:
            raise _TooLong
        if job is not None and moment >= told + 1:
            told = moment
            job.meta["read"] = count
            job.save_meta()

    return read


def _job_id(source_id: str) -> str:
    return f"freshness-preview-{source_id}"


def _job(source_id: str) -> Job | None:
    try:
        return job_from_id(_job_id(source_id))
    except KeyError:
        return None


def _progress(job: Job, now: datetime) -> PreviewProgress:
    status = job.get_status()
    result = (job.return_value() or {}) if status == JobStatus.FINISHED else {}
    state, error = PreviewState.FAILED, result.get("error")
    if status == JobStatus.FINISHED and not error:
        state = PreviewState.DONE
    elif status == JobStatus.QUEUED:
        state = PreviewState.WAITING
    elif status == JobStatus.STARTED:
        beat = job.last_heartbeat
        if beat is None or now - _aware(beat) <= _DEAD_AFTER:
            state = PreviewState.RUNNING
    return PreviewProgress(
        state,
        _aware(job.created_at) if job.created_at else None,
        job.meta.get("asked_by"),
        job.meta.get("read", 0),
        error,
        result.get("preview"),
    )


def _aware(moment: datetime) -> datetime:
    """RQ 1 gives UTC without zone, RQ 2 with it."""
    return moment if moment.tzinfo else aware(moment)
