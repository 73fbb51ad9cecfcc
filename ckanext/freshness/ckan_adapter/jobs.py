"""CKAN's background jobs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import rq
from ckan.lib.jobs import add_queue_name_prefix, get_all_queues
from ckan.lib.redis import connect_to_redis


def background_workers() -> Counter[str]:
    """Count the workers of each queue of this site's background jobs."""
    prefix = add_queue_name_prefix("")
    return Counter(
        name.removeprefix(prefix)
        for worker in _workers()
        for name in worker.queue_names()
        if name.startswith(prefix)
    )


def waiting_background_jobs() -> dict[str, int]:
    """Count the waiting background jobs of each queue of this site."""
    prefix = add_queue_name_prefix("")
    return {queue.name.removeprefix(prefix): queue.count for queue in get_all_queues()}


def background_worker_names() -> set[str]:
    """Return the names of the background workers of all sites in this Redis."""
    return {worker.name for worker in _workers()}


def _workers() -> list[Any]:
    return list(rq.Worker.all(connection=connect_to_redis()))
