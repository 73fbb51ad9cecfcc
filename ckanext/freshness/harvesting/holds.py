"""Deletions that the brake holds, and their release: one list per source, for exactly that list."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from ..ckan_adapter import model
from ..model import HarvestHold
from ..model.moments import utc
from .strategy import Brake


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
    """The guids whose deletion is held and that nobody has released."""
    hold = hold_of(source_id)
    if hold is None or hold.released_at is not None:
        return frozenset()
    return frozenset(one["guid"] for one in hold.held)


def released_guids(source_id: str) -> Collection[str]:
    """The guids whose deletion an editor has released for the next job."""
    hold = hold_of(source_id)
    if hold is None or hold.released_at is None:
        return frozenset()
    return frozenset(one["guid"] for one in hold.held)


def set_hold(source_id: str, job_id: str, brake: Brake | None, now: datetime) -> None:
    """Keep what the brake holds after a job, in place of what was held before. No commit.

    The list of an earlier job goes, released or not: what a job found is what counts from then on.
    Only a release that came while this job was already reading the source still counts for the next
    one, if that finds the same.

    :param now: when the job began to read the source.
    """
    held = {one.known.guid for one in brake.held} if brake else set()
    released_at = released_by = None
    before = hold_of(source_id, for_update=True)
    if before is not None:
        late = before.released_at is not None and before.released_at > utc(now)
        if late and held == {one["guid"] for one in before.held}:
            released_at, released_by = before.released_at, before.released_by
        model.Session.delete(before)
        model.Session.flush()
    if brake is not None:
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
                    }
                    for one in brake.held
                ],
                released_at=released_at,
                released_by=released_by,
            )
        )
        model.Session.flush()


def release(hold: Any, user: str, now: datetime) -> None:
    """Let the next job delete what is held. No commit."""
    hold.released_at = utc(now)
    hold.released_by = user
