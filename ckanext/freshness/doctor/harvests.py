"""Harvest jobs that are stuck, deletions that are held, and how big the tables are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import harvest_tables, model
from ..dates import utc, utc_words
from ..harvesting.locks import is_held
from ..harvesting.source_types import source_type_named
from ..model import HarvestHold
from . import Finding, counted, note, problem
from .queues import RESENT_AFTER, ago, read

BEGINNING = timedelta(seconds=30)
"""Between taking a job and holding its lock, a consumer has little to do."""
STILL = timedelta(minutes=5)
"""Without movement for so long, a consumer is dead: a page of records hands on after 90 seconds."""
CRON = timedelta(minutes=20)
"""``ckan harvester run`` is to be called every few minutes."""
_BIG = 1 << 30

_job = harvest_tables.JOB
_object = harvest_tables.OBJECT
_source = harvest_tables.SOURCE
_package = model.Package.__table__

_MOVED = sa.func.max(
    sa.func.greatest(
        _object.c.gathered,
        _object.c.fetch_started,
        _object.c.fetch_finished,
        _object.c.import_started,
        _object.c.import_finished,
    )
)
_OPEN = _object.c.state.not_in(("COMPLETE", "ERROR"))


def gathers(now: datetime) -> Iterator[Finding]:
    """Jobs whose gather was never begun, or whose consumer was killed."""
    queues = read(now)
    gather = queues["gather"] if queues else None
    for job in _running(_job.c.gather_finished.is_(None)):
        taken = gather.taken.get(job.id) if gather else None
        resent = taken is not None
        if taken is None and job.gather_started:
            taken = utc(now) - job.gather_started
        if taken is not None:
            yield from _killed(job, taken, resent=resent)
        elif gather and job.id not in gather.waiting and utc(now) - job.created > STILL:
            # While it waits, whether somebody takes it is another check's business.
            again = "ckan harvester run sends it again; cron should call it. To give the job up: "
            yield problem(
                f"{_called(job)} is running by its status, but is in no queue: Redis has been "
                "emptied since",
                f"{again if source_type_named(job.type) else ''}ckan harvester job-abort {job.id}, "
                "then harvest the source again",
            )


def _killed(job: Any, taken: timedelta, *, resent: bool) -> Iterator[Finding]:
    limit = RESENT_AFTER["harvest_job_id"]
    # Our gathers hold a lock as long as they live; of others only the time can tell.
    ours = source_type_named(job.type)
    alive = taken <= BEGINNING or is_held(f"gather {job.id}") if ours else taken <= limit
    if alive:
        return
    left = max(0, int((limit - taken).total_seconds() // 60))
    again = f"ckan harvester run sends it again in {left} min. At once: " if resent else ""
    yield problem(
        f"{_called(job)} was begun {ago(taken)} ago and is still gathering, but no process works on "
        "it: its consumer was killed",
        f"{again}ckan harvester job-abort {job.id}, then harvest the source again",
    )


def imports(now: datetime) -> Iterator[Finding]:
    """Jobs whose records do not get imported."""
    last = model.Session.execute(sa.select(_MOVED)).scalar()
    somebody_works = last is not None and utc(now) - last <= STILL
    for job in _running(_job.c.gather_finished.is_not(None)):
        states = dict(
            model.Session.execute(
                sa.select(_object.c.state, sa.func.count())
                .where(_object.c.harvest_job_id == job.id, _OPEN)
                .group_by(_object.c.state)
                .order_by(_object.c.state)
            ).all()
        )
        in_work = model.Session.execute(
            sa.select(_MOVED).where(
                _object.c.harvest_job_id == job.id, _object.c.state.in_(("FETCH", "IMPORT"))
            )
        ).scalar()
        # Whose turn has not come may wait as long as somebody is at work.
        stuck = utc(now) - in_work > STILL if in_work else not somebody_works
        if states and stuck and utc(now) - job.gather_finished > STILL:
            counts = ", ".join(f"{count} {state}" for state, count in states.items())
            yield problem(
                f"{_called(job)} does not move: {sum(states.values())} of its records are not imported "
                f"({counts})",
                "ckan harvester run sends again what a killed consumer has left behind; if nothing "
                "moves after that, ckan harvester fetch-consumer is not running. To give the job up: "
                f"ckan harvester job-abort {job.id}",
            )


def cron(now: datetime) -> Iterator[Finding]:
    """Whether somebody calls ``ckan harvester run`` every few minutes."""
    advice = "Call ckan harvester run by cron, every few minutes."
    still_open = sa.exists().where(_object.c.harvest_job_id == _job.c.id, _OPEN)
    for job in _running(_job.c.gather_finished.is_not(None), ~still_open):
        done = model.Session.execute(
            sa.select(_MOVED).where(_object.c.harvest_job_id == job.id)
        ).scalar()
        if utc(now) - max(job.gather_finished, done or job.gather_finished) > CRON:
            yield problem(f"{_called(job)} is done, but nobody marks it as finished", advice)
    late = model.Session.execute(
        sa.select(sa.func.count(), sa.func.min(_source.c.next_run)).where(
            _source.c.active.is_(True),
            _source.c.frequency != "MANUAL",
            _source.c.next_run < utc(now) - CRON,
        )
    ).one()
    if late[0]:
        yield problem(
            f"{late[0]} harvest sources are overdue, the first since {utc_words(late[1])}", advice
        )
    for job in _jobs("New", _job.c.created < utc(now) - CRON):
        yield problem(
            f"{_called(job)} was made on {utc_words(job.created)} and never sent to a consumer, and keeps "
            "its source from being harvested",
            f"ckan harvester job-abort {job.id}, then harvest the source again",
        )


def holds(now: datetime) -> Iterator[Finding]:
    """Deletions that wait for an editor."""
    rows = (
        model.Session.query(HarvestHold, _package.c.name)
        .join(_package, _package.c.id == HarvestHold.source_id)
        .filter(HarvestHold.released_at.is_(None), _package.c.state == "active")
    )
    for hold, name in rows:
        yield note(
            f"{_held(len(hold.held), name)} since {utc_words(hold.held_at)}: {hold.reason}",
            f"Look at them on the source's page, and if they are right: ckan freshness release {name}",
        )


def _held(count: int, source: str) -> str:
    one, many = (
        f"deletion of the source {source} is held",
        f"deletions of the source {source} are held",
    )
    return counted(count, one, many)


def sizes(now: datetime) -> Iterator[Finding]:
    """How big the tables are that grow with harvests."""
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
        "harvest_log": "ckan harvester clean-harvest-log",
        "harvest_object": "ckan harvester source clear-history --keep-current true SOURCE",
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


def _called(job: Any) -> str:
    return f"Job {job.id} of the source {job.name}"
