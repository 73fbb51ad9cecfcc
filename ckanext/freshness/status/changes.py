"""Changes of a dataset: of its status, each with its cause and explanation, and of its data, by new evidence.

Nothing here reads or writes the database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, time, timedelta
from enum import Enum
from typing import Any

from ..aging.evidence import DatedEvidence, Evidence
from ..aging.status import Status
from ..checking.data_changes import DataChange
from ..dates import utc_to_second
from .judgement import FreshnessRow, Judgement, counting, is_live
from .snapshot import DatasetSnapshot, ResourceSnapshot


class TransitionCause(str, Enum):
    """The cause of a change of a status."""

    EDIT = "edit"
    FREQUENCY = "frequency"
    """An edit of the update frequency, which alone explains the change."""
    CONFIRMATION = "confirmation"
    """An edit that confirms the data, which is the newest evidence."""
    WITHDRAWAL = "withdrawal"
    """An edit that withdraws the last confirmation."""
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
class Occasion:
    """The moment at which datasets are judged, and the reason."""

    now: datetime
    """With its zone."""
    cause: TransitionCause
    """Why statuses change, unless time alone explains it."""
    run_id: str | None = None
    """The run that asks, outside of edits."""
    writer: str | None = None
    """The user who has just written the datasets; None outside edits."""
    edit: DatasetEdit | None = None
    """The writer's edit, if there is only one dataset."""

    @property
    def is_creation(self) -> bool:
        """Whether this transaction creates the dataset."""
        return self.edit is not None and self.edit.action == "package_create"


def completed(edit: DatasetEdit, dataset: DatasetSnapshot) -> DatasetEdit:
    """Return an edit with the id that CKAN has given to a new resource meanwhile."""
    if edit.change is not ResourceAction.ADDED or edit.resource_id is not None:
        return edit
    new = [resource.id for resource in dataset.resources if not resource.is_known]
    return replace(edit, resource_id=new[-1] if new else None)


def is_replaced(resource: ResourceSnapshot, edit: DatasetEdit | None) -> bool:
    """Decide whether an edit gives a resource another file or URL."""
    if edit is None or edit.change is not ResourceAction.REPLACED:
        return False
    return edit.resource_id == resource.id


def transitions(
    judgement: Judgement, row: FreshnessRow, occasion: Occasion
) -> Iterator[dict[str, Any]]:
    """Yield the rows for the changes of a dataset's status since it was last judged, the oldest first.

    :param row: the new row of the dataset
    """
    edit, cause, before = occasion.edit, occasion.cause, judgement.dataset.row
    if before is not None and before.judge_anew:
        edit, cause = None, TransitionCause.RECOMPUTE
    for change in _status_changes(judgement, row, cause):
        if change["cause"] is not TransitionCause.TIME:
            if edit is not None:
                change |= asdict(edit)
            change |= _explanation(change, judgement, row, occasion.writer)
        yield {**change, "run_id": occasion.run_id}


def _status_changes(
    judgement: Judgement, row: FreshnessRow, cause: TransitionCause
) -> Iterator[dict[str, Any]]:
    """Yield the changes of status since a dataset was judged.

    First those by time alone, each at its boundary; then a change for another cause, if there is one. An edit
    of the update frequency is one even if the status stays, so that the history has it.
    """
    dataset, now = judgement.dataset, judgement.now
    before: Any = dataset.row
    status = None if before is None else before.status
    # Live data are never late: their status has no boundaries any more.
    for passed, at in _passed_boundaries(before, now) if row.due or not is_live(dataset) else ():
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
            "evidence": None if judgement.newest is None else judgement.newest.evidence.value,
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
    transition: Mapping[str, Any], judgement: Judgement, row: FreshnessRow, writer: str | None
) -> dict[str, Any]:
    """Return who changed a status, what kind of edit it was, and both update frequencies if they explain it."""
    is_edit = transition["cause"] is TransitionCause.EDIT
    explanation: dict[str, Any] = {"author": writer if is_edit else None}
    dataset, newest = judgement.dataset, judgement.newest
    if is_edit and newest and newest.evidence is Evidence.REVIEW and newest not in dataset.pieces:
        explanation["cause"] = TransitionCause.CONFIRMATION
    confirmed = None if dataset.row is None else dataset.row.confirmed_at
    if is_edit and confirmed and (row.confirmed_at is None or row.confirmed_at < confirmed):
        explanation["cause"] = TransitionCause.WITHDRAWAL
    days = judgement.frequency.days
    if dataset.row is None or dataset.row.frequency_days == days:
        return explanation
    before = dataset.row.frequency_days
    unchanged = judgement.with_frequency(before)
    stays = transition["to_status"] == transition["from_status"]
    if stays or unchanged.status.value == transition["from_status"]:
        explanation |= {"frequency_before": before, "frequency_after": days}
        if is_edit:
            explanation["cause"] = TransitionCause.FREQUENCY
    return explanation


_OTHER = frozenset({Evidence.REVIEW})
"""Evidence that does not tell when the data changed."""
_FIRST = _OTHER | {Evidence.CREATED}
"""Evidence that shows no change of data: a new resource replaces no old data."""
_EVENTS = frozenset({Evidence.URL, Evidence.HASH})
"""Evidence of something that happens now. All other evidence states a date."""


def changes_of_data(judgement: Judgement, found: Iterable[DatedEvidence]) -> list[DataChange]:
    """Return the changes of a dataset's data that its new evidence shows.

    A date shows a change of a resource if it is newer than everything known of the resource before; the first
    date shows none. A date of the dataset as a whole counts if no date of a resource has moved with it.

    :param found: the evidence of checks, whose changes :mod:`..checking.data_changes` tells
    """
    dataset, now = judgement.dataset, judgement.now
    if dataset.row is None or dataset.row.judge_anew:
        # Data do not change because this extension reads them for the first time, or by new rules.
        return []
    stored = counting(dataset.pieces, dataset)
    old = _newest(stored, _OTHER)
    by_checks = {(piece.resource, piece.evidence) for piece in found}
    new = _newest(
        (
            piece
            for piece in judgement.pieces
            if piece not in stored and (piece.resource, piece.evidence) not in by_checks
        ),
        _FIRST,
    )
    changes = [
        _change(dataset, piece, before, now, resource)
        for resource in dataset.resources
        if (piece := new.get(resource.id))
        and _is_change(piece, before := old.get(resource.id), resource)
    ]
    whole, before = new.get(None), old.get(None)
    if whole and _is_change(whole, before) and not changes:
        changes.append(_change(dataset, whole, before, now))
    return changes


def _newest(
    pieces: Iterable[DatedEvidence], without: Collection[Evidence]
) -> dict[str | None, DatedEvidence]:
    """Return the newest evidence of each resource; under None that of the dataset as a whole."""
    found: dict[str | None, DatedEvidence] = {}
    for piece in pieces:
        best = found.get(piece.resource)
        if piece.evidence not in without and (best is None or piece.when > best.when):
            found[piece.resource] = piece
    return found


def _is_change(
    new: DatedEvidence, old: DatedEvidence | None, resource: ResourceSnapshot | None = None
) -> bool:
    """Decide whether new evidence shows a change.

    :param old: the newest evidence before
    """
    if resource is not None and not resource.is_known:
        return False
    if old is None:
        return new.evidence in _EVENTS
    return new.when > old.when and not _is_more_exact(new, old)


def _is_more_exact(new: DatedEvidence, old: DatedEvidence) -> bool:
    """Decide whether a source only adds the time to the day that it has stated before."""
    is_stated = new.evidence is old.evidence is Evidence.HARVEST
    return is_stated and old.when.time() == time.min and new.when - old.when < timedelta(days=1)


def _change(
    dataset: DatasetSnapshot,
    new: DatedEvidence,
    old: DatedEvidence | None,
    now: datetime,
    resource: ResourceSnapshot | None = None,
) -> DataChange:
    return DataChange(
        package_id=dataset.id,
        resource_id=None if resource is None else resource.id,
        evidence=new.evidence,
        seen_at=now,
        changed_before=now,
        changed_after=None if old is None else old.when,
        stated_at=None if new.evidence in _EVENTS else new.when,
        hash_before=None if resource is None else resource.known_hash,
        hash_after=None if resource is None else resource.hash or None,
    )
