"""The registration of IATI's parts with the subpackages below, which do not import it."""

from __future__ import annotations

from ..doctor import Need, SiteCheck
from ..doctor.examination import CHECKS
from ..reporting.prometheus_metrics import COLLECTORS
from ..runs import night_parts, queued_run
from ..runs.copies import resource_copies
from ..runs.night import NightPart
from . import doctor_checks, gauges
from .cycle import cycle, sources
from .registry.source_type import SOURCE_TYPE


def register() -> None:
    """Register IATI's part of the nightly run, its doctor check, its figures and the check of one dataset.

    Call it once in a process.
    """
    night_parts.add_after(
        "refresh", NightPart("iati update", sources.update_all, writes=cycle.KIND)
    )
    needs = Need.DATABASE | Need.HARVEST_TABLES | Need.TABLES
    CHECKS.append(SiteCheck("cycles", doctor_checks.cycles, needs))
    COLLECTORS.append(gauges.gauges)
    queued_run.DATASET_CHECKS.append(sources.check_dataset)
    resource_copies.KEEPING_TYPES.add(SOURCE_TYPE)
