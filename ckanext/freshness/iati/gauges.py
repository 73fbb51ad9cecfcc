"""Figures of update cycles for Prometheus, under the Bulk Data Service's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sqlalchemy as sa
from prometheus_client.core import GaugeMetricFamily

from ..ckan_adapter.core import model
from .cycle.sources import last_cycle

GAUGES: Mapping[str, str] = {
    "total_number_of_datasets": "The total number of datasets",
    "datasets_with_download": "The number of datasets with a copy of their last good download",
    "datasets_added": "The number of datasets added during the last run",
    "datasets_unregistered": "The number of datasets unregistered and so removed during the last run",
    "datasets_expired": "The number of datasets that expired in the last run",
    "datasets_head_request_non_200": "The number of datasets whose last HEAD request was not answered 200",
    "datasets_downloads_non_200": "The number of datasets whose last download was answered neither 200 nor 304",
    "checker_run_duration": "The time taken by the last run of the checker (seconds)",
    "zipper_run_duration": "The time taken by the last run of the zipper (seconds)",
    "number_crashes": "The number of recorded runs that ended early",
}
"""Help text of each gauge, by name."""


def gauges() -> Iterator[GaugeMetricFamily]:
    """Yield the figures of each source's last finished cycle.

    A single source has no label, so that dashboards of the Bulk Data Service still work.
    """
    figures: dict[str, dict[str, float]] = {}
    for source in model.Session.execute(sa.text(_SOURCES)).all():
        last = last_cycle(source.id, ended=True)
        if last is not None:
            figures[source.name] = last.datasets or {}
    if not figures:
        return
    has_label = len(figures) > 1
    for name, help_text in GAUGES.items():
        family = GaugeMetricFamily(name, help_text, labels=["source"] if has_label else [])
        for source_name, of_source in figures.items():
            labels = [source_name] if has_label else []
            family.add_metric(labels, float(of_source.get(name, 0)))
        yield family


_SOURCES = """
SELECT DISTINCT r.options ->> 'source' AS id, coalesce(p.name, r.options ->> 'source') AS name
FROM freshness_run r LEFT JOIN package p ON p.id = r.options ->> 'source'
WHERE r.kind = 'iati' AND (p.id IS NULL OR p.state = 'active') ORDER BY id"""
