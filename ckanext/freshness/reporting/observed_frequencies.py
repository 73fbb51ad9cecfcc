"""How often the data of datasets really change, from the changes that were seen."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import groupby, islice
from operator import attrgetter
from typing import Any

import sqlalchemy as sa

from ..aging import observed_frequency
from ..aging.observed_frequency import ObservedFrequency, Update
from ..ckan_adapter.core import model
from ..dates import aware, utc
from ..model import FrequencySuggestion


class Basis(Enum):
    """The kind of data whose changes were observed."""

    FILES = "files"
    """The files, as checks, uploads and edits show."""
    RECORD = "record"
    """The date of the harvested record. It may move with the metadata alone, so it counts only if no check has
    read a file."""


@dataclass(frozen=True, slots=True)
class Observation:
    """An observed frequency, and the updates from which it was computed."""

    basis: Basis
    found: ObservedFrequency


def of_dataset(package_id: str, declared_days: int | None, now: datetime) -> dict[str, Any] | None:
    """Return how often a dataset's data change, as ``freshness_show`` shows it; None if too little is known.

    :param declared_days: the dataset's update frequency; None if it has none
    :param now: the current time, aware
    """
    statement = sa.text(_UPDATES.format(which="AND c.package_id = :id"))
    seen = observation(model.Session.execute(statement, {"id": package_id}).all(), now)
    if seen is None:
        return None
    found = seen.found
    misfit = None if declared_days is None else observed_frequency.misfit(found, declared_days)
    if misfit is not None and _is_kept(package_id, declared_days):
        misfit = None
    return {
        "days": round(found.days, 1),
        "lowest_days": round(found.lowest, 1),
        "highest_days": round(found.highest, 1),
        "at_least": found.at_least,
        "changes": found.updates,
        "basis": seen.basis.value,
        "misfit": misfit
        and {"suggested_days": misfit.suggested_days, "factor": round(misfit.factor, 1)},
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
            return Observation(basis, found)
    return None


_BATCH = 500
"""Rows to write in one statement."""


def store(now: datetime) -> int:
    """Store the frequencies that the data of datasets suggest, commit, and return their number.

    Decisions of editors to keep a frequency stay while it is the same.

    :param now: the current time, aware
    """
    statement = sa.text(_UPDATES.format(which=""))
    number = 0
    with model.Session.get_bind().connect() as connection:
        streamed = connection.execution_options(stream_results=True, max_row_buffer=5000)
        rows = streamed.execute(statement)
        datasets = groupby(rows, key=attrgetter("package_id"))
        found = (_suggestion(list(group), now) for _, group in datasets)
        suggestions = filter(None, found)
        while batch := list(islice(suggestions, _BATCH)):
            number += len(batch)
            model.Session.execute(sa.text(_STORE), {"rows": json.dumps(batch)})
    model.Session.execute(sa.text(_FORGET), {"now": utc(now)})
    model.Session.commit()
    return number


def _suggestion(rows: Sequence[Any], now: datetime) -> dict[str, Any] | None:
    """Return a row of ``freshness_suggestion``; None if the declared frequency fits, or too little is
    known."""
    declared = rows[0].frequency_days
    seen = observation(rows, now) if rows[0].is_judged else None
    if seen is None:
        return None
    found = seen.found
    suggested, factor = observed_frequency.nearest(found.days), None
    if declared is not None:
        misfit = observed_frequency.misfit(found, declared)
        if misfit is None:
            return None
        suggested, factor = misfit.suggested_days, misfit.factor
    return {
        "package_id": rows[0].package_id,
        "declared_days": declared,
        "suggested_days": suggested,
        "factor": factor,
        "days": found.days,
        "lowest_days": found.lowest,
        "highest_days": found.highest,
        "at_least": found.at_least,
        "changes": found.updates,
        "basis": seen.basis.value,
        "changed_at": [utc(at).isoformat() for at in found.moments],
        "counted_at": utc(now).isoformat(),
    }


def _is_kept(package_id: str, declared_days: int | None) -> bool:
    row = model.Session.get(FrequencySuggestion, package_id, populate_existing=True)
    return row is not None and row.kept_at is not None and row.declared_days == declared_days


def keep(package_id: str, at: datetime | None) -> None:
    """Store or withdraw an editor's decision to keep the declared frequency of a dataset; commit.

    :param at: when the editor decided, aware; None to suggest another frequency again
    """
    model.Session.execute(
        sa.text("UPDATE freshness_suggestion SET kept_at = :at WHERE package_id = :id"),
        {"id": package_id, "at": at and utc(at)},
    )
    model.Session.commit()


# The time of a change that only checks saw lies between two of them. All other evidence has a date.
_DATED = """(c.stated_at IS NOT NULL AND c.stated_at <= c.changed_before
        AND c.stated_at > coalesce(c.changed_after, '-infinity'))"""
_BETWEEN = """coalesce(
        c.evidence IN ('hash', 'http header') AND c.changed_after < c.changed_before, false
    )"""

# The files of a dataset change together: rows of one hour make one.
_UPDATES = f"""
SELECT u.package_id, d.package_id IS NOT NULL AS is_judged, d.frequency_days, u.of_record,
    min(u.happened_at) AS happened_at, min(u.within) AS within,
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
) u LEFT JOIN freshness_dataset d ON d.package_id = u.package_id
GROUP BY u.package_id, d.package_id, u.of_record, date_trunc('hour', u.happened_at)
ORDER BY u.package_id, happened_at"""

_STORE = """
INSERT INTO freshness_suggestion AS s
SELECT * FROM jsonb_populate_recordset(NULL::freshness_suggestion, CAST(:rows AS jsonb))
ON CONFLICT (package_id) DO UPDATE SET declared_days = excluded.declared_days,
    suggested_days = excluded.suggested_days, factor = excluded.factor, days = excluded.days,
    lowest_days = excluded.lowest_days, highest_days = excluded.highest_days,
    at_least = excluded.at_least, changes = excluded.changes, basis = excluded.basis,
    changed_at = excluded.changed_at, counted_at = excluded.counted_at,
    kept_at = CASE WHEN s.declared_days IS NOT DISTINCT FROM excluded.declared_days THEN s.kept_at END"""

# A decision to keep a frequency outlives a night in which the frequency fits. A report that began later may
# have written its rows meanwhile.
_FORGET = "DELETE FROM freshness_suggestion WHERE counted_at < :now AND kept_at IS NULL"
