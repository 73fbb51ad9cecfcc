"""The doctor's check of IATI sources."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.copies.store import StoreError
from ckanext.freshness.dates import utc_words
from ckanext.freshness.doctor import no_store
from ckanext.freshness.doctor.findings import SiteFinding, note, problem
from ckanext.freshness.runs import copies
from ckanext.freshness.settings import OptionError

from . import datasets, report


def sources(now: datetime) -> Iterator[SiteFinding]:
    """Report IATI sources without a place for copies, and those whose last cycle failed.

    Nights that do not run are reported for the whole site.
    """
    found = datasets.sources()
    if found and not copies.is_wanted():
        try:
            copies.store().try_out()
        except (OptionError, StoreError) as error:
            yield no_store(error)
    for source in found:
        name = model.Package.get(source.id).name
        update = f"ckan iati update {name}"
        last = report.last_cycle(source.id)
        if last is None:
            yield note(
                f"No update cycle of the IATI source {name} has run yet",
                f"{update}, and ckan freshness nightly by cron",
            )
            continue
        if last.error:
            begun = f"The update cycle of the IATI source {name} of {utc_words(last.started_at)}"
            yield problem(f"{begun} failed: {last.error}", f"Correct the cause, then: {update}")
