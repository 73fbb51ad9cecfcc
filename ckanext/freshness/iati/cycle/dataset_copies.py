"""The copies of a source's files: where each belongs, which are missing, and how checks replace them.

The order of writes makes a killed process harmless. A copy is stored before its row, and old bytes are deleted
after the row names the new ones. So a row always names its own bytes, and at most some bytes have no row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from ...aging.evidence import DatedEvidence, Evidence
from ...checking import data_changes, run_records
from ...checking.data_changes import DataChange
from ...ckan_adapter.core import model
from ...copies import store_keys
from ...copies.store import StagedBody, Store, StoredCopy, StoreError
from ...runs import copies
from ...runs.copies import CopyRow, StoredFiles
from ...status import conclusions
from ...web.urls import display_url
from ..policy import rules
from ..policy.attempts import ErrorDetails
from ..policy.iati_check import IatiCheckResult
from ..policy.rules import IatiDecision, IatiOutcome
from ..policy.state import IatiPolicy
from . import dataset_rows
from .dataset_rows import KnownDataset
from .report import CycleFigures, CycleReport

WORKERS = 2
"""Threads that compress and write, mostly without holding the interpreter's lock."""

HELD_BYTES = 16 * 1024 * 1024
"""Bodies in memory that may wait for the store; beyond that the network waits. Larger bodies are on disk."""

MOST_STORE_ERRORS = 5
"""How many files that could not be stored are named in the report."""


def copies_prefix(source_id: str) -> str:
    """Return the beginning of the keys of a source's copies."""
    return f"iati.d/{store_keys.segment(source_id)}/files.d/"


@dataclass(frozen=True, slots=True)
class CopyPlace:
    """The place in the store where the copy of a dataset belongs."""

    key: str
    dataset_name: str

    @property
    def filename(self) -> str:
        """Name of the download, and of the file in the copy's own ZIP."""
        return store_keys.member(f"{self.dataset_name}.xml")


def places(datasets: Sequence[KnownDataset], source_id: str) -> dict[str, CopyPlace]:
    """Return where the copy of each dataset of a source belongs, by resource id.

    A key is made from the names of organisation and dataset. If another resource's copy has it already, the
    resource id is added.
    """
    prefix = copies_prefix(source_id)
    others = model.Session.execute(
        sa.text(_COPIES_OF_OTHERS), {"source": source_id, "prefix": prefix}
    )
    owners = {row.key: row.resource_id for row in others}
    owners |= {dataset.key: dataset.resource_id for dataset in datasets if dataset.key is not None}
    found: dict[str, CopyPlace] = {}
    for dataset in datasets:
        key = prefix + store_keys.registry_key(dataset.organisation_name, dataset.dataset_name)
        if owners.get(key, dataset.resource_id) != dataset.resource_id:
            name = f"{dataset.dataset_name} {dataset.resource_id}"
            key = prefix + store_keys.registry_key(dataset.organisation_name, name)
        owners[key] = dataset.resource_id
        found[dataset.resource_id] = CopyPlace(key, dataset.dataset_name)
    return found


def stored_sizes(store: Store, prefix: str, datasets: Iterable[KnownDataset]) -> dict[str, int]:
    """Return the bytes of each stored copy by key: those below the prefix, and the datasets' others.

    :raises StoreError: the store cannot be read
    """
    sizes = dict(store.sizes(prefix))
    for dataset in datasets:
        for key in (dataset.key, dataset.zip_key):
            if key is not None and not key.startswith(prefix):
                size = store.size(key)
                if size is not None:
                    sizes[key] = size
    return sizes


def lost(datasets: Iterable[KnownDataset], sizes: Mapping[str, int]) -> frozenset[str]:
    """Return the resource ids of datasets whose copy or its ZIP is missing, or has another size.

    :param sizes: the result of :func:`stored_sizes`
    """
    return frozenset(
        dataset.resource_id
        for dataset in datasets
        if dataset.state.good is not None
        and (
            dataset.key is None
            or sizes.get(dataset.key) != dataset.size
            or (dataset.zip_key or dataset.key) not in sizes
        )
    )


def move(
    store: Store,
    datasets: Iterable[KnownDataset],
    places: Mapping[str, CopyPlace],
    keys: Collection[str],
    report: CycleReport,
) -> bool:
    """Move copies of renamed datasets, and write missing ZIPs again; return whether there were any.

    :param keys: all keys in the store
    """
    found = False
    for dataset in datasets:
        place = places[dataset.resource_id]
        if dataset.key is None or dataset.key not in keys:
            continue
        if dataset.key == place.key and (dataset.zip_key is None or dataset.zip_key in keys):
            continue
        found = True
        try:
            kept = _store_again(store, dataset, place)
            copies.move(dataset.resource_id, kept, place.filename)
            if kept.key != dataset.key:
                copies.delete_files(store, [_stored_copy(dataset)])
        except StoreError as error:
            report.errors.append(f"{dataset.dataset_name}: {error}")
        else:
            report.figures.moved += 1
    return found


def _store_again(store: Store, dataset: KnownDataset, place: CopyPlace) -> StoredCopy:
    """Store a copy's bytes in another place, with a ZIP that has the new filename."""
    assert dataset.key is not None
    with store.stage() as staged:
        with closing(store.open(dataset.key)) as reader:
            for piece in reader:
                staged.write(piece)
        if staged.sha256 != dataset.sha256:
            raise StoreError(
                f"The copy {dataset.key} has other bytes than were stored: it was not moved."
            )
        return store.keep(place.key, staged, zip_member=place.filename)


def _stored_copy(dataset: KnownDataset) -> StoredFiles:
    return StoredFiles(dataset.resource_id, tuple(filter(None, (dataset.key, dataset.zip_key))))


class StagedBytesLimit:
    """A limit on the bytes in memory that wait for the store: the network waits at it."""

    def __init__(self, most: int = HELD_BYTES) -> None:
        self._most = most
        self._held = 0
        self._open = False
        self._changed = threading.Condition()

    def enter(self, result: IatiCheckResult) -> None:
        """Wait until there is room for a result's body. A body larger than the limit passes alone."""
        size = _held_bytes(result)
        if not size:
            return
        with self._changed:
            self._changed.wait_for(
                lambda: self._open or not self._held or self._held + size <= self._most
            )
            self._held += size

    def leave(self, size: int) -> None:
        """Free the room of bodies that were stored."""
        with self._changed:
            self._held -= size
            self._changed.notify_all()

    def open(self) -> None:
        """Release all waiting threads, because the cycle ends."""
        with self._changed:
            self._open = True
            self._changed.notify_all()


def _held_bytes(result: IatiCheckResult) -> int:
    staged = result.staged
    return staged.in_memory if isinstance(staged, StagedBody) else 0


class SettledResult(NamedTuple):
    """A check's result after its file was stored.

    :ivar kept: the stored copy; None if there was no file to store, or it could not be stored
    """

    result: IatiCheckResult
    decision: IatiDecision
    kept: StoredCopy | None = None

    @property
    def resource_id(self) -> str:
        return self.result.input.resource_id


@dataclass(slots=True)
class ResultStore:
    """Stores the results of one cycle's checks: copies, states, evidence, search index, figures.

    A batch of results is one transaction. If the process is killed, whole batches are stored, and at most some
    bytes without rows: the next cycle downloads those files again.

    :ivar known: the datasets before their checks, by resource id
    :ivar places: where their copies belong, by resource id
    :ivar lost: resource ids whose copies are missing, lost or expired
    :ivar index: indexes the marked datasets
    :ivar errors: why files could not be stored, the first ones
    :ivar expired: resource ids whose files have failed for so long that their copies expire
    :ivar unchanged: all checks so far confirmed the known state
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
    bytes_limit: StagedBytesLimit = field(default_factory=StagedBytesLimit)
    errors: list[str] = field(default_factory=list)
    expired: list[str] = field(default_factory=list)
    unchanged: bool = True
    _pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(WORKERS, thread_name_prefix="store")
    )

    def close(self) -> None:
        """End the threads."""
        self.bytes_limit.open()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def settle(self, results: Sequence[IatiCheckResult]) -> None:
        """Store a batch of results, and commit.

        :raises sqlalchemy.exc.DBAPIError: the database refuses; some bytes may be stored without rows
        """
        settled = [SettledResult(each, each.decision) for each in results if each.staged is None]
        with_files = [each for each in results if each.staged is not None]
        if with_files:
            parts = [with_files[number::WORKERS] for number in range(WORKERS)]
            for part in self._pool.map(self._keep, parts):
                settled += part
        now = self.clock()
        states = {each.resource_id: each.decision.state for each in settled}
        written = set(dataset_rows.write(states, self.known))
        settled = [each for each in settled if each.resource_id in written]
        copies.remember(
            [self._row_of_copy(each.result, each.kept) for each in settled if each.kept]
        )
        verified = [
            each.resource_id
            for each in settled
            if each.kept is None
            and each.decision.outcome in (IatiOutcome.VERIFIED, IatiOutcome.DOWNLOADED)
        ]
        copies.verified(verified, now)
        evidence = _evidence(settled)
        data_changes.write([_change(each) for each in settled if _has_changed(each)])
        marks = conclusions.assess_and_commit(sorted(evidence), now, self.run_id, evidence)
        for each in settled:
            self._count(each)
            if rules.has_expired(each.decision.state, self.policy):
                self.expired.append(each.resource_id)
        run_records.count_checks(self.run_id, len(settled))
        self._delete_replaced(settled)
        if marks:
            self.index(marks)

    def _keep(self, results: Sequence[IatiCheckResult]) -> list[SettledResult]:
        """Store files. Runs in a thread, so it uses neither the session nor the figures."""
        held = sum(map(_held_bytes, results))
        try:
            return [self._settled(each, self._kept(each)) for each in results]
        finally:
            self.bytes_limit.leave(held)

    def _kept(self, result: IatiCheckResult) -> StoredCopy | StoreError:
        place = self.places[result.input.resource_id]
        staged, result.staged = result.staged, None
        assert staged is not None
        try:
            return self.store.keep(place.key, staged, zip_member=place.filename)
        except StoreError as error:
            return error

    def _settled(self, result: IatiCheckResult, kept: StoredCopy | StoreError) -> SettledResult:
        if isinstance(kept, StoredCopy):
            return SettledResult(result, result.decision, kept)
        error = ErrorDetails.of_store_error(str(kept), result.input.url)
        return SettledResult(
            result, rules.not_stored(result.input.state, result.decision, self.clock(), error)
        )

    def _row_of_copy(self, result: IatiCheckResult, kept: StoredCopy) -> CopyRow:
        dataset = result.input
        return CopyRow(
            resource_id=dataset.resource_id,
            package_id=self.known[dataset.resource_id].package_id,
            kept=kept,
            filename=self.places[dataset.resource_id].filename,
            mimetype="application/xml",
            source_url=display_url(dataset.url),
            at=self.clock(),
        )

    def _count(self, settled: SettledResult) -> None:
        figures, outcome = self.figures, settled.decision.outcome
        was_stored = settled.kept is not None
        figures.visited += 1
        figures.failed += outcome in rules.FAILED or outcome is IatiOutcome.POSTPONED
        figures.postponed += outcome is IatiOutcome.POSTPONED
        figures.downloaded += was_stored
        figures.changed += was_stored and settled.decision.changed_at is not None
        if outcome not in (IatiOutcome.VERIFIED, IatiOutcome.TRUSTED):
            self.unchanged = False
        if outcome is IatiOutcome.NOT_STORED:
            figures.not_stored += 1
            attempt = settled.decision.state.get_attempt
            if attempt and attempt.error_details and len(self.errors) < MOST_STORE_ERRORS:
                message = attempt.error_details.detailed_message
                self.errors.append(f"{display_url(settled.result.input.url)}: {message}")
        # An expired copy is downloaded again as well, but it was removed on purpose.
        if settled.resource_id in self.lost and self.known[settled.resource_id].key is not None:
            figures.restored += was_stored
            figures.lost += not was_stored

    def _delete_replaced(self, settled: Iterable[SettledResult]) -> None:
        """Delete the old bytes of copies that were stored under another key."""
        replaced = []
        for each in settled:
            before = self.known[each.resource_id]
            if each.kept is not None and before.key not in (None, each.kept.key):
                replaced.append(_stored_copy(before))
        try:
            copies.delete_files(self.store, replaced)
        except StoreError as error:
            self.errors.append(str(error))


def _evidence(settled: Iterable[SettledResult]) -> dict[str, list[DatedEvidence]]:
    """Return when contents changed, by dataset; a new generated timestamp is no change."""
    found: dict[str, list[DatedEvidence]] = {}
    for each in settled:
        changed_at = each.decision.changed_at
        if changed_at is not None and _has_changed(each):
            dated = DatedEvidence(
                changed_at.replace(microsecond=0), Evidence.HASH, each.resource_id
            )
            found.setdefault(each.result.input.package_id, []).append(dated)
    return found


def _has_changed(settled: SettledResult) -> bool:
    """Decide whether a check found new contents, and stored them."""
    decision = settled.decision
    return decision.changed_at is not None and decision.outcome is IatiOutcome.DOWNLOADED


def _change(settled: SettledResult) -> DataChange:
    """Return the change of a file's contents as the stream of data changes tells it."""
    checked, at = settled.result.input, settled.decision.changed_at
    before, after = checked.state.good, settled.decision.state.good
    assert at is not None and before is not None and after is not None
    return DataChange(
        package_id=checked.package_id,
        resource_id=checked.resource_id,
        evidence=Evidence.HASH,
        seen_at=at,
        changed_before=at,
        changed_after=before.verified_on_server,
        hash_before=f"sha1:{before.hash_excluding_generated_timestamp}",
        hash_after=f"sha1:{after.hash_excluding_generated_timestamp}",
        size_before=before.content_length,
        size_after=after.content_length,
        media_type_before="application/xml",
        media_type_after=settled.result.mimetype,
    )


_COPIES_OF_OTHERS = """
SELECT c.key, c.resource_id FROM freshness_copy c WHERE starts_with(c.key, :prefix) AND NOT EXISTS (
    SELECT FROM freshness_iati i WHERE i.resource_id = c.resource_id AND i.source_id = :source
)"""
