"""CKAN's background jobs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import rq
from ckan.lib.jobs import add_queue_name_prefix, get_all_queues
from ckan.lib.redis import connect_to_redis


def background_workers() -> Counter[str]:
    """How many workers serve each queue of this site's background jobs."""
    prefix = add_queue_name_prefix("")
    return Counter(
        name.removeprefix(prefix)
        for worker in _workers()
        for name in worker.queue_names()
        if name.startswith(prefix)
    )


def waiting_background_jobs() -> dict[str, int]:
    """How many background jobs wait in each queue of this site."""
    prefix = add_queue_name_prefix("")
    return {one.name.removeprefix(prefix): one.count for one in get_all_queues()}


def background_worker_names() -> set[str]:
    """What the workers of background jobs call themselves in Redis, of all sites."""
    return {worker.name for worker in _workers()}


def _workers() -> list[Any]:
    return list(rq.Worker.all(connection=connect_to_redis()))
