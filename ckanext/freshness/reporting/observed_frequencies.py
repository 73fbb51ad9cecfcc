"""How often the data of datasets really change, from the changes that were seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

import sqlalchemy as sa

from ..aging import observed_frequency
from ..aging.observed_frequency import PROBABILITY, ObservedFrequency, Update
from ..ckan_adapter import model
from ..dates import aware, utc_text


class Basis(Enum):
    """What is known to have changed."""

    FILES = "files"
    """The files, as checks, uploads and edits show."""
    RECORD = "record"
    """The date of the harvested record. It may move with the metadata alone, so it counts only if no check has
    read a file."""


@dataclass(frozen=True, slots=True)
class Observation:
    """An observed frequency, and what it was computed from.

    :ivar updates: the updates, in order
    """

    basis: Basis
    found: ObservedFrequency
    updates: tuple[Update, ...]


def of_dataset(package_id: str, declared_days: int | None, now: datetime) -> dict[str, Any] | None:
    """Return how often a dataset's data change, as ``freshness_show`` shows it; None if too little is known.

    :param declared_days: the dataset's update frequency; None if it has none
    :param now: the current time, aware
    """
    statement = sa.text(_UPDATES.format(which="AND c.package_id = :id"))
    seen = observation(model.Session.execute(statement, {"id": package_id}).all(), now)
    if seen is None:
        return None
    found, coming = seen.found, seen.found.next
    misfit = None if declared_days is None else observed_frequency.misfit(found, declared_days)
    return {
        "days": round(found.days, 1),
        "lowest_days": round(found.lowest, 1),
        "highest_days": round(found.highest, 1),
        "at_least": found.at_least,
        "changes": found.updates,
        "basis": seen.basis.value,
        "next_update": coming
        and {
            "expected": utc_text(coming.expected),
            "earliest": utc_text(coming.earliest),
            "latest": utc_text(coming.latest),
        },
        "probability": PROBABILITY,
        "misfit": misfit
        and {
            "suggested_days": misfit.suggested_days,
            "certainty": round(misfit.certainty, 3),
        },
    }


def observation(rows: Iterable[Any], now: datetime) -> Observation | None:
    """Return how often the data of one dataset change; None if too little is known.

    :param rows: of :data:`_UPDATES`
    """
    updates: dict[Basis, list[Update]] = {basis: [] for basis in Basis}
    is_read = False
    for row in rows:
        basis = Basis.RECORD if row.of_record else Basis.FILES
        updates[basis].append(Update(aware(row.happened_at), row.within))
        is_read = row.is_read
    for basis, seen in updates.items():
        found = observed_frequency.observed(seen, now)
        if found is not None and not (basis is Basis.RECORD and is_read):
            return Observation(basis, found, tuple(seen))
    return None


# The time of a change that only checks saw lies between two of them. All other evidence has a date.
_DATED = """(c.stated_at IS NOT NULL AND c.stated_at <= c.changed_before
        AND c.stated_at > coalesce(c.changed_after, '-infinity'))"""
_BETWEEN = "(c.evidence IN ('hash', 'http header') AND c.changed_after < c.changed_before)"

# The files of a dataset change together: rows of one hour make one.
_UPDATES = f"""
SELECT u.package_id, u.of_record, min(u.happened_at) AS happened_at, min(u.within) AS within,
    EXISTS (
        SELECT FROM freshness_check k WHERE k.package_id = u.package_id AND k.hash IS NOT NULL
    ) AS is_read
FROM (
    SELECT c.package_id, c.evidence = 'harvest' AS of_record,
        CASE WHEN {_DATED} THEN c.stated_at
            WHEN {_BETWEEN} THEN c.changed_after + (c.changed_before - c.changed_after) / 2
            ELSE c.changed_before END AS happened_at,
        CASE WHEN {_DATED} OR NOT {_BETWEEN} THEN interval '0'
            ELSE c.changed_before - c.changed_after END AS within
    FROM freshness_change c WHERE c.evidence <> 'created' {{which}}
) u
GROUP BY u.package_id, u.of_record, date_trunc('hour', u.happened_at)
ORDER BY u.package_id, happened_at"""
