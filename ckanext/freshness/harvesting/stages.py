"""Gather, fetch and import of any source type, by ckanext-harvest's contract.

A plugin is one instance for all jobs, so nothing is kept between calls; and every stage may be called
again for the same job or object, while another process still works on it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from ..ckan_adapter import harvest_tables, model, publish_jobs, unqueued_jobs
from ..dates import utc_now
from . import holds, imports, object_writer
from .document_memory import DocumentMemory
from .harvest_tables import lost_as_json
from .legal_values import json_text
from .locks import locked
from .object_writer import GATHERED, ONCE, STATUS, ObjectRow, ObjectWriter
from .source_config import ConfigError, parse
from .source_types import our_names
from .strategy import AbsentRecord, HeldBrake, KnownRecord, RecordClass
from .survey import RecordChange, Source, SourceType, Survey, survey
from .unmapped import KEY

log = logging.getLogger(__name__)

PAGE_SIZE = 50
"""Records that one message of the fetch queue carries."""


def source_of(source: Any) -> Source:
    """The source of a HarvestSource row.

    :raises ConfigError: its configuration cannot be used.
    """
    config, warnings = parse(source.config)
    title = source.title or source.url
    return Source(source.id, source.url, source.type, title, config, tuple(warnings))


def gather(
    source_type: SourceType,
    job_id: str,
    *,
    now: datetime | None = None,
    tell: Callable[[int], None] | None = None,
    queued: bool = True,
) -> list[str] | None:
    """Crawl the job's source and write its harvest objects.

    :param tell: is told how many records have been read so far.
    :param queued: leave the objects to the queue's consumers; else to whoever calls this.
    :returns: ids of the objects to publish, or None if the source could not even be asked.
    """
    now = now or utc_now()
    try:
        return _gather_once(source_type, job_id, now, tell, queued)
    except (sa.exc.OperationalError, sa.exc.InterfaceError):
        # A connection that was broken off is no reason to give a job up. Should the database stay
        # away, this fails once more, and the job is queued again when it is back.
        log.exception("The database broke off the gather of a harvest job; it is tried once more")
        model.Session.rollback()
        return _gather_once(source_type, job_id, now, tell, queued)


def _gather_once(
    source_type: SourceType,
    job_id: str,
    now: datetime,
    tell: Callable[[int], None] | None,
    queued: bool,
) -> list[str] | None:
    model.Session.commit()  # the queue has noted that the gather began, and not said so to anybody
    with locked(f"gather {job_id}"):
        # A gather of over two hours is queued again while the first one still runs. By the time
        # the lock is ours that one has either finished, or died and left a half-written attempt.
        job = harvest_tables.job_row(job_id)
        if job.gather_finished:
            return object_writer.waiting(job_id)
        if job.status not in ("New", "Running"):
            # It was aborted after its consumer had died, and the queue has sent it again since.
            log.info("Harvest job %s is %s: not gathered", job_id, job.status)
            return []
        object_writer.discard_attempt(job_id)
        try:
            report = _Objects(ObjectWriter(job_id, job.source_id, now), tell)
            source = source_of(harvest_tables.source_row(job.source_id))
            return _gather(source_type, source, job_id, now, report, queued)
        except ConfigError as error:
            harvest_tables.add_gather_error(
                job_id, f"The source's configuration cannot be used: {error}"
            )
            return None


def resend_lost_jobs() -> list[str]:
    """Queue the jobs again that wait for their gather while no queue knows of them; their ids.

    ckanext-harvest does the same for objects. Its consumer gives a message back although the database
    was away, and a job counts as running before Redis was told. Only where queues are in Redis.
    """
    job, source = harvest_tables.JOB, harvest_tables.SOURCE
    lost = unqueued_jobs(
        model.Session.execute(
            sa.select(job.c.id)
            .select_from(job.join(source, source.c.id == job.c.source_id))
            .where(
                job.c.status == "Running",
                job.c.gather_finished.is_(None),
                job.c.id.not_like(f"{ONCE}%"),
                source.c.active.is_(True),
                source.c.type.in_(our_names()),
            )
        ).scalars()
    )
    for job_id in lost:
        log.warning("Harvest job %s was in no queue: it is gathered again", job_id)
    publish_jobs(lost)
    return lost


def _gather(
    source_type: SourceType,
    source: Source,
    job_id: str,
    now: datetime,
    report: _Objects,
    queued: bool,
) -> list[str]:
    writer = report.writer
    memory = DocumentMemory(source.id)
    found = survey(
        source_type,
        source,
        memory,
        report,
        now=now,
        released=holds.released_guids(source.id),
        held=holds.held_guids(source.id),
    )
    writer.flush()
    for line in found.container_errors:
        harvest_tables.add_gather_error(job_id, line)
    if found.brake:
        package = model.Package.get(source.id)
        harvest_tables.add_gather_error(
            job_id, words_of_brake(found.brake, package.name if package else source.id)
        )
    object_writer.set_extras(report.extras)
    holds.set_hold(source.id, job_id, found.brake, now)
    object_writer.prune_unchanged(source.id, job_id)
    memory.finish(forget_others=found.read_whole)
    model.Session.commit()
    leads = writer.release(PAGE_SIZE if queued else None)
    log.info("Harvest source %s: %s", source.title, summary(found))
    return leads


class _Objects:
    """Turns what a survey reports into harvest objects."""

    def __init__(self, writer: ObjectWriter, tell: Callable[[int], None] | None) -> None:
        self.writer = writer
        self._tell = tell
        self._read = 0
        self.extras: list[tuple[str, str, str | None]] = []
        """Changes of extras of current objects, to be made when the crawl is over."""

    def _count(self) -> None:
        self._read += 1
        if self._tell:
            self._tell(self._read)

    def change(self, change: RecordChange) -> None:
        self._count()
        extras = {"dataset_url": change.url}
        if change.catalog_url:
            extras["catalog_url"] = change.catalog_url
        else:
            extras = {"catalog_url": change.url}
        known, sighting = change.known, change.sighting
        contents = sighting.contents if sighting else None
        unmapped = json_text(contents.unmapped) if contents and contents.unmapped else None
        lost = lost_as_json(sighting.distributions) if sighting else None
        if sighting and sighting.warnings:
            extras["warnings"] = json_text(list(sighting.warnings))
        if sighting and sighting.drafts:
            extras["drafts"] = str(sighting.drafts)
        if change.kind is RecordClass.UNCHANGED:
            self.writer.add(
                ObjectRow(change.guid, "COMPLETE", extras, report_status="not modified")
            )
            if known and known.object_id and sighting and known.fingerprint != sighting.fingerprint:
                self.extras.append((known.object_id, "fingerprint", sighting.fingerprint))
            if known and known.object_id and sighting and known.in_pages != sighting.in_pages:
                self.extras.append(
                    (known.object_id, "in_pages", "true" if sighting.in_pages else None)
                )
            if known and known.object_id and contents:
                self.extras.append((known.object_id, KEY, unmapped))
            if (
                known
                and known.object_id
                and sighting
                and known.distributions != sighting.distributions
            ):
                self.extras.append((known.object_id, "distributions", lost))
            return
        extras["status"] = STATUS[change.kind]
        if unmapped:
            extras[KEY] = unmapped
        if change.kind is RecordClass.DELETED:
            extras["reason"] = change.reason
        if sighting is not None:
            extras["content_hash"] = sighting.seen.content_hash or ""
            extras["fingerprint"] = sighting.fingerprint or ""
            if sighting.subject:
                extras["subject"] = sighting.subject
            if sighting.in_pages:
                extras["in_pages"] = "true"
        if lost:
            extras["distributions"] = lost
        if change.kind is RecordClass.MOVED and known:
            extras["moved_from"] = known.guid
        if change.adopted and change.adopted.becomes:
            extras["adopted"] = change.adopted.becomes
        owner = known or change.adopted
        if owner and owner.organization_id:
            extras["organization_id"] = owner.organization_id
        self.writer.add(
            ObjectRow(
                change.guid,
                GATHERED,
                extras,
                content=contents.as_json() if contents else None,
                package_id=owner.package_id if owner else None,
            )
        )

    def withdraw(self, kind: RecordClass, url: str) -> None:
        self.writer.remove(url)

    def failed(self, url: str, guid: str, error: str) -> None:
        self._count()
        row = ObjectRow(guid, "ERROR", {"dataset_url": url}, report_status="errored", error=error)
        self.writer.add(row)

    def kept(self, verdict: AbsentRecord) -> None:
        known = verdict.known
        if known.object_id and verdict.forbidden_since != known.forbidden_since:
            since = verdict.forbidden_since
            value = since.isoformat() if since else None
            self.extras.append((known.object_id, "forbidden_since", value))

    def answered(self, known: KnownRecord) -> None:
        if known.object_id:
            self.extras.append((known.object_id, "forbidden_since", None))


def words_of_brake(brake: HeldBrake, name: str) -> str:
    """The brake's message for a job's errors.

    :param name: of the source, as commands take it.
    """
    count = len(brake.held)
    held = "1 deletion is held" if count == 1 else f"{count} deletions are held"
    return (
        f"{held}: {brake.reason}. Look at them on "
        f"the source's page and release them there, or with: ckan freshness release {name}"
    )


def summary(found: Survey) -> str:
    """One line for the log."""
    counts = ", ".join(f"{found.counts[kind]} {kind.value}" for kind in RecordClass)
    errors = len(found.container_errors) + found.record_errors
    return (
        f"{counts}; {found.kept} kept unseen, {errors} errors, {len(found.warnings)} warnings, "
        f"{found.drafts} drafts, {found.requests} requests"
    )


def fetch(harvest_object: Any) -> Literal[True]:
    """Nothing to do: gather has read the record already."""
    return True


def import_(harvest_object: Any) -> bool | Literal["unchanged"]:
    """Import an object, and with it the page that follows it in one message of the queue.

    :returns: whether the object itself was imported; its followers keep their own states.
    """
    return imports.import_page(harvest_object)


def original_url(harvest_object_id: str) -> str | None:
    """The record's own URL at the source."""
    extras = object_writer.extras_of(harvest_object_id)
    return extras.get("dataset_url") or extras.get("catalog_url")
