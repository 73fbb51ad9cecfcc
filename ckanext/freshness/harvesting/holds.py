"""Held deletions and their release. A source has at most one list, and a release is for exactly that list."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from ..ckan_adapter import model
from ..dates import utc
from ..model import HarvestHold
from .strategy import HeldDeletions


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


def held_guids(source_id: str) -> Collection[str]:
    """Return the guids whose deletion is held and not released."""
    hold = hold_of(source_id)
    held = hold.held if hold is not None else []
    return frozenset(record["guid"] for record in held) - _releases(hold).keys()


def released_guids(source_id: str) -> Collection[str]:
    """Return the guids whose deletion an editor has released."""
    return _releases(hold_of(source_id)).keys()


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


def set_hold(source_id: str, job_id: str, brake: HeldDeletions | None, now: datetime) -> None:
    """Replace a source's held list with the list that a job's brake holds. No commit.

    A release is used up when it is applied. Until a job can tell whether a released record is gone, the
    record stays released. If an editor released the list while this job was already reading the source, the
    release counts for the next job, provided that this job holds the same list.

    :param brake: None if the job holds nothing.
    :param now: when the job began to read the source.
    """
    held = {absent.known.guid for absent in brake.held} if brake else set()
    before = hold_of(source_id, for_update=True)
    releases: dict[str, list[str]] = {}
    if before is not None and brake is not None:
        is_late = before.released_at is not None and before.released_at > utc(now)
        unread = {absent.known.guid for absent in brake.held if not absent.delete}
        if is_late and held == _releases(before).keys():
            releases = _releases(before)
        else:
            earlier = _earlier_releases(before) if is_late else _releases(before)
            releases = {guid: release for guid, release in earlier.items() if guid in unread}
    if before is not None:
        model.Session.delete(before)
        model.Session.flush()
    if brake is None:
        return
    all_released = held <= releases.keys()
    at, by = max(releases[guid] for guid in held) if all_released else ("", None)
    model.Session.add(
        HarvestHold(
            source_id=source_id,
            job_id=job_id,
            held_at=utc(now),
            reason=brake.reason,
            held=[
                {
                    "guid": absent.known.guid,
                    "url": absent.known.url,
                    "package_id": absent.known.package_id,
                    "reason": absent.reason,
                    "released": releases.get(absent.known.guid),
                }
                for absent in brake.held
            ],
            released_at=datetime.fromisoformat(at) if at else None,
            released_by=by,
        )
    )
    model.Session.flush()


def release(hold: Any, user: str, now: datetime) -> None:
    """Allow the next job to make the held deletions. No commit."""
    hold.released_at = utc(now)
    hold.released_by = user
