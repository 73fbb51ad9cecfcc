"""Harvest objects on their way through an import, in ckanext-harvest's tables, and jobs that were interrupted.

Consumers are killed, Redis is emptied, and the database goes away. ckanext-harvest resends the messages that
Redis still has. Everything else of our source types is found by :func:`resume`.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import redis
import sqlalchemy as sa
from sqlalchemy.orm.attributes import set_committed_value

from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..ckan_adapter.database import is_held, is_loss
from ..ckan_adapter.harvest import publish_jobs, publish_objects, unqueued_jobs
from ..dates import utc, utc_now
from .holds import gather_lock
from .known_records import RESOURCE_IDS, extras_of
from .messages import HarvestMessage, Message, MessageCode, to_column
from .object_writer import BATCHED, KEEP_RESOURCE_IDS, TAKE_PACKAGE_OVER, discard_attempt
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
    report_status: str | None
    content: str | None
    package_id: str | None
    job_id: str
    source_id: str
    extras: dict[str, str]

    @property
    def lock(self) -> str:
        """The name of the lock that a consumer holds while it imports the batch of this object."""
        return f"record {self.source_id} {self.url}"

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


def load(object_ids: Sequence[str]) -> list[PendingObject]:
    """Return objects in the given order. Ids without an object are left out."""
    extras = extras_of(object_ids)
    rows = model.Session.execute(sa.select(_object).where(_object.c.id.in_(object_ids)))
    found = {
        row.id: PendingObject(
            id=row.id,
            guid=row.guid,
            report_status=row.report_status,
            content=row.content,
            package_id=row.package_id,
            job_id=row.harvest_job_id,
            source_id=row.harvest_source_id,
            extras=extras[row.id],
        )
        for row in rows
    }
    return [found[object_id] for object_id in object_ids if object_id in found]


def current_packages(source_id: str, guids: Collection[str]) -> dict[str, str]:
    """Return, by guid, the packages of the current objects of a source."""
    rows = model.Session.execute(
        sa.select(_object.c.guid, _object.c.package_id).where(
            _object.c.harvest_source_id == source_id,
            _object.c.current.is_(True),
            _object.c.guid.in_(guids),
        )
    )
    return {guid: package_id for guid, package_id in rows if package_id}


def last_contents(package_ids: Collection[str]) -> dict[str, str]:
    """Return, by package, the content of the object that has written it last.

    It is that of any source, active or not, and may be the object that is now imported again.
    """
    # A source that was made again has taken its objects out of the numbers of their jobs.
    is_inherited = _object.c.report_status.is_(None) & (_object.c.state == "COMPLETE")
    has_written = (
        _object.c.current.is_(True)
        | _object.c.report_status.in_(("added", "updated"))
        | is_inherited
    )
    rows = model.Session.execute(
        sa.select(_object.c.package_id, _object.c.content)
        .distinct(_object.c.package_id)
        .where(_object.c.package_id.in_(package_ids), _object.c.content.is_not(None), has_written)
        .order_by(
            _object.c.package_id,
            _object.c.current.desc(),
            _object.c.import_finished.desc().nulls_last(),
        )
    )
    return {package_id: content for package_id, content in rows}


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
    """Make an object the current one of its record, in the transaction that writes its package.

    The package need not exist yet: foreign keys are checked at the end of the transaction.

    :param is_new: neither the record nor the package has another object that could be current.
    :returns: False if the object is gone, because its source was cleared. The package must not be written
        then: no source would own it, and the next job would create it again.
    """
    statements = [_DEFER, _MAKE_CURRENT]
    if not is_new:
        statements = [
            _DEFER,
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
        },
    )
    return bool(made.rowcount)


# These statements are sent together, in one round trip for each package.
_DEFER = "SET CONSTRAINTS ALL DEFERRED"
_CLEAR_CURRENT = """
UPDATE harvest_object SET current = false
WHERE harvest_source_id = :source_id AND current AND id <> :id
AND (package_id = :package_id OR guid = :guid)"""
"""SQL: clear ``current`` of the other objects of the package or the guid."""
_MAKE_CURRENT = """
UPDATE harvest_object SET current = true, package_id = :package_id, import_finished = :now
WHERE id = :id"""
"""SQL: make the object ``:id`` the current one of ``:package_id``."""


def retire(item: PendingObject) -> None:
    """Clear ``current`` of a deleted record's objects of this source. No commit."""
    same = _object.c.guid == item.guid
    if item.package_id:
        same = sa.or_(same, _object.c.package_id == item.package_id)
    model.Session.execute(
        sa.update(_object)
        .where(sa.or_(_object.c.id == item.id, sa.and_(_object.c.current.is_(True), same)))
        .where(_object.c.harvest_source_id == item.source_id)
        .values(current=False)
    )


# States


def add_job_error(job_id: str, message: Message) -> None:
    """Add an error of the gather to a job, and log it. No commit.

    Writes nothing if the job is gone, because its source was cleared.
    """
    _add(harvest.GATHER_ERROR, message, _job.c.id == job_id, harvest_job_id=job_id)
    log.info("%s", message)


def add_error(object_id: str, message: Message) -> None:
    """Add an import error to an object and commit.

    Does nothing if the object is gone, because its source was cleared.
    """
    owner = _object.c.id == object_id
    _add(harvest.OBJECT_ERROR, message, owner, harvest_object_id=object_id, stage="Import")
    model.Session.commit()


def _add(table: Any, message: Message, owner: Any, **values_of_row: str) -> None:
    """Add an error, if the row to which it belongs is still there.

    :param owner: SQL's condition of that row
    """
    now = utc(utc_now())
    row = {"id": str(uuid.uuid4()), "message": to_column(message), "created": now, **values_of_row}
    values = sa.select(*map(sa.literal, row.values())).where(sa.exists().where(owner))
    model.Session.execute(sa.insert(table).from_select(list(row), values))


def load_result(harvest_object: Any, object_id: str, source_id: str) -> bool | Literal["unchanged"]:
    """Update a HarvestObject of ckanext-harvest with the row that its import has written.

    :returns: what ckanext-harvest expects of an import: whether it has succeeded, or "unchanged"
    """
    statement = sa.select(_object.c.current, _object.c.package_id, _object.c.report_status)
    row = model.Session.execute(statement.where(_object.c.id == object_id)).first()
    if row is None:
        log.info("Harvest object %s is gone, because its source was cleared", object_id)
        # A rollback may have unloaded it, and it cannot be loaded again. Only this is read of it from now on.
        set_committed_value(harvest_object, "harvest_source_id", source_id)
        return False
    for key in ("current", "package_id"):
        set_committed_value(harvest_object, key, row._mapping[key])
    if row.report_status in (None, "errored"):
        return False
    # A later job may have found or deleted the record since.
    return bool(row.current) or row.report_status == "deleted" or "unchanged"


def finish(done: Sequence[str], failed: Sequence[str]) -> None:
    """Write the final states of objects and commit. A record counts as changed until an import succeeds.

    ckanext-harvest writes only that of the object that a message names. The rules here are its own.
    """
    sibling = _object.alias()
    objects_of_package = (
        sa.select(sa.func.count())
        .select_from(sibling)
        .where(sibling.c.package_id == _object.c.package_id)
        .scalar_subquery()
    )
    report = sa.case(
        (_object.c.current.is_(False), "deleted"),
        (objects_of_package > 1, "updated"),
        else_="added",
    )
    for ids, state, status in ((done, "COMPLETE", report), (failed, "ERROR", "errored")):
        if ids:
            model.Session.execute(
                sa.update(_object)
                .where(_object.c.id.in_(ids))
                .values(state=state, report_status=status, import_finished=utc(utc_now()))
            )
    model.Session.commit()


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
        # ckanext-harvest does this when the messages of these objects arrive, and changes the report then.
        model.Session.execute(
            sa.update(_object)
            .where(
                _object.c.harvest_job_id == job_id,
                _object.c.state == "ERROR",
                _object.c.report_status.is_(None),
            )
            .values(report_status="errored")
            .execution_options(synchronize_session=False)
        )
    add_job_error(job_id, HarvestMessage(MessageCode.ABORTED))
    model.Session.commit()


def _running(*conditions: Any) -> list[str]:
    """Return the ids of objects of running jobs of our source types."""
    tables = _object.join(_job, _job.c.id == _object.c.harvest_job_id)
    statement = (
        sa.select(_object.c.id)
        .select_from(tables.join(_source, _source.c.id == _object.c.harvest_source_id))
        .where(_job.c.status == "Running", _source.c.type.in_(our_names()), *conditions)
    )
    return list(model.Session.execute(statement).scalars())


def _resend_objects() -> None:
    """Send messages for the objects that no process imports, whichever queue the site has."""
    if lost := wake_lost():
        publish_objects(lost)
    # If they could not be sent, the next run finds these objects again.
    model.Session.commit()


def wake_lost() -> list[str]:
    """Make objects that no process imports wait for messages of their own, and return their ids. No commit.

    The consumer of their message was killed, or had no time for the whole batch. A consumer that has just taken
    the message holds no lock yet: then two consumers import the object, and the second one finds it done.
    """
    begun = load(_running(_object.c.state.in_(("FETCH", "IMPORT"))))
    lost = _wait([item.id for item in begun if not is_held(item.lock)])
    other = _object.alias()
    has_messages = sa.exists().where(
        other.c.harvest_job_id == _object.c.harvest_job_id,
        other.c.state.in_(("WAITING", "FETCH", "IMPORT")),
    )
    return lost + _wait(_running(_object.c.state == BATCHED, ~has_messages))


def _wait(object_ids: Collection[str]) -> list[str]:
    woken = model.Session.execute(
        sa.update(_object)
        .where(_object.c.id.in_(object_ids), _object.c.state.in_(("FETCH", "IMPORT", BATCHED)))
        .values(state="WAITING")
        .returning(_object.c.id)
        .execution_options(synchronize_session=False)
    )
    return list(woken.scalars())


def _resend_jobs() -> None:
    """Queue running jobs again that are in no queue and that no process gathers.

    ckanext-harvest resends a job only two hours after a consumer took it. A job gets lost if its consumer was
    killed, if Redis was away when it was to be queued, or if the database was away when a consumer took it. One
    that has just been taken may be gathered again: the second consumer finds it done. Works only with queues in
    Redis.
    """
    unqueued = unqueued_jobs(
        model.Session.execute(
            sa.select(_job.c.id)
            .select_from(_job.join(_source, _source.c.id == _job.c.source_id))
            .where(
                _job.c.status == "Running",
                _job.c.gather_finished.is_(None),
                _source.c.active.is_(True),
                _source.c.type.in_(our_names()),
            )
        ).scalars()
    )
    lost = [job_id for job_id in unqueued if not is_held(gather_lock(job_id))]
    for job_id in lost:
        log.warning("No process gathers the harvest job %s: it is queued again", job_id)
    publish_jobs(lost)
