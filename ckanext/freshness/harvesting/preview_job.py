"""Previews as background jobs, because a crawl can take minutes and a web request must not.

A source has at most one such job, with an id made of the source's id. RQ keeps the job's state in Redis, and
its result for a day. No table of ours is needed, because a preview is only valid for its moment.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

import ckan.plugins.toolkit as tk
from rq import get_current_job
from rq.job import Job, JobStatus

from ..ckan_adapter import harvest
from ..ckan_adapter.core import job_from_id
from ..dates import aware, utc_now, utc_text
from .preview import preview
from .source_config import ConfigError
from .sources import ForeignSource
from .survey import Tell

LONGEST = timedelta(hours=2)
"""The longest time for a preview: as long as ckanext-harvest gives a gather."""
KEPT = timedelta(days=1)
"""How long a result is kept."""
LISTED = 200
"""How many records of each class are kept for the page. The command line shows all."""
_DEAD_AFTER = timedelta(minutes=5)
"""A job without a heartbeat for so long is dead. RQ's workers send one every 30 seconds."""


class PreviewState(str, enum.Enum):
    """The state of a source's preview."""

    NONE = "none"
    WAITING = "waiting"
    """No background worker has begun it yet."""
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PreviewProgress:
    """A source's preview: its state, and its result if there is one."""

    state: PreviewState
    asked_at: datetime | None = None
    asked_by: str | None = None
    read: int = 0
    """How many records have been read so far."""
    listed: int | None = None
    """How many the source lists; None if that is not known."""
    error: str | None = None
    """For people: why there is no preview."""
    result: dict[str, Any] | None = None
    """:meth:`ckanext.freshness.harvesting.preview.Preview.as_dict`."""

    @property
    def under_way(self) -> bool:
        """Whether the preview is waiting or running."""
        return self.state in (PreviewState.WAITING, PreviewState.RUNNING)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "state": self.state.value,
            "asked_at": utc_text(self.asked_at),
            "asked_by": self.asked_by,
            "read": self.read,
            "listed": self.listed,
            "error": self.error,
            "preview": self.result,
        }


class _TooLong(Exception):
    """A preview that takes longer than :data:`LONGEST`."""


def start(source_id: str, title: str, user: str, now: datetime) -> PreviewProgress:
    """Start a preview, unless one is waiting or running.

    :param user: the name of the user who asks for it.
    """
    earlier = _job(source_id)
    if earlier is not None:
        found = _progress(earlier, now)
        if found.under_way:
            return found
        earlier.delete()
    job = tk.enqueue_job(
        run,
        [source_id],
        title=f"Preview of the harvest source {title}",
        rq_kwargs={
            "job_id": _job_id(source_id),
            # RQ ends a job by a signal, which would interrupt the event loop. Our own limit comes first.
            "timeout": int((LONGEST + timedelta(minutes=10)).total_seconds()),
            "result_ttl": int(KEPT.total_seconds()),
            "failure_ttl": int(KEPT.total_seconds()),
            "meta": {"asked_by": user},
        },
    )
    return _progress(job, now)


def progress(source_id: str, now: datetime) -> PreviewProgress:
    """Return the state of a source's preview."""
    job = _job(source_id)
    return PreviewProgress(PreviewState.NONE) if job is None else _progress(job, now)


def run(source_id: str) -> dict[str, Any]:
    """Make a preview, in a background worker.

    :returns: ``{"preview": ...}``, or ``{"error": ...}`` with a text for people.
    """
    source = harvest.source_row(source_id)
    if source is None:
        return {"error": "The source has been removed"}
    now = utc_now()
    try:
        made = preview(source, now=now, tell=_watch(get_current_job()))
    except (ForeignSource, ConfigError) as error:
        return {"error": str(error)}
    except _TooLong:
        hours = LONGEST.total_seconds() / 3600
        return {
            "error": f"Given up after {hours:g} hours: the source has too many records, or is too slow"
        }
    return {"preview": made.as_dict(LISTED)}


def _watch(job: Job | None) -> Tell:
    """Return a callback that saves the progress in a job, at most once a second.

    The callback raises :class:`_TooLong` when the time is up.
    """
    end = monotonic() + LONGEST.total_seconds()
    saved_at = 0.0

    def read(count: int, listed: int | None) -> None:
        nonlocal saved_at
        moment = monotonic()
        if moment > end:
            raise _TooLong
        if job is not None and moment >= saved_at + 1:
            saved_at = moment
            job.meta |= {"read": count, "listed": listed}
            job.save_meta()  # type: ignore[no-untyped-call]

    return read


def _job_id(source_id: str) -> str:
    return f"freshness-preview-{source_id}"


def _job(source_id: str) -> Job | None:
    try:
        job: Job = job_from_id(_job_id(source_id))
    except KeyError:
        return None
    return job


def _progress(job: Job, now: datetime) -> PreviewProgress:
    status = job.get_status()
    result = (job.return_value() or {}) if status == JobStatus.FINISHED else {}
    state, error = PreviewState.FAILED, result.get("error")
    if status == JobStatus.FINISHED and not error:
        state = PreviewState.DONE
    elif status == JobStatus.QUEUED:
        state = PreviewState.WAITING
    elif status == JobStatus.STARTED:
        heartbeat = job.last_heartbeat
        if heartbeat is None or now - _aware(heartbeat) <= _DEAD_AFTER:
            state = PreviewState.RUNNING
    return PreviewProgress(
        state,
        _aware(job.created_at) if job.created_at else None,
        job.meta.get("asked_by"),
        job.meta.get("read", 0),
        job.meta.get("listed"),
        error,
        result.get("preview"),
    )


def _aware(moment: datetime) -> datetime:
    """Return a moment of RQ as an aware one: RQ 1 returns UTC without a zone, RQ 2 with it."""
    return moment if moment.tzinfo else aware(moment)
