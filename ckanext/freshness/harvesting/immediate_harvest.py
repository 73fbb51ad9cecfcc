"""A whole harvest in this process: gather, fetch and import without queues.

An update cycle needs the present records of its source and cannot wait for consumers, which may not run. The
job is an ordinary job of ckanext-harvest, but consumers never take its objects. The prefix of its id tells it
from jobs in the queues, so the job of a killed process can be ended.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

import ckan.plugins.toolkit as tk
import redis
import sqlalchemy as sa

from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..ckan_adapter.database import is_held, locked_if_free
from ..ckan_adapter.harvest import harvesting_user
from ..dates import utc, utc_now
from . import holds, object_states, stages
from .messages import HarvestMessage, MessageCode, from_column
from .object_writer import GATHERED, ONCE, PAGED
from .sources import SourceType, source_type_named

log = logging.getLogger(__name__)

_job = harvest.JOB
_object = harvest.OBJECT


class HarvestStage(Enum):
    """The stages of a harvest that take long."""

    GATHER = "gather"
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class HarvestProgress:
    """The progress of a harvest.

    :ivar done: records so far
    :ivar total: all records; None while it is unknown
    """

    stage: HarvestStage
    done: int
    total: int | None = None


ShowProgress = Callable[[HarvestProgress], None]


class HarvestRefused(Exception):
    """A source that cannot be harvested now; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class HoldSummary:
    """Deletions that the brake holds.

    :ivar reason: with the numbers, for people
    :ivar count: held records
    :ivar released: an editor has released them, so the next harvest deletes them
    """

    reason: str
    count: int
    released: bool


@dataclass(frozen=True, slots=True)
class HarvestResult:
    """The result of a harvest.

    :ivar counts: records by ``added``, ``updated``, ``deleted``, ``not modified`` and ``errored``; all keys are
        present
    :ivar source_errors: one line for each listing that could not be read, and the brake's
    :ivar record_errors: messages by URL of the record
    """

    job_id: str
    counts: Mapping[str, int]
    source_errors: tuple[str, ...] = ()
    record_errors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hold: HoldSummary | None = None

    @property
    def complete(self) -> bool:
        """Whether every record was read and imported, and no deletion is held."""
        return not (self.source_errors or self.record_errors or self.hold)


def harvest_now(
    source_id: str,
    show_progress: ShowProgress = lambda progress: None,
    *,
    now: datetime | None = None,
) -> HarvestResult:
    """Harvest a source in this process.

    Consumers never take an object of the job, whatever happens. If the process is killed, the next harvest or
    ``harvester run`` ends its job (:func:`heal`).

    :raises HarvestRefused: there is no such source, no plugin harvests it, or it is being harvested now
    """
    source = harvest.source_row(source_id)
    if source is None or not source.active:
        raise HarvestRefused(f"There is no active harvest source with the id {source_id}")
    source_type = source_type_named(source.type)
    if source_type is None:
        raise HarvestRefused(
            f"The source {source.title or source.url} is of the type {source.type}, which no enabled "
            "plugin of this extension harvests"
        )
    with locked_if_free(_lock(source.id)) as ours:
        if not ours:
            raise HarvestRefused(
                f"Another process harvests {source.title or source.url} now: try again when it has ended"
            )
        _end_killed(source.id)
        job_id = _begin(source)
        try:
            _harvest(source_type, source.id, job_id, show_progress, now)
        finally:
            # After an error the session may be unusable.
            model.Session.rollback()
            _end(job_id)
            _finish(source.id)
        return _result(source.id, job_id)


def heal() -> list[str]:
    """End the jobs of killed processes, and return their ids.

    The next harvest classifies the records again that they did not import.
    """
    sources = model.Session.execute(
        sa.select(_job.c.source_id).where(_job.c.status == "Running", _is_ours()).distinct()
    ).scalars()
    ended = []
    for source_id in sources.all():
        if is_held(_lock(source_id)):
            continue
        with locked_if_free(_lock(source_id)) as ours:
            if ours:
                ended += _end_killed(source_id)
    return ended


def _harvest(
    source_type: SourceType,
    source_id: str,
    job_id: str,
    show_progress: ShowProgress,
    now: datetime | None,
) -> None:
    ids = stages.gather(
        source_type,
        job_id,
        now=now,
        tell=lambda read, _: show_progress(HarvestProgress(HarvestStage.GATHER, read)),
        queued=False,
    )
    if ids:
        total = len(ids)
        show_progress(HarvestProgress(HarvestStage.IMPORT, 0, total))
        stages.import_without_queue(
            source_id,
            ids,
            lambda done: show_progress(HarvestProgress(HarvestStage.IMPORT, done, total)),
        )


def _lock(source_id: str) -> str:
    return f"harvest without queue {source_id}"


def _is_ours() -> Any:
    return _job.c.id.like(f"{ONCE}%")


def _begin(source: Any) -> str:
    unfinished = model.Session.execute(
        sa.select(_job.c.id).where(
            _job.c.source_id == source.id, _job.c.status.in_(("New", "Running"))
        )
    ).scalar()
    if unfinished is not None:
        raise HarvestRefused(
            f"The harvest job {unfinished} of {source.title or source.url} has not ended: wait for it, "
            "or abort it with: ckan harvester job-abort"
        )
    job_id, now = f"{ONCE}{uuid.uuid4()}", utc(utc_now())
    model.Session.execute(
        sa.insert(_job).values(
            id=job_id, source_id=source.id, status="Running", created=now, gather_started=now
        )
    )
    model.Session.commit()
    return job_id


def _end(job_id: str) -> None:
    """End the gather stage of a job, and mark its unfinished objects as errors."""
    now = utc(utc_now())
    model.Session.execute(
        sa.update(_object)
        .where(_object.c.harvest_job_id == job_id, _object.c.state.in_((GATHERED, PAGED)))
        .values(state="ERROR", report_status="errored", import_finished=now)
    )
    model.Session.execute(
        sa.update(_job)
        .where(_job.c.id == job_id, _job.c.gather_finished.is_(None))
        .values(gather_finished=now)
    )
    model.Session.commit()
    # CKAN's sessions do not expire objects on commit.
    model.Session.expire_all()


def _end_killed(source_id: str) -> list[str]:
    ids = list(
        model.Session.execute(
            sa.select(_job.c.id).where(
                _job.c.source_id == source_id, _job.c.status == "Running", _is_ours()
            )
        ).scalars()
    )
    for job_id in ids:
        words = "The harvesting process was killed; the next harvest imports the rest"
        object_states.add_job_error(job_id, HarvestMessage(words, MessageCode.INTERRUPTED))
        model.Session.execute(
            sa.update(_job)
            .where(_job.c.id == job_id)
            .values(status="Finished", finished=utc(utc_now()))
        )
        _end(job_id)
    return ids


def _finish(source_id: str) -> None:
    """Finish the job as ``harvester run`` does: it reindexes the source and sends ckanext-harvest's mails."""
    context = {
        "model": model,
        "session": model.Session,
        "user": harvesting_user().name,
        "ignore_auth": True,
    }
    try:
        tk.get_action("harvest_jobs_run")(context, {"source_id": source_id})
    except redis.exceptions.RedisError as error:
        # The job has ended. Only the clean-up of the queues failed.
        log.warning("Redis does not answer (%s): the harvest queues were left as they are", error)


def _result(source_id: str, job_id: str) -> HarvestResult:
    counts = dict.fromkeys(("added", "updated", "deleted", "not modified", "errored"), 0)
    rows = model.Session.execute(
        sa.select(_object.c.report_status, sa.func.count())
        .where(_object.c.harvest_job_id == job_id, _object.c.report_status.is_not(None))
        .group_by(_object.c.report_status)
    )
    counts |= {status: count for status, count in rows}
    gather = harvest.GATHER_ERROR
    source_errors = model.Session.execute(
        sa.select(gather.c.message)
        .where(gather.c.harvest_job_id == job_id)
        .order_by(gather.c.created, gather.c.id)
    ).scalars()
    hold = holds.hold_of(source_id)
    return HarvestResult(
        job_id,
        counts,
        tuple(map(from_column, source_errors)),
        _record_errors(job_id),
        None
        if hold is None
        else HoldSummary(hold.reason, len(hold.held), released=hold.released_at is not None),
    )


def _record_errors(job_id: str) -> dict[str, tuple[str, ...]]:
    error = harvest.OBJECT_ERROR
    extra = harvest.OBJECT_EXTRA
    url = (
        sa.select(extra.c.value)
        .where(
            extra.c.harvest_object_id == _object.c.id,
            extra.c.key.in_(("dataset_url", "catalog_url")),
        )
        .order_by(extra.c.key.desc())
        .limit(1)
        .scalar_subquery()
    )
    rows = model.Session.execute(
        sa.select(sa.func.coalesce(url, _object.c.guid), error.c.message)
        .select_from(_object.join(error, error.c.harvest_object_id == _object.c.id))
        .where(_object.c.harvest_job_id == job_id)
        .order_by(error.c.created)
    )
    messages: dict[str, tuple[str, ...]] = {}
    for record_url, message in rows:
        messages[record_url] = (*messages.get(record_url, ()), from_column(message))
    return messages
