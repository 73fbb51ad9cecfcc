"""Converts a row of ``freshness_dataset`` to the extras of its dataset.

The truth is in own tables (:mod:`ckanext.freshness.model.freshness`); the extras are written from it
again whenever it changes, and whoever else writes under these keys is not heard.
"""

from __future__ import annotations

from typing import Any

from ..dates import utc_text
from ..field_names import NAMES


def extras(row: Any) -> dict[str, str]:
    """The extras of a dataset, as a row of ``freshness_dataset`` gives them.

    Keys that do not apply are left out: no boundaries where time changes nothing, no frequency where
    none is understood.
    """
    values = {
        NAMES.status: row.status,
        NAMES.delinquent: utc_text(row.delinquent),
        NAMES.due: utc_text(row.due),
        NAMES.evidence: row.evidence,
        NAMES.frequency: None if row.frequency_days is None else str(row.frequency_days),
        NAMES.last_modified: utc_text(row.last_modified),
        NAMES.overdue: utc_text(row.overdue),
        NAMES.undetermined: row.undetermined,
    }
    return {key: value for key, value in values.items() if value is not None}
