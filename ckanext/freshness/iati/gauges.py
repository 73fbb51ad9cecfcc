"""The figures of IATI's cycles for Prometheus, under the Bulk Data Service's own names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sqlalchemy as sa
from prometheus_client.core import GaugeMetricFamily

from ..ckan_adapter import model

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
    "number_crashes": "The number of runs that are remembered and did not come to their end",
}
"""Name and help of each gauge."""


def gauges() -> Iterator[GaugeMetricFamily]:
    """The figures of each source's last cycle that ended.

    With one source there is no label, so that dashboards of the original go on working.
    """
    rows = model.Session.execute(sa.text(_LAST)).all()
    for name, words in GAUGES.items() if rows else ():
        family = GaugeMetricFamily(name, words, labels=["source"] if len(rows) > 1 else [])
        for row in rows:
            label = [row.source] if len(rows) > 1 else []
            family.add_metric(label, float((row.datasets or {}).get(name, 0)))
        yield family


_LAST = """
SELECT DISTINCT ON (r.options ->> 'source') coalesce(p.name, r.options ->> 'source') AS source, r.datasets
FROM freshness_run r LEFT JOIN package p ON p.id = r.options ->> 'source'
WHERE r.kind = 'iati' AND r.ended_at IS NOT NULL AND (p.id IS NULL OR p.state = 'active')
ORDER BY r.options ->> 'source', r.started_at DESC"""
