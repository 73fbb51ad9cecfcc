"""Checks of ckanext-harvest's queues in Redis: consumers, and messages that were never completed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import ckan.plugins.toolkit as tk
import redis

from ..ckan_adapter.harvest import QUEUE_TYPE, harvest_queue_connection, harvest_routing_keys
from ..ckan_adapter.jobs import background_worker_names
from . import SiteFinding, counted, note, problem

RESENT_AFTER = {
    "harvest_job_id": timedelta(seconds=7200),
    "harvest_object_id": timedelta(seconds=180),
}
"""Time after which ``ckan harvester run`` requeues a message that was taken and not completed, by the key of
the message. The values are ckanext-harvest's."""
_PATIENCE = timedelta(minutes=15)
"""Tolerated delay of the requeuing, since cron calls the command every few minutes."""


@dataclass(frozen=True, slots=True)
class HarvestQueue:
    """One of the two queues.

    :ivar stage: gather or fetch
    :ivar waiting: ids of the waiting jobs or objects, the next one first
    :ivar taken: the time since a consumer took a message that is not completed, by id
    """

    stage: str
    message_key: str
    waiting: list[str]
    taken: dict[str, timedelta] = field(default_factory=dict)


def read(now: datetime) -> dict[str, HarvestQueue] | None:
    """Return the queues by stage; None if they are not in Redis."""
    connection = harvest_queue_connection()
    if connection is None:
        return None
    # ckanext-harvest stores local times without a zone.
    local = now.astimezone().replace(tzinfo=None)
    queues = {}
    for stage, routing_key in harvest_routing_keys().items():
        message_key = routing_key.rpartition(":")[2]
        messages = connection.lrange(routing_key, 0, -1)
        queue = HarvestQueue(
            stage, message_key, [json.loads(text)[message_key] for text in messages]
        )
        for key in connection.scan_iter(f"{routing_key}:*"):
            if (taken_at := connection.get(key)) is not None:
                queue.taken[key.rpartition(":")[2]] = local - datetime.fromisoformat(taken_at)
        queues[stage] = queue
    return queues


def consumers(now: datetime) -> Iterator[SiteFinding]:
    """Report queues without a consumer, and a missing option.

    An idle consumer is blocked in Redis. If a message waits while no message of its queue is being
    processed, the queue has no consumer.
    """
    if tk.config.get(QUEUE_TYPE) is None:
        yield problem(
            "ckan.harvest.mq.type is not set. ckanext-harvest then uses Redis, but never sends a message again "
            "that is lost, so that the job of a killed consumer never ends",
            "Set it in the site's ini file: ckan.harvest.mq.type = redis. Then restart the consumers.",
        )
    connection, queues = harvest_queue_connection(), read(now)
    if connection is None or queues is None:
        yield note("The harvest queues are in RabbitMQ, which the doctor cannot read")
        return
    missing = [queue for queue in queues.values() if queue.waiting and not _is_busy(queue)]
    for queue in missing:
        yield problem(
            f"{counted(len(queue.waiting), 'message waits', 'messages wait')} in the {queue.stage} queue, "
            "and no consumer takes any",
            f"Keep this running, under supervisor or systemd: ckan harvester {queue.stage}-consumer",
        )
    if missing:
        return
    try:
        idle = _blocked(connection)
    except redis.exceptions.ResponseError:
        yield note("Redis does not list its connections, so the doctor cannot find idle consumers")
        return
    busy = sum(1 for queue in queues.values() if _is_busy(queue))
    if idle + busy < len(queues):
        found = "Only one consumer" if idle + busy else "No consumer"
        yield problem(
            f"{found} of the harvest queues is running; gather and fetch need one each",
            "Keep these running, under supervisor or systemd: ckan harvester gather-consumer and "
            "ckan harvester fetch-consumer",
        )


def unacknowledged(now: datetime) -> Iterator[SiteFinding]:
    """Report messages of killed consumers that nothing has requeued in time."""
    for queue in (read(now) or {}).values():
        limit = RESENT_AFTER[queue.message_key] + _PATIENCE
        old = {id: age for id, age in queue.taken.items() if age > limit}
        if old:
            oldest = max(old, key=lambda id: old[id])
            yield problem(
                f"{counted(len(old), 'message', 'messages')} of the {queue.stage} queue taken but never "
                f"completed, the oldest ({queue.message_key} {oldest}) {duration(old[oldest])} ago: the "
                "consumer was killed, and nothing has requeued it",
                "Call ckan harvester run by cron, every few minutes. It requeues such messages.",
            )


def _is_busy(queue: HarvestQueue) -> bool:
    return any(age <= RESENT_AFTER[queue.message_key] for age in queue.taken.values())


def _blocked(connection: Any) -> int:
    """Count the connections to the queues' database that wait for a message, without those of RQ's workers."""
    database = str(connection.connection_pool.connection_kwargs.get("db", 0))
    rq_workers = background_worker_names()
    clients: list[dict[str, Any]] = connection.client_list()
    return sum(
        1
        for client in clients
        if client["cmd"] == "blpop"
        and client["db"] == database
        and client["name"] not in rq_workers
    )


def duration(age: timedelta) -> str:
    """Return a duration in hours and minutes."""
    minutes = int(age.total_seconds() // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
