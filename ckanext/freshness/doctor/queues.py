"""The queues of ckanext-harvest in Redis: what waits, who takes it, what was taken and never done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import redis

from ..ckan_adapter import (
    background_worker_names,
    harvest_queue_connection,
    harvest_routing_keys,
)
from . import Finding, counted, note, problem

RESENT_AFTER = {
    "harvest_job_id": timedelta(seconds=7200),
    "harvest_object_id": timedelta(seconds=180),
}
"""When ``ckan harvester run`` sends a message again that was taken and not done, as ckanext-harvest has
it, by the key of the message."""
_PATIENCE = timedelta(minutes=15)
"""How late that may be: the command is to be called every few minutes."""


@dataclass(slots=True)
class HarvestQueue:
    """One of the two queues."""

    stage: str
    """gather or fetch"""
    message_key: str
    waiting: list[str]
    """Ids of the jobs or objects in it, the next one first."""
    taken: dict[str, timedelta] = field(default_factory=dict)
    """Ids that a consumer has taken and not done, and how long ago."""


def read(now: datetime) -> dict[str, HarvestQueue] | None:
    """The queues by stage; None where they are not in Redis."""
    connection = harvest_queue_connection()
    if connection is None:
        return None
    # The times in these keys are local, and without zone.
    local = now.astimezone().replace(tzinfo=None)
    queues = {}
    for stage, routing_key in harvest_routing_keys().items():
        message_key = routing_key.rpartition(":")[2]
        messages = connection.lrange(routing_key, 0, -1)
        queue = HarvestQueue(stage, message_key, [json.loads(one)[message_key] for one in messages])
        for key in connection.scan_iter(f"{routing_key}:*"):
            if (taken_at := connection.get(key)) is not None:
                queue.taken[key.rpartition(":")[2]] = local - datetime.fromisoformat(taken_at)
        queues[stage] = queue
    return queues


def consumers(now: datetime) -> Iterator[Finding]:
    """Whether somebody takes what is in the queues.

    A consumer with nothing to do is blocked in Redis, so a message that waits while nothing of its
    queue is in work has no consumer.
    """
    connection, queues = harvest_queue_connection(), read(now)
    if connection is None or queues is None:
        yield note("The harvest queues are in RabbitMQ: nobody has looked into them")
        return
    missing = [queue for queue in queues.values() if queue.waiting and not _in_work(queue)]
    for queue in missing:
        yield problem(
            f"{counted(len(queue.waiting), 'message waits', 'messages wait')} in the {queue.stage} queue, "
            "and no consumer takes any",
            f"ckan harvester {queue.stage}-consumer (under supervisor or systemd, so that it stays)",
        )
    if missing:
        return
    try:
        idle = _blocked(connection)
    except redis.exceptions.ResponseError:
        yield note("Redis does not tell who is connected: whether consumers wait is not known")
        return
    busy = sum(1 for queue in queues.values() if _in_work(queue))
    if idle + busy < len(queues):
        found = "only one consumer" if idle + busy else "no consumer"
        yield problem(
            f"There is {found} of the harvest queues; one for gather and one for fetch are needed",
            "ckan harvester gather-consumer and ckan harvester fetch-consumer (under supervisor or "
            "systemd, so that they stay)",
        )


def unacknowledged(now: datetime) -> Iterator[Finding]:
    """Messages that were taken so long ago that they should have been sent again."""
    for queue in (read(now) or {}).values():
        limit = RESENT_AFTER[queue.message_key] + _PATIENCE
        old = {one: age for one, age in queue.taken.items() if age > limit}
        if old:
            first = max(old, key=lambda one: old[one])
            yield problem(
                f"In the {queue.stage} queue {counted(len(old), 'message was', 'messages were')} taken and "
                f"never done, the oldest ({queue.message_key} {first}) {ago(old[first])} ago: its consumer "
                "was killed, and nothing has sent it again",
                "ckan harvester run (by cron, every few minutes) sends them again.",
            )


def _in_work(queue: HarvestQueue) -> bool:
    return any(age <= RESENT_AFTER[queue.message_key] for age in queue.taken.values())


def _blocked(connection: Any) -> int:
    """How many connections to the queues' database wait for a message; RQ's workers do not count."""
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


def ago(age: timedelta) -> str:
    """A time in hours and minutes."""
    minutes = int(age.total_seconds() // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
