"""The cycles of a night: of all sources, one after the other."""

from __future__ import annotations

from datetime import datetime

import ckan.plugins as p
import ckan.plugins.toolkit as tk

from ...copies.store import StoreError
from ...dates import utc_now
from ...runs.night import PartReport
from ...settings import OptionError
from . import cycle, registered_sources


def cycles(now: datetime) -> PartReport:
    """A cycle of each source; one that cannot be done keeps none of the others from being done."""
    if not p.plugin_loaded("harvest"):
        return PartReport(tk._("There are no harvest sources"))
    told, complete, began = [], True, True
    for source in registered_sources.sources():
        title = source.title or source.url
        try:
            report = cycle.update(source, utc_now)
        except (cycle.CycleRunningError, OptionError, StoreError) as error:
            told.append(f"{title}: {error}")
            # It may have come before there was anything to write down.
            complete = began = False
            continue
        told += [*report.lines(), *report.complaints()]
        complete = complete and report.complete
    return PartReport(
        "; ".join(told) or tk._("There is no source of an IATI registry"), complete, began
    )
