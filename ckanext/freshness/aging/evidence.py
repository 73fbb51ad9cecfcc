"""Pieces of evidence for the last modification of a dataset, and the rules for remembering them.

Each piece belongs to a resource or to the dataset itself and is remembered separately. A dataset's last
modification is the newest of its pieces. A piece never moves backwards, so that data do not become
older when a server forgets a date. A date in the future only proves that somebody claimed it: it counts
as of the time when it was first seen, and can be corrected to any earlier date.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from ..dates import LATEST, stated_date

_MAX_SCRIPT = 10_000
_BRACKETED = re.compile(r"\(([^()]{4,40})\)")
_IGNORE = "freshness_ignore"


class Evidence(Enum):
    """The reasons to believe that data changed at a date. Of equal dates the first listed here counts."""

    # Enum computes its hash in Python, which took an eighth of the time to judge a dataset.
    __hash__ = object.__hash__

    UPLOAD = "upload"
    """CKAN's date of an upload: ``last_modified``, or in older data ``revision_last_updated``."""
    URL = "url"
    """A resource got another URL. CKAN sets no date for links, so we do."""
    CREATED = "created"
    """A person created the resource."""
    HARVEST = "harvest"
    """The source states it: the distribution's or the dataset's modified date, or issued."""
    HTTP_HEADER = "http header"
    """The server states it: ``Last-Modified``."""
    HASH = "hash"
    """The bytes differ from those of the last check."""
    REVIEW = "review"
    """A person confirmed that the data are still right."""
    SCRIPT = "script"
    """A script states it in ``updated_by_script``."""


_RANK = {evidence: rank for rank, evidence in enumerate(Evidence)}


@dataclass(frozen=True, slots=True)
class DatedEvidence:
    """A piece of evidence: a date, its kind of evidence, and its resource."""

    when: datetime
    """The date that counts."""
    evidence: Evidence
    resource: str | None = None
    """The resource's id; None for evidence about the dataset as a whole."""
    claimed: datetime | None = None
    """The original date if it lay in the future and was cut to ``when``; None otherwise."""

    @property
    def claim(self) -> datetime:
        """The date as the evidence states it."""
        return self.when if self.claimed is None else self.claimed


def observe(
    claim: datetime, evidence: Evidence, now: datetime, resource: str | None = None
) -> DatedEvidence:
    """Return the evidence of a date seen now. A date in the future is cut to now and keeps its claim."""
    if claim > now:
        return DatedEvidence(now, evidence, resource, claimed=claim)
    return DatedEvidence(claim, evidence, resource)


def keep(previous: DatedEvidence | None, seen: DatedEvidence) -> DatedEvidence:
    """Return which of two pieces of the same evidence to remember.

    The same claim stays as first seen. A piece that was cut gives way to any other claim. Otherwise the
    later date stays.
    """
    if previous is None:
        return seen
    if previous.claim == seen.claim:
        return previous
    if previous.claimed is not None:
        return seen
    return max(previous, seen, key=lambda piece: piece.when)


def remember(
    previous: Iterable[DatedEvidence],
    seen: Iterable[DatedEvidence],
    resources: Collection[str] | None = None,
) -> list[DatedEvidence]:
    """Return all pieces of evidence of a dataset, after some of them were seen again.

    :param previous: the remembered pieces, one for each resource and kind of evidence
    :param seen: the pieces seen now; of several of one kind the latest counts. Pieces that are not seen
        stay as they were
    :param resources: the ids of the dataset's resources, if known; pieces of any other resource are
        dropped, so that deleted resources no longer count
    """
    latest: dict[tuple[str | None, Evidence], DatedEvidence] = {}
    for piece in seen:
        key = (piece.resource, piece.evidence)
        if key not in latest or piece.claim > latest[key].claim:
            latest[key] = piece
    pieces = {(piece.resource, piece.evidence): piece for piece in previous}
    pieces |= {key: keep(pieces.get(key), piece) for key, piece in latest.items()}
    return [
        piece
        for piece in pieces.values()
        if resources is None or piece.resource is None or piece.resource in resources
    ]


def newest(pieces: Iterable[DatedEvidence]) -> DatedEvidence | None:
    """Return the piece of evidence that determines a dataset's last modification.

    Of several with the same date, the first kind in ``Evidence`` counts, then the first resource id, so
    that the result does not depend on the order.

    :returns: None if there is no evidence
    """
    return min(
        pieces,
        key=lambda piece: (LATEST - piece.when, _RANK[piece.evidence], piece.resource or ""),
        default=None,
    )


def script_date(updated_by_script: object) -> datetime | None:
    """Return the date in HDX's field of that name: ``HDX Scraper: WHO (2021-03-05T10:20:30.123456)``.

    The last date in parentheses counts, or the whole text if it is a date. A script that writes
    ``freshness_ignore`` states that it changed no data.

    :returns: a moment in UTC, or None; never raises
    """
    if not isinstance(updated_by_script, str) or len(updated_by_script) > _MAX_SCRIPT:
        return None
    if _IGNORE in updated_by_script.casefold():
        return None
    texts = (*_BRACKETED.findall(updated_by_script), updated_by_script)
    dates = [when for when in map(stated_date, texts) if when is not None]
    return dates[-1] if dates else None
