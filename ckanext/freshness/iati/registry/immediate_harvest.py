"""One harvest from its start to its end in this process: gather, fetch and import, and no queue at all.

Whoever needs the catalogue to be as the registry is now, such as IATI's update cycle, cannot wait for
consumers that may not run. The job is an ordinary one of ckanext-harvest's, shown among the others. Its
objects are never in a state that a consumer takes up, and its id says what it is, so that what a killed
process left behind can be told from a job that is under way in the queues.
"""

from __future__ import annotations

import enum
import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
import redis
import sqlalchemy as sa

from ...ckan_adapter import harvest_tables, harvesting_user, model
from ...dates import utc, utc_now
from ...harvesting import holds, imports, stages
from ...harvesting.locks import is_held, locked_if_free
from ...harvesting.object_writer import GATHERED, ONCE, PAGED, set_extras
from ...harvesting.source_types import source_type_named
from ...harvesting.survey import SourceType

log = logging.getLogger(__name__)

_job = harvest_tables.JOB
_object = harvest_tables.OBJECT


class HarvestStage(enum.Enum):
    """What a harvest is at."""

    GATHER = "gather"
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class HarvestProgress:
    """How far a harvest is.

    :ivar total: how many records there will be; None while nobody knows
    """

    stage: HarvestStage
    done: int
    total: int | None = None


Tell = Callable[[HarvestProgress], None]


class HarvestRefused(Exception):
    """The source cannot be harvested now; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class HeldDeletions:
    """Deletions that the brake holds: nothing that the source no longer lists was removed.

    :ivar reason: with the numbers, for people
    :ivar count: how many records are held
    :ivar released: an editor has released them: the next harvest removes them
    """

    reason: str
    count: int
    released: bool


@dataclass(frozen=True, slots=True)
class HarvestResult:
    """How a harvest ended.

    :ivar counts: records by what became of them: ``added``, ``updated``, ``deleted``,
        ``not modified``, ``errored``; each is there
    :ivar source_errors: a line for each listing that could not be read, and the brake's own
    :ivar record_errors: messages by the record's URL
    """

    job_id: str
    counts: Mapping[str, int]
    source_errors: tuple[str, ...] = ()
    record_errors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hold: HeldDeletions | None = None

    @property
    def complete(self) -> bool:
        """Whether all that the source lists was read and imported, and nothing is held."""
        return not (self.source_errors or self.record_errors or self.hold)


def harvest_now(
    source_id: str, tell: Tell | None = None, *, now: datetime | None = None
) -> HarvestResult:
    """Harvest a source in this process.

    Whatever happens, no object is left that a consumer takes up. What a process leaves behind that is
    killed, :func:`heal` puts in order: here, or when ``harvester run`` comes by.

    :param tell: is told of the progress.
    :raises HarvestRefused: no such source, or none of ours, or somebody else harvests it now.
    """
    source = harvest_tables.source_row(source_id)
    if source is None or not source.active:
        raise HarvestRefused(f"There is no active harvest source with the id {source_id}")
    source_type = source_type_named(source.type)
    if source_type is None:
        raise HarvestRefused(
            f"The source {source.title or source.url} is of the type {source.type}, which no enabled "
            "plugin of this extension harvests"
        )
    tell = tell or (lambda progress: None)
    with locked_if_free(_lock(source.id)) as ours:
        if not ours:
            raise HarvestRefused(
                f"Another process harvests {source.title or source.url} now: try again when it is done"
            )
        _end_killed(source.id)
        job_id = _begin(source)
        try:
            _harvest(source_type, source.id, job_id, tell, now)
        finally:
            # A failure here may have come from a session that can do nothing more.
            model.Session.rollback()
            _end(job_id)
            _finish(source.id)
        return _result(source.id, job_id)


def heal() -> list[str]:
    """End the jobs of harvests whose processes were killed; their ids.

    What they had not imported is classified again by the next harvest.
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
    source_type: SourceType, source_id: str, job_id: str, tell: Tell, now: datetime | None
) -> None:
    ids = stages.gather(
        source_type,
        job_id,
        now=now,
        tell=lambda read: tell(HarvestProgress(HarvestStage.GATHER, read)),
        queued=False,
    )
    if ids:
        total = len(ids)
        tell(HarvestProgress(HarvestStage.IMPORT, 0, total))
        imports.import_without_queue(
            source_id,
            ids,
            stages.PAGE_SIZE,
            lambda done: tell(HarvestProgress(HarvestStage.IMPORT, done, total)),
        )


def _lock(source_id: str) -> str:
    return f"harvest without queue {source_id}"


def _is_ours() -> Any:
    return _job.c.id.like(f"{ONCE}%")


def _begin(source: Any) -> str:
    other = model.Session.execute(
        sa.select(_job.c.id).where(
            _job.c.source_id == source.id, _job.c.status.in_(("New", "Running"))
        )
    ).scalar()
    if other is not None:
        raise HarvestRefused(
            f"The harvest job {other} of {source.title or source.url} is under way: wait for its end, "
            "or give it up with: ckan harvester job-abort"
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
    """Leave nothing of a job that could be taken for work to be done."""
    now = utc(utc_now())
    undone = model.Session.execute(
        sa.update(_object)
        .where(_object.c.harvest_job_id == job_id, _object.c.state.in_((GATHERED, PAGED)))
        .values(state="ERROR", report_status="errored", import_finished=now)
        .returning(_object.c.id)
    ).scalars()
    # Some of their packages may be written, and not in Solr: what is still there counts as changed.
    hashes = ("content_hash", "fingerprint")
    set_extras([(one, key, None) for one in undone.all() for key in hashes])
    model.Session.execute(
        sa.update(_job)
        .where(_job.c.id == job_id, _job.c.gather_finished.is_(None))
        .values(gather_finished=now)
    )
    model.Session.commit()
    # CKAN's sessions keep what they know beyond a commit.
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
        message = "The process that harvested was killed; the next harvest goes on where it was"
        harvest_tables.add_gather_error(job_id, message)
        model.Session.execute(
            sa.update(_job)
            .where(_job.c.id == job_id)
            .values(status="Finished", finished=utc(utc_now()))
        )
        _end(job_id)
    return ids


def _finish(source_id: str) -> None:
    """Mark the job as finished, as ``harvester run`` does it: with the source's page and its mails."""
    context = {
        "model": model,
        "session": model.Session,
        "user": harvesting_user().name,
        "ignore_auth": True,
    }
    try:
        tk.get_action("harvest_jobs_run")(context, {"source_id": source_id})
    except redis.exceptions.RedisError as error:
        # What comes after the job's end serves the queues alone.
        log.warning("Redis does not answer (%s): the harvest queues were left as they are", error)


def _result(source_id: str, job_id: str) -> HarvestResult:
    counts = dict.fromkeys(("added", "updated", "deleted", "not modified", "errored"), 0)
    rows = model.Session.execute(
        sa.select(_object.c.report_status, sa.func.count())
        .where(_object.c.harvest_job_id == job_id, _object.c.report_status.is_not(None))
        .group_by(_object.c.report_status)
    )
    counts |= {status: count for status, count in rows}
    gather = harvest_tables.GATHER_ERROR
    source_errors = model.Session.execute(
        sa.select(gather.c.message)
        .where(gather.c.harvest_job_id == job_id)
        .order_by(gather.c.created, gather.c.id)
    ).scalars()
    hold = holds.hold_of(source_id)
    return HarvestResult(
        job_id,
        counts,
        tuple(source_errors),
        _record_errors(job_id),
        None
        if hold is None
        else HeldDeletions(hold.reason, len(hold.held), released=hold.released_at is not None),
    )


def _record_errors(job_id: str) -> dict[str, tuple[str, ...]]:
    error = harvest_tables.OBJECT_ERROR
    extra = harvest_tables.OBJECT_EXTRA
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
    found: dict[str, tuple[str, ...]] = {}
    for one, message in rows:
        found[one] = (*found.get(one, ()), message)
    return found
