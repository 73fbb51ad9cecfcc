"""Copies: whether they can be kept, and whether the cycles come that look after those of IATI."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import ckan.plugins as p

from ..ckan_adapter import has_newest_migration, model
from ..copies.store import StoreError
from ..harvesting.locks import is_held
from ..logic.copies import keeping, options
from ..logic.iati import cycle, registered
from ..model import CheckRun
from ..model.moments import utc
from ..settings import OptionError
from . import Finding, note, problem

LATE = timedelta(days=2)
"""A cycle is done every night, and one may be missed."""


def store(now: datetime) -> Iterator[Finding]:
    """Whether the store takes copies, where any are to be kept."""
    harvests = p.plugin_loaded("harvest") and has_newest_migration("harvest")
    if not options.choice().wanted and not (
        harvests and (keeping.is_wanted() or registered.sources())
    ):
        return
    try:
        options.store().try_out()
    except (OptionError, StoreError) as error:
        yield problem(
            f"No copies can be kept: {error}",
            "Make it so that CKAN's user can write to ckanext.freshness.copies.location, or name another "
            "place there.",
        )


def cycles(now: datetime) -> Iterator[Finding]:
    """Whether the update cycle of each source of an IATI registry comes, and ends well."""
    for source in registered.sources():
        name = model.Package.get(source.id).name
        update = f"ckan iati update {name}"
        last = _newest(source.id)
        if last is None:
            yield note(
                f"No update cycle of the IATI source {name} has been done yet",
                f"{update}, and ckan freshness nightly by cron",
            )
            continue
        if utc(now) - last.started_at > LATE:
            yield problem(
                f"The last update cycle of the IATI source {name} was begun on {_at(last.started_at)}",
                f"Call ckan freshness nightly by cron, once a night. At once: {update}",
            )
        if last.error:
            yield problem(
                f"The update cycle of the IATI source {name} of {_at(last.started_at)} failed: {last.error}",
                f"Mend what it says, then: {update}",
            )
        elif last.ended_at is None and not is_held(cycle.lock(source.id)):
            yield problem(
                f"The update cycle of the IATI source {name} of {_at(last.started_at)} has not ended, and "
                "nobody works on it: it was killed",
                f"The next one makes it good: {update}",
            )


def _newest(source_id: str) -> Any:
    """The newest whole cycle of a source; one of its files alone is none."""
    said = CheckRun.options
    return (
        model.Session.query(CheckRun)
        .filter(CheckRun.kind == cycle.KIND, said["source"].astext == source_id)
        .filter(said["harvest"].astext == "true")
        .order_by(CheckRun.started_at.desc())
        .first()
    )


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
