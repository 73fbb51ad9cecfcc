"""What a dataset, as it stands, says of when its data changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from ..aging.evidence import DatedEvidence, Evidence, observe, script_date
from ..dates import EARLIEST, parse_date
from .snapshot import DatasetSnapshot, ResourceSnapshot

REVIEW_KEY = "review_date"
SCRIPT_KEY = "updated_by_script"
STATED_KEY = "dataset_date"

OF_PEOPLE = frozenset({Evidence.CREATED, Evidence.URL, Evidence.METADATA})
"""What happens at the moment of a harvest, too, and then says nothing of the data."""
_ALGORITHM = re.compile(r"([A-Za-z][A-Za-z0-9-]*):")


def is_harvested(dataset: DatasetSnapshot) -> bool:
    """Whether a dataset comes from a source: now, or once, since its creation here tells nothing then."""
    return dataset.is_harvested or any(
        piece.evidence is Evidence.HARVEST for piece in dataset.pieces
    )


def counting(
    pieces: Sequence[DatedEvidence], dataset: DatasetSnapshot, *, metadata_edits: bool
) -> list[DatedEvidence]:
    """Return the pieces of evidence that count for a dataset, whatever was remembered once.

    If somebody states a date for a resource, its creation does not count.
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

    :param now: when it is looked at, to the second.
    :param writer: the user who has just written it; None if nobody knows.
    :param replaced: the id of the resource that has just got another file or URL; None if nobody noted it.
    """
    claims: list[tuple[datetime | None, Evidence]] = [
        (parse_date(dataset.extras.get(REVIEW_KEY)), Evidence.REVIEW),
        (script_date(dataset.extras.get(SCRIPT_KEY)), Evidence.SCRIPT),
        (dataset.metadata_modified, Evidence.METADATA),
    ]
    yield from _pieces(claims, now, None)
    # First, so that the same date in the future counts as of the first time that it was seen.
    yield from _inherited(dataset)
    cut = {
        piece.resource: piece.claimed
        for piece in dataset.pieces
        if piece.evidence is Evidence.CREATED and piece.claimed is not None
    }
    for resource in dataset.resources:
        if _is_new(resource, cut):
            yield from _pieces([(resource.created, Evidence.CREATED)], now, resource.id)
        found = _of_resource(resource, now, writer, dataset, is_replaced=resource.id == replaced)
        yield from _pieces(found, now, resource.id)
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
    # A harvester that copies the date of the source's own catalogue hands on what the source says.
    ours = resource.url_type == "upload" or not dataset.is_harvested
    kind = Evidence.UPLOAD if ours else Evidence.HARVEST
    yield resource.last_modified, kind
    yield parse_date(resource.extras.get("revision_last_updated")), kind
    if _has_new_url(resource, dataset, is_replaced=is_replaced):
        yield now, Evidence.URL
    if not dataset.is_harvested and _has_new_hash(resource, writer):
        yield now, Evidence.HASH


def _has_new_url(
    resource: ResourceSnapshot, dataset: DatasetSnapshot, *, is_replaced: bool
) -> bool:
    """Decide whether a resource got another URL, and nobody states since when the data are there."""
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
    """Whether a resource's creation is to be noted: once, and then only to correct a date in the future.

    Whatever made it no evidence when the resource was first seen, as that it was harvested, may be
    forgotten by then.

    :param cut: dates of creation in the future, as they were claimed, by resource.
    """
    if not resource.is_known:
        return resource.replaces is None
    return resource.created is not None and resource.created < cut.get(resource.id, EARLIEST)


def _inherited(dataset: DatasetSnapshot) -> Iterator[DatedEvidence]:
    """What was known of resources that others have replaced: the same data, as far as anybody can tell."""
    heirs = {one.replaces: one.id for one in dataset.resources if one.replaces is not None}
    for piece in dataset.pieces if heirs else ():
        if piece.resource in heirs:
            yield replace(piece, resource=heirs[piece.resource])


def _of_source(dataset: DatasetSnapshot, now: datetime) -> Iterator[DatedEvidence]:
    """The dates of a source: when its data were modified; where it never says so, when issued."""
    for keys in (("modified", "dcat_modified"), ("issued", "dcat_issued")):
        owners = [(None, dataset.extras), *((one.id, one.extras) for one in dataset.resources)]
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
    """Whether the same writer gave another hash of the same algorithm.

    Another writer may hash something else, such as the file of which the first one hashed the archive.
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
    """What tells one algorithm's hashes from another's: the name before a colon, and the length."""
    match = _ALGORITHM.match(hash_)
    return (match[1].lower() if match else "", len(hash_))
