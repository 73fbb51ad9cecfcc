"""Deletions that the brake holds, and their release: one list per source, for exactly that list."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from ..ckan_adapter import model
from ..model import HarvestHold
from .objects import utc
from .strategy import Brake


def hold_of(source_id: str) -> Any | None:
    """The list that is held for a source, if there is one."""
    return model.Session.get(HarvestHold, source_id)


def released_guids(source_id: str) -> Collection[str]:
    """The guids whose deletion an editor has released for the next job."""
    hold = hold_of(source_id)
    if hold is None or hold.released_at is None:
        return frozenset()
    return frozenset(one["guid"] for one in hold.held)


def set_hold(source_id: str, job_id: str, brake: Brake | None, now: datetime) -> None:
    """Keep what the brake holds after a job, in place of what was held before. No commit.

    The list of an earlier job goes, released or not: what a job found is what counts from then on.
    """
    hold = hold_of(source_id)
    if hold is not None:
        model.Session.delete(hold)
        model.Session.flush()
    if brake is not None:
        model.Session.add(
            HarvestHold(
                source_id=source_id,
                job_id=job_id,
                held_at=utc(now),
                reason=brake.reason,
                held=[
                    {"guid": one.guid, "url": one.url, "package_id": one.package_id}
                    for one in brake.held
                ],
            )
        )
        model.Session.flush()


def release(hold: Any, user: str, now: datetime) -> None:
    """Let the next job delete what is held. No commit."""
    hold.released_at = utc(now)
    hold.released_by = user
