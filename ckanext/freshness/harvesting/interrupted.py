"""Jobs and objects that were interrupted: found by ``ckan harvester run``, and put back to work.

Consumers are killed, Redis is emptied, and the database goes away. ckanext-harvest resends the messages that
Redis still has. Everything else of our source types is found here.
"""

from __future__ import annotations

import logging
from typing import Any

import redis
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..ckan_adapter.database import is_loss
from ..ckan_adapter.harvest import (
    acknowledge_complete_objects,
    publish_jobs,
    unqueued_jobs,
    unqueued_objects,
)
from ..dates import utc, utc_now
from . import object_states
from .messages import HarvestMessage, MessageCode
from .object_writer import PAGED
from .sources import our_names

log = logging.getLogger(__name__)

_source = harvest.SOURCE
_job = harvest.JOB
_object = harvest.OBJECT
_extra = harvest.OBJECT_EXTRA

_ATTEMPTS = 5
"""How often ckanext-harvest sends an object whose consumer does not come back."""

GIVEN_UP = HarvestMessage(
    "The import of this record has ended its consumer five times, so it was given up. Look into the log of the "
    "fetch consumer, and whether the machine ran out of memory. The next job tries again",
    MessageCode.GIVEN_UP,
)


def resume() -> None:
    """Put interrupted jobs and objects back to work.

    An unexpected error is logged, so that ckanext-harvest can still do its own work for all sources.
    """
    for step in (
        _report_given_up,
        _wake_orphans,
        _resend_jobs,
        _wake_lost,
        acknowledge_complete_objects,
    ):
        try:
            step()
        except redis.exceptions.RedisError as error:
            log.warning("Redis does not answer (%s): the next harvester run resumes jobs", error)
        except Exception as error:
            if is_loss(error):
                raise
            log.exception("Interrupted harvest jobs could not be resumed")
            model.Session.rollback()


def report_abort(job_id: str) -> None:
    """Report that a job of our source types was aborted, unless it had ended or been aborted before."""
    ours = sa.select(_source.c.id).where(_source.c.type.in_(our_names()))
    ended = model.Session.execute(
        sa.update(_job)
        .where(_job.c.id == job_id, _job.c.finished.is_(None), _job.c.source_id.in_(ours))
        .values(finished=utc(utc_now()))
        .execution_options(synchronize_session=False)
    )
    if ended.rowcount:
        words = "The job was aborted. The next job does what this one has not done"
        object_states.add_job_error(job_id, HarvestMessage(words, MessageCode.ABORTED))


def _running(*conditions: Any) -> list[str]:
    """Return the ids of objects of running jobs of our source types."""
    tables = _object.join(_job, _job.c.id == _object.c.harvest_job_id)
    statement = (
        sa.select(_object.c.id)
        .select_from(tables.join(_source, _source.c.id == _object.c.harvest_source_id))
        .where(_job.c.status == "Running", _source.c.type.in_(our_names()), *conditions)
    )
    return list(model.Session.execute(statement).scalars())


def _report_given_up() -> None:
    """Report the objects as errors that ckanext-harvest has given up without a message, after five attempts."""
    given_up = (_object.c.state == "ERROR", _object.c.report_status.is_(None))
    ids = _running(*given_up, _object.c.retry_times >= _ATTEMPTS)
    for object_id in ids:
        object_states.add_error(object_id, GIVEN_UP)
    object_states.finish([], ids)


def _wake_orphans() -> None:
    """Make followers wait for a consumer of their own if their lead ended without them."""
    lead, page = _object.alias("lead"), _extra.alias("page")
    followers = (
        sa.select(sa.func.jsonb_array_elements_text(sa.cast(page.c.value, JSONB)))
        .select_from(page.join(lead, lead.c.id == page.c.harvest_object_id))
        .where(page.c.key == "page", lead.c.state.in_(("COMPLETE", "ERROR")))
    )
    _wait(_object.c.state == PAGED, _object.c.id.in_(followers))


def _wake_lost() -> None:
    """Make objects wait again that a consumer had begun, if no message of the queue names them any more.

    This happens if a consumer is killed and Redis is emptied. If the consumer is still at work, the object is
    imported twice, which changes nothing.
    """
    begun = _object.c.state.in_(("FETCH", "IMPORT"))
    _wait(begun, _object.c.id.in_(unqueued_objects(_running(begun))))


def _wait(*conditions: Any) -> None:
    """Make objects wait for a consumer, and commit. ckanext-harvest then sends their messages."""
    model.Session.execute(
        sa.update(_object)
        .where(*conditions)
        .values(state="WAITING")
        .execution_options(synchronize_session=False)
    )
    model.Session.commit()


def _resend_jobs() -> None:
    """Queue running jobs again that wait for their gather but are in no queue.

    ckanext-harvest resends objects, but not jobs. A job gets lost if Redis was away when it was to be
    queued, or if the database was away when a consumer took it. Works only with queues in Redis.
    """
    lost = unqueued_jobs(
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
    for job_id in lost:
        log.warning("Harvest job %s was in no queue: it is gathered again", job_id)
    publish_jobs(lost)
