"""Finds changes of data in the evidence of edits, harvests and scripts. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from ..aging.evidence import DatedEvidence, Evidence
from ..checking.data_changes import DataChange
from .observation import counting
from .snapshot import DatasetSnapshot, ResourceSnapshot

_OTHER = frozenset({Evidence.REVIEW, Evidence.METADATA})
"""Evidence that does not tell when the data changed."""
_FIRST = _OTHER | {Evidence.CREATED}
"""Evidence that shows no change of data: a new resource replaces no old data."""
_EVENTS = frozenset({Evidence.URL, Evidence.HASH})
"""Evidence of something that happens now. All other evidence states a date."""


def of_dataset(
    dataset: DatasetSnapshot,
    pieces: Iterable[DatedEvidence],
    found: Iterable[DatedEvidence],
    now: datetime,
) -> list[DataChange]:
    """Return the changes of a dataset's data that its new evidence shows.

    A date shows a change of a resource if it is newer than everything known of the resource before; the first
    date shows none. A date of the dataset as a whole counts if no date of a resource has moved with it.

    :param pieces: all evidence after the assessment
    :param found: the evidence of checks, whose changes :mod:`..checking.data_changes` tells
    """
    if dataset.row is None or dataset.row.judge_anew:
        # Data do not change because this extension reads them for the first time, or by new rules.
        return []
    stored = counting(dataset.pieces, dataset, metadata_edits=False)
    old = _newest(stored, _OTHER)
    by_checks = {(piece.resource, piece.evidence) for piece in found}
    new = _newest(
        (
            piece
            for piece in counting(list(pieces), dataset, metadata_edits=False)
            if piece not in stored and (piece.resource, piece.evidence) not in by_checks
        ),
        _FIRST,
    )
    changes = [
        _change(dataset, piece, before, now, resource)
        for resource in dataset.resources
        if (piece := new.get(resource.id))
        and _is_change(piece, before := old.get(resource.replaces or resource.id), resource)
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
    if resource is not None and not resource.is_known and resource.replaces is None:
        return False
    return new.evidence in _EVENTS if old is None else new.when > old.when


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
