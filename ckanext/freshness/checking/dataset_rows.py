"""Reads what a run needs to know of whole datasets. Moments in rows are naive and in UTC."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from ..aging.evidence import Evidence
from ..aging.status import Boundaries, Status, status_at
from ..ckan_adapter.core import model
from ..dates import utc
from ..model.runs import IS_CHECKED_BY_CYCLES
from .run_counts import DatasetFact

_UPDATED = {Evidence.REVIEW.value: DatasetFact.REVIEW, Evidence.SCRIPT.value: DatasetFact.SCRIPT}


@dataclass(frozen=True, slots=True)
class NamedDataset:
    """A dataset that the caller of a command has named.

    :ivar type: the package's type
    :ivar is_registered: whether update cycles check all its files
    """

    id: str
    type: str
    is_registered: bool


def named(names: Sequence[str]) -> dict[str, NamedDataset]:
    """Return the active datasets with these names or ids, by the name or id that was given."""
    rows = model.Session.execute(sa.text(_NAMED), {"names": list(names)}).all()
    return {
        key: NamedDataset(row.id, row.type, row.is_registered)
        for row in rows
        for key in (row.id, row.name)
        if key in names
    }


def undetermined(package_ids: Sequence[str]) -> list[str]:
    """Return the datasets whose freshness is stored as undetermined."""
    rows = model.Session.execute(sa.text(_UNDETERMINED), {"ids": list(package_ids)})
    return list(rows.scalars())


def with_passed_boundary(package_ids: Sequence[str], now: datetime) -> list[str]:
    """Return the datasets whose boundary has passed since their last assessment."""
    rows = model.Session.execute(sa.text(_PASSED), {"ids": list(package_ids), "now": utc(now)})
    return list(rows.scalars())


def with_newer_review_or_script(run_id: str) -> Iterator[tuple[str, DatasetFact]]:
    """Yield the datasets that were reviewed or updated by a script since the last run that included them.

    Only runs count that have stored their counts: news from before a killed run are still news.
    """
    rows = model.Session.execute(sa.text(_NEWER), {"run": run_id, "evidence": list(_UPDATED)}).all()
    for package_id, evidence in rows:
        yield package_id, _UPDATED[evidence]


def statuses(
    now: datetime, package_types: Collection[str], package_ids: Sequence[str] | None = None
) -> Iterator[tuple[str, Status, int | None]]:
    """Yield the assessed active datasets of some types: id, status at ``now`` and update frequency.

    :param package_ids: only these
    """
    values = {"types": sorted(package_types), "ids": list(package_ids or ())}
    statement = _STATUSES if package_ids is None else f"{_STATUSES} AND d.package_id = ANY(:ids)"
    moment = utc(now)
    streamed = {"stream_results": True, "max_row_buffer": 1000}
    for row in model.Session.execute(sa.text(statement), values, execution_options=streamed):
        status = Status(row.status)
        if row.due is not None:
            status = status_at(Boundaries(row.due, row.overdue, row.delinquent), moment)
        yield row.package_id, status, row.frequency_days


_UNDETERMINED = """
SELECT package_id FROM freshness_dataset WHERE package_id = ANY(:ids) AND undetermined IS NOT NULL"""

_PASSED = """
SELECT package_id FROM freshness_dataset WHERE package_id = ANY(:ids) AND next_boundary <= :now"""

_NEWER = """
SELECT e.package_id, e.evidence FROM freshness_evidence e, freshness_run this
WHERE this.id = :run AND e.resource_id = '' AND e.evidence = ANY(:evidence) AND e.happened_at > (
    SELECT max(before.started_at) FROM freshness_run before
    WHERE before.kind = this.kind AND before.started_at < this.started_at
    AND before.datasets <> '{}' AND (before.options ->> 'package_ids' IS NULL
        OR before.options -> 'package_ids' @> to_jsonb(e.package_id))
    AND (before.options ->> 'host' IS NULL OR EXISTS (SELECT FROM freshness_check c
        WHERE c.package_id = e.package_id AND c.host = before.options ->> 'host'))
)"""

_STATUSES = """
SELECT d.package_id, d.status, d.due, d.overdue, d.delinquent, d.frequency_days
FROM freshness_dataset d JOIN package p ON p.id = d.package_id
WHERE p.state = 'active' AND p.type = ANY(:types)"""

_NAMED = f"""
SELECT p.id, p.name, p.type, count(f.id) > 0 AND bool_and(f.is_registered) AS is_registered
FROM package p LEFT JOIN LATERAL (
    SELECT r.id, {IS_CHECKED_BY_CYCLES.format(resource="r.id")} AS is_registered
    FROM resource r WHERE r.package_id = p.id AND r.state = 'active'
) f ON true
WHERE p.state = 'active' AND (p.id = ANY(:names) OR p.name = ANY(:names))
GROUP BY p.id, p.name, p.type"""
