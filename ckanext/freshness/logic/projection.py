"""What is written of a dataset's freshness into its extras: names and values that others rely on.

The truth is in own tables (:mod:`ckanext.freshness.model.freshness`); the extras are written from it
again whenever it changes, and whoever else writes under these keys is not heard.
"""

from __future__ import annotations

from typing import Any

from ..dates import utc_text

KEYS = (
    "freshness",
    "freshness_delinquent",
    "freshness_due",
    "freshness_evidence",
    "freshness_frequency",
    "freshness_last_modified",
    "freshness_overdue",
    "freshness_undetermined",
)
"""The extras that are ours, in alphabetical order."""


def extras(row: Any) -> dict[str, str]:
    """The extras of a dataset, as a row of ``freshness_dataset`` gives them.

    Keys that do not apply are left out: no boundaries where time changes nothing, no frequency where
    none is understood.
    """
    values = {
        "freshness": row.status,
        "freshness_delinquent": utc_text(row.delinquent),
        "freshness_due": utc_text(row.due),
        "freshness_evidence": row.evidence,
        "freshness_frequency": None if row.frequency_days is None else str(row.frequency_days),
        "freshness_last_modified": utc_text(row.last_modified),
        "freshness_overdue": utc_text(row.overdue),
        "freshness_undetermined": row.undetermined,
    }
    return {key: value for key, value in values.items() if value is not None}
