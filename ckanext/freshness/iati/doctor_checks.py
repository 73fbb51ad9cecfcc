"""Checks of the doctor: whether the update cycle of each source of an IATI registry comes, and ends well."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from ..ckan_adapter import model
from ..dates import utc, utc_words
from ..doctor import Finding, note, problem
from ..harvesting.locks import is_held
from ..model import CheckRun
from .cycle import cycle, registered_sources

LATE = timedelta(days=2)
"""A cycle is done every night, and one may be missed."""


def cycles(now: datetime) -> Iterator[Finding]:
    """Whether the update cycle of each source of an IATI registry comes, and ends well."""
    for source in registered_sources.sources():
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
                f"The last update cycle of the IATI source {name} was begun on {utc_words(last.started_at)}",
                f"Call ckan freshness nightly by cron, once a night. At once: {update}",
            )
        if last.error:
            yield problem(
                f"The update cycle of the IATI source {name} of {utc_words(last.started_at)} failed: "
                f"{last.error}",
                f"Mend what it says, then: {update}",
            )
        elif last.ended_at is None and not is_held(cycle.lock(source.id)):
            yield problem(
                f"The update cycle of the IATI source {name} of {utc_words(last.started_at)} has not ended, "
                "and nobody works on it: it was killed",
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
