"""Harvest objects on their way through an import, in ckanext-harvest's tables, and jobs that were interrupted.

Consumers are killed, Redis is emptied, and the database goes away. ckanext-harvest resends the messages that
Redis still has. Everything else of our source types is found by :func:`resume`.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import redis
import sqlalchemy as sa

from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..ckan_adapter.database import is_held, is_loss
from ..ckan_adapter.harvest import publish_jobs, publish_objects
from ..dates import utc, utc_now
from .holds import source_lock
from .known_records import RESOURCE_IDS, extras_of
from .messages import HarvestMessage, Message, MessageCode, to_column
from .object_writer import GATHERED, KEEP_RESOURCE_IDS, QUEUED, TAKE_PACKAGE_OVER, discard_attempt
from .record import urls_in_guid
from .sources import our_names

log = logging.getLogger(__name__)

_source = harvest.SOURCE
_job = harvest.JOB
_object = harvest.OBJECT
_extra = harvest.OBJECT_EXTRA


# Objects to import


@dataclass(frozen=True, slots=True)
class PendingObject:
    """An object to import, with everything that its import needs from the harvest tables."""

    id: str
    guid: str
    content: str | None
    package_id: str | None
    job_id: str
    source_id: str
    begun: int
    """How often its import has begun and not ended: its consumer was killed."""
    extras: dict[str, str]

    @property
    def url(self) -> str:
        """The URL of its record."""
        named = self.extras.get("dataset_url") or self.extras.get("catalog_url")
        return named or urls_in_guid(self.guid)[1]

    @property
    def is_deletion(self) -> bool:
        return self.extras.get("status") == "delete"

    @property
    def is_new(self) -> bool:
        """Whether the record is new. False if only its package is new, because the old one was purged."""
        return self.extras.get("status") == "new"

    @property
    def package_type(self) -> str:
        return "dataset" if "dataset_url" in self.extras else "catalog"


def waiting(source_id: str, most: int) -> list[str]:
    """Return the ids of the first objects of a source that wait for their import.

    Deletions come first: a record that is made anew can have the name of the one that it replaces. Objects
    that ended their consumer come last, so that they cost no other record its import.
    """
    rows = model.Session.execute(
        sa.select(_object.c.id)
        .select_from(_object.join(_job, _job.c.id == _object.c.harvest_job_id))
        .where(_job.c.source_id == source_id, *_WAITS)
        .order_by(
            _object.c.retry_times,
            _object.c.content.is_not(None),
            _object.c.gathered,
            _object.c.id,
        )
        .limit(most)
    )
    return list(rows.scalars())


_IS_PENDING = _object.c.state.not_in((GATHERED, "COMPLETE", "ERROR"))
"""SQL: an object was gathered, and not imported. Another version may have given it another state."""
_WAITS = _IS_PENDING, _job.c.status.in_(harvest.UNFINISHED)
"""SQL's conditions of an object that waits for its import, and of its job."""


def queue_again(object_id: str) -> None:
    """Let an object be imported once more. No commit."""
    model.Session.execute(
        sa.update(_object).where(_object.c.id == object_id).values(state=QUEUED, retry_times=0)
    )


def begin(object_id: str) -> bool:
    """Note that the import of an object begins, and commit: a consumer that is killed tells nobody.

    :returns: False if the object does not wait any more, because its job was aborted or its source cleared.
    """
    noted = model.Session.execute(
        sa.update(_object)
        .where(_object.c.id == object_id, _IS_PENDING)
        .values(retry_times=_object.c.retry_times + 1, import_started=utc(utc_now()))
    )
    model.Session.commit()
    return bool(noted.rowcount)


def load(object_ids: Sequence[str]) -> list[PendingObject]:
    """Return objects in the given order. Ids without an object are left out."""
    extras = extras_of(object_ids)
    rows = model.Session.execute(sa.select(_object).where(_object.c.id.in_(object_ids)))
    found = {
        row.id: PendingObject(
            id=row.id,
            guid=row.guid,
            content=row.content,
            package_id=row.package_id,
            job_id=row.harvest_job_id,
            source_id=row.harvest_source_id,
            begun=row.retry_times or 0,
            extras=extras[row.id],
        )
        for row in rows
    }
    return [found[object_id] for object_id in object_ids if object_id in found]


def is_current_elsewhere(source_id: str, package_id: str, *, active_only: bool = False) -> bool:
    """Return whether another source has the package too, so that this one must not delete it.

    :param active_only: ignore deleted sources: their packages may be taken over.
    """
    found = sa.exists().where(
        _object.c.current.is_(True),
        _object.c.package_id == package_id,
        _object.c.harvest_source_id != source_id,
        _source.c.id == _object.c.harvest_source_id,
    )
    if active_only:
        found = found.where(_source.c.active.is_(True))
    return bool(model.Session.execute(sa.select(found)).scalar())


# Current objects


def make_current(item: PendingObject, package_id: str, *, is_new: bool = False) -> bool:
    """Make an object complete and the current one of its record, in the transaction that writes its package.

    The package need not exist yet: foreign keys are checked at the end of the transaction. An existing one
    stays locked until then, so that no other source takes it over at the same time.

    :param is_new: neither the record nor the package has another object that could be current.
    :returns: False if the object is gone, or its source is, or if another source has taken the
        package over, or the record is not new after all. The package must not be written then: no source
        would own it, or two, or the record would have two.
    """
    statements = [_DEFER, _MAKE_CURRENT]
    if not is_new:
        statements = [
            _DEFER,
            _LOCK_PACKAGE,
            KEEP_RESOURCE_IDS,
            TAKE_PACKAGE_OVER,
            _CLEAR_CURRENT,
            _MAKE_CURRENT,
        ]
    # The count is that of the last statement.
    made = model.Session.execute(
        sa.text(";".join(statements)),
        {
            "id": item.id,
            "source_id": item.source_id,
            "guid": item.guid,
            "package_id": package_id,
            "now": utc(utc_now()),
            "resource_ids": RESOURCE_IDS,
            "is_new": is_new,
        },
    )
    return bool(made.rowcount)


# These statements are sent together, in one round trip for each package.
_DEFER = "SET CONSTRAINTS ALL DEFERRED"
_LOCK_PACKAGE = "SELECT FROM package WHERE id = :package_id FOR NO KEY UPDATE"
_CLEAR_CURRENT = """
UPDATE harvest_object SET current = false
WHERE harvest_source_id = :source_id AND current AND id <> :id
AND (package_id = :package_id OR guid = :guid)"""
"""SQL: clear ``current`` of the other objects of the package or the guid."""
_MAKE_CURRENT = """
UPDATE harvest_object this SET current = true, package_id = :package_id, import_finished = :now,
state = 'COMPLETE', report_status = CASE WHEN EXISTS (
    SELECT FROM harvest_object o WHERE o.package_id = :package_id AND o.id <> this.id
) THEN 'updated' ELSE 'added' END
WHERE id = :id AND EXISTS (SELECT FROM harvest_source s WHERE s.id = :source_id AND s.active)
AND NOT EXISTS (
    SELECT FROM harvest_object o JOIN harvest_source s ON s.id = o.harvest_source_id AND s.active
    WHERE o.current AND (o.package_id = :package_id AND s.id <> :source_id
    OR o.guid = :guid AND s.id = :source_id AND :is_new))"""
"""SQL: make the object ``:id`` the current one of ``:package_id``, with ckanext-harvest's own status."""


def retire(item: PendingObject) -> None:
    """Complete the object of a deleted record, and clear ``current`` of its source's others. No commit."""
    same = _object.c.guid == item.guid
    if item.package_id:
        same = sa.or_(same, _object.c.package_id == item.package_id)
    others = sa.and_(_object.c.current.is_(True), same)
    values = {"state": "COMPLETE", "report_status": "deleted", "import_finished": utc(utc_now())}
    for where, changed in ((_object.c.id == item.id, values), (others, {})):
        model.Session.execute(
            sa.update(_object)
            .where(where, _object.c.harvest_source_id == item.source_id)
            .values(current=False, **changed)
        )


# States


def add_job_error(job_id: str, message: Message) -> None:
    """Add an error of the gather to a job, and log it. No commit.

    Writes nothing if the job is gone, because its source was cleared.
    """
    _add(harvest.GATHER_ERROR, message, _job.c.id == job_id, harvest_job_id=job_id)
    log.info("%s", message)


def add_error(object_id: str, message: Message) -> None:
    """End the import of an object with an error, and commit. Its record counts as changed until one succeeds.

    Does nothing if the object is gone, because its source was cleared.
    """
    owner = _object.c.id == object_id
    _add(harvest.OBJECT_ERROR, message, owner, harvest_object_id=object_id, stage="Import")
    values = {"state": "ERROR", "report_status": "errored", "import_finished": utc(utc_now())}
    model.Session.execute(sa.update(_object).where(owner).values(**values))
    model.Session.commit()


def _add(table: Any, message: Message, owner: Any, **values_of_row: str) -> None:
    """Add an error, if the row to which it belongs is still there.

    :param owner: SQL's condition of that row
    """
    now = utc(utc_now())
    row = {"id": str(uuid.uuid4()), "message": to_column(message), "created": now, **values_of_row}
    values = sa.select(*map(sa.literal, row.values())).where(sa.exists().where(owner))
    model.Session.execute(sa.insert(table).from_select(list(row), values))


# Interrupted jobs and objects


def resume() -> None:
    """Put interrupted jobs and objects back to work.

    An unexpected error is logged, so that ckanext-harvest can still do its own work for all sources.
    """
    for step in (_resend_jobs, _resend_objects):
        try:
            step()
        except Exception as error:
            if is_loss(error):
                raise
            model.Session.rollback()
            if isinstance(error, redis.exceptions.RedisError):
                words = "Redis does not answer (%s): the next harvester run resumes jobs"
                log.warning(words, error)
            else:
                log.exception("Interrupted harvest jobs could not be resumed")


def report_abort(job_id: str) -> None:
    """Report that a job of our source types was aborted, unless it had ended or been aborted before."""
    ours = sa.select(_source.c.id).where(_source.c.type.in_(our_names()))
    ended = model.Session.execute(
        sa.update(_job)
        .where(_job.c.id == job_id, _job.c.finished.is_(None), _job.c.source_id.in_(ours))
        .values(finished=utc(utc_now()))
        .returning(_job.c.gather_finished)
        .execution_options(synchronize_session=False)
    ).first()
    if ended is None:
        return
    if ended.gather_finished is None:
        discard_attempt(job_id)
    else:
        model.Session.execute(
            sa.update(_object)
            .where(
                _object.c.harvest_job_id == job_id,
                _object.c.state != "COMPLETE",
                _object.c.report_status.is_(None),
            )
            .values(state="ERROR", report_status="errored")
            .execution_options(synchronize_session=False)
        )
    add_job_error(job_id, HarvestMessage(MessageCode.ABORTED))
    model.Session.commit()


def _resend_objects() -> None:
    """Send a message for each source with objects that wait, unless a process gathers or imports it.

    The consumer of the last message was killed, or the queue was emptied. A message too many does no harm.
    """
    tables = _object.join(_job, _job.c.id == _object.c.harvest_job_id)
    sources = model.Session.execute(
        sa.select(_source.c.id)
        .select_from(tables.join(_source, _source.c.id == _job.c.source_id))
        .where(_source.c.type.in_(our_names()), *_WAITS)
        .distinct()
    ).scalars()
    for source_id in sources.all():
        if not is_held(source_lock(source_id)):
            publish_objects(waiting(source_id, 1))
    model.Session.commit()


def _resend_jobs() -> None:
    """Queue the jobs again that are to be gathered and that no process gathers.

    ckanext-harvest resends a job only two hours after a consumer took it. A job gets lost if its consumer was
    killed, if Redis was away when it was to be queued, or if the database was away when a consumer took it. One
    that still waits is sent once only. One that has just been taken may be gathered again: the second consumer
    finds it done.
    """
    jobs = model.Session.execute(
        sa.select(_job.c.id, _job.c.source_id)
        .join(_source, _source.c.id == _job.c.source_id)
        .where(
            _job.c.status == "Running",
            _job.c.gather_finished.is_(None),
            _source.c.active.is_(True),
            _source.c.type.in_(our_names()),
        )
        .order_by(_job.c.created)
    ).all()
    publish_jobs([job.id for job in jobs if not is_held(source_lock(job.source_id))])
