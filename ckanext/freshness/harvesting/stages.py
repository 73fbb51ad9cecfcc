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
from contextlib import nullcontext
from datetime import datetime, timedelta
from functools import partial
from textwrap import shorten
from typing import Any, Literal

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..ckan_adapter import database, harvest
from ..ckan_adapter.core import SearchIndexError, model
from ..ckan_adapter.database import TimeLimitError, is_loss, locked, locked_if_free, time_limit
from ..ckan_adapter.packages import without_solr_commits
from ..dates import utc_now
from ..settings import brake_limits
from ..status import indexing, refresh
from . import holds, job_report, known_records, object_states, object_writer
from .legal_values import json_text
from .messages import HarvestMessage, Message, MessageCode
from .object_states import PendingObject
from .object_writer import BATCH, ObjectWriter, set_extras
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

BATCH_SIZE = 50
"""How many records one message of the fetch queue carries."""

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
    with locked_if_free(holds.gather_lock(job_id)) as free:
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
    with locked(holds.gather_lock(job_id)):
        # A job that was just taken may be queued again, and ckanext-harvest does so after two hours. A gather
        # that held this lock before us has either finished, or died and left an incomplete attempt.
        job = harvest.job_row(job_id)
        if job is None or job.status not in harvest.UNFINISHED:
            log.info("Harvest job %s was aborted, or cleared with its source: not gathered", job_id)
            return []
        if job.gather_finished:
            return object_writer.waiting(job_id)
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
    return writer.release(BATCH_SIZE)


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


def import_(first: Any) -> bool | Literal["unchanged"]:
    """Import an object, and the others of its batch, for which the same message of the queue stands.

    This can be repeated at any point: an object becomes current in the transaction that writes its
    package, and counts as complete only when Solr has the package too.

    :param first: the HarvestObject that the message names.
    :returns: what has become of it. ckanext-harvest writes its state once more.
    """
    first_id, source_id = first.id, first.harvest_source_id
    # ``ckan harvester import`` imports an object again, whatever has become of it.
    is_again = first.report_status is not None and first.state != "IMPORT"
    attempt = 0 if is_again else max(1, first.retry_times)
    ids = [first_id]
    try:
        database.refuse_missing_tables()
        with locked(*_locks(_batch(first_id, attempt))):
            # Another consumer may have imported them while this one waited for the locks.
            batch = _batch(first_id, attempt)
            ids = [item.id for item in batch]
            if attempt <= MOST_ENDS:
                done, failed = _import_batch(source_id, batch, of_a_job=attempt > 0)
            else:
                done, failed = [], ids
                for given_up in ids:
                    object_states.add_error(given_up, GIVEN_UP)
            if attempt:
                object_states.finish(done, failed)
    except BaseException as error:
        if _ends_consumer(error):
            raise
        model.Session.rollback()
        if attempt:
            # Another consumer may have imported some of them while this one waited for the locks.
            ids = [item.id for item in object_states.load(ids) if item.report_status is None]
        _fail(error, ids)
        if attempt:
            object_states.finish([], ids)
    return object_states.load_result(first, first_id, source_id)


def _batch(first_id: str, attempt: int) -> list[PendingObject]:
    """Return the objects of a message that are still to be imported.

    :param attempt: 1 for the first import in its job, and one more whenever a consumer did not come back. Then
        the object that the message names is alone: a record that ends its consumer costs no other record its
        import. 0 if the import is not of a job, and whatever has become of that object does not matter
    """
    batch = object_states.load([first_id])
    if attempt == 0:
        return batch
    if attempt == 1 and batch:
        batch += object_states.load(json.loads(batch[0].extras.get(BATCH, "[]")))
    return [item for item in batch if item.report_status is None]


def _locks(batch: Sequence[PendingObject]) -> list[str]:
    """Return the names of the locks that an import of some objects needs.

    A lock on a record excludes other consumers of the same source. A lock on a package excludes another
    source that would take over the same package.
    """
    records = [item.lock for item in batch]
    return records + [f"package {item.package_id}" for item in batch if item.package_id]


def _ends_consumer(error: BaseException) -> bool:
    """Decide whether an error of an import ends its consumer. The queue then sends the message again."""
    return isinstance(error, _STOPS) or is_loss(error)


def _fail(error: BaseException, ids: Sequence[str]) -> None:
    """Report an error as that of each of some objects, which were imported together.

    Those whose packages were written before the error are imported again by the next job.
    """
    model.Session.rollback()
    for position, object_id in enumerate(ids):
        if not isinstance(error, _PLAIN_ERRORS):
            traceback = None if position else error
            log.error("Harvest object %s could not be imported", object_id, exc_info=traceback)
        object_states.add_error(object_id, _error_message(error, object_id))


def _import_batch(
    source_id: str, batch: Sequence[PendingObject], *, of_a_job: bool
) -> tuple[list[str], list[str]]:
    """Import objects in order, and commit their documents in Solr: deletions before what follows.

    :param of_a_job: stop if their job is aborted
    :returns: the ids that are done, and those that failed. The others are left when the time is up, before the
        queue sends their message again. :func:`.object_states.wake_lost` gives each a message of its own.
    """
    done, failed = list[str](), list[str]()
    if not batch:
        return done, failed
    writer = PackageWriter(harvest.source_row(source_id), batch)
    end = time.monotonic() + harvest.BATCH_TIME.total_seconds()
    for item, following in zip(batch, [*batch[1:], None], strict=True):
        if of_a_job and not harvest.is_unfinished(item.job_id):
            break
        # A transaction that has begun already would have no limit.
        model.Session.commit()
        marks = dict(writer.marks)
        try:
            # Until Solr commits a deletion, CKAN's package_patch begins with the document of the active
            # dataset, and makes it active again. One commit does for several in a row.
            is_last = item.is_deletion and not (following and following.is_deletion)
            with nullcontext() if is_last else without_solr_commits():
                _import_one(writer, item)
        except BaseException as error:
            if _ends_consumer(error):
                raise
            # A hook of another extension may raise anything. That fails this record, and the rest of the
            # batch is still imported. If the package was written, its mark stays for the next refresh.
            writer.marks = marks
            _fail(error, [item.id])
            failed.append(item.id)
        else:
            done.append(item.id)
        if time.monotonic() >= end:
            break
    _confirm(writer.marks)
    return done, failed


def _import_one(writer: PackageWriter, item: PendingObject) -> None:
    """Import an object, and commit: what the next one does may be rolled back."""
    with time_limit(harvest.RECORD_TIME.total_seconds()):
        if warnings := writer.write(item):
            # Add to those of gather, without repeating those of an earlier import of the object.
            earlier = json.loads(item.extras.get("warnings", "[]"))
            text = json_text(list(dict.fromkeys([*earlier, *warnings])))
            set_extras([(item.id, "warnings", text)])
        model.Session.commit()


def _confirm(marks: Mapping[str, datetime]) -> None:
    """Make the documents that CKAN has sent for the packages of a batch visible."""
    try:
        indexing.confirm(marks)
    except indexing.SolrAwayError:
        # The marks stay, so that the next refresh sends the documents.
        log.exception("Solr did not commit a batch of harvested datasets")
        model.Session.rollback()


def _error_message(error: BaseException, object_id: str) -> Message:
    """Return, for the source's editor, why an object could not be imported."""
    if isinstance(error, ConfigError):
        return _job_message(error, "")
    if isinstance(error, (ImportFailed, database.TablesMissingError)):
        return str(error)
    if isinstance(error, TimeLimitError):
        minutes = round(harvest.RECORD_TIME / timedelta(minutes=1))
        return HarvestMessage(MessageCode.TOOK_TOO_LONG, {"minutes": minutes})
    if isinstance(error, tk.ValidationError):
        summary = error.error_summary or error.error_dict
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
