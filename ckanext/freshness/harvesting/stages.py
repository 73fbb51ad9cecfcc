"""The stages gather, fetch and import, for every source type.

ckanext-harvest calls them through the plugins. It uses one plugin instance for all jobs, and may call a
stage again for the same job or object, even while another process still works on it. Therefore nothing is
kept between calls, and every stage can be repeated.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime, timedelta
from functools import partial
from textwrap import shorten
from typing import Any, Literal

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from sqlalchemy.orm.attributes import set_committed_value

from ..ckan_adapter import database, harvest
from ..ckan_adapter.core import SearchIndexError, model
from ..ckan_adapter.database import TimeLimitError, is_loss, locked, locked_if_free, time_limit
from ..ckan_adapter.harvest import publish_objects
from ..ckan_adapter.packages import without_solr_commits
from ..dates import utc_now
from ..settings import brake_limits
from ..status import indexing, refresh
from . import holds, job_report, known_records, object_states, object_writer
from .legal_values import json_text
from .messages import HarvestMessage, Message, MessageCode
from .object_states import PendingObject
from .object_writer import ObjectWriter, set_extras
from .packages.ckan_actions import ImportFailed
from .packages.organizations import ensure_organizations
from .packages.writer import PackageWriter
from .source_config import ConfigError, Source
from .source_memory import SourceMemory
from .source_type import CrawlInput, SourceType
from .sources import source_of
from .strategy import Decisions
from .survey import Survey, SurveyObserver, survey

log = logging.getLogger(__name__)

PAGE_SIZE = 50
"""How many records are imported for one message of the fetch queue."""

_PLAIN_ERRORS = (
    *(ConfigError, ImportFailed, TimeLimitError, database.TablesMissingError),
    *(tk.ValidationError, tk.NotAuthorized, SearchIndexError),
)
"""Expected errors: the message says everything, so the log needs no traceback."""

MOST_ENDS = 3
"""How often a record may end its consumer before it is given up."""

GIVEN_UP = HarvestMessage(
    MessageCode.GIVEN_UP,
    details="look into the log of the fetch consumer, and whether the machine ran out of memory",
)

_STOPS = (KeyboardInterrupt, SystemExit)
"""Errors that ask the process to end. After any other, only the job or the record in hand has failed."""


# Gather


def gather(
    source_type: SourceType, job_id: str, *, now: datetime | None = None
) -> list[str] | None:
    """Crawl a job's source and write the job's harvest objects.

    :returns: the ids of the objects to publish, or None if the source could not be requested at all.
    """
    now = now or utc_now()
    try:
        database.refuse_missing_tables()
        try:
            return _gather_once(source_type, job_id, now)
        except sa.exc.SQLAlchemyError as error:
            # A deadlock and a cancelled statement are worth another try, too: a gather can be repeated.
            if not (is_loss(error) or isinstance(error, sa.exc.OperationalError)):
                raise
            log.exception("The database broke off the gather of a harvest job; once more")
            model.Session.rollback()
            return _gather_once(source_type, job_id, now)
    except BaseException as error:
        model.Session.rollback()
        # A job whose database is away stays as it is, and is queued again when the database is back.
        _end_gather(job_id, error)
        if isinstance(error, _STOPS):
            raise
        return None


def _end_gather(job_id: str, error: BaseException) -> None:
    """Discard what a failed gather has written, and tell people why it failed.

    ckanext-harvest marks the job as finished, whatever happened.
    """
    if not isinstance(error, (*_STOPS, *_PLAIN_ERRORS)):
        log.error("Harvest job %s could not be gathered", job_id, exc_info=error)
    job = harvest.job_row(job_id)
    if job is not None and job.gather_finished is None:
        with locked_if_free(holds.source_lock(job.source_id)) as free:
            if free:
                object_writer.discard_attempt(job_id)
    object_states.add_job_error(job_id, _job_message(error, job_id))
    model.Session.commit()


def _job_message(error: BaseException, job_id: str) -> Message:
    """Return, for the source's editor, why a job ended before it had read the source."""
    if isinstance(error, ConfigError):
        return HarvestMessage(MessageCode.CONFIGURATION, details=str(error))
    if isinstance(error, database.TablesMissingError):
        return str(error)
    name = type(error).__name__
    if isinstance(error, _STOPS):
        return HarvestMessage(MessageCode.STOPPED, details=name)
    words = (
        f"{name}; the log of the gather consumer has: Harvest job {job_id} could not be gathered"
    )
    return HarvestMessage(MessageCode.JOB_FAILED, details=words)


def _gather_once(source_type: SourceType, job_id: str, now: datetime) -> list[str]:
    # The queue has set gather_started without a commit.
    model.Session.commit()
    job = harvest.job_row(job_id)
    with locked(holds.source_lock(job.source_id if job else "")):
        # A job that was just taken may be queued again, and ckanext-harvest does so after two hours. A gather
        # that held this lock before us has either finished, or died and left an incomplete attempt.
        job = harvest.job_row(job_id)
        if job is None or job.status not in harvest.UNFINISHED:
            log.info("Harvest job %s was aborted, or cleared with its source: not gathered", job_id)
            return []
        if job.gather_finished:
            return object_states.waiting(job.source_id, 1)
        object_writer.discard_attempt(job_id)
        source = source_of(harvest.source_row(job.source_id))
        return _gather(source_type, source, job_id, now)


def _gather(source_type: SourceType, source: Source, job_id: str, now: datetime) -> list[str]:
    inherited = known_records.inherited_records(source.id)
    object_writer.inherit(inherited.values(), source.id, job_id)
    model.Session.commit()
    writer = ObjectWriter(job_id, source.id, now)
    memory = SourceMemory(source.id)
    decisions = holds.decisions_for_job(source.id)
    found = survey_source(source_type, source, memory, decisions, writer, now=now)
    errors = list(found.crawl.errors)
    if source_type.has_organizations(source.config):
        errors += ensure_organizations(source.id, memory, found.crawl)
    if (nothing := job_report.nothing_found(found)) is not None:
        errors.append(nothing)
    for held in found.brake.verified if found.brake else ():
        # The next job must know as much of it as of a record that is kept.
        writer.kept(held)
    writer.finish()
    # In the transaction that releases the objects: nobody can abort the job in between.
    if not harvest.is_unfinished(job_id, lock=True):
        log.info("Harvest job %s was aborted during its gather, which is discarded", job_id)
        model.Session.rollback()
        object_writer.discard_attempt(job_id)
        return []
    hold = holds.set_hold(source.id, job_id, found.brake, now)
    if found.brake and found.brake.verified and hold.kept_at is None:
        package = model.Package.get(source.id)
        name = package.name if package else source.id
        errors.append(brake_message(len(found.brake.verified), found.brake.reason, name))
    for error in errors:
        object_states.add_job_error(job_id, error)
    warnings = list(found.crawl.warnings)
    if not found.current:
        # Only before the first harvest: it reads the records of all other sources.
        warnings += job_report.harvested_elsewhere(source.id, writer.new)
    job_report.keep(source.id, job_id, found, writer, warnings)
    memory.finish(forget_others=found.crawl.is_whole)
    refresh.may_be_absent(source.id)
    for line in warnings:
        log.warning("Harvest source %s: %s", source.title, line)
    writer.release()
    return object_states.waiting(source.id, 1)


def survey_source(
    source_type: SourceType,
    source: Source,
    memory: SourceMemory,
    decisions: Decisions,
    observer: SurveyObserver,
    *,
    now: datetime,
) -> Survey:
    """Survey a source with everything that earlier jobs left of it. Gathers and previews do this alike."""
    types = source_type.name, *source_type.adopts
    url_of = partial(source_type.url_of, source.url)
    memory_form = source_type.memory_form
    known = known_records.records_of_source(source.id, types, url_of, memory_form)
    limits = brake_limits(source.config, source_type.min_records)
    given = CrawlInput(source, known, memory, now)
    return survey(source_type, given, decisions, observer, limits=limits)


def brake_message(count: int, reason: str, name: str) -> HarvestMessage:
    """Return the gather error that reports held deletions.

    :param reason: why they are held, for people.
    :param name: the source's name, as commands take it.
    """
    words = (
        f"{reason}. Look at them on the source's page and release them there, or with: "
        f"ckan freshness release {name}"
    )
    return HarvestMessage(MessageCode.DELETIONS_HELD, {"count": count}, words)


# Fetch and import


def fetch(harvest_object: Any) -> Literal[True]:
    """Do nothing: gather has already read the record."""
    return True


def import_(message: Any) -> Literal["unchanged"]:
    """Import the next page of a source, and send a message for the page after it.

    A message stands for whatever waits of its source, not for the object that it names. If another process
    gathers or imports the source, do nothing: that process sends a message for what is left.

    :param message: the HarvestObject that the message names
    :returns: what lets ckanext-harvest write least. :func:`.guard_updates` keeps it from writing even that.
    """
    source_id = message.harvest_source_id
    is_again = message.state in ("COMPLETE", "ERROR")
    if is_again:
        # ``ckan harvester import`` imports an object again, whatever has become of it.
        with locked(holds.source_lock(source_id)):
            object_states.queue_again(message.id)
            _import_page(source_id, [message.id])
    if is_again or import_next(source_id):
        # Not before the lock is free: another consumer may take the message at once.
        publish_objects(object_states.waiting(source_id, 1))
    # The queue reads it once more. A rollback may have unloaded it, and its row may be gone.
    set_committed_value(message, "harvest_source_id", source_id)
    return "unchanged"


def import_next(source_id: str) -> bool:
    """Import the next page of a source, unless another process gathers or imports the source.

    This can be repeated at any point: an object is complete in the transaction that writes its package.

    :returns: False if another process does
    """
    with locked_if_free(holds.source_lock(source_id)) as free:
        if free:
            _import_page(source_id, object_states.waiting(source_id, PAGE_SIZE))
        return free is not None


def _import_page(source_id: str, ids: Sequence[str]) -> None:
    """Import objects in order, and commit their documents in Solr."""
    if not ids:
        return
    try:
        database.refuse_missing_tables()
        page = object_states.load(ids)
        writer = PackageWriter(harvest.source_row(source_id), page)
    except BaseException as error:
        _fail(error, ids)
    else:
        _import_each(writer, page)
        _confirm(writer.marks)


def _fail(error: BaseException, ids: Sequence[str]) -> None:
    """Report an error as that of each of some objects. The next job imports them again.

    :raises BaseException: the error, if it ends the consumer: its objects wait for another one
    """
    if isinstance(error, _STOPS) or is_loss(error):
        raise error
    model.Session.rollback()
    for position, object_id in enumerate(ids):
        if not isinstance(error, _PLAIN_ERRORS):
            traceback = None if position else error
            log.error("Harvest object %s could not be imported", object_id, exc_info=traceback)
        object_states.add_error(object_id, _error_message(error, object_id))


def _import_each(writer: PackageWriter, page: Sequence[PendingObject]) -> None:
    """Import objects in order: deletions before what follows.

    When the time is up, or their job is aborted, the others wait for the next message.
    """
    end = time.monotonic() + harvest.PAGE_TIME.total_seconds()
    for item, following in zip(page, [*page[1:], None], strict=True):
        marks = dict(writer.marks)
        try:
            if item.begun >= MOST_ENDS:
                raise ImportFailed(GIVEN_UP)
            if not object_states.begin(item.id):
                break
            # Until Solr commits a deletion, CKAN's package_patch begins with the document of the active
            # dataset, and makes it active again. One commit does for several in a row.
            is_last = item.is_deletion and not (following and following.is_deletion)
            with nullcontext() if is_last else without_solr_commits():
                _import_one(writer, item)
        except BaseException as error:
            # A hook of another extension may raise anything. That fails this record, and the rest of the
            # page is still imported. If the package was written, its mark stays for the next refresh.
            writer.marks = marks
            _fail(error, [item.id])
        if time.monotonic() >= end:
            break


def _import_one(writer: PackageWriter, item: PendingObject) -> None:
    """Import an object, and commit: what the next one does may be rolled back.

    No transaction is open yet (:func:`.object_states.begin` has committed): it would have no time limit.
    """
    with time_limit(harvest.RECORD_TIME.total_seconds()):
        if warnings := writer.write(item):
            # Add to those of gather, without repeating those of an earlier import of the object.
            earlier = json.loads(item.extras.get("warnings", "[]"))
            text = json_text(list(dict.fromkeys([*earlier, *warnings])))
            set_extras([(item.id, "warnings", text)])
        model.Session.commit()


def _confirm(marks: Mapping[str, datetime]) -> None:
    """Make the documents that CKAN has sent for the packages of a page visible."""
    try:
        indexing.confirm(marks)
    except BaseException as error:
        # The packages are written. The marks stay, so that the next refresh sends their documents.
        log.exception("Solr did not commit a page of harvested datasets")
        _fail(error, [])


def _error_message(error: BaseException, object_id: str) -> Message:
    """Return, for the source's editor, why an object could not be imported."""
    if isinstance(error, ConfigError):
        return _job_message(error, "")
    if isinstance(error, ImportFailed):
        return error.message
    if isinstance(error, database.TablesMissingError):
        return str(error)
    if isinstance(error, TimeLimitError):
        minutes = round(harvest.RECORD_TIME / timedelta(minutes=1))
        return HarvestMessage(MessageCode.TOOK_TOO_LONG, {"minutes": minutes})
    if isinstance(error, tk.ValidationError):
        summary: Mapping[str, Any] = error.error_dict
        # It expects lists of words, and validators of other extensions may give something else.
        with suppress(Exception):
            summary = error.error_summary or summary
        refused = "; ".join(f"{key}: {value}" for key, value in summary.items())
        return HarvestMessage(MessageCode.REFUSED_BY_CKAN, {"why": refused})
    if isinstance(error, tk.NotAuthorized):
        return f"CKAN does not let the harvester write the dataset: {error}"
    if isinstance(error, SearchIndexError):
        return shorten(f"Solr does not take the dataset: {error}", width=500, placeholder=" ...")
    # An editor cannot use Python's message, which may also hold a secret; the log has it.
    words = (
        f"{type(error).__name__} of CKAN or of one of its extensions. The dataset is as it was, and the next "
        "job tries again. If it fails too, look for this in the log of the fetch consumer: Harvest object "
        f"{object_id} could not be imported"
    )
    return HarvestMessage(MessageCode.UNEXPECTED, details=words)


def original_url(harvest_object_id: str) -> str | None:
    """Return the record's own URL at the source."""
    found = object_states.load([harvest_object_id])
    return found[0].url if found else None
