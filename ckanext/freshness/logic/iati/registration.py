"""Adds IATI's parts to the tables of the subpackages below, none of which knows it."""

from __future__ import annotations

from ...doctor import Check, Need
from ...doctor.examination import CHECKS
from ...reporting import prometheus
from ...reporting.figures import COLLECTORS
from .. import checks_queue, night_parts
from ..copies import keeping
from ..nightly import Part
from . import asked, cycle, doctor_checks, night
from .published import SOURCE_TYPE


def register() -> None:
    """Add a part to the nightly run, a check to the doctor, figures, and the check of one dataset's file.

    Call it once in a process.
    """
    night_parts.add_after("refresh", Part("iati update", night.cycles, writes=cycle.KIND))
    needs = Need.DATABASE | Need.HARVEST_TABLES | Need.TABLES
    CHECKS.append(Check("cycles", doctor_checks.cycles, needs))
    COLLECTORS.append(prometheus.gauges)
    checks_queue.DATASET_CHECKS.append(asked.visit)
    keeping.KEEPING_TYPES.add(SOURCE_TYPE)
