"""Held deletions, and what editors decide about them. A source has at most one list.

A release is for exactly that list. Instead, an editor may keep its records: nobody is asked about them again
until the list has others, and only a release lets a job delete them.

A release can be taken back until a job reads it. The row of the list is locked by everybody who decides and by
the job while it reads; a process that gathers holds a lock of its own until it has replaced the list.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Set
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..ckan_adapter.database import is_held
from ..dates import utc
from ..model import HarvestHold
from .messages import code_of
from .record import ReadOutcome

if TYPE_CHECKING:
    from .strategy import AbsentRecord, Decisions, HeldDeletions


def hold_of(source_id: str, *, for_update: bool = False) -> Any | None:
    """Return the held list of a source; None if nothing is held.

    :param for_update: lock its row until the transaction ends.
    """
    return model.Session.get(
        HarvestHold, source_id, with_for_update=for_update or None, populate_existing=True
    )


def list_id(hold: Any) -> str:
    """Return an id of exactly this list, made of its job and of every guid in it."""
    guids = sorted(record["guid"] for record in hold.held)
    return hashlib.sha256(json.dumps([hold.job_id, *guids]).encode()).hexdigest()


def decisions(hold: Any | None) -> Decisions:
    """Return which records of a held list are released; the list is None if nothing is held."""
    # Imported here: web workers use this module without deciding about deletions.
    from .strategy import Decisions

    released = frozenset(_releases(hold))
    records = hold.held if hold is not None else ()
    guids = frozenset(record["guid"] for record in records)
    # What its URL answers later deletes no record that an editor keeps.
    is_kept = hold is not None and hold.kept_at is not None
    answered = frozenset(one["guid"] for one in records if one.get("answered") and not is_kept)
    return Decisions(released, guids - released, answered - released, released - _present(records))


def _present(records: Iterable[Mapping[str, Any]]) -> Set[str]:
    """Return the guids of the records in a held list whose own URLs had answered with them."""
    return {one["guid"] for one in records if one.get("own_url") == ReadOutcome.PRESENT.value}


def decisions_for_job(source_id: str) -> Decisions:
    """Return the decisions that a job applies. Commits.

    The job holds its source's lock (:func:`source_lock`) and waits here for users who are deciding. From now
    on no release can be taken back until the job has replaced the list.
    """
    found = decisions(hold_of(source_id, for_update=True))
    model.Session.commit()
    return found


def source_lock(source_id: str) -> str:
    """Return the name of the lock that a process holds while it gathers or imports a source."""
    return f"source {source_id}"


def is_gathering(source_id: str) -> bool:
    """Return whether a process gathers a job of a source at this moment."""
    jobs = harvest.JOB
    is_to_gather = sa.exists().where(
        jobs.c.source_id == source_id,
        jobs.c.gather_finished.is_(None),
        jobs.c.status.in_(harvest.UNFINISHED),
    )
    found = model.Session.execute(sa.select(is_to_gather)).scalar()
    return bool(found) and is_held(source_lock(source_id))


def _releases(hold: Any | None) -> dict[str, list[str]]:
    """Return the releases of a list by guid: when (ISO 8601) and by which user.

    A release of the whole list counts for each record. Otherwise a record may have been released while it
    was on an earlier list.
    """
    if hold is None:
        return {}
    if hold.released_at is None:
        return _earlier_releases(hold)
    release = [hold.released_at.isoformat(), hold.released_by]
    return {record["guid"]: release for record in hold.held}


def _earlier_releases(hold: Any) -> dict[str, list[str]]:
    return {record["guid"]: record["released"] for record in hold.held if record.get("released")}


def set_hold(source_id: str, job_id: str, brake: HeldDeletions | None, now: datetime) -> Any:
    """Replace a source's held list with the list that a job's brake holds, and return it. No commit.

    A release is used up when it is applied. Until a job can tell whether a released record is gone, the
    record stays released. If an editor released the list while this job was already reading the source, the
    release counts for the next job, provided that this job holds the same list, and that no record of it has
    begun to answer with itself.

    What an earlier job found about a record stays if this job could not tell whether the record is gone. If it
    could tell of none, the list stays that of the earlier job. Records that an editor keeps are kept on, unless
    others have joined them.

    :param brake: None if the job holds nothing.
    :param now: when the job began to read the source.
    """
    held = {absent.known.guid: as_plain(absent) for absent in brake.held} if brake else {}
    before = hold_of(source_id, for_update=True)
    releases: dict[str, list[str]] = {}
    held_at, reason = utc(now), brake.reason if brake else ""
    kept_at = kept_by = None
    if before is not None and brake is not None:
        is_late = before.released_at is not None and before.released_at > utc(now)
        unread = held.keys() - {absent.known.guid for absent in brake.verified}
        held |= {one["guid"]: one for one in before.held if one["guid"] in unread}
        releases = _releases(before)
        is_seen = held.keys() == releases.keys() and _present(held.values()) <= _present(
            before.held
        )
        if not (is_late and is_seen):
            kept = _earlier_releases(before) if is_late else releases
            releases = {guid: release for guid, release in kept.items() if guid in unread}
        if unread == held.keys():
            job_id, held_at, reason = before.job_id, before.held_at, before.reason
        if held.keys() <= {one["guid"] for one in before.held}:
            kept_at, kept_by = before.kept_at, before.kept_by
    if before is not None:
        model.Session.delete(before)
        model.Session.flush()
    if brake is None:
        return None
    all_released = held.keys() <= releases.keys()
    at, by = max(releases[guid] for guid in held) if all_released else ("", None)
    hold = HarvestHold(
        source_id=source_id,
        job_id=job_id,
        held_at=held_at,
        reason=reason,
        held=[
            {**one, "answered": guid in brake.answered, "released": releases.get(guid)}
            for guid, one in held.items()
        ],
        released_at=datetime.fromisoformat(at) if at else None,
        released_by=by,
        kept_at=kept_at,
        kept_by=kept_by,
    )
    model.Session.add(hold)
    model.Session.flush()
    return hold


def as_plain(absent: AbsentRecord) -> dict[str, Any]:
    """Return a record that is absent, and why it is deleted or kept, as plain data."""
    return {
        "guid": absent.known.guid,
        "url": absent.known.url,
        "package_id": absent.known.package_id,
        "reason": str(absent.reason),
        "reason_code": code_of(absent.reason),
        "own_url": absent.own_url.value if absent.own_url else None,
    }


def release(hold: Any, user: str, now: datetime) -> None:
    """Allow the next job to make the held deletions. No commit."""
    hold.released_at = utc(now)
    hold.released_by = user
    hold.kept_at = hold.kept_by = None


def take_back(hold: Any) -> None:
    """Hold all deletions of a list again, including released ones. No commit."""
    hold.released_at = hold.released_by = None
    hold.held = [{**record, "released": None} for record in hold.held]


def keep(hold: Any, user: str, now: datetime) -> None:
    """Keep the records of a list, and take back their releases. No commit."""
    take_back(hold)
    hold.kept_at = utc(now)
    hold.kept_by = user
