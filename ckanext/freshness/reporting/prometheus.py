"""The site's metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

import sqlalchemy as sa
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from ..ckan_adapter.core import model
from ..dates import aware
from ..model import CheckRun
from . import counts, report_tables, runs
from .tables import Context, TableRequest

__all__ = ["CONTENT_TYPE_LATEST", "text"]


def text(context: Context, now: datetime, more: Iterable[Metric] = ()) -> bytes:
    """Return the site's metrics in Prometheus' text format.

    :param context: of a user who may see all datasets, since these metrics are about the whole site
    :param more: further metrics
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector([*_gauges(context, now), *more]))
    return generate_latest(registry)


class _Collector:
    """A collector for prometheus-client."""

    def __init__(self, gauges: Iterable[Metric]) -> None:
        self._gauges = gauges

    def collect(self) -> Iterable[Metric]:
        """Return each metric with its help text."""
        return self._gauges


def _gauges(context: Context, now: datetime) -> Iterator[GaugeMetricFamily]:
    every, _ = counts.count(context)
    datasets = GaugeMetricFamily("freshness_datasets", "Datasets by status", labels=["status"])
    for status, number in every.statuses.items():
        datasets.add_metric([status], number)
    yield datasets
    broken, _ = report_tables.BROKEN.count(TableRequest(context, now), None)
    unindexed = sa.text("SELECT count(*) FROM freshness_unindexed")
    last = runs.full_checks().first()
    began = None if last is None else aware(last.started_at)
    values = {
        "resources_broken": ("Resources whose URL failed several times, spread over time", broken),
        "datasets_unindexed": (
            "Datasets whose document in Solr is older than their extras",
            model.Session.execute(unindexed).scalar(),
        ),
        "last_run_timestamp_seconds": (
            "Start of the last check of all datasets; 0 if there was none",
            0 if began is None else began.timestamp(),
        ),
        "run_missing": (
            "1 if no check of all datasets has begun for 26 hours",
            int(runs.is_silent(began, now)),
        ),
    }
    ended = runs.full_checks().filter(CheckRun.ended_at.is_not(None)).first()
    if ended is not None:
        values |= {
            "run_checked": ("Resources that the last completed check checked", ended.checked or 0),
            "run_failed": ("1 if it ended early", int(bool(ended.error))),
        }
    for name, (help_text, value) in values.items():
        yield GaugeMetricFamily(f"freshness_{name}", help_text, value=value)
