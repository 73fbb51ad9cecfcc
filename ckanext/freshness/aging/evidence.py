"""Why a date is believed: pieces of evidence for the last modification of a dataset.

Each piece belongs to a resource, or to the dataset itself, and is remembered on its own. A
dataset's last modification is the newest of its pieces. No piece moves backwards, so that a
server that forgets a date does not make data older; yet a date in the future is no evidence for
more than that somebody claimed it, so it counts as of the time when it was first seen, and may be
corrected to any earlier date.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from ..dates import LATEST, parse_date

_MAX_SCRIPT = 10_000
_BRACKETED = re.compile(r"\(([^()]{4,40})\)")
_IGNORE = "freshness_ignore"


class Evidence(Enum):
    """Why we believe that data changed at a date; of equal dates the first named here counts."""

    # Members are themselves alone; the hash that Enum has is made by Python code, and evidence is kept
    # in many dicts by its kind: an eighth of judging a dataset.
    __hash__ = object.__hash__

    UPLOAD = "upload"
    """CKAN's date of an upload: ``last_modified``, or in older data ``revision_last_updated``."""
    URL = "url"
    """A resource got another URL; CKAN sets no date for links, we noticed it."""
    CREATED = "created"
    """A person made the resource."""
    HARVEST = "harvest"
    """The source says so: a distribution's or the dataset's own modified date, or issued."""
    HTTP_HEADER = "http header"
    """The server says so: ``Last-Modified``."""
    HASH = "hash"
    """The bytes differ from those of the last check."""
    REVIEW = "review"
    """A person confirmed that the data are up to date."""
    SCRIPT = "script"
    """A script says so in ``updated_by_script``."""
    METADATA = "metadata"
    """The metadata were edited; counts only where a site asks for this older rule."""


_RANK = {evidence: rank for rank, evidence in enumerate(Evidence)}


@dataclass(frozen=True, slots=True)
class Dated:
    """One piece of evidence: a date, why it is believed, and of what."""

    when: datetime
    """The date that counts."""
    evidence: Evidence
    resource: str | None = None
    """The resource's id; None for what is said of the dataset as a whole."""
    claimed: datetime | None = None
    """The date in the future that ``when`` was cut from; None if nothing was cut."""

    @property
    def cut(self) -> bool:
        """Whether the date lay in the future when it was first seen."""
        return self.claimed is not None

    @property
    def claim(self) -> datetime:
        """The date as it was written."""
        return self.when if self.claimed is None else self.claimed


def observe(
    claim: datetime, evidence: Evidence, now: datetime, resource: str | None = None
) -> Dated:
    """A date seen now. One in the future is cut to now, and says so."""
    if claim > now:
        return Dated(now, evidence, resource, claimed=claim)
    return Dated(claim, evidence, resource)


def keep(previous: Dated | None, seen: Dated) -> Dated:
    """What to remember of a piece of evidence that was remembered before, and is seen again.

    The same claim stays as it was first seen. What had to be cut gives way to anything else;
    otherwise the later date stays.
    """
    if previous is None:
        return seen
    if previous.claim == seen.claim:
        return previous
    if previous.cut:
        return seen
    return max(previous, seen, key=lambda piece: piece.when)


def remember(
    previous: Iterable[Dated],
    seen: Iterable[Dated],
    resources: Collection[str] | None = None,
) -> list[Dated]:
    """All pieces of evidence of a dataset, after some of them were seen again.

    :param previous: the pieces remembered so far, one for each resource and kind of evidence.
    :param seen: the pieces seen now; of several of one kind, the latest. Pieces that are not
        seen stay as they were.
    :param resources: the ids of the dataset's resources, where known: what belongs to any other
        is dropped, so that a deleted resource counts no more.
    """
    latest: dict[tuple[str | None, Evidence], Dated] = {}
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


def newest(
    candidates: Iterable[Dated],
    previous: Iterable[Dated] = (),
    resources: Collection[str] | None = None,
) -> Dated | None:
    """The piece of evidence that gives a dataset its last modification.

    Of several with the same date, the first kind in ``Evidence`` and then the first resource id
    counts, so that the answer does not depend on their order.

    :param candidates: the pieces seen now, or all of them where ``previous`` is left out.
    :param previous: the pieces remembered so far; see ``remember``.
    :param resources: the ids of the dataset's resources, where known; see ``remember``.
    :returns: None where there is no evidence at all.
    """
    return min(
        remember(previous, candidates, resources),
        key=lambda piece: (LATEST - piece.when, _RANK[piece.evidence], piece.resource or ""),
        default=None,
    )


def script_date(updated_by_script: object) -> datetime | None:
    """The date in HDX's field of that name: ``HDX Scraper: WHO (2021-03-05T10:20:30.123456)``.

    The last date in parentheses counts; a text that is nothing but a date counts too. A script
    that writes ``freshness_ignore`` says that it changed no data.

    :returns: a moment in UTC, or None; never raises.
    """
    if not isinstance(updated_by_script, str) or len(updated_by_script) > _MAX_SCRIPT:
        return None
    if _IGNORE in updated_by_script.casefold():
        return None
    texts = (*_BRACKETED.findall(updated_by_script), updated_by_script)
    dates = [when for when in map(parse_date, texts) if when is not None]
    return dates[-1] if dates else None
