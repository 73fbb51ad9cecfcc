"""Checks of sites that harvest: consumers, jobs and held deletions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib.metadata import distribution
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..ckan_adapter import harvest
from ..ckan_adapter.core import (
    background_worker_names,
    model,
)
from ..ckan_adapter.database import is_held
from ..ckan_adapter.harvest import (
    BEGINNING,
    CRON,
    LAST,
    QUEUE_TYPE,
    STILL,
    harvest_queue_connection,
    harvest_routing_keys,
    is_importing,
    registered_source_types,
)
from ..dates import utc, utc_words
from ..harvesting.sources import source_type_named
from ..reporting import harvest_sql
from .findings import SiteFinding, counted, note, problem

KEEP_RUNNING = "Keep this running, under supervisor or systemd: "


def source_types(now: datetime) -> Iterator[SiteFinding]:
    """Report active sources without a harvester."""
    points = distribution("ckanext-freshness").entry_points.select(group="ckan.plugins")
    found = {point.name: getattr(point.load(), "source_type", None) for point in points}
    plugins = {harvester.name: name for name, harvester in found.items() if harvester is not None}
    source = harvest.SOURCE.c
    rows = model.Session.execute(
        sa.select(source.type, sa.func.count(source.id), sa.func.min(source.title))
        .where(source.active.is_(True), source.type.not_in(registered_source_types()))
        .group_by(source.type)
    )
    for source_type, count, title in rows:
        yield problem(
            f"No enabled plugin harvests the type {source_type}, which "
            f"{counted(count, 'active source has', 'active sources have')}, for example {title}",
            f"Add {plugins.get(source_type, 'the plugin that harvests it')} to ckan.plugins and restart the "
            "consumers, or change the type of the sources.",
        )


def consumers(now: datetime) -> Iterator[SiteFinding]:
    """Report harvest queues without a consumer, and a missing option.

    An idle consumer is blocked in Redis. If a message waits while no message of its queue is being
    processed, the queue has no consumer.
    """
    if tk.config.get(QUEUE_TYPE) is None:
        yield problem(
            "ckan.harvest.mq.type is not set. ckanext-harvest then uses Redis, but never sends a message again "
            "that is lost, so that the job of a killed consumer never ends",
            "Set it in the site's ini file: ckan.harvest.mq.type = redis. Then restart the consumers.",
        )
    connection = harvest_queue_connection()
    if connection is None:
        yield note("The harvest queues are in RabbitMQ, which the doctor cannot read")
        return
    keys = harvest_routing_keys()
    busy = {
        stage for stage, key in keys.items() if _is_busy(connection, key, _RESENT_AFTER[stage], now)
    }
    waiting = {stage: connection.llen(key) for stage, key in keys.items()}
    unserved = [stage for stage, count in waiting.items() if count and stage not in busy]
    for stage in unserved:
        yield problem(
            f"{counted(waiting[stage], 'message waits', 'messages wait')} in the {stage} queue, "
            "and no consumer takes any",
            f"{KEEP_RUNNING}ckan harvester {stage}-consumer",
        )
    idle = _idle_consumers(connection)
    if not unserved and idle + len(busy) < len(keys):
        found = "Only one consumer" if idle + len(busy) else "No consumer"
        yield problem(
            f"{found} of the harvest queues is running; gather and fetch need one each",
            "Keep these running, under supervisor or systemd: ckan harvester gather-consumer and "
            "ckan harvester fetch-consumer",
        )


_RESENT_AFTER = {"gather": timedelta(hours=2), "fetch": timedelta(minutes=3)}
"""Time after which ``ckan harvester run`` sends a message again that was taken and not completed.
The values are ckanext-harvest's."""


def _is_busy(connection: Any, routing_key: str, limit: timedelta, now: datetime) -> bool:
    """Return whether a consumer has taken a message that it has not completed, and is not overdue."""
    ages = (_age(connection, key, now) for key in connection.scan_iter(f"{routing_key}:*"))
    return any(age is not None and age <= limit for age in ages)


def _idle_consumers(connection: Any) -> int:
    """Count the connections to the queues' database that wait for a message, without those of RQ's workers."""
    database = str(connection.connection_pool.connection_kwargs.get("db", 0))
    rq_workers = background_worker_names()
    return sum(
        client["cmd"] == "blpop" and client["db"] == database and client["name"] not in rq_workers
        for client in connection.client_list()
    )


_CALL_HARVESTER = "Call ckan harvester run by cron, every few minutes."

_job = harvest.JOB.c
_object = harvest.OBJECT.c
_source = harvest.SOURCE.c
_package = model.Package.__table__.c

_OPEN = _object.state.not_in(("COMPLETE", "ERROR"))
_OPEN_JOBS = (
    sa.select(
        *(_job.id, _job.status, _job.created, _job.gather_finished),
        *(_source.type, _package.name),
        sa.func.count().filter(_OPEN).label("open"),
        LAST.filter(_object.state.in_(("FETCH", "IMPORT"))).label("begun"),
        LAST.label("progress"),
    )
    .select_from(
        harvest.JOB.join(harvest.SOURCE, _source.id == _job.source_id)
        .join(model.Package.__table__, _package.id == _source.id)
        .outerjoin(harvest.OBJECT, _object.harvest_job_id == _job.id)
    )
    .where(_job.status.in_(("New", "Running")))
    .group_by(_job.id, _source.id, _package.id)
    .order_by(_job.created)
)


def harvest_jobs(now: datetime) -> Iterator[SiteFinding]:
    """Report jobs that no process works on, and sources whose next job is overdue."""
    some_are_imported = is_importing(now)
    for job in model.Session.execute(_OPEN_JOBS).all():
        abort = f"ckan harvester job-abort {job.id}, then harvest the source again"
        words, advice = "", ""
        if job.status == "New":
            if utc(now) - job.created > CRON:
                words, advice = "was never sent to a consumer", _CALL_HARVESTER
        elif job.gather_finished is None:
            if not _is_gathered(job, now):
                words = "is not gathered: its consumer was killed, or Redis was emptied"
                # ckanext-harvest requeues what Redis has; our own types are requeued without it, too.
                ours = "ckan harvester run requeues it within two hours; call it by cron. At once: "
                advice = f"{ours if source_type_named(job.type) else ''}{abort}"
        elif job.open:
            # Records whose turn has not come may wait while a consumer imports others.
            stuck = utc(now) - job.begun > STILL if job.begun else not some_are_imported
            if stuck and utc(now) - job.gather_finished > STILL:
                words = f"makes no progress: {job.open} of its records are not imported"
                advice = (
                    "ckan harvester run requeues the records of a killed consumer. If that changes nothing, "
                    f"start ckan harvester fetch-consumer. To abandon the job: {abort}"
                )
        elif utc(now) - max(job.gather_finished, job.progress or job.gather_finished) > CRON:
            words, advice = "is complete, but not marked as finished", _CALL_HARVESTER
        if words:
            yield problem(
                f"Job {job.id} of the source {job.name}, of {utc_words(job.created)}, {words}",
                advice,
            )
    late = model.Session.execute(
        sa.select(sa.func.count(), sa.func.min(_source.next_run)).where(
            _source.active.is_(True),
            _source.frequency != "MANUAL",
            _source.next_run < utc(now) - CRON,
        )
    ).one()
    if late[0]:
        yield problem(
            f"{counted(late[0], 'harvest source is', 'harvest sources are')} overdue, the first since "
            f"{utc_words(late[1])}",
            _CALL_HARVESTER,
        )


def _is_gathered(job: Any, now: datetime) -> bool:
    """Return whether a gather consumer has the job, or will take it from the queue."""
    is_ours = source_type_named(job.type) is not None
    connection = harvest_queue_connection()
    # Our gathers hold a lock while they run. Gathers of other harvesters can only be judged by their age.
    if connection is None or (is_ours and is_held(f"gather {job.id}")):
        return True
    key = harvest_routing_keys()["gather"]
    if job.id in {
        json.loads(message)["harvest_job_id"] for message in connection.lrange(key, 0, -1)
    }:
        return True
    age = _age(connection, f"{key}:{job.id}", now)
    if age is None:
        return bool(utc(now) - job.created <= STILL)
    return age <= (BEGINNING if is_ours else _RESENT_AFTER["gather"])


def _age(connection: Any, key: str, now: datetime) -> timedelta | None:
    """Return the time since a consumer took a message; None if none has it."""
    taken_at = connection.get(key)
    # ckanext-harvest stores local times without a zone.
    local = now.astimezone().replace(tzinfo=None)
    return None if taken_at is None else local - datetime.fromisoformat(taken_at)


def failing_sources(now: datetime) -> Iterator[SiteFinding]:
    """Report sources whose jobs fail, held deletions or not."""
    for row in model.Session.execute(sa.text(harvest_sql.STATES_OF_SOURCES)):
        if row.failing_since is not None:
            yield problem(
                f"The source {row.name} could not be read since {utc_words(row.failing_since)}",
                "Look at the report of its last job on the source's page. Correct its URL there, or tell its "
                "publisher.",
            )
