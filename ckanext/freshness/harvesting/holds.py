"""Deletions that the brake holds, and their release: one list per source, for exactly that list."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from ..ckan_adapter import model
from ..dates import utc
from ..model import HarvestHold
from .strategy import HeldBrake


def hold_of(source_id: str, *, for_update: bool = False) -> Any | None:
    """The list that is held for a source, if there is one.

    :param for_update: keep others from changing it until the transaction ends.
    """
    return model.Session.get(
        HarvestHold, source_id, with_for_update=for_update or None, populate_existing=True
    )


def list_id(hold: Any) -> str:
    """A name of exactly this list: of the job that found it and of every guid in it."""
    guids = sorted(one["guid"] for one in hold.held)
    return hashlib.sha256(json.dumps([hold.job_id, *guids]).encode()).hexdigest()


def held_guids(source_id: str) -> Collection[str]:
    """Return the guids whose deletion is held and that nobody has released."""
    hold = hold_of(source_id)
    held = hold.held if hold is not None else []
    return frozenset(one["guid"] for one in held) - _releases(hold).keys()


def released_guids(source_id: str) -> Collection[str]:
    """Return the guids whose deletion an editor has released."""
    return _releases(hold_of(source_id)).keys()


def _releases(hold: Any | None) -> dict[str, list[str]]:
    """Return when and by whom records of a list were released, by guid.

    The whole list was, or some of its records were when they were on an earlier one.
    """
    if hold is None:
        return {}
    if hold.released_at is None:
        return _earlier_releases(hold)
    release = [hold.released_at.isoformat(), hold.released_by]
    return {one["guid"]: release for one in hold.held}


def _earlier_releases(hold: Any) -> dict[str, list[str]]:
    return {one["guid"]: one["released"] for one in hold.held if one.get("released")}


def set_hold(source_id: str, job_id: str, brake: HeldBrake | None, now: datetime) -> None:
    """Keep what the brake holds after a job, in place of what was held before. No commit.

    What a job found is what counts from then on. A release is used up when it is applied: records that
    were released stay so while no job can tell whether they are gone. A release that came while this
    job was already reading the source counts for the next one, if this one finds the same list.

    :param now: when the job began to read the source.
    """
    held = {one.known.guid for one in brake.held} if brake else set()
    before = hold_of(source_id, for_update=True)
    releases: dict[str, list[str]] = {}
    if before is not None and brake is not None:
        late = before.released_at is not None and before.released_at > utc(now)
        unread = {one.known.guid for one in brake.held if not one.delete}
        if late and held == _releases(before).keys():
            releases = _releases(before)
        else:
            earlier = _earlier_releases(before) if late else _releases(before)
            releases = {guid: one for guid, one in earlier.items() if guid in unread}
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
                    "guid": one.known.guid,
                    "url": one.known.url,
                    "package_id": one.known.package_id,
                    "reason": one.reason,
                    "released": releases.get(one.known.guid),
                }
                for one in brake.held
            ],
            released_at=datetime.fromisoformat(at) if at else None,
            released_by=by,
        )
    )
    model.Session.flush()


def release(hold: Any, user: str, now: datetime) -> None:
    """Let the next job delete what is held. No commit."""
    hold.released_at = utc(now)
    hold.released_by = user
