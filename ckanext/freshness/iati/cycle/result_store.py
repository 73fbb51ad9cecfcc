"""What visits brought home, brought into store and database: bytes first, then their rows, then what follows.

A batch is one transaction. A process that is killed leaves whole batches, and bytes without rows at most:
the next cycle finds another state than the server has, and downloads again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime

from ...aging.evidence import DatedEvidence, Evidence
from ...copies.store import KeepRequest, StagedBody, Store, StoredCopy, StoreError
from ...runs.copies import shelf
from ...runs.copies.shelf import ShelvedCopy, TakenCopy
from ...status import conclusions
from ...web.urls import display_url
from ..policy import error_details, rules
from ..policy.iati_check import IatiCheckResult
from ..policy.rules import IatiDecision, IatiOutcome, IatiPolicy
from . import copy_places, dataset_rows
from .copy_places import CopyPlace
from .dataset_rows import KnownDataset
from .report import CycleFigures

WORKERS = 2
"""Threads that compress and write: what they do takes no turn of the interpreter."""

HELD_BYTES = 16 * 1024 * 1024
"""Bodies that wait for these, at most; beyond that the network waits. Larger ones are on the disk."""


class Gate:
    """Lets the network run ahead of the store only so far."""

    def __init__(self, most: int = HELD_BYTES) -> None:
        self._most = most
        self._held = 0
        self._open = False
        self._changed = threading.Condition()

    def enter(self, finding: IatiCheckResult) -> None:
        """Wait until there is room for what it holds."""
        size = _held(finding)
        if not size:
            return
        with self._changed:
            self._changed.wait_for(
                lambda: self._open or not self._held or self._held + size <= self._most
            )
            self._held += size

    def leave(self, size: int) -> None:
        """What was held is no more."""
        with self._changed:
            self._held -= size
            self._changed.notify_all()

    def open(self) -> None:
        """Nobody waits any more: the run ends."""
        with self._changed:
            self._open = True
            self._changed.notify_all()


def _held(finding: IatiCheckResult) -> int:
    staged = finding.staged
    return staged.size if isinstance(staged, StagedBody) and staged.path is None else 0


@dataclass(frozen=True, slots=True)
class SettledResult:
    """What a visit has come to.

    :ivar kept: what the store has now; None if there was nothing to keep
    """

    finding: IatiCheckResult
    step: IatiDecision
    kept: StoredCopy | None = None


@dataclass(slots=True)
class ResultStore:
    """Settles what the visits of one cycle found.

    :ivar known: what the cycle began from, by resource; ``places`` likewise
    :ivar lost: the resources whose copies are not there: lost, or expired
    :ivar index: sends documents
    :ivar expired: the resources whose files have failed for so long that their copies expire
    :ivar is_quiet: whether all visits so far confirmed what was there, and nothing else
    """

    store: Store
    policy: IatiPolicy
    run_id: str
    known: Mapping[str, KnownDataset]
    places: Mapping[str, CopyPlace]
    lost: frozenset[str]
    clock: Callable[[], datetime]
    index: Callable[[Mapping[str, datetime]], None]
    figures: CycleFigures
    gate: Gate = field(default_factory=Gate)
    errors: list[str] = field(default_factory=list)
    expired: list[str] = field(default_factory=list)
    is_quiet: bool = True
    _pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(WORKERS, thread_name_prefix="store")
    )

    def close(self) -> None:
        """Let go of the threads."""
        self.gate.open()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def settle(self, findings: Sequence[IatiCheckResult]) -> None:
        """Bring a batch home, and commit.

        :raises sqlalchemy.exc.DBAPIError: the database refuses; bytes may be there without their rows
        """
        settled = [SettledResult(one, one.step) for one in findings if one.staged is None]
        brought = [one for one in findings if one.staged is not None]
        if brought:
            parts = [brought[number::WORKERS] for number in range(WORKERS)]
            for part in self._pool.map(self._stored, parts):
                settled += part
        now = self.clock()
        states = {one.finding.visit.resource_id: one.step.state for one in settled}
        written = set(dataset_rows.write(states, self.known))
        settled = [one for one in settled if one.finding.visit.resource_id in written]
        shelf.remember([one for one in map(self._shelved, settled) if one is not None])
        shelf.verified(list(_verified(settled)), now)
        marks = conclusions.judge(*_judged(settled, now, self.run_id))
        for each in settled:
            self._count(each)
        self._leave(settled)
        self.expired += [
            one.finding.visit.resource_id
            for one in settled
            if rules.has_expired(one.step.state, self.policy)
        ]
        if marks:
            self.index(marks)

    def _stored(self, findings: Sequence[IatiCheckResult]) -> list[SettledResult]:
        """Keep what has to be kept. Runs in a thread: neither session nor figures."""
        held = sum(map(_held, findings))
        wanted = []
        for finding in findings:
            place = self.places[finding.visit.resource_id]
            assert finding.staged is not None
            wanted.append(KeepRequest(place.key, finding.staged, place.filename))
            finding.staged = None
        try:
            results = self.store.keep_all(wanted)
        finally:
            for one in wanted:
                one.staged.close()
            self.gate.leave(held)
        return [self._kept(*one) for one in zip(findings, results, strict=True)]

    def _kept(self, finding: IatiCheckResult, result: StoredCopy | StoreError) -> SettledResult:
        if isinstance(result, StoredCopy):
            return SettledResult(finding, finding.step, result)
        why = error_details.of_store(str(result), finding.visit.url)
        before = finding.visit.state
        return SettledResult(finding, rules.not_stored(before, finding.step, self.clock(), why))

    def _shelved(self, one: SettledResult) -> ShelvedCopy | None:
        if one.kept is None:
            return None
        visit = one.finding.visit
        shelved = copy_places.shelved(
            self.known[visit.resource_id],
            self.places[visit.resource_id],
            one.kept,
            display_url(visit.url),
            self.clock(),
        )
        return shelved

    def _count(self, one: SettledResult) -> None:
        figures, ending = self.figures, one.step.ending
        figures.visited += 1
        self.is_quiet = self.is_quiet and ending in _QUIET
        figures.failed += ending in rules.FAILED
        if ending is IatiOutcome.POSTPONED:
            figures.postponed += 1
            figures.failed += 1
        if ending is IatiOutcome.NOT_STORED:
            figures.not_stored += 1
            self._complain(one)
        figures.downloaded += one.kept is not None
        figures.changed += one.step.changed_at is not None and one.kept is not None
        resource_id = one.finding.visit.resource_id
        # One that has expired is wanted again as well, and is not missed meanwhile.
        is_lost = resource_id in self.lost and self.known[resource_id].key is not None
        figures.restored += is_lost and one.kept is not None
        figures.lost += is_lost and one.kept is None

    def _complain(self, one: SettledResult) -> None:
        attempt = one.step.state.get_attempt
        if attempt is not None and attempt.error_details is not None and len(self.errors) < 5:
            words = attempt.error_details.detailed_message
            self.errors.append(f"{display_url(one.finding.visit.url)}: {words}")

    def _leave(self, settled: Iterable[SettledResult]) -> None:
        """Throw away what stood where a copy was before."""
        left = []
        for one in settled:
            before = self.known[one.finding.visit.resource_id]
            if one.kept is not None and before.key not in (None, one.kept.key):
                keys = tuple(filter(None, (before.key, before.zip_key)))
                left.append(TakenCopy(before.resource_id, keys))
        try:
            shelf.throw_away(self.store, left)
        except StoreError as error:
            self.errors.append(str(error))


_QUIET = (IatiOutcome.VERIFIED, IatiOutcome.TRUSTED)


def _verified(settled: Iterable[SettledResult]) -> Iterable[str]:
    for one in settled:
        if one.kept is None and one.step.ending in (IatiOutcome.VERIFIED, IatiOutcome.DOWNLOADED):
            yield one.finding.visit.resource_id


def _judged(
    settled: Iterable[SettledResult], now: datetime, run_id: str
) -> tuple[list[str], datetime, str, dict[str, list[DatedEvidence]]]:
    """The datasets whose contents have changed, without what is said of when a file was made."""
    found: dict[str, list[DatedEvidence]] = {}
    for one in settled:
        when, visit = one.step.changed_at, one.finding.visit
        if when is not None and one.step.ending is IatiOutcome.DOWNLOADED:
            dated = DatedEvidence(when.replace(microsecond=0), Evidence.HASH, visit.resource_id)
            found.setdefault(visit.package_id, []).append(dated)
    return sorted(found), now, run_id, found
