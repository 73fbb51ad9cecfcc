"""The doctor's checks of IATI sources: where they are, and whether they have recent cycles that succeed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from ..ckan_adapter.ckan_core import model
from ..ckan_adapter.locks import is_held
from ..dates import utc, utc_words
from ..doctor import SiteFinding, note, problem
from .cycle import cycle
from .cycle.sources import last_cycle, sources
from .registry.source_type import is_retired

LATE = timedelta(days=2)
"""A nightly cycle may be missed once."""


def retired_registry(now: datetime) -> Iterator[SiteFinding]:
    """Report active sources at IATI's own CKAN, which is retired."""
    for source in sources():
        if is_retired(source.url):
            name = model.Package.get(source.id).name
            yield problem(
                f"The IATI source {name} gets no more changes: IATI has retired the CKAN of its registry",
                "Create a source of this type with the URL https://bulk-data.iatistandard.org, and look at its "
                "preview. Then set the old one to be harvested manually; its datasets stay.",
            )


def cycles(now: datetime) -> Iterator[SiteFinding]:
    """Report sources without cycles, with late ones, and with failed or killed ones."""
    for source in sources():
        name = model.Package.get(source.id).name
        update = f"ckan iati update {name}"
        last = last_cycle(source.id)
        if last is None:
            yield note(
                f"No update cycle of the IATI source {name} has run yet",
                f"{update}, and ckan freshness nightly by cron",
            )
            continue
        started = utc_words(last.started_at)
        if utc(now) - last.started_at > LATE:
            yield problem(
                f"The last update cycle of the IATI source {name} began on {started}",
                f"Run ckan freshness nightly by cron, once a night. At once: {update}",
            )
        if last.error:
            yield problem(
                f"The update cycle of the IATI source {name} of {started} failed: {last.error}",
                f"Correct the cause, then: {update}",
            )
        elif last.ended_at is None and not is_held(cycle.lock(source.id)):
            yield problem(
                f"The update cycle of the IATI source {name} of {started} was killed: it has not ended, "
                "and no process runs it",
                f"The next cycle completes its work: {update}",
            )
