"""Collects the evidence that a dataset itself gives for the dates when its data changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from ..aging.evidence import DatedEvidence, Evidence, observe, script_date
from ..dates import EARLIEST, parse_date
from ..field_names import REVIEW_KEY
from .snapshot import DatasetSnapshot, ResourceSnapshot

SCRIPT_KEY = "updated_by_script"
STATED_KEY = "dataset_date"

OF_PEOPLE = frozenset({Evidence.CREATED, Evidence.URL, Evidence.METADATA})
"""Evidence of people's edits. A harvest causes the same events, which then prove nothing about the data."""
_ALGORITHM = re.compile(r"([A-Za-z][A-Za-z0-9-]*):")


def is_harvested(dataset: DatasetSnapshot) -> bool:
    """Decide whether a dataset comes from a source, now or formerly: its creation here then proves nothing."""
    return dataset.is_harvested or any(
        piece.evidence is Evidence.HARVEST for piece in dataset.pieces
    )


def counting(
    pieces: Sequence[DatedEvidence], dataset: DatasetSnapshot, *, metadata_edits: bool
) -> list[DatedEvidence]:
    """Return the pieces of evidence that count for a dataset.

    If a date is stated for a resource, the resource's creation does not count.

    :param metadata_edits: whether edits of the metadata count
    """
    leave_out = set(OF_PEOPLE) if is_harvested(dataset) else set()
    if not metadata_edits:
        leave_out.add(Evidence.METADATA)
    dated = {piece.resource for piece in pieces if piece.evidence is Evidence.UPLOAD}
    return [
        piece
        for piece in pieces
        if piece.evidence not in leave_out
        and not (piece.evidence is Evidence.CREATED and piece.resource in dated)
    ]


def observed(
    dataset: DatasetSnapshot, now: datetime, writer: str | None, replaced: str | None = None
) -> Iterator[DatedEvidence]:
    """Yield every piece of evidence that a dataset gives now, including pieces that do not count.

    :param now: to the second
    :param writer: the user who has just written the dataset, if known
    :param replaced: the id of the resource that has just got another file or URL, if any
    """
    claims: list[tuple[datetime | None, Evidence]] = [
        (parse_date(dataset.extras.get(REVIEW_KEY)), Evidence.REVIEW),
        (script_date(dataset.extras.get(SCRIPT_KEY)), Evidence.SCRIPT),
        (dataset.metadata_modified, Evidence.METADATA),
    ]
    yield from _pieces(claims, now, None)
    # First, so that the same date in the future counts from the time when it was first seen.
    yield from _inherited(dataset)
    cut = {
        piece.resource: piece.claimed
        for piece in dataset.pieces
        if piece.evidence is Evidence.CREATED and piece.claimed is not None
    }
    for resource in dataset.resources:
        if _is_new(resource, cut):
            yield from _pieces([(resource.created, Evidence.CREATED)], now, resource.id)
        dates = _of_resource(resource, now, writer, dataset, is_replaced=resource.id == replaced)
        yield from _pieces(dates, now, resource.id)
    if is_harvested(dataset):
        yield from _of_source(dataset, now)


def _pieces(
    claims: Iterable[tuple[datetime | None, Evidence]], now: datetime, resource: str | None
) -> Iterator[DatedEvidence]:
    for claim, evidence in claims:
        if claim is not None:
            yield observe(claim.replace(microsecond=0), evidence, now, resource)


def _of_resource(
    resource: ResourceSnapshot,
    now: datetime,
    writer: str | None,
    dataset: DatasetSnapshot,
    *,
    is_replaced: bool,
) -> Iterator[tuple[datetime | None, Evidence]]:
    # The date of a harvested link is the date that the source states.
    is_own = resource.url_type == "upload" or not dataset.is_harvested
    kind = Evidence.UPLOAD if is_own else Evidence.HARVEST
    yield resource.last_modified, kind
    yield parse_date(resource.extras.get("revision_last_updated")), kind
    if _has_new_url(resource, dataset, is_replaced=is_replaced):
        yield now, Evidence.URL
    if not dataset.is_harvested and _has_new_hash(resource, writer):
        yield now, Evidence.HASH


def _has_new_url(
    resource: ResourceSnapshot, dataset: DatasetSnapshot, *, is_replaced: bool
) -> bool:
    """Decide whether a resource got another URL, without a newer date that states when its data changed."""
    differs = resource.is_known and resource.url != resource.known_url
    # CKAN dates uploads itself, and gives them the URL of their file's name.
    if resource.url_type == "upload" or not (differs or is_replaced):
        return False
    date = resource.last_modified
    return date is None or any(
        piece.evidence is Evidence.UPLOAD and piece.resource == resource.id and piece.claim >= date
        for piece in dataset.pieces
    )


def _is_new(resource: ResourceSnapshot, cut: Mapping[str | None, datetime]) -> bool:
    """Decide whether to note a resource's creation: once, and later only to correct a date in the future.

    Not later, because the reason why it did not count at first, such as a harvest, may be forgotten by then.

    :param cut: the claimed dates of creation that lay in the future, by resource
    """
    if not resource.is_known:
        return resource.replaces is None
    return resource.created is not None and resource.created < cut.get(resource.id, EARLIEST)


def _inherited(dataset: DatasetSnapshot) -> Iterator[DatedEvidence]:
    """Yield the evidence of deleted resources for the resources with the same URL that replace them."""
    heirs = {
        resource.replaces: resource.id
        for resource in dataset.resources
        if resource.replaces is not None
    }
    for piece in dataset.pieces if heirs else ():
        if piece.resource in heirs:
            yield replace(piece, resource=heirs[piece.resource])


def _of_source(dataset: DatasetSnapshot, now: datetime) -> Iterator[DatedEvidence]:
    """Yield the dates that a source states: modified dates, or issued dates if no modified date is stated."""
    for keys in (("modified", "dcat_modified"), ("issued", "dcat_issued")):
        owners = [
            (None, dataset.extras),
            *((resource.id, resource.extras) for resource in dataset.resources),
        ]
        found = [
            piece
            for resource, extras in owners
            for key in keys
            for piece in _pieces([(parse_date(extras.get(key)), Evidence.HARVEST)], now, resource)
        ]
        if found:
            yield from found
            return


def _has_new_hash(resource: ResourceSnapshot, writer: str | None) -> bool:
    """Decide whether the same writer gave another hash of the same algorithm.

    Another writer may hash something else, such as the archive instead of the file in it.
    """
    old, new = resource.known_hash or "", resource.hash
    return (
        writer is not None
        and resource.hash_writer == writer
        and old != new
        and "" not in (old, new)
        and _form(old) == _form(new)
    )


def _form(hash_: str) -> tuple[str, int]:
    """Return the form of an algorithm's hashes: the name before a colon, and the length."""
    match = _ALGORITHM.match(hash_)
    return (match[1].lower() if match else "", len(hash_))
