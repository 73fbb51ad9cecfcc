"""The figures of IATI's cycle in Prometheus' text format, under the Bulk Data Service's own names."""

from __future__ import annotations

from collections.abc import Mapping

GAUGES = {
    "total_number_of_datasets": "The total number of datasets",
    "datasets_with_download": "The number of datasets with a last good download",
    "datasets_added": "The number of datasets added during the last run",
    "datasets_unregistered": "The number of datasets unregistered and so removed during the last run",
    "datasets_expired": "The number of datasets that expired in the last run",
    "datasets_head_request_non_200": "The number of datasets whose last HEAD request was not answered 200",
    "datasets_downloads_non_200": "The number of datasets whose last download was not answered 200",
    "checker_run_duration": "The time taken by the last run of the checker (seconds)",
    "zipper_run_duration": "The time taken by the last run of the zipper (seconds)",
    "number_crashes": "The number of runs that are remembered and ended early",
}
"""Name and help of each gauge."""

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def text(sources: Mapping[str, Mapping[str, float]]) -> str:
    """The gauges of each source, as Prometheus' server reads them (text format 0.0.4).

    With one source there is no label, so that dashboards of the original go on working.

    :param sources: the figures of the last run, by the name of the source.
    """
    lines = []
    for gauge, help_ in GAUGES.items():
        lines += [f"# HELP {gauge} {help_}", f"# TYPE {gauge} gauge"]
        for source, figures in sorted(sources.items()):
            label = "" if len(sources) == 1 else f'{{source="{_escaped(source)}"}}'
            lines.append(f"{gauge}{label} {float(figures.get(gauge, 0))}")
    return "\n".join(lines) + "\n" if sources else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
