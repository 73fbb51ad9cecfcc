"""The tables, queues and harvesters of ckanext-harvest.

Sites that do not harvest need not install ckanext-harvest: it is imported when a function needs it. Its tables
are declared here with the columns that this extension reads and writes. Call ``p.plugin_loaded("harvest")``
before a statement uses them: a site without that plugin need not have them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from ckan import model
from sqlalchemy.orm.attributes import set_committed_value


def _table(name: str, texts: str, dates: str = "", flags: str = "", numbers: str = "") -> Any:
    types = (
        (texts, sa.UnicodeText),
        (dates, sa.DateTime),
        (flags, sa.Boolean),
        (numbers, sa.Integer),
    )
    columns = [sa.column(key, kind) for keys, kind in types for key in keys.split()]
    return sa.table(name, *columns)


SOURCE = _table(
    "harvest_source",
    "id url title config type frequency",
    dates="created next_run",
    flags="active",
)
JOB = _table(
    "harvest_job",
    "id source_id status",
    dates="created gather_started gather_finished finished",
)
OBJECT = _table(
    "harvest_object",
    "id guid content state report_status harvest_job_id harvest_source_id package_id",
    dates="gathered fetch_started fetch_finished import_started import_finished",
    flags="current",
    numbers="retry_times",
)
OBJECT_EXTRA = _table("harvest_object_extra", "id harvest_object_id key value")
OBJECT_ERROR = _table("harvest_object_error", "id harvest_object_id message stage", dates="created")
GATHER_ERROR = _table("harvest_gather_error", "id harvest_job_id message", dates="created")


_ABSENT_SINCE = """(
    SELECT x.value FROM harvest_object_extra x JOIN package k ON k.id = s.id AND k.state = 'active'
    WHERE x.harvest_object_id = o.id AND x.key = 'absent_since' AND o.current
)"""
"""SQL: since when the source ``s``, unless it was deleted, has been without the record of the object ``o``."""


def newest_object_sql() -> str:
    """Return SQL for the newest harvest object of the package ``p``, with its source's configuration.

    ``absent_since`` is when its source was first found to be without the record, as text.
    Without ckanext-harvest, all columns are null.
    """
    if not p.plugin_loaded("harvest"):
        return "SELECT NULL AS id, NULL AS config, NULL AS absent_since"
    return f"""
        SELECT o.id, s.config, {_ABSENT_SINCE} AS absent_since FROM harvest_object o
        LEFT JOIN harvest_source s ON s.id = o.harvest_source_id
        WHERE o.package_id = p.id
        ORDER BY o.current DESC NULLS LAST, o.gathered DESC NULLS LAST, o.id LIMIT 1"""


def source_configs_sql() -> str:
    """Return SQL for whether the package ``p`` is harvested, and the configurations of its current sources.

    Without ckanext-harvest, no package is harvested.
    """
    if not p.plugin_loaded("harvest"):
        return "SELECT false AS is_harvested, NULL AS configs"
    return """
        SELECT count(*) > 0 AS is_harvested,
            array_agg(s.config) FILTER (WHERE o.current AND s.id IS NOT NULL) AS configs
        FROM harvest_object o LEFT JOIN harvest_source s ON s.id = o.harvest_source_id
        WHERE o.package_id = p.id"""


OTHERWISE_ABSENT = f"""
SELECT p.id FROM harvest_object o JOIN harvest_source s ON s.id = o.harvest_source_id
JOIN freshness_dataset d ON d.package_id = o.package_id JOIN package p ON p.id = d.package_id
WHERE s.id = :source AND o.current AND (d.absent_since IS NULL) <> (:is_deleted OR {_ABSENT_SINCE} IS NULL)
ORDER BY p.id FOR NO KEY UPDATE OF p"""
"""SQL: the datasets of ``:source`` that are marked as absent from it and are not, or the other way round.

A source that is about to be deleted (``:is_deleted``) marks none."""
PACKAGES_OF_SOURCE = "SELECT package_id FROM harvest_object WHERE harvest_source_id = :owner"
"""SQL: the packages of the source ``:owner``."""
IS_HARVESTED = "EXISTS (SELECT FROM harvest_object o WHERE o.package_id = d.package_id)"
"""SQL: whether the dataset ``d`` is harvested."""


def config_value(config: str | None, key: str) -> object:
    """Return a value of the configuration of a source of any harvester; None if it has none."""
    try:
        values = json.loads(config or "{}")
    except ValueError:
        return None
    return values.get(key) if isinstance(values, dict) else None


def source_row(source_id: str) -> Any:
    """Return the row of a source, active or not; None if there is none."""
    return model.Session.execute(sa.select(SOURCE).where(SOURCE.c.id == source_id)).first()


def job_row(job_id: str) -> Any:
    """Return the row of a job; None if there is none."""
    return model.Session.execute(sa.select(JOB).where(JOB.c.id == job_id)).first()


UNFINISHED = ("New", "Running")
"""The statuses of jobs that have neither ended nor been aborted."""


def is_unfinished(job_id: str, *, lock: bool = False) -> bool:
    """Return whether a job is there, and has neither ended nor been aborted.

    :param lock: keep it so until this transaction ends
    """
    status = sa.select(JOB.c.status).where(JOB.c.id == job_id)
    if lock:
        status = status.with_for_update(key_share=True)
    return model.Session.execute(status).scalar() in UNFINISHED


QUEUE_TYPE = "ckan.harvest.mq.type"
"""ckanext-harvest's option for the kind of its queues: ``redis`` or ``amqp``."""


def _queue() -> Any:
    from ckanext.harvest import queue

    return queue


def harvesting_user() -> Any:
    """Return the user for writing packages, in the order of ckanext-harvest's own harvesters.

    It is the user of ``ckanext.harvest.user_name``, a sysadmin called ``harvest``, or the site's own user.

    :raises tk.ObjectNotFound: the configured user does not exist
    """
    configured = tk.config.get("ckanext.harvest.user_name", "")
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


def registered_source_types() -> list[str]:
    """Return the source types that the enabled plugins harvest."""
    harvesters = tk.get_action("harvesters_info_show")({"ignore_auth": True}, {})
    return [harvester["name"] for harvester in harvesters]


def get_harvester(source_type: str | None) -> Any | None:
    """Return the enabled plugin that harvests a type of sources; None if there is none."""
    return _queue().get_harvester(source_type) if p.plugin_loaded("harvest") else None


def publish_jobs(job_ids: Sequence[str]) -> None:
    """Put harvest jobs on ckanext-harvest's gather queue."""
    _publish(_queue().get_gather_publisher(), "harvest_job_id", job_ids)


def publish_objects(object_ids: Sequence[str]) -> None:
    """Put harvest objects on ckanext-harvest's fetch queue."""
    if connection := harvest_queue_connection():
        # As ckanext-harvest does with those of its gather queue: nothing waits twice.
        for object_id in object_ids:
            message = json.dumps({"harvest_object_id": object_id})
            connection.lrem(harvest_routing_keys()["fetch"], 0, message)
    _publish(_queue().get_fetch_publisher(), "harvest_object_id", object_ids)


def _publish(publisher: Any, key: str, ids: Sequence[str]) -> None:
    for one in ids:
        publisher.send({key: one})
    publisher.close()


def harvest_queue_connection() -> Any | None:
    """Connect to the Redis of ckanext-harvest's queues.

    :returns: None if the queues are in RabbitMQ or ckanext-harvest is not in use.
    """
    if not p.plugin_loaded("harvest"):
        return None
    is_redis = tk.config.get(QUEUE_TYPE, _queue().MQ_TYPE) == "redis"
    return _queue().get_connection_redis() if is_redis else None


def harvest_routing_keys() -> dict[str, str]:
    """Return the keys of ckanext-harvest's queues in Redis by stage, ``gather`` and ``fetch``."""
    queue = _queue()
    return {"gather": queue.get_gather_routing_key(), "fetch": queue.get_fetch_routing_key()}


def guard_updates(harvest_object: type[Any], harvest_job: type[Any]) -> None:
    """Guard the updates that ckanext-harvest makes of its jobs and objects, by SQLAlchemy's own events.

    A row that is gone, because the source was cleared meanwhile, is not updated. Otherwise SQLAlchemy raises
    an error in ckanext-harvest, which ends the consumer.

    The stages write what becomes of objects of our source types. ckanext-harvest would write the same columns
    of the one that a message names, though the message stands for others. It only ends those that nobody
    has imported when their job ended.

    :param harvest_object: the class ``ckanext.harvest.model.HarvestObject``.
    :param harvest_job: the class ``ckanext.harvest.model.HarvestJob``.
    """
    for guarded in (harvest_object, harvest_job):
        if not sa.event.contains(guarded, "before_update", _guard):
            sa.event.listen(guarded, "before_update", _guard)


_OF_THE_QUEUE = {
    *("state", "report_status", "retry_times", "fetch_started", "fetch_finished"),
    *("import_started", "import_finished"),
}
"""What ckanext-harvest's queue writes to an object."""


def _guard(mapper: Any, connection: Any, target: Any) -> None:
    """Forget the changes of an object that must not be written."""
    state, table = sa.inspect(target), mapper.local_table
    changed = {one.key for one in state.attrs if one.history.has_changes()}
    if table.name == OBJECT.name and _is_for_stages(connection, state.identity[0]):
        changed &= _OF_THE_QUEUE
    else:
        statement = sa.select(table.c.id).where(table.c.id == state.identity[0])
        # A deletion that is under way is waited for, and none can begin before the update.
        if connection.execute(statement.with_for_update(key_share=True)).scalar():
            return
    # A rollback may have unloaded it, and it cannot be loaded again.
    set_committed_value(target, "id", state.identity[0])
    for key in changed:
        set_committed_value(target, key, state.attrs[key].value)


def _is_for_stages(connection: Any, object_id: str) -> bool:
    """Return whether an object is of a source of our types, and imported or still to be imported."""
    is_done, is_running = OBJECT.c.state.in_(("COMPLETE", "ERROR")), JOB.c.status.in_(UNFINISHED)
    name = connection.execute(
        sa.select(SOURCE.c.type)
        .join(OBJECT, OBJECT.c.harvest_source_id == SOURCE.c.id)
        .join(JOB, JOB.c.id == OBJECT.c.harvest_job_id)
        .where(OBJECT.c.id == object_id, sa.or_(is_done, is_running))
    ).scalar()
    return getattr(get_harvester(name), "source_type", None) is not None


# When a job should have made progress

GATHER_RESENT = timedelta(hours=2)
"""ckanext-harvest sends a message to gather again that was taken and not completed for this long."""
FETCH_RESENT = timedelta(minutes=3)
"""The same of a message to import a page. Its consumer is dead: see the two limits below."""
PAGE_TIME = timedelta(seconds=50)
"""A consumer begins no other record of a page after this time."""
RECORD_TIME = timedelta(minutes=2)
"""The import of a record is ended after this time.

A dataset with as many parts as are allowed takes half a minute.
"""
CRON = timedelta(minutes=20)
"""``ckan harvester run``, called every few minutes, sends what waits and ends complete jobs in this time."""
