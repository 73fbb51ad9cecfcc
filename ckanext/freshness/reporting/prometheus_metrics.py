"""Metrics for Prometheus: statuses, broken links, the last run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily

from .. import settings
from ..ckan_adapter import model
from ..model import CheckRun
from . import counts, run_tables
from .visibility import Context

COLLECTORS: list[Callable[[], Iterator[GaugeMetricFamily]]] = []
"""Further metrics, which subpackages above add."""


def text(context: Context, now: datetime) -> bytes:
    """Return all metrics in Prometheus' text format.

    :param context: of a user who may see all datasets, since these metrics are about the whole site
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(context, now))
    return generate_latest(registry)


class _Figures:
    """A collector for prometheus-client."""

    def __init__(self, context: Context, now: datetime) -> None:
        self._context = context
        self._now = now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield each metric with its help text."""
        every = counts.count(self._context).every
        yield _labelled("freshness_datasets", "Datasets by status", "status", every.statuses)
        yield _labelled(
            "freshness_datasets_undetermined",
            "Datasets whose deciding resource cannot be determined, by why",
            "reason",
            every.undetermined,
        )
        yield GaugeMetricFamily(
            "freshness_resources_broken",
            "Resources whose URL failed several times, spread over time",
            value=_broken(),
        )
        yield GaugeMetricFamily(
            "freshness_datasets_unindexed",
            "Datasets whose document in Solr is older than their extras",
            value=model.Session.execute(
                sa.text("SELECT count(*) FROM freshness_unindexed")
            ).scalar(),
        )
        yield from self._last_run()
        for collect in COLLECTORS:
            yield from collect()

    def _last_run(self) -> Iterator[GaugeMetricFamily]:
        last = run_tables.last()
        yield GaugeMetricFamily(
            "freshness_last_run_timestamp_seconds",
            "When the last run that was to look at everything began; 0 if there was none",
            value=0 if last is None else last.timestamp(),
        )
        yield GaugeMetricFamily(
            "freshness_run_missing",
            "1 if there has been no such run for a day",
            value=int(run_tables.is_missing(self._now)),
        )
        options = CheckRun.options
        # A check of one dataset or host says nothing about the nightly runs.
        ended = (
            model.Session.query(CheckRun)
            .filter(CheckRun.ended_at.is_not(None), CheckRun.kind == "check")
            .filter(options["package_ids"].astext.is_(None), options["host"].astext.is_(None))
            .order_by(CheckRun.started_at.desc())
            .first()
        )
        if ended is not None:
            yield GaugeMetricFamily(
                "freshness_run_duration_seconds",
                "How long the last run over everything took that ended",
                value=(ended.ended_at - ended.started_at).total_seconds(),
            )
            yield GaugeMetricFamily(
                "freshness_run_visited", "Resources that it visited", value=ended.visited or 0
            )
            yield GaugeMetricFamily(
                "freshness_run_failed", "1 if it ended early", value=int(bool(ended.error))
            )


def _labelled(name: str, words: str, label: str, values: Mapping[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, words, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _broken() -> int:
    checks = settings.checks()
    found = model.Session.execute(
        sa.text(
            "SELECT count(*) FROM freshness_check c"
            " JOIN package p ON p.id = c.package_id AND p.state = 'active'"
            " JOIN resource r ON r.id = c.resource_id AND r.state = 'active'"
            " WHERE c.failures >= :failures AND c.tried_at - c.failing_since >= :span"
        ),
        {"failures": checks.broken_after_failures, "span": checks.broken_after},
    ).scalar()
    return int(found or 0)
