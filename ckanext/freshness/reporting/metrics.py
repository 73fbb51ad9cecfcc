"""The figures of runs for programs, as counts in HDX's layout.

:mod:`ckanext.freshness.checking.run_records` counts the figures of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
