"""Adds IATI's parts to the tables of the subpackages below, none of which knows it."""

from __future__ import annotations

from ..doctor import Need, SiteCheck
from ..doctor.examination import CHECKS
from ..reporting.prometheus_metrics import COLLECTORS
from ..runs import night_parts, queued_run
from ..runs.copies import resource_copies
from ..runs.night import NightPart
from . import doctor_checks, gauges
from .cycle import cycle, night, single_check
from .cycle.published_files import SOURCE_TYPE


def register() -> None:
    """Add a part to the nightly run, a check to the doctor, figures, and the check of one dataset's file.

    Call it once in a process.
    """
    night_parts.add_after("refresh", NightPart("iati update", night.cycles, writes=cycle.KIND))
    needs = Need.DATABASE | Need.HARVEST_TABLES | Need.TABLES
    CHECKS.append(SiteCheck("cycles", doctor_checks.cycles, needs))
    COLLECTORS.append(gauges.gauges)
    queued_run.DATASET_CHECKS.append(single_check.visit)
    resource_copies.KEEPING_TYPES.add(SOURCE_TYPE)
