"""Assesses datasets, many at once, and stores the result in our tables and in the datasets' extras.

Hooks, refreshes and checks all come here. Our tables hold the truth; the extras are written from them.
Solr is not written, and nothing is committed.
"""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..aging.evidence import DatedEvidence, Evidence
from ..checking import data_changes, fields
from ..checking.data_changes import DataChange
from ..ckan_adapter.core import NAMES, model
from ..ckan_adapter.packages import lock_packages, write_extras, write_extras_in_session
from ..dates import utc_to_second
from . import made_anew, snapshot
from .changes import (
    Occasion,
    changes_of_data,
    completed,
    is_replaced,
    transitions,
)
from .judgement import FreshnessRow, Judgement, has_new_url, judge, observed, row_of, site_rules
from .our_fields import are_the_sites, judged_types
from .snapshot import DatasetSnapshot, ResourceSnapshot


@dataclass(frozen=True, slots=True)
class AssessedDataset:
    """A dataset that was assessed, and the extras that it should have."""

    package_id: str
    stored: Mapping[str, str]
    """All its extras, as the database has them."""
    wanted: Mapping[str, str]
    """The values that this extension's extras should have."""
    resources: Sequence[ResourceSnapshot]
    """Its resources, as the database has them; none if this extension is being uninstalled."""
    changes_status: bool
    """Whether it had another status before."""
    has_new_link: bool
    """Whether the URL of a resource was changed just now."""

    @property
    def changes_extras(self) -> bool:
        return {key: self.stored[key] for key in NAMES.extras if key in self.stored} != self.wanted


def update_in_action(package_id: str, occasion: Occasion) -> bool:
    """Assess a package that an action has just written, and write its extras in the same transaction.

    The action indexes the package afterwards. So there is one write to Solr, and neither
    ``metadata_modified`` nor the activities change.

    :returns: whether a link was changed, so that only a check can tell whether its data are new
    """
    # Write to the database what other plugins' hooks have changed in the session.
    model.Session.flush()
    has_new_link = False
    for dataset in assess_packages([package_id], occasion):
        has_new_link |= dataset.has_new_link
        if dataset.changes_extras:
            package = model.Session.get(model.Package, package_id)
            write_extras_in_session(package, dataset.stored, dataset.wanted, NAMES.extras)
        fields.restore_in_session(dataset.resources, settings.resource_fields())
    return has_new_link


def update_packages(
    package_ids: Sequence[str],
    occasion: Occasion,
    found: Mapping[str, Sequence[DatedEvidence]] | None = None,
) -> list[AssessedDataset]:
    """Assess packages outside of their actions, and write their extras by SQL.

    Calls no hooks, and changes neither activities nor ``metadata_modified``. The caller commits, and then
    indexes. See :func:`assess_packages` for the parameters.

    :returns: the datasets whose extras have changed
    """
    changed = [
        dataset
        for dataset in assess_packages(package_ids, occasion, found)
        if dataset.changes_extras
    ]
    if changed:
        write_extras({dataset.package_id: dataset.wanted for dataset in changed}, NAMES.extras)
    return changed


def assess_packages(
    package_ids: Sequence[str],
    occasion: Occasion,
    found: Mapping[str, Sequence[DatedEvidence]] | None = None,
) -> list[AssessedDataset]:
    """Assess packages and write our tables, with a number of statements that does not grow.

    The packages' rows stay locked until the transaction ends; a package that is being created needs no lock.
    Missing packages, packages of types that have no status, and those with values of the site's own under our
    names are left out. The extras are not written.

    :param found: evidence by package that the datasets themselves do not have: the results of checks
    """
    rules = site_rules()
    now = occasion.now.astimezone(timezone.utc).replace(microsecond=0)
    occasion = replace(occasion, now=now)
    if not occasion.is_creation:
        lock_packages(package_ids)
    tables: Tables = defaultdict(list)
    data: list[DataChange] = []
    assessed = []
    for dataset in _take(package_ids, judged_types(), are_new=occasion.is_creation):
        if dataset.row is None and are_the_sites(dataset.extras):
            continue
        if occasion.edit is not None:
            occasion = replace(occasion, edit=completed(occasion.edit, dataset))
        found_pieces = (found or {}).get(dataset.id, ())
        seen = [*observed(dataset, now, occasion.writer), *found_pieces]
        judgement = judge(dataset, seen, now, rules)
        row = row_of(judgement)
        _add(tables, judgement, row, occasion)
        data += changes_of_data(judgement, found_pieces)
        tables["transitions"] += transitions(judgement, row, occasion)
        assessed.append(
            AssessedDataset(
                dataset.id,
                stored=dataset.extras,
                wanted=row.extras(),
                resources=dataset.resources,
                changes_status=dataset.row is not None and dataset.row.status != row.status,
                has_new_link=any(
                    has_new_url(resource, dataset, is_replaced=is_replaced(resource, occasion.edit))
                    for resource in dataset.resources
                ),
            )
        )
    # Changes of data are few.
    data_changes.write(data)
    if any(tables.values()):
        rows = {name: json.dumps(tables[name], default=datetime.isoformat) for name in _JSON}
        model.Session.execute(_WRITE, {**rows, "gone": tables["gone"]})
    return assessed


def _take(ids: Sequence[str], types: Iterable[str], *, are_new: bool) -> list[DatasetSnapshot]:
    """Return the packages after their new resources have taken over what is known of former ones."""
    taken = snapshot.take(ids, types, are_new=are_new)
    if changed := [
        one.id for one in taken if one.gone and not all(r.is_known for r in one.resources)
    ]:
        made_anew.follow(changed)
        return snapshot.take(ids, types)
    return taken


Tables = dict[str, list[Any]]
"""The rows to write, by the parameters of :data:`_WRITE`: only those that differ from the stored rows."""


def _add(tables: Tables, judgement: Judgement, row: FreshnessRow, occasion: Occasion) -> None:
    """Add the rows of a dataset, except its transitions."""
    dataset, now, writer = judgement.dataset, judgement.now, occasion.writer
    values = vars(row)
    if any(getattr(dataset.row, name, None) != value for name, value in values.items()):
        tables["datasets"].append(values)
    before = {(piece.resource, piece.evidence): piece for piece in dataset.pieces}
    after = {(piece.resource, piece.evidence): piece for piece in judgement.pieces}
    for key, piece in after.items():
        old = before.get(key)
        if old != piece:
            previous = old.when if old and piece.evidence is Evidence.REVIEW else None
            authorship = {"author": writer, "previous_at": utc_to_second(previous)}
            tables["evidence"].append(_evidence_row(dataset.id, piece) | authorship)
    tables["dropped"] += [
        _evidence_row(dataset.id, piece) for key, piece in before.items() if key not in after
    ]
    tables["gone"] += dataset.gone
    for resource in dataset.resources:
        has_same_url = resource.is_known and resource.url == resource.known_url
        has_same_hash = resource.is_known and resource.hash == (resource.known_hash or "")
        is_new = has_new_url(resource, dataset, is_replaced=is_replaced(resource, occasion.edit))
        is_pending = has_same_url and not resource.found_at_url
        url_changed_at = now if is_new else resource.url_changed_at if is_pending else None
        if not (has_same_url and has_same_hash and url_changed_at == resource.url_changed_at):
            tables["resources"].append(
                {
                    "resource_id": resource.id,
                    "package_id": dataset.id,
                    "url": resource.url,
                    "hash": resource.hash or None,
                    "hash_writer": resource.hash_writer if has_same_hash else writer,
                    "url_changed_at": utc_to_second(url_changed_at),
                }
            )


def _evidence_row(package_id: str, piece: DatedEvidence) -> dict[str, Any]:
    return {
        "package_id": package_id,
        "resource_id": piece.resource or "",
        "evidence": piece.evidence.value,
        "happened_at": utc_to_second(piece.when),
        "claimed_at": utc_to_second(piece.claimed),
    }


def _upsert(table: str, rows: str, keys: Sequence[str], columns: Sequence[str]) -> str:
    """Return a statement that inserts rows, or updates the rows with the same keys.

    :param rows: the parameter with the rows, in JSON
    :param columns: the columns that an update writes, too
    """
    names = ", ".join((*keys, *columns))
    new = ", ".join(f"{column} = excluded.{column}" for column in columns)
    return f"""
    INSERT INTO {table} ({names})
    SELECT {names} FROM jsonb_populate_recordset(NULL::{table}, CAST(:{rows} AS jsonb))
    ON CONFLICT ({", ".join(keys)}) DO UPDATE SET {new}"""


_DATASETS = _upsert(
    "freshness_dataset",
    "datasets",
    ("package_id",),
    tuple(field.name for field in dataclasses.fields(FreshnessRow))[1:],
)
_EVIDENCE = (
    _upsert(
        "freshness_evidence",
        "evidence",
        ("package_id", "resource_id", "evidence"),
        ("happened_at", "claimed_at", "author", "previous_at"),
    )
    + ", previous_author = freshness_evidence.author"
)
_RESOURCES = _upsert(
    "freshness_resource",
    "resources",
    ("resource_id",),
    ("package_id", "url", "hash", "hash_writer", "url_changed_at"),
)
_TRANSITION = (
    "package_id, from_status, to_status, changed_at, evidence, cause, run_id"
    ", action, change, resource_id, resource_name, author, frequency_before, frequency_after"
)
_JSON = ("datasets", "evidence", "dropped", "resources", "transitions")
_WRITE = sa.text(f"""
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
FROM jsonb_populate_recordset(NULL::freshness_transition, CAST(:transitions AS jsonb))""")
"""One statement for all tables. Its parts never touch the same row."""
