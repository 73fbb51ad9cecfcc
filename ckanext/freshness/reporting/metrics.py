"""Figures of runs and of the site for programs: counts in HDX's layout, and Prometheus' metrics.

:mod:`ckanext.freshness.checking.run_records` counts the figures of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from ..ckan_adapter.core import model
from ..dates import aware
from ..model import CheckRun
from . import counts, report_tables, runs
from .tables import Context, TableRequest

Run = Mapping[str, Any]
"""The figures of a run as ``freshness_run_show`` returns them: ``resources`` and ``datasets`` (numbers by
label), ``frequencies`` (numbers of datasets that are ``live``, ``never`` or ``as needed``) and ``hosts``
(figures of each host, and of all under :data:`ALL_HOSTS`)."""

FIGURES = ("resources", "datasets", "frequencies", "hosts")

_FREQUENCIES = {"live": "Live", "never": "Never", "as needed": "As Needed"}


def text(run: Run) -> str:
    """Return the counts in the layout of HDX's data freshness process, which scripts parse.

    Labels are sorted by code point. Every line of a list but the last ends with a comma.
    """
    lines = [
        "*** Resources ***",
        _counts(run["resources"]),
        "",
        "*** Datasets ***",
        _counts(run["datasets"]),
        "",
    ]
    lines += [
        f"{run['frequencies'].get(key, 0)} datasets have update frequency of {words}"
        for key, words in _FREQUENCIES.items()
    ]
    return "\n".join(lines)


def _counts(labels: Mapping[str, int]) -> str:
    total = f"* total: {sum(labels.values())} *"
    return ",\n".join([total, *(f"{label}: {labels[label]}" for label in sorted(labels))])


# Prometheus


def prometheus(context: Context, now: datetime, more: Iterable[Metric] = ()) -> bytes:
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
    yield _labelled("freshness_datasets", "Datasets by status", "status", every.statuses)
    yield _labelled(
        "freshness_datasets_undetermined",
        "Datasets whose changes cannot be detected, by reason",
        "reason",
        every.undetermined,
    )
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
            "1 if there was no check of all datasets for a day",
            int(runs.is_silent(began, now)),
        ),
    }
    ended = runs.full_checks().filter(CheckRun.ended_at.is_not(None)).first()
    if ended is not None:
        duration = (ended.ended_at - ended.started_at).total_seconds()
        values |= {
            "run_duration_seconds": (
                "Duration of the last completed check of all datasets",
                duration,
            ),
            "run_checked": ("Resources that it checked", ended.checked or 0),
            "run_failed": ("1 if it ended early", int(bool(ended.error))),
        }
    for name, (help_text, value) in values.items():
        yield GaugeMetricFamily(f"freshness_{name}", help_text, value=value)


def _labelled(
    name: str, help_text: str, label: str, values: Mapping[str, int]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, help_text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
