"""Checks of sites that harvest: consumers, and sources that do not run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from importlib.metadata import distribution
from importlib.util import find_spec
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..ckan_adapter import harvest
from ..ckan_adapter.core import background_worker_names, model
from ..ckan_adapter.harvest import (
    CRON,
    FETCH_RESENT,
    GATHER_RESENT,
    QUEUE_TYPE,
    harvest_queue_connection,
    harvest_routing_keys,
    registered_source_types,
)
from ..dates import utc, utc_words
from ..reporting import harvest_sql, harvests
from .findings import SiteFinding, counted, note, problem

KEEP_RUNNING = "Run ckan freshness serve, or keep this running: "


def consumers(now: datetime) -> Iterator[SiteFinding]:
    """Report harvest queues without a consumer.

    An idle consumer is blocked in Redis. If a message waits while no message of its queue is being
    processed, the queue has no consumer.
    """
    connection = harvest_queue_connection()
    if connection is None:
        kind = tk.config[QUEUE_TYPE]
        if find_spec("pika") and kind in ("amqp", "ampq"):
            yield note("The harvest queues are in RabbitMQ, which the doctor cannot read")
        else:
            yield problem(
                f"Nothing is harvested: {QUEUE_TYPE} is {kind}, which is unknown or needs the library pika",
                f"Set {QUEUE_TYPE} to redis. For RabbitMQ set amqp, and: pip install ckanext-harvest[amqp]",
            )
        return
    keys = harvest_routing_keys()
    busy = {stage for stage, key in keys.items() if _is_busy(connection, key, stage, now)}
    waiting = {stage: connection.llen(key) for stage, key in keys.items() if stage not in busy}
    unserved = [stage for stage, count in waiting.items() if count]
    for stage in unserved:
        yield problem(
            f"{counted(waiting[stage], 'message waits', 'messages wait')} in the {stage} queue, "
            "and no consumer takes any",
            f"{KEEP_RUNNING}ckan harvester {stage}-consumer",
        )
    alive = _idle_consumers(connection) + len(busy)
    if not unserved and alive < len(keys):
        timeout = connection.connection_pool.make_connection().socket_timeout
        ends = f". If they end after {timeout} quiet seconds, add ?socket_timeout=86400 to ckan.redis.url"
        yield problem(
            f"{'Only one consumer' if alive else 'No consumer'} of the harvest queues is running; gather and "
            "fetch need one each",
            f"{KEEP_RUNNING}ckan harvester gather-consumer and ckan harvester fetch-consumer"
            f"{ends if timeout and timeout < 60 else ''}",
        )


_RESENT_AFTER = {"gather": GATHER_RESENT, "fetch": FETCH_RESENT}
"""Time after which ckanext-harvest sends a message again that was taken and not completed."""


def _is_busy(connection: Any, routing_key: str, stage: str, now: datetime) -> bool:
    """Return whether a consumer has taken a message that it has not completed, and is not overdue."""
    # ckanext-harvest stores local times without a zone.
    since = now.astimezone().replace(tzinfo=None) - _RESENT_AFTER[stage]
    taken = (connection.get(key) for key in connection.scan_iter(f"{routing_key}:*"))
    return any(at is not None and datetime.fromisoformat(at) >= since for at in taken)


def _idle_consumers(connection: Any) -> int:
    """Count the connections to the queues' database that wait for a message, without those of RQ's workers."""
    database = str(connection.connection_pool.connection_kwargs.get("db", 0))
    rq_workers = background_worker_names()
    return sum(
        client["cmd"] == "blpop" and client["db"] == database and client["name"] not in rq_workers
        for client in connection.client_list()
    )


_CALL_HARVESTER = "Run ckan freshness serve, or call ckan harvester run by cron, every few minutes."


def sources(now: datetime) -> Iterator[SiteFinding]:
    """Report sources that nobody harvests, that are late or fail, and jobs that stand still."""
    if not p.plugin_loaded("harvest"):
        return
    yield from _source_types()
    source = harvest.SOURCE.c
    late = model.Session.execute(
        sa.select(sa.func.count(), sa.func.min(source.next_run)).where(
            source.active.is_(True),
            source.frequency != "MANUAL",
            source.next_run < utc(now) - CRON,
        )
    ).one()
    if late[0]:
        yield problem(
            f"{counted(late[0], 'harvest source is', 'harvest sources are')} overdue, the first since "
            f"{utc_words(late[1])}",
            _CALL_HARVESTER,
        )
    names = {}
    for row in model.Session.execute(sa.text(harvest_sql.STATES_OF_SOURCES)):
        names[row.id] = row.name
        if row.failing_since is not None:
            yield problem(
                f"The source {row.name} could not be read since {utc_words(row.failing_since)}",
                "Look at the report of its last job on the source's page. Correct its URL there, or tell its "
                "publisher.",
            )
    for job in harvests.jobs(names, 1, errors=0, now=now):
        if words := _stuck(job):
            yield problem(
                f"Job {job.id} of the source {names[job.source_id]}, of {utc_words(job.created)}, {words}",
                f"{_CALL_HARVESTER} It puts lost work back into the queues. To "
                f"abandon the job: ckan harvester job-abort {job.id}, then harvest the source again",
            )


def _stuck(job: harvests.HarvestJob) -> str:
    """Return in words why no process works on a job; empty if one does, or will."""
    if job.progress is None or job.progress["idle_since"] is None:
        return ""
    if not job.progress["is_gathered"]:
        return "is not gathered: its consumer was killed"
    if count := job.progress["waiting"]:
        return f"makes no progress: {count} of its records are not imported"
    return "is complete, but not marked as finished"


def _source_types() -> Iterator[SiteFinding]:
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
