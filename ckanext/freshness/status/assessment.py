"""Assesses datasets, many at once, and stores the result in our tables and in the datasets' extras.

Hooks, refreshes and checks all come here. Our tables hold the truth; the extras are written from them.
Solr is not written, and nothing is committed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timezone
from enum import Enum
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..aging.evidence import DatedEvidence, Evidence
from ..aging.status import Status
from ..checking import data_changes
from ..checking.data_changes import DataChange
from ..ckan_adapter.ckan_core import model
from ..ckan_adapter.database import lock_packages
from ..ckan_adapter.extras import write_extras, write_extras_in_session
from ..ckan_adapter.forms import own_extras
from ..ckan_adapter.site_names import site_names
from ..dates import utc_to_second
from ..field_names import with_prefix
from ..own_values import foreign
from . import edit_changes, observation, resource_fields, snapshot
from .judgement import (
    FreshnessRow,
    Judgement,
    SiteRules,
    assess_with,
    judge,
    row_of,
    site_rules,
)
from .snapshot import DatasetSnapshot, ResourceSnapshot


class TransitionCause(str, Enum):
    """The cause of a change of a status."""

    EDIT = "edit"
    FREQUENCY = "frequency"
    """An edit of the update frequency, which alone explains the change."""
    TIME = "time"
    CHECK = "check"
    RECOMPUTE = "recompute"


class ResourceAction(str, Enum):
    """The effect of an action on a resource."""

    ADDED = "added"
    REPLACED = "replaced"
    """It gets another file or URL."""
    EDITED = "edited"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class DatasetEdit:
    """An action that writes a dataset, and the resource that it is about, if any."""

    action: str
    change: ResourceAction | None = None
    resource_id: str | None = None
    """None also if a new resource has no id yet."""
    resource_name: str | None = None


@dataclass(frozen=True, slots=True)
class AssessedDataset:
    """A dataset that was assessed, and the extras that it should have."""

    package_id: str
    stored: Mapping[str, str]
    """All its extras, as the database has them."""
    wanted: Mapping[str, str]
    """The values that this extension's extras should have."""
    keys: tuple[str, ...]
    """The extras to write: all names of this extension except those that a schema declares. None if it is being
    uninstalled."""
    resources: Sequence[ResourceSnapshot]
    """Its resources, as the database has them; none if this extension is being uninstalled."""
    changes_status: bool
    """Whether it had another status before."""

    @property
    def changes_extras(self) -> bool:
        return {key: self.stored[key] for key in self.keys if key in self.stored} != self.wanted


def update_in_action(
    package_id: str, now: datetime, *, writer: str | None, edit: DatasetEdit
) -> None:
    """Assess a package that an action has just written, and write its extras in the same transaction.

    The action indexes the package afterwards. So there is one write to Solr, and neither
    ``metadata_modified`` nor the activities change.
    """
    # Write to the database what other plugins' hooks have changed in the session.
    model.Session.flush()
    for dataset in assess_packages(
        [package_id], now, cause=TransitionCause.EDIT, writer=writer, edit=edit
    ):
        if dataset.changes_extras:
            package = model.Session.get(model.Package, package_id)
            write_extras_in_session(package, dataset.stored, dataset.wanted, dataset.keys)
        resource_fields.restore_in_session(dataset.resources, settings.resource_fields())


def update_packages(
    package_ids: Sequence[str],
    now: datetime,
    *,
    cause: TransitionCause,
    run_id: str | None = None,
    writer: str | None = None,
    found: Mapping[str, Sequence[DatedEvidence]] | None = None,
) -> list[AssessedDataset]:
    """Assess packages outside of their actions, and write their extras by SQL.

    Calls no hooks, and changes neither activities nor ``metadata_modified``. The caller commits, and then
    indexes. See :func:`assess_packages` for the parameters.

    :returns: the datasets whose extras have changed
    """
    changed = [
        dataset
        for dataset in assess_packages(
            package_ids, now, cause=cause, run_id=run_id, writer=writer, found=found
        )
        if dataset.changes_extras
    ]
    values: dict[tuple[str, ...], dict[str, Mapping[str, str]]] = {}
    for dataset in changed:
        values.setdefault(dataset.keys, {})[dataset.package_id] = dataset.wanted
    for keys, wanted in values.items():
        write_extras(wanted, keys)
    return changed


def assess_packages(
    package_ids: Sequence[str],
    now: datetime,
    *,
    cause: TransitionCause,
    run_id: str | None = None,
    writer: str | None = None,
    edit: DatasetEdit | None = None,
    found: Mapping[str, Sequence[DatedEvidence]] | None = None,
) -> list[AssessedDataset]:
    """Assess packages and write our tables, with a number of statements that does not grow.

    The packages' rows stay locked until the transaction ends. Missing packages, and packages of types that
    are not judged, are left out. The extras are not written.

    :param now: the moment to judge, with its zone
    :param cause: why statuses change, unless time alone explains it
    :param run_id: the run that asks, outside of edits
    :param writer: the user who has just written the packages; None if nobody did
    :param edit: the writer's edit, if there is only one package
    :param found: evidence by package that the datasets themselves do not have: the results of checks
    """
    rules = site_rules()
    now = now.astimezone(timezone.utc).replace(microsecond=0)
    lock_packages(package_ids)
    changes = _TableChanges()
    assessed = []
    names = _NamesOfTypes()
    for dataset in snapshot.take(package_ids, rules.aging.dataset_types):
        own_fields = names.own_fields(dataset)
        if own_fields and not settings.replaces_fields():
            # The site has not chosen yet what becomes of them.
            continue
        changes.replaced += [
            {"package_id": dataset.id, "key": key, "value": value}
            for key, value in own_fields.items()
        ]
        own_edit = None if edit is None else _completed(edit, dataset)
        found_pieces = (found or {}).get(dataset.id, ())
        judgement = judge(
            dataset,
            [
                *observation.observed(dataset, now, writer, _replaced(own_edit)),
                *found_pieces,
            ],
            now,
            rules,
        )
        row = row_of(dataset, judgement, now, rules)
        changes.add(dataset, judgement.pieces, row, now, writer)
        changes.of_data += edit_changes.of_dataset(dataset, judgement.pieces, found_pieces, now)
        is_anew = dataset.row is not None and dataset.row.judge_anew
        for transition in _transitions(
            dataset, row, now, TransitionCause.RECOMPUTE if is_anew else cause
        ):
            if transition["cause"] is not TransitionCause.TIME:
                if own_edit is not None and not is_anew:
                    transition |= asdict(own_edit)
                transition |= _explanation(transition, dataset, judgement, now, rules, writer)
            changes.transitions.append({**transition, "run_id": run_id})
        keys = () if dataset.is_uninstalled else names.to_write(dataset)
        assessed.append(
            AssessedDataset(
                dataset.id,
                stored=dataset.extras,
                wanted={key: value for key, value in row.extras().items() if key in keys},
                keys=keys,
                resources=() if dataset.is_uninstalled else dataset.resources,
                changes_status=dataset.row is not None and dataset.row.status != row.status,
            )
        )
    changes.write()
    return assessed


class _NamesOfTypes:
    """The names of extras that are this extension's, in datasets of each type."""

    def __init__(self) -> None:
        self.names = site_names()
        self._keys: dict[tuple[str, str], tuple[str, ...]] = {}

    def own_fields(self, dataset: DatasetSnapshot) -> dict[str, str]:
        """Return a dataset's values under these names, if this extension has not written them."""
        if dataset.row is not None and dataset.row.field_prefix == self.names.prefix:
            return {}
        return foreign(dataset.extras, self.names, self._of(dataset.type, self.names.prefix))

    def to_write(self, dataset: DatasetSnapshot) -> tuple[str, ...]:
        """Return the names to write: with the site's prefix, and to remove those with an earlier prefix."""
        keys = self._of(dataset.type, self.names.prefix)
        if dataset.row is None or dataset.row.field_prefix == self.names.prefix:
            return keys
        return (*keys, *self._of(dataset.type, dataset.row.field_prefix))

    def _of(self, package_type: str, prefix: str) -> tuple[str, ...]:
        if (package_type, prefix) not in self._keys:
            self._keys[package_type, prefix] = own_extras(package_type, with_prefix(prefix))
        return self._keys[package_type, prefix]


def _completed(edit: DatasetEdit, dataset: DatasetSnapshot) -> DatasetEdit:
    """Return an edit with the id that CKAN has given to a new resource meanwhile."""
    if edit.change is not ResourceAction.ADDED or edit.resource_id is not None:
        return edit
    new = [resource.id for resource in dataset.resources if not resource.is_known]
    return replace(edit, resource_id=new[-1] if new else None)


def _replaced(edit: DatasetEdit | None) -> str | None:
    """Return the id of the resource that an edit gives another file or URL, if it does."""
    if edit is None or edit.change is not ResourceAction.REPLACED:
        return None
    return edit.resource_id


def _transitions(
    dataset: DatasetSnapshot, row: FreshnessRow, now: datetime, cause: TransitionCause
) -> Iterator[dict[str, Any]]:
    """Yield the changes of status since a dataset was judged.

    First those by time alone, each at its boundary; then a change for another cause, if there is one. An edit
    of the update frequency is one even if the status stays, so that the history has it.
    """
    before: Any = dataset.row
    status = None if before is None else before.status
    for passed, at in _passed_boundaries(before, now):
        yield {
            "package_id": dataset.id,
            "from_status": status,
            "to_status": passed,
            "changed_at": at,
            "evidence": before.evidence,
            "cause": TransitionCause.TIME,
        }
        status = passed
    is_reset = cause is TransitionCause.EDIT and before is not None
    if status != row.status or (is_reset and before.frequency_days != row.frequency_days):
        yield {
            "package_id": dataset.id,
            "from_status": status,
            "to_status": row.status,
            "changed_at": utc_to_second(now),
            "evidence": row.evidence,
            "cause": cause,
        }


def _passed_boundaries(row: Any, now: datetime) -> Iterator[tuple[str, datetime]]:
    """Yield the statuses that a dataset has reached since its row was written, with their boundaries."""
    if row is None or row.due is None:
        return
    bounds = (row.due, row.overdue, row.delinquent)
    for status, at, following in zip(_AGES[1:4], bounds, (*bounds[1:], None), strict=True):
        # Of equal boundaries the last decides.
        is_passed = at <= utc_to_second(now) and at != following
        if is_passed and _AGES.index(status) > _AGES.index(row.status):
            yield status, at


_AGES = [status.value for status in Status]


def _explanation(
    transition: Mapping[str, Any],
    dataset: DatasetSnapshot,
    judgement: Judgement,
    now: datetime,
    rules: SiteRules,
    writer: str | None,
) -> dict[str, Any]:
    """Return who changed a status, and both update frequencies if only these explain the change, or changed."""
    is_edit = transition["cause"] is TransitionCause.EDIT
    explanation: dict[str, Any] = {"author": writer if is_edit else None}
    days = judgement.frequency.days
    if dataset.row is None or dataset.row.frequency_days == days:
        return explanation
    before = dataset.row.frequency_days
    unchanged = assess_with(judgement.newest, before, dataset, now, rules)
    stays = transition["to_status"] == transition["from_status"]
    if stays or unchanged.status.value == transition["from_status"]:
        explanation |= {"frequency_before": before, "frequency_after": days}
        if is_edit:
            explanation["cause"] = TransitionCause.FREQUENCY
    return explanation


class _TableChanges:
    """The rows to write for some datasets: only those that differ from the stored rows."""

    def __init__(self) -> None:
        self.datasets: list[dict[str, Any]] = []
        self.evidence: list[dict[str, Any]] = []
        self.dropped: list[dict[str, Any]] = []
        self.resources: list[dict[str, Any]] = []
        self.gone: list[str] = []
        self.transitions: list[dict[str, Any]] = []
        self.replaced: list[dict[str, Any]] = []
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
        if self.replaced:
            model.Session.execute(sa.text(_REPLACED), {"replaced": json.dumps(self.replaced)})
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
_REPLACED = _upsert("freshness_replaced", "replaced", ("package_id", "key"), ("value",))
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
