"""The queues and the harvesters of ckanext-harvest.

Only ``harvesters.py`` imports ckanext-harvest. It hands over the parts used here by :func:`connect_harvest`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from ckan import model
from sqlalchemy.orm.attributes import set_committed_value

from . import harvest_tables

QUEUE_TYPE = "ckan.harvest.mq.type"
"""ckanext-harvest's option for the kind of its queues: ``redis`` or ``amqp``."""


@dataclass(frozen=True, slots=True)
class HarvestExtension:
    """The parts of ckanext-harvest that this module calls."""

    queue: Any
    """The module ``ckanext.harvest.queue``."""
    plugin: Any
    """The module ``ckanext.harvest.plugin``."""
    normalize_url: Callable[[str], str]
    """The function that its validators compare sources' URLs with."""


_extension: HarvestExtension | None = None


def connect_harvest(extension: HarvestExtension) -> None:
    """Use ckanext-harvest from now on. Without this call, no harvester and no queue is found."""
    global _extension
    _extension = extension
    _let_consumers_wait(extension.queue)


def _queue() -> Any:
    if _extension is None:
        raise RuntimeError("ckanext-harvest is not in use: add the plugin harvest to ckan.plugins")
    return _extension.queue


def harvest_plugin() -> Any | None:
    """Return the module of ckanext-harvest's plugin ``harvest``; None if no harvester of ours is enabled."""
    return _extension.plugin if _extension else None


def harvesting_user() -> Any:
    """Return the user for writing packages, in the order of ckanext-harvest's own harvesters.

    It is the user of ``ckanext.harvest.user_name``, a sysadmin called ``harvest``, or the site's own user.

    :raises tk.ObjectNotFound: the configured user does not exist
    """
    configured = tk.config.get("ckanext.harvest.user_name")
    user = model.User.get(configured or "harvest")
    if configured and user is None:
        raise tk.ObjectNotFound(
            f"the option ckanext.harvest.user_name names no user: {configured}. Create this user, or correct "
            "the option and restart the consumers"
        )
    if user is not None and (configured or user.sysadmin):
        return user
    site_user = tk.get_action("get_site_user")({"ignore_auth": True, "defer_commit": True}, {})
    return model.User.get(site_user["name"])


def normalized_source_url(url: str) -> str | None:
    """Return a URL in the form in which ckanext-harvest compares sources; None if it cannot be parsed."""
    try:
        return _extension.normalize_url(url) if _extension else url
    except ValueError:
        return None


def registered_source_types() -> list[str]:
    """Return the source types that the enabled plugins harvest."""
    harvesters = tk.get_action("harvesters_info_show")({"ignore_auth": True}, {})
    return [harvester["name"] for harvester in harvesters]


def get_harvester(source_type: str | None) -> Any | None:
    """Return the enabled plugin that harvests a type of sources; None if there is none."""
    return _extension.queue.get_harvester(source_type) if _extension else None


def publish_objects(object_ids: Sequence[str]) -> None:
    """Put harvest objects on ckanext-harvest's fetch queue."""
    publisher = _queue().get_fetch_publisher()
    for object_id in object_ids:
        publisher.send({"harvest_object_id": object_id})
    publisher.close()


def publish_jobs(job_ids: Sequence[str]) -> None:
    """Put harvest jobs on ckanext-harvest's gather queue."""
    publisher = _queue().get_gather_publisher()
    for job_id in job_ids:
        publisher.send({"harvest_job_id": job_id})
    publisher.close()


def unqueued_jobs(job_ids: Iterable[str]) -> list[str]:
    """Return the harvest jobs that neither wait in Redis nor have been taken by a consumer.

    RabbitMQ cannot be asked: if the queues are there, return none.
    """
    return _unqueued(job_ids, "gather", "harvest_job_id")


def unqueued_objects(object_ids: Iterable[str]) -> list[str]:
    """Return the harvest objects that neither wait in Redis nor have been taken by a consumer.

    RabbitMQ cannot be asked: if the queues are there, return none.
    """
    return _unqueued(object_ids, "fetch", "harvest_object_id")


def _unqueued(ids: Iterable[str], stage: str, name: str) -> list[str]:
    asked = list(ids)
    connection = harvest_queue_connection() if asked else None
    if connection is None:
        return []
    key = harvest_routing_keys()[stage]
    # First the queue, then the taken messages: a consumer may take one in between.
    waiting = {json.loads(message)[name] for message in connection.lrange(key, 0, -1)}
    return [id_ for id_ in asked if id_ not in waiting and not connection.exists(f"{key}:{id_}")]


def acknowledge_complete_objects() -> None:
    """Acknowledge the taken messages whose objects are complete.

    A message stays taken if Redis was down when its consumer acknowledged it. ckanext-harvest would send
    it again and mark its object as failed, because its job has ended.
    """
    connection = harvest_queue_connection()
    if connection is None:
        return
    prefix = harvest_routing_keys()["fetch"] + ":"
    keys = {key.removeprefix(prefix): key for key in connection.scan_iter(f"{prefix}*")}
    objects = harvest_tables.OBJECT
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
    """Connect to the Redis of ckanext-harvest's queues.

    :returns: None if the queues are in RabbitMQ or ckanext-harvest is not in use.
    """
    if _extension is None:
        return None
    queue = _extension.queue
    if tk.config.get(QUEUE_TYPE, queue.MQ_TYPE) != "redis":
        return None
    return queue.get_connection_redis()


def harvest_routing_keys() -> dict[str, str]:
    """Return the keys of ckanext-harvest's queues in Redis by stage, ``gather`` and ``fetch``."""
    queue = _queue()
    return {"gather": queue.get_gather_routing_key(), "fetch": queue.get_fetch_routing_key()}


def _let_consumers_wait(queue: Any) -> None:
    """Remove the time limit of the connections on which ckanext-harvest's consumers wait for messages.

    redis-py 8, which CKAN 2.12 pins, sets a socket timeout of five seconds by default. ckanext-harvest
    1.6.3 waits for messages with an endless BLPOP, so on CKAN 2.12 its consumers die after five seconds
    without work (https://github.com/ckan/ckanext-harvest/issues/581).
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


def guard_updates(harvest_object: type[Any], harvest_job: type[Any]) -> None:
    """Guard the updates that ckanext-harvest makes of its jobs and objects, by SQLAlchemy's own events.

    Complete objects of our source types are not marked as errored. ckanext-harvest 1.6.3 does so without
    calling the harvester, if a message arrives after the end of its job, or for the fifth time.

    A row that is gone, because the source was cleared meanwhile, is not updated. Otherwise SQLAlchemy raises
    an error in ckanext-harvest, which ends the consumer.

    :param harvest_object: the class ``ckanext.harvest.model.HarvestObject``.
    :param harvest_job: the class ``ckanext.harvest.model.HarvestJob``.
    """
    for guarded, guard in (
        (harvest_object, _forget_if_gone),
        (harvest_job, _forget_if_gone),
        (harvest_object, _stay_complete),
    ):
        if not sa.event.contains(guarded, "before_update", guard):
            sa.event.listen(guarded, "before_update", guard)


def _forget_if_gone(mapper: Any, connection: Any, target: Any) -> None:
    """Forget the changes of an object whose row is gone, so that there is nothing to update."""
    state, table = sa.inspect(target), mapper.local_table
    statement = sa.select(table.c.id).where(table.c.id == state.identity[0])
    # A deletion that is under way is waited for, and none can begin before the update.
    if connection.execute(statement.with_for_update(key_share=True)).first() is None:
        for attribute in state.attrs:
            if attribute.history.has_changes():
                set_committed_value(target, attribute.key, attribute.value)


def _stay_complete(mapper: Any, connection: Any, target: Any) -> None:
    if target.state != "ERROR":
        return
    objects, sources = harvest_tables.OBJECT, harvest_tables.SOURCE
    stored = connection.execute(
        sa.select(objects.c.state, objects.c.report_status, sources.c.type)
        .join(sources, sources.c.id == objects.c.harvest_source_id)
        .where(objects.c.id == target.id)
    ).first()
    if stored is None or stored.state != "COMPLETE":
        return
    if getattr(get_harvester(stored.type), "source_type", None) is not None:
        target.state, target.report_status = stored.state, stored.report_status
