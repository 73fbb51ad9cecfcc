"""The registration of IATI's parts with the subpackages below, which do not import it."""

from __future__ import annotations

import ckan.plugins as p

from ..aging.messages import N_
from ..reporting import labels, metadata, run_summary
from ..reporting.extra_pages import PAGES, ExtraPage
from ..reporting.prometheus_metrics import COLLECTORS
from ..runs import night, queued_run
from ..runs.night import NightPart
from . import gauges, run_words
from .cycle import cycle, sources
from .policy.attempts import ErrorType
from .registry.source_type import SOURCE_TYPE


def register() -> None:
    """Register IATI's part of the nightly run, figures, check of one dataset, words and page.

    Call it once in a process.
    """
    night.add_after("refresh", NightPart("iati update", sources.update_all, writes=cycle.KIND))
    COLLECTORS.append(gauges.gauges)
    queued_run.DATASET_CHECKS.append(sources.check_dataset)
    run_summary.KINDS[cycle.KIND] = run_words.RUNS
    run_summary.PARTS["iati update"] = N_("IATI cycles of the nightly run")
    labels.REASONS[ErrorType.NOT_IATI_CONTENT.value] = N_("The file is not IATI XML.")
    metadata.TECHNICAL |= {
        "filetype": N_("Kind of IATI file"),
        "iati_version": N_("IATI version"),
    }
    PAGES.append(PAGE)


PAGE = ExtraPage(
    endpoint="freshness_iati_page.read",
    label=N_("IATI"),
    about=N_("Downloads and failing files"),
    icon="globe",
    run_kind=cycle.KIND,
    source_type=SOURCE_TYPE,
    is_on=lambda: p.plugin_loaded("iati_harvester"),
)
