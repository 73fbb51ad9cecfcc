"""Proofs that records are gone, made of what a server had and what it answered. Nothing here uses the strategy.

A proof is conservative: a server that answers wrongly proves nothing, even if a crawl cannot know that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Protocol

WITHDRAWN_AFTER = timedelta(hours=24)
IN_TURN_AFTER = timedelta(hours=48)
LEFT_OUT_AFTER = timedelta(hours=20)

_FORBIDDEN, _GONE = (401, 403), (404, 410)
_LATER = (408, 429, 502, 503, 504)


class Evidence(Protocol):
    """What one job could have seen. Records are named by what stays of their URLs: their identities."""

    def status(self, dataset: str) -> int | None:
        """Return the last answer of a record's own URL; 200 is the record itself, None tells nothing."""

    def was_read(self, dataset: str) -> bool:
        """Return whether the job got a record itself, from its own URL or from a list that describes it."""

    def listed_nowhere(self, dataset: str, known: Collection[str]) -> bool:
        """Return whether no list had a record at some moment, and this job had read all of them whole.

        :param known: the identities of all current records.
        """

    def is_listed(self, dataset: str) -> bool:
        """Return whether a list that could be read had a record, at every moment of the job."""

    def is_wall(self, dataset: str, catalogs: Mapping[str, str]) -> bool:
        """Return whether the server refused a record as it refused most others.

        :param catalogs: the identity of the catalog of each current or new record, by its own.
        """

    def is_there(self, dataset: str) -> bool:
        """Return whether a record answers with itself at the end of the job."""

    def is_listed_at_end(self, dataset: str) -> bool:
        """Return whether a list that can be read has a record at the end of the job."""


@dataclasses.dataclass(frozen=True)
class Refused:
    """How a record has been refused: ``forbidden``, ``wall`` or ``gone``; since when so, and at all.

    A wall continues what was before, and what comes after it begins anew.
    """

    kind: str
    since: datetime
    first: datetime


@dataclasses.dataclass
class History:
    """What earlier gathers found, by identity.

    :ivar refused: records that have not answered with themselves since they were refused
    :ivar left_out: since when lists that were read whole have left records out
    """

    refused: dict[str, Refused] = dataclasses.field(default_factory=dict)
    left_out: dict[str, datetime] = dataclasses.field(default_factory=dict)

    def note(
        self, evidence: Evidence, known: Collection[str], catalogs: Mapping[str, str], now: datetime
    ) -> None:
        """Note the answers of a complete gather.

        :param known: the identities of all current records.
        """
        for one in known:
            status = evidence.status(one)
            if evidence.was_read(one):
                self.refused.pop(one, None)
            elif status in (*_FORBIDDEN, *_GONE):
                is_wall = evidence.is_wall(one, catalogs)
                kind = "wall" if is_wall else "gone" if status in _GONE else "forbidden"
                before = self.refused.get(one)
                if before is None or (before.kind == "wall" and not is_wall):
                    self.refused[one] = Refused(kind, now, now)
                elif is_wall:
                    self.refused[one] = dataclasses.replace(before, kind="wall")
                elif before.kind != kind:
                    self.refused[one] = Refused(kind, now, before.first)
            if evidence.listed_nowhere(one, known):
                self.left_out.setdefault(one, now)
            elif evidence.is_listed(one):
                self.left_out.pop(one, None)

    def was_left_out_long(self, dataset: str, now: datetime) -> bool:
        """Return whether lists have left a dataset out for 20 hours."""
        return now - self.left_out.get(dataset, now) >= LEFT_OUT_AFTER


def proof(
    dataset: str,
    evidence: Evidence,
    catalogs: Mapping[str, str],
    history: History,
    now: datetime,
    *,
    is_released: bool,
) -> str | None:
    """Return why a record is gone; None if nothing proves it.

    :param catalogs: the identity of the catalog of each current or new record, by its own.
    :param is_released: an editor has released its deletion.
    """
    status = evidence.status(dataset)
    if status in _GONE and not evidence.is_listed(dataset):
        return f"it answers {status}"
    if status in (*_FORBIDDEN, *_GONE):
        refused = history.refused[dataset]
        is_late = now - refused.since >= WITHDRAWN_AFTER
        if is_released and (is_late or now - refused.first >= IN_TURN_AFTER):
            return "it has been refused for long, and an editor released it"
        if is_late and refused.kind in ("forbidden", "gone"):
            return f"it has been {refused.kind} for a day"
    is_left_out = evidence.listed_nowhere(dataset, catalogs)
    if is_left_out and is_released:
        return "no container lists it, and an editor released it"
    is_telling = status == 200 or status in (*_FORBIDDEN, *_LATER)
    if is_left_out and not is_telling and history.was_left_out_long(dataset, now):
        return "its URL cannot tell, and no container has listed it for 20 hours"
    return None
