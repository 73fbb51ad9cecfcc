"""Harvest objects in bulk: what a gather writes into ckanext-harvest's tables, in few statements.

ckanext-harvest saves objects one by one, each with a commit of its own; at thousands of records that
is most of a gather's time.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import harvest_tables, model
from ..dates import utc, utc_now
from .strategy import RecordClass

GATHERED = "GATHER"
"""State of an object while its gather still runs: ``harvester run`` publishes whatever is WAITING."""
PAGED = "PAGE"
"""State of an object that the queue carries in the message of another one, its page's lead."""

RESOURCE_IDS = "resource_ids"
"""Key of the extra with the ids of resources that an object's dataset had, and may have again."""

ONCE = "once-"
"""Beginning of the ids of jobs that one process does from end to end, without any queue."""

STATUS = {
    RecordClass.NEW: "new",
    RecordClass.CHANGED: "change",
    RecordClass.MOVED: "change",
    RecordClass.DELETED: "delete",
}
"""The harvest object extra ``status`` for each class of a record."""

_object = harvest_tables.OBJECT
_extra = harvest_tables.OBJECT_EXTRA
_error = harvest_tables.OBJECT_ERROR


@dataclass(slots=True)
class ObjectRow:
    """A harvest object to be written."""

    guid: str
    state: str
    extras: dict[str, str]
    content: str | None = None
    package_id: str | None = None
    report_status: str | None = None
    error: str | None = None
    id: str = field(default_factory=lambda: str(uuid.uuid4()))


class ObjectWriter:
    """Writes the objects of one gather in batches; nothing of it is taken up by a consumer before the end."""

    BATCH = 200

    def __init__(self, job_id: str, source_id: str, now: datetime) -> None:
        self._job_id = job_id
        self._source_id = source_id
        self._now = utc(now)
        self._rows: list[ObjectRow] = []
        self.pending: list[str] = []
        """Ids of the objects that are to be imported, in the order in which they were written."""

    def add(self, row: ObjectRow) -> None:
        self._rows.append(row)
        if row.state == GATHERED:
            self.pending.append(row.id)
        if len(self._rows) >= self.BATCH:
            self.flush()

    def remove(self, url: str) -> None:
        """Remove the object of a record, so that another one can take its place."""
        self.flush()
        ids = set(
            model.Session.execute(
                sa.select(_object.c.id).where(
                    _object.c.harvest_job_id == self._job_id,
                    _extra.c.harvest_object_id == _object.c.id,
                    _extra.c.key == "dataset_url",
                    _extra.c.value == url,
                )
            ).scalars()
        )
        model.Session.execute(sa.delete(_object).where(_object.c.id.in_(ids)))
        model.Session.commit()
        self.pending = [one for one in self.pending if one not in ids]

    def flush(self) -> None:
        """Write what has been added, and commit."""
        rows, self._rows = self._rows, []
        if not rows:
            return
        execute = model.Session.execute
        execute(sa.insert(_object), [self._object(row) for row in rows])
        extras = [
            {"id": str(uuid.uuid4()), "harvest_object_id": row.id, "key": key, "value": value}
            for row in rows
            for key, value in row.extras.items()
        ]
        if extras:
            execute(sa.insert(_extra), extras)
        errors = [
            {
                "id": str(uuid.uuid4()),
                "harvest_object_id": row.id,
                "message": row.error,
                "stage": "Fetch",
                "created": self._now,
            }
            for row in rows
            if row.error
        ]
        if errors:
            execute(sa.insert(_error), errors)
        model.Session.commit()

    def _object(self, row: ObjectRow) -> dict[str, Any]:
        done = row.state in ("COMPLETE", "ERROR")
        return {
            "id": row.id,
            "guid": row.guid,
            "current": False,
            "gathered": self._now,
            "content": row.content,
            "state": row.state,
            "retry_times": 0,
            "harvest_job_id": self._job_id,
            "harvest_source_id": self._source_id,
            "package_id": row.package_id,
            "report_status": row.report_status,
            "import_finished": self._now if done else None,
        }

    def release(self, page_size: int | None) -> list[str]:
        """Let the consumers have the objects: a lead of each page waits, the others follow it.

        :param page_size: how many records one message of the queue carries, at least 1; None if no
            consumer is to have them: who gathers imports them too.
        :returns: the ids of the leads, or of all objects.
        """
        self.flush()
        if page_size is None:
            self._end([])
            return self.pending
        pages = [
            self.pending[start : start + page_size]
            for start in range(0, len(self.pending), page_size)
        ]
        leads = [page[0] for page in pages]
        if len(leads) < len(self.pending):
            model.Session.execute(
                sa.insert(_extra),
                [
                    {
                        "id": str(uuid.uuid4()),
                        "harvest_object_id": page[0],
                        "key": "page",
                        "value": json.dumps(page[1:]),
                    }
                    for page in pages
                    if len(page) > 1
                ],
            )
        self._end(leads)
        return leads

    def _end(self, leads: list[str]) -> None:
        of_this_job = sa.and_(_object.c.harvest_job_id == self._job_id, _object.c.state == GATHERED)
        model.Session.execute(
            sa.update(_object)
            .where(of_this_job)
            .values(state=sa.case((_object.c.id.in_(leads), "WAITING"), else_=PAGED))
        )
        # With the objects and not after them: a job that has objects must not be gathered again.
        job = harvest_tables.JOB
        model.Session.execute(
            sa.update(job).where(job.c.id == self._job_id).values(gather_finished=utc(utc_now()))
        )
        model.Session.commit()


def discard_attempt(job_id: str) -> None:
    """Remove what a killed or failed gather of the same job left behind."""
    model.Session.execute(
        sa.delete(_object).where(_object.c.harvest_job_id == job_id, _object.c.current.is_(False))
    )
    errors = harvest_tables.GATHER_ERROR
    model.Session.execute(sa.delete(errors).where(errors.c.harvest_job_id == job_id))
    model.Session.commit()


def waiting(job_id: str) -> list[str]:
    """Ids of the objects of a job that wait for a consumer."""
    return list(
        model.Session.execute(
            sa.select(_object.c.id).where(
                _object.c.harvest_job_id == job_id, _object.c.state == "WAITING"
            )
        ).scalars()
    )


def set_extras(rows: Iterable[tuple[str, str, str | None]]) -> None:
    """Set extras of objects, (object id, key, value) each; None takes the extra away. No commit."""
    for object_id, key, value in rows:
        where = sa.and_(_extra.c.harvest_object_id == object_id, _extra.c.key == key)
        if value is None:
            model.Session.execute(sa.delete(_extra).where(where))
            continue
        found = model.Session.execute(sa.update(_extra).where(where).values(value=value))
        if not found.rowcount:
            model.Session.execute(
                sa.insert(_extra).values(
                    id=str(uuid.uuid4()), harvest_object_id=object_id, key=key, value=value
                )
            )


def prune_unchanged(source_id: str, job_id: str) -> None:
    """Remove the "not modified" rows of a source's earlier jobs. No commit.

    The job's report counts rows, so one is needed for each unchanged record; those of earlier jobs
    would let the table grow with every run.
    """
    model.Session.execute(
        sa.delete(_object).where(
            _object.c.harvest_source_id == source_id,
            _object.c.harvest_job_id != job_id,
            _object.c.report_status == "not modified",
            _object.c.current.is_(False),
            _object.c.content.is_(None),
        )
    )


def extras_of(object_id: str) -> dict[str, str]:
    """The extras of one object."""
    rows = model.Session.execute(
        sa.select(_extra.c.key, _extra.c.value).where(_extra.c.harvest_object_id == object_id)
    )
    return {key: value for key, value in rows}
