"""Writes of our tables for many assessed datasets, by one statement."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ..aging.evidence import DatedEvidence, Evidence
from ..checking import data_changes
from ..checking.data_changes import DataChange
from ..ckan_adapter.core import model
from ..dates import utc_to_second
from .judgement import FreshnessRow
from .snapshot import DatasetSnapshot


class TableChanges:
    """The rows to write for some datasets: only those that differ from the stored rows."""

    def __init__(self) -> None:
        self.datasets: list[dict[str, Any]] = []
        self.evidence: list[dict[str, Any]] = []
        self.dropped: list[dict[str, Any]] = []
        self.resources: list[dict[str, Any]] = []
        self.gone: list[str] = []
        self.transitions: list[dict[str, Any]] = []
        self.of_data: list[DataChange] = []

    def add(
        self,
        dataset: DatasetSnapshot,
        pieces: Iterable[DatedEvidence],
        row: FreshnessRow,
        now: datetime,
        writer: str | None,
    ) -> None:
        """Add the rows of a dataset, except its transitions."""
        values = vars(row)
        if any(getattr(dataset.row, name, None) != value for name, value in values.items()):
            self.datasets.append(values)
        before = {(piece.resource, piece.evidence): piece for piece in dataset.pieces}
        after = {(piece.resource, piece.evidence): piece for piece in pieces}
        for key, piece in after.items():
            old = before.get(key)
            if old != piece:
                previous = old.when if old and piece.evidence is Evidence.REVIEW else None
                authorship = {"author": writer, "previous_at": utc_to_second(previous)}
                self.evidence.append(_evidence_row(dataset.id, piece) | authorship)
        self.dropped += [
            _evidence_row(dataset.id, piece) for key, piece in before.items() if key not in after
        ]
        self.gone += dataset.gone
        for resource in dataset.resources:
            has_same_url = resource.is_known and resource.url == resource.known_url
            has_same_hash = resource.is_known and resource.hash == (resource.known_hash or "")
            if not has_same_url or not has_same_hash:
                self.resources.append(
                    {
                        "resource_id": resource.id,
                        "package_id": dataset.id,
                        "url": resource.url,
                        "hash": resource.hash or None,
                        "hash_writer": resource.hash_writer if has_same_hash else writer,
                        "first_seen": utc_to_second(now),
                    }
                )

    def write(self) -> None:
        """Write all rows: changes of data by a statement of their own, since they are few."""
        data_changes.write(self.of_data)
        tables = {
            "datasets": self.datasets,
            "evidence": self.evidence,
            "dropped": self.dropped,
            "resources": self.resources,
            "transitions": self.transitions,
        }
        if any(tables.values()) or self.gone:
            rows = {
                name: json.dumps(table, default=datetime.isoformat)
                for name, table in tables.items()
            }
            model.Session.execute(sa.text(_WRITE), {**rows, "gone": self.gone})


def _evidence_row(package_id: str, piece: DatedEvidence) -> dict[str, Any]:
    return {
        "package_id": package_id,
        "resource_id": piece.resource or "",
        "evidence": piece.evidence.value,
        "happened_at": utc_to_second(piece.when),
        "claimed_at": utc_to_second(piece.claimed),
    }


def _upsert(
    table: str, rows: str, keys: Sequence[str], columns: Sequence[str], once: Sequence[str] = ()
) -> str:
    """Return a statement that inserts rows, or updates the rows with the same keys.

    :param rows: the parameter with the rows, in JSON
    :param columns: the columns that an update writes too
    :param once: the columns that only an insert writes
    """
    names = ", ".join((*keys, *columns, *once))
    new = ", ".join(f"{column} = excluded.{column}" for column in columns)
    return f"""
    INSERT INTO {table} ({names})
    SELECT {names} FROM jsonb_populate_recordset(NULL::{table}, CAST(:{rows} AS jsonb))
    ON CONFLICT ({", ".join(keys)}) DO UPDATE SET {new}"""


_DATASETS = _upsert(
    "freshness_dataset",
    "datasets",
    ("package_id",),
    tuple(field.name for field in fields(FreshnessRow))[1:],
)
_EVIDENCE = _upsert(
    "freshness_evidence",
    "evidence",
    ("package_id", "resource_id", "evidence"),
    ("happened_at", "claimed_at", "author", "previous_at"),
)
_RESOURCES = _upsert(
    "freshness_resource",
    "resources",
    ("resource_id",),
    ("package_id", "url", "hash", "hash_writer"),
    ("first_seen",),
)
_TRANSITION = (
    "package_id, from_status, to_status, changed_at, evidence, cause, run_id"
    ", action, change, resource_id, resource_name, author, frequency_before, frequency_after"
)
_WRITE = f"""
WITH datasets AS ({_DATASETS}),
evidence AS ({_EVIDENCE}),
dropped AS (
    DELETE FROM freshness_evidence e
    USING jsonb_populate_recordset(NULL::freshness_evidence, CAST(:dropped AS jsonb)) d
    WHERE (e.package_id, e.resource_id, e.evidence) = (d.package_id, d.resource_id, d.evidence)
),
resources AS ({_RESOURCES}),
gone AS (DELETE FROM freshness_resource WHERE resource_id = ANY(:gone))
INSERT INTO freshness_transition ({_TRANSITION})
SELECT {_TRANSITION}
FROM jsonb_populate_recordset(NULL::freshness_transition, CAST(:transitions AS jsonb))"""
"""One statement for all tables. Its parts never touch the same row."""
