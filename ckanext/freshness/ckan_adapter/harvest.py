"""ckanext-harvest: its tables, its queues and its harvesters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from ckan import model

from ckanext.harvest import model as harvest_model
from ckanext.harvest import queue
from ckanext.harvest.interfaces import IHarvester
from ckanext.harvest.logic.validators import _normalize_url


def harvesting_user() -> Any:
    """The user who harvests: ``ckanext.harvest.user_name``, a sysadmin called ``harvest``, or the site's.

    The same order as ckanext-harvest's own harvesters have.

    :raises tk.ObjectNotFound: the configured user does not exist.
    """
    configured = tk.config.get("ckanext.harvest.user_name")
    user = model.User.get(configured or "harvest")
    if configured and user is None:
        raise tk.ObjectNotFound(f"ckanext.harvest.user_name names no user: {configured}")
    if user is not None and (configured or user.sysadmin):
        return user
    site_user = tk.get_action("get_site_user")({"ignore_auth": True, "defer_commit": True}, {})
    return model.User.get(site_user["name"])


def normalized_source_url(url: str) -> str | None:
    """A URL as ckanext-harvest compares those of sources; None if it is no URL at all."""
    try:
        return _normalize_url(url)
    except ValueError:
        return None


def registered_source_types() -> list[str]:
    """The types of sources that the enabled plugins harvest."""
    return [harvester.info()["name"] for harvester in p.PluginImplementations(IHarvester)]


def publish_objects(object_ids: Sequence[str]) -> None:
    """Put harvest objects on ckanext-harvest's fetch queue."""
    publisher = queue.get_fetch_publisher()
    for object_id in object_ids:
        publisher.send({"harvest_object_id": object_id})
    publisher.close()


def publish_jobs(job_ids: Sequence[str]) -> None:
    """Put harvest jobs on ckanext-harvest's gather queue."""
    publisher = queue.get_gather_publisher()
    for job_id in job_ids:
        publisher.send({"harvest_job_id": job_id})
    publisher.close()


def unqueued_jobs(job_ids: Iterable[str]) -> list[str]:
    """Those of some harvest jobs that neither wait in Redis nor are in a consumer's hands.

    None where the queues are in RabbitMQ, which cannot be asked.
    """
    ids = list(job_ids)
    connection = harvest_queue_connection() if ids else None
    if connection is None:
        return []
    key = queue.get_gather_routing_key()
    # In this order: a message that a consumer takes in between is then seen in its hands.
    waiting = {json.loads(one)["harvest_job_id"] for one in connection.lrange(key, 0, -1)}
    return [one for one in ids if one not in waiting and not connection.exists(f"{key}:{one}")]


def give_back_done_messages() -> None:
    """Take messages out of consumers' hands whose objects are done: Redis was away when they said so.

    ckanext-harvest would send them again, and then call such an object failed because its job is over.
    """
    connection = harvest_queue_connection()
    if connection is None:
        return
    prefix = queue.get_fetch_routing_key() + ":"
    keys = {key.removeprefix(prefix): key for key in connection.scan_iter(f"{prefix}*")}
    objects = harvest_model.HarvestObject.__table__
    done = model.Session.execute(
        sa.select(objects.c.id).where(
            objects.c.id.in_(keys),
            objects.c.state.in_(("COMPLETE", "ERROR")),
            objects.c.report_status.is_not(None),
        )
    ).scalars()
    for object_id in done:
        connection.delete(keys[object_id])


def harvest_queue_connection() -> Any | None:
    """A connection to the Redis of ckanext-harvest's queues; None where they are in RabbitMQ."""
    if tk.config.get("ckan.harvest.mq.type", queue.MQ_TYPE) != "redis":
        return None
    return queue.get_connection_redis()


def harvest_routing_keys() -> dict[str, str]:
    """The keys of ckanext-harvest's queues in Redis, by stage."""
    return {"gather": queue.get_gather_routing_key(), "fetch": queue.get_fetch_routing_key()}


def let_consumers_wait() -> None:
    """Let ckanext-harvest's consumers wait for work as long as it takes.

    redis-py 8, which CKAN 2.12 pins, gives every connection a time-out of five seconds unless told
    otherwise. ckanext-harvest 1.6.3 does not tell it, and waits for messages with a BLPOP without end:
    on CKAN 2.12 its consumers die in the first quiet moment
    (https://github.com/ckan/ckanext-harvest/issues/581).
    """
    connect = queue.get_connection_redis
    if getattr(connect, "waits", False):
        return

    def patient() -> Any:
        connection = connect()
        connection.connection_pool.connection_kwargs["socket_timeout"] = None
        return connection

    patient.waits = True  # type: ignore[attr-defined]
    queue.get_connection_redis = patient


def keep_complete_objects() -> None:
    """Let no complete harvest object of our source types become an errored one.

    If a message comes again after its job has ended, or for the fifth time, ckanext-harvest 1.6.3 calls
    its object errored before any harvester is asked, whatever has become of the object.
    """
    if not sa.event.contains(harvest_model.HarvestObject, "before_update", _stay_complete):
        sa.event.listen(harvest_model.HarvestObject, "before_update", _stay_complete)


def _stay_complete(mapper: Any, connection: Any, target: Any) -> None:
    if target.state != "ERROR":
        return
    objects, sources = harvest_model.HarvestObject.__table__, harvest_model.HarvestSource.__table__
    stored = connection.execute(
        sa.select(objects.c.state, objects.c.report_status, sources.c.type)
        .join(sources, sources.c.id == objects.c.harvest_source_id)
        .where(objects.c.id == target.id)
    ).first()
    if stored is None or stored.state != "COMPLETE":
        return
    if getattr(queue.get_harvester(stored.type), "source_type", None) is not None:
        target.state, target.report_status = stored.state, stored.report_status
