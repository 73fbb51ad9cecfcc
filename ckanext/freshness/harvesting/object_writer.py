"""The harvest objects of one gather: a survey's results, written into ckanext-harvest's tables in bulk.

ckanext-harvest saves objects one by one, each with its own commit. With thousands of records, that takes
most of a gather's time.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..dates import utc, utc_now
from ..status import indexing
from .known_records import RESOURCE_IDS
from .legal_values import json_text
from .messages import Message, to_column
from .record import Approval, KnownRecord, Refusal
from .strategy import AbsentRecord, RecordClass
from .survey import RecordChange

GATHERED = "GATHER"
"""State of an object while its gather runs. ``harvester run`` publishes every object that is WAITING."""
QUEUED = "QUEUED"
"""State of an object that waits for its import. A message of the queue stands for all objects of a source."""

STATUS = {
    RecordClass.NEW: "new",
    RecordClass.CHANGED: "change",
    RecordClass.MOVED: "change",
    RecordClass.DELETED: "delete",
}
"""The harvest object extra ``status`` for each class of a record that is to be imported."""

_job = harvest.JOB
_object = harvest.OBJECT
_extra = harvest.OBJECT_EXTRA


class ObjectWriter:
    """A :class:`.survey.SurveyObserver` that writes a harvest object for each record that is not unchanged.

    It writes in batches. No consumer takes an object before :meth:`release`.

    :ivar unchanged: how many records are unchanged
    :ivar new: URLs of the records that take over no package
    :ivar unchanged_warnings: ``url``, ``guid`` and ``messages`` of the first of them that have warnings
    """

    BATCH = 200
    MOST_WARNED = 1000

    def __init__(self, job_id: str, source_id: str, now: datetime) -> None:
        self._job_id = job_id
        self._source_id = source_id
        self._now = utc(now)
        self._objects: list[dict[str, Any]] = []
        self._extras: list[dict[str, Any]] = []
        self._errors: list[dict[str, Any]] = []
        self.unchanged = 0
        self.unchanged_warnings: list[dict[str, Any]] = []
        self.new: list[str] = []
        self._current_extras: list[tuple[str, str, str | None]] = []
        """Changes to the extras of current objects, see :func:`set_extras`."""

    def change(self, change: RecordChange) -> None:
        known, crawled, kind = change.known, change.crawled, change.kind
        contents = crawled.contents if crawled else None
        warnings = list(crawled.warnings) if crawled else []
        if known and crawled:
            # It answers: whatever was noted while it did not is over.
            self._remember(known, refusal=None, absent_since=None, approval=None)
        if kind is RecordClass.UNCHANGED:
            self.unchanged += 1
            if warnings and len(self.unchanged_warnings) < self.MOST_WARNED:
                self.unchanged_warnings.append(
                    {"url": change.url, "guid": change.guid, "messages": warnings}
                )
            if known and crawled:
                since = change.incomplete_since
                self._remember(known, incomplete_since=since, memory=crawled.memory)
            return

        if change.approval and known:
            # The release holds until the record is deleted, or listed again.
            self._remember(known, approval=change.approval)
        owner = known or change.adopted
        if owner is None:
            self.new.append(change.url)
        # A deletion keeps it, too: the record may come back at another URL.
        subject = known.subject if known else None
        extras = {
            "dataset_url": change.url if change.catalog_url else None,
            "catalog_url": change.catalog_url or change.url,
            "warnings": json_text(warnings) if warnings else None,
            "status": STATUS[kind],
            "content_hash": crawled.seen.content_hash or "" if crawled else None,
            "memory": crawled.memory if crawled else None,
            "subject": crawled.subject if crawled else subject,
            "reason": str(change.reason) if kind is RecordClass.DELETED else None,
            "adopted": change.adopted.package_id if change.adopted else None,
        }
        self._add(
            change.guid,
            extras,
            state=GATHERED,
            content=contents.as_json() if contents else None,
            package_id=owner.package_id if owner else None,
        )

    def read(self, count: int, listed: int | None) -> None:
        """No-op: a job's objects show its progress."""

    def failed(self, url: str, guid: str, error: Message) -> None:
        object_id = self._add(guid, {"dataset_url": url}, state="ERROR", report_status="errored")
        self._errors.append(
            {
                "id": str(uuid.uuid4()),
                "harvest_object_id": object_id,
                "message": to_column(error),
                "stage": "Fetch",
                "created": self._now,
            }
        )

    def kept(self, absent: AbsentRecord) -> None:
        known = absent.known
        self._remember(
            known,
            refusal=absent.refusal,
            absent_since=absent.absent_since,
            approval=absent.approval,
            # The next job must know that this URL means the record, even if it cannot be read then, either.
            subject=absent.listed_as or known.subject,
        )

    def _remember(
        self, known: KnownRecord, **now: Refusal | datetime | Approval | str | None
    ) -> None:
        """Note what the next job must know of a current record: the attributes that have other values now."""
        for key, value in now.items():
            if known.object_id and value != getattr(known, key):
                self._current_extras.append((known.object_id, key, _as_text(value)))

    def finish(self) -> None:
        """Write the remaining objects and commit them, then change current objects without a commit."""
        self._flush()
        set_extras(self._current_extras)

    def release(self) -> None:
        """Hand the objects to the consumers of the queue, and end the gather. Commits."""
        model.Session.execute(
            sa.update(_object)
            .where(_object.c.harvest_job_id == self._job_id, _object.c.state == GATHERED)
            .values(state=QUEUED)
        )
        # In the same transaction: a job whose objects are released must not be gathered again.
        model.Session.execute(
            sa.update(_job).where(_job.c.id == self._job_id).values(gather_finished=utc(utc_now()))
        )
        model.Session.commit()

    def _add(
        self,
        guid: str,
        extras: Mapping[str, str | None],
        *,
        state: str,
        content: str | None = None,
        package_id: str | None = None,
        report_status: str | None = None,
    ) -> str:
        """Write an object with the next batch, and return its id."""
        if len(self._objects) >= self.BATCH:
            self._flush()
        object_id = str(uuid.uuid4())
        # They are imported in the order of this time.
        self._now += timedelta(microseconds=1)
        self._objects.append(
            {
                "id": object_id,
                "guid": guid,
                "current": False,
                "gathered": self._now,
                "content": content,
                "state": state,
                "retry_times": 0,
                "harvest_job_id": self._job_id,
                "harvest_source_id": self._source_id,
                "package_id": package_id,
                "report_status": report_status,
                "import_finished": None if state == GATHERED else self._now,
            }
        )
        self._extras += [
            _extra_row(object_id, key, value) for key, value in extras.items() if value is not None
        ]
        return object_id

    def _flush(self) -> None:
        """Write the collected rows and commit."""
        for table, rows in (
            (_object, self._objects),
            (_extra, self._extras),
            (harvest.OBJECT_ERROR, self._errors),
        ):
            _insert(table, rows)
            rows.clear()
        model.Session.commit()


def _insert(table: Any, rows: list[dict[str, Any]]) -> None:
    if rows:
        model.Session.execute(sa.insert(table), rows)


def _extra_row(object_id: str, key: str, value: str) -> dict[str, str]:
    return {"id": str(uuid.uuid4()), "harvest_object_id": object_id, "key": key, "value": value}


def _as_text(value: Refusal | datetime | Approval | str | None) -> str | None:
    """Return the text of an extra, as :mod:`.known_records` reads it; None for an extra to remove."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Approval):
        return value.value
    return None if value is None else str(value)


def set_extras(rows: Iterable[tuple[str, str, str | None]]) -> None:
    """Set extras of harvest objects. No commit.

    :param rows: object id, key and value of each extra. The value None removes it.
    """
    for object_id, key, value in rows:
        where = sa.and_(_extra.c.harvest_object_id == object_id, _extra.c.key == key)
        if value is None:
            model.Session.execute(sa.delete(_extra).where(where))
            continue
        found = model.Session.execute(sa.update(_extra).where(where).values(value=value))
        if not found.rowcount:
            _insert(_extra, [_extra_row(object_id, key, value)])


def inherit(records: Iterable[KnownRecord], source_id: str, job_id: str) -> None:
    """Give the objects of records of deleted sources to the source that continues them. No commit.

    Their extras stay: their hashes, and since when they are refused or absent.
    """
    packages = []
    for record in records:
        model.Session.execute(
            sa.text(_INHERIT),
            {
                "id": record.object_id,
                "source_id": source_id,
                "job_id": job_id,
                "package_id": record.package_id,
                "resource_ids": RESOURCE_IDS,
            },
        )
        if record.package_id:
            packages.append(record.package_id)
    # Their documents name the deleted source: the next refresh sends them.
    indexing.mark(packages)


KEEP_RESOURCE_IDS = """
UPDATE harvest_object_extra SET harvest_object_id = :id
WHERE key = :resource_ids AND harvest_object_id IN (
SELECT id FROM harvest_object WHERE package_id = :package_id)"""
"""SQL: give the resource ids of ``:package_id`` to the object ``:id``. "Clear history" of a source leaves only
the current objects and their extras."""
_MOVE_OBJECT = """
UPDATE harvest_object SET harvest_source_id = :source_id, harvest_job_id = :job_id, report_status = NULL
WHERE id = :id"""
"""SQL: give the object ``:id`` to a source and a job, which does not count it."""
TAKE_PACKAGE_OVER = """
UPDATE harvest_object SET current = false, package_id = NULL
WHERE package_id = :package_id AND harvest_source_id <> :source_id
AND harvest_source_id IN (SELECT id FROM harvest_source WHERE NOT active)"""
"""SQL: take ``:package_id`` from deleted sources. "Clear" of a source removes every package that any of its
objects names, current or not. It must not remove a package that another source took over."""
_INHERIT = ";".join([KEEP_RESOURCE_IDS, _MOVE_OBJECT, TAKE_PACKAGE_OVER])


def discard_attempt(job_id: str) -> None:
    """Delete the objects that a gather which did not end left, and commit. Current objects stay."""
    model.Session.execute(
        sa.delete(_object).where(_object.c.harvest_job_id == job_id, _object.c.current.is_(False))
    )
    model.Session.commit()
