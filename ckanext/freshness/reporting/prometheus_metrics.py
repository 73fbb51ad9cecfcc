"""Metrics for Prometheus: statuses, broken URLs, the last run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily

from ..checking.run_records import ALL_HOSTS
from ..checking.selection import SelectionReason
from ..ckan_adapter.core import model
from ..model import CheckRun
from . import counts, dataset_tables, run_problems
from .tables import Context, TableRequest


def text(context: Context, now: datetime, more: Iterable[GaugeMetricFamily] = ()) -> bytes:
    """Return all metrics in Prometheus' text format.

    :param context: of a user who may see all datasets, since these metrics are about the whole site
    :param more: further metrics
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_SiteCollector(context, now, more))
    return generate_latest(registry)


class _SiteCollector:
    """A collector for prometheus-client."""

    def __init__(self, context: Context, now: datetime, more: Iterable[GaugeMetricFamily]) -> None:
        self._context = context
        self._now = now
        self._more = more

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield each metric with its help text."""
        every = counts.count(self._context).every
        yield _labelled("freshness_datasets", "Datasets by status", "status", every.statuses)
        yield _labelled(
            "freshness_datasets_undetermined",
            "Datasets whose changes cannot be detected, by reason",
            "reason",
            every.undetermined,
        )
        yield GaugeMetricFamily(
            "freshness_resources_broken",
            "Resources whose URL failed several times, spread over time",
            value=dataset_tables.BROKEN.count(TableRequest(self._context, self._now)),
        )
        yield GaugeMetricFamily(
            "freshness_datasets_unindexed",
            "Datasets whose document in Solr is older than their extras",
            value=model.Session.execute(
                sa.text("SELECT count(*) FROM freshness_unindexed")
            ).scalar(),
        )
        yield from self._last_run()
        yield from self._more

    def _last_run(self) -> Iterator[GaugeMetricFamily]:
        last = run_problems.last()
        yield GaugeMetricFamily(
            "freshness_last_run_timestamp_seconds",
            "Start of the last check of all datasets; 0 if there was none",
            value=0 if last is None else last.timestamp(),
        )
        yield GaugeMetricFamily(
            "freshness_run_missing",
            "1 if there was no check of all datasets for a day",
            value=int(run_problems.is_missing(self._now)),
        )
        ended = run_problems.full_checks().filter(CheckRun.ended_at.is_not(None)).first()
        if ended is not None:
            yield GaugeMetricFamily(
                "freshness_run_duration_seconds",
                "Duration of the last completed check of all datasets",
                value=(ended.ended_at - ended.started_at).total_seconds(),
            )
            yield GaugeMetricFamily(
                "freshness_run_visited", "Resources that it checked", value=ended.visited or 0
            )
            sums = (ended.hosts or {}).get(ALL_HOSTS, {})
            yield _labelled(
                "freshness_run_chosen",
                "Resources that it chose, by reason",
                "reason",
                {
                    reason.label: sums[reason.value]
                    for reason in SelectionReason
                    if reason.value in sums
                },
            )
            yield GaugeMetricFamily(
                "freshness_run_failed", "1 if it ended early", value=int(bool(ended.error))
            )


def _labelled(
    name: str, help_text: str, label: str, values: Mapping[str, int]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, help_text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
