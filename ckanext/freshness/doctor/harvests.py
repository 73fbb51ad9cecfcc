"""Checks of harvest jobs, held deletions and the size of tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import harvest_tables
from ..ckan_adapter.ckan_core import model
from ..ckan_adapter.locks import is_held
from ..dates import utc, utc_words
from ..harvesting.sources import source_type_named
from ..model import HarvestHold
from . import SiteFinding, counted, note, problem
from .queues import RESENT_AFTER, duration, read

BEGINNING = timedelta(seconds=30)
"""A consumer that took a job holds its lock within this time."""
STILL = timedelta(minutes=5)
"""A consumer without progress for this long is dead: it hands on a page of records after 90 seconds."""
CRON = timedelta(minutes=20)
"""Delay at which ``ckan harvester run``, called every few minutes, is late."""
_BIG = 1 << 30
_ABORT = "ckan harvester job-abort {id}, then harvest the source again"

_job = harvest_tables.JOB
_object = harvest_tables.OBJECT
_source = harvest_tables.SOURCE
_package = model.Package.__table__

_PROGRESS = sa.func.max(
    sa.func.greatest(
        _object.c.gathered,
        _object.c.fetch_started,
        _object.c.fetch_finished,
        _object.c.import_started,
        _object.c.import_finished,
    )
)
_OPEN = _object.c.state.not_in(("COMPLETE", "ERROR"))


def gathers(now: datetime) -> Iterator[SiteFinding]:
    """Report jobs whose gather never began, or whose gather consumer was killed."""
    queues = read(now)
    gather = queues["gather"] if queues else None
    for job in _running(_job.c.gather_finished.is_(None)):
        taken = gather.taken.get(job.id) if gather else None
        in_redis = taken is not None
        if taken is None and job.gather_started:
            taken = utc(now) - job.gather_started
        if taken is not None:
            yield from _killed(job, taken, is_requeued=in_redis)
        elif gather and job.id not in gather.waiting and utc(now) - job.created > STILL:
            # The check of consumers covers jobs that wait in a queue.
            requeue = "ckan harvester run requeues it; call it by cron. To abandon the job: "
            yield problem(
                f"{_name(job)} has the status Running, but is in no queue: Redis was emptied",
                f"{requeue if source_type_named(job.type) else ''}{_ABORT.format(id=job.id)}",
            )


def _killed(job: Any, taken: timedelta, *, is_requeued: bool) -> Iterator[SiteFinding]:
    limit = RESENT_AFTER["harvest_job_id"]
    # Our gathers hold a lock while they run. Gathers of other harvesters can only be judged by their age.
    ours = source_type_named(job.type)
    alive = taken <= BEGINNING or is_held(f"gather {job.id}") if ours else taken <= limit
    if alive:
        return
    left = max(0, int((limit - taken).total_seconds() // 60))
    requeue = f"ckan harvester run requeues it in {left} min. At once: " if is_requeued else ""
    yield problem(
        f"{_name(job)} began {duration(taken)} ago and is still gathering, but no process works on it: "
        "its consumer was killed",
        f"{requeue}{_ABORT.format(id=job.id)}",
    )


def imports(now: datetime) -> Iterator[SiteFinding]:
    """Report jobs whose import has stopped."""
    last = model.Session.execute(sa.select(_PROGRESS)).scalar()
    is_importing = last is not None and utc(now) - last <= STILL
    for job in _running(_job.c.gather_finished.is_not(None)):
        states = dict(
            model.Session.execute(
                sa.select(_object.c.state, sa.func.count())
                .where(_object.c.harvest_job_id == job.id, _OPEN)
                .group_by(_object.c.state)
                .order_by(_object.c.state)
            ).all()
        )
        newest = model.Session.execute(
            sa.select(_PROGRESS).where(
                _object.c.harvest_job_id == job.id, _object.c.state.in_(("FETCH", "IMPORT"))
            )
        ).scalar()
        # Records whose turn has not come may wait while a consumer imports others.
        stuck = utc(now) - newest > STILL if newest else not is_importing
        if states and stuck and utc(now) - job.gather_finished > STILL:
            counts = ", ".join(f"{count} {state}" for state, count in states.items())
            yield problem(
                f"{_name(job)} makes no progress: {sum(states.values())} of its records are not imported "
                f"({counts})",
                "ckan harvester run requeues the records of a killed consumer. If that changes nothing, start "
                f"ckan harvester fetch-consumer. To abandon the job: ckan harvester job-abort {job.id}",
            )


def cron(now: datetime) -> Iterator[SiteFinding]:
    """Report jobs and sources that ``ckan harvester run`` should have finished or started by now."""
    advice = "Call ckan harvester run by cron, every few minutes."
    still_open = sa.exists().where(_object.c.harvest_job_id == _job.c.id, _OPEN)
    for job in _running(_job.c.gather_finished.is_not(None), ~still_open):
        done = model.Session.execute(
            sa.select(_PROGRESS).where(_object.c.harvest_job_id == job.id)
        ).scalar()
        if utc(now) - max(job.gather_finished, done or job.gather_finished) > CRON:
            yield problem(f"{_name(job)} is complete, but not marked as finished", advice)
    late = model.Session.execute(
        sa.select(sa.func.count(), sa.func.min(_source.c.next_run)).where(
            _source.c.active.is_(True),
            _source.c.frequency != "MANUAL",
            _source.c.next_run < utc(now) - CRON,
        )
    ).one()
    if late[0]:
        yield problem(
            f"{counted(late[0], 'harvest source is', 'harvest sources are')} overdue, the first since "
            f"{utc_words(late[1])}",
            advice,
        )
    for job in _jobs("New", _job.c.created < utc(now) - CRON):
        yield problem(
            f"{_name(job)} was created on {utc_words(job.created)} and never sent to a consumer. Until it "
            "ends, its source is not harvested",
            _ABORT.format(id=job.id),
        )


def holds(now: datetime) -> Iterator[SiteFinding]:
    """Report held deletions."""
    rows = (
        model.Session.query(HarvestHold, _package.c.name)
        .join(_package, _package.c.id == HarvestHold.source_id)
        .filter(HarvestHold.released_at.is_(None), _package.c.state == "active")
    )
    for hold, name in rows:
        yield note(
            f"{counted(len(hold.held), 'deletion', 'deletions')} of the source {name} held since "
            f"{utc_words(hold.held_at)}: {hold.reason}",
            f"Review them on the source's page. If they are right: ckan freshness release {name}",
        )


def sizes(now: datetime) -> Iterator[SiteFinding]:
    """Report the size of the tables that grow, and commands that shrink those over 1 GiB."""
    rows = model.Session.execute(
        sa.text(
            "SELECT relname, pg_total_relation_size(oid), reltuples FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace "
            r"AND (relname LIKE 'harvest\_%' OR relname LIKE 'freshness\_%') "
            r"AND relname NOT LIKE '%alembic\_version' ORDER BY 2 DESC"
        )
    ).all()
    big = {name for name, size, _ in rows if size > _BIG}
    advice = {
        **harvest_tables.SHRINKING_COMMANDS,
        "freshness_change": "ckan freshness prune",
        "freshness_run": "ckan freshness prune",
        "freshness_transition": "ckan freshness prune",
    }
    if not rows:
        return
    yield note(
        "Tables: "
        + ", ".join(
            f"{name} {size / (1 << 20):.1f} MB" + (f" ({count:.0f} rows)" if count >= 0 else "")
            for name, size, count in rows
        ),
        "; ".join(command for name, command in advice.items() if name in big),
    )


def _running(*conditions: Any) -> list[Any]:
    return _jobs("Running", *conditions)


def _jobs(status: str, *conditions: Any) -> list[Any]:
    return list(
        model.Session.execute(
            sa.select(
                _job.c.id,
                _job.c.created,
                _job.c.gather_started,
                _job.c.gather_finished,
                _source.c.type,
                _package.c.name,
            )
            .join(_source, _source.c.id == _job.c.source_id)
            .join(_package, _package.c.id == _source.c.id)
            .where(_job.c.status == status, *conditions)
            .order_by(_job.c.created)
        )
    )


def _name(job: Any) -> str:
    return f"Job {job.id} of the source {job.name}"
