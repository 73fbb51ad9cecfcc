"""Statuses that changed because time passed, and all of them at once.

A batch of datasets is written in one transaction, which also marks them as not indexed; then their
documents are sent and Solr commits once; then the marks go. Whatever a killed run leaves half done is
marked, and made good first by the next one. ``now`` is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..ckan_adapter import model
from ..ckan_adapter.worker_processes import Tell, share
from ..dates import utc
from ..search import unindexed
from ..search.unindexed import BATCH, IndexFailure, SolrAwayError
from . import defaults
from .assessment import TransitionCause, assess_packages
from .extras import write_by_sql


@dataclass(slots=True)
class RefreshCounts:
    """What a run has done."""

    datasets: int = 0
    """Datasets that were looked at."""
    changed: int = 0
    """Datasets whose extras changed."""
    statuses: int = 0
    """Datasets whose status changed."""
    healed: int = 0
    """Datasets of earlier runs whose documents were missing."""
    reaped: int = 0
    """Datasets that are gone, and whose rows were removed."""
    failures: list[IndexFailure] = field(default_factory=list)


Progress = Callable[[int, int], None]
"""Told how many datasets are done, and of how many."""


def refresh(
    now: datetime,
    *,
    run_id: str | None = None,
    everything: bool = False,
    workers: int = 1,
    progress: Progress = lambda done, total: None,
) -> RefreshCounts:
    """Bring every dataset's stored status up to date, in its extras and in Solr.

    Safe to run twice at once, and to be killed. Neither ``metadata_modified`` nor activities change.

    :param now: the moment to judge, with its zone.
    :param run_id: kept with the transitions.
    :param everything: judge all datasets anew, with all evidence, and not only those whose boundary has
        passed: for a catalogue that existed before, and after a change of options.
    :param workers: processes that share the datasets. More than one only where forking is harmless, as
        in commands.
    :raises SolrAwayError: Solr does not answer.
    :raises WorkerError: a worker ended before it was done.
    """
    model.Session.rollback()
    result = RefreshCounts(reaped=_reap(everything=everything))
    result.healed, result.failures = unindexed.heal()
    defaults.may_be_harvested()
    ids = _all_ids() if everything else _passed_ids(now)
    model.Session.commit()
    job = _Job(now, run_id, everything)
    if workers > 1 and len(ids) > BATCH:
        # In turn: those that are new, and cost most, lie together.
        parts = [ids[number::workers] for number in range(workers)]
        for part in share(
            parts, job.part, lambda done: progress(done[0], len(ids)), (SolrAwayError,)
        ):
            result.datasets += part.datasets
            result.changed += part.changed
            result.statuses += part.statuses
            result.failures += part.failures
    else:
        for done in job.work(ids, result):
            progress(done, len(ids))
    return result


@dataclass(frozen=True, slots=True)
class _Job:
    """What is the same for all batches of a run."""

    now: datetime
    run_id: str | None
    everything: bool

    def work(self, ids: Sequence[str], result: RefreshCounts) -> Iterator[int]:
        """Do so many datasets, a batch at a time; after each, how many are done."""
        for batch in _batches(ids):
            self._batch(batch, result)
            result.datasets += len(batch)
            yield result.datasets

    def part(self, ids: Sequence[str], tell: Tell) -> RefreshCounts:
        """A worker's part of them."""
        result = RefreshCounts()
        for done in self.work(ids, result):
            tell((done,))
        return result

    def _batch(self, batch: Sequence[str], result: RefreshCounts) -> None:
        ids = batch if self.everything else _claimed(batch, self.now)
        changed = assess_packages(
            ids, self.now, cause=TransitionCause.RECOMPUTE, run_id=self.run_id
        )
        marks: dict[str, datetime] = {}
        if changed:
            write_by_sql(changed)
            marks = unindexed.mark([one.package_id for one in changed])
        model.Session.commit()
        result.failures += unindexed.index(marks)
        result.changed += len(changed)
        result.statuses += sum(one.changes_status for one in changed)


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))


# What there is to do.


def _all_ids() -> list[str]:
    return _ids(
        "SELECT id FROM package WHERE type = ANY(:types) AND state <> 'deleted' ORDER BY id",
        types=_types(),
    )


def _types() -> list[str]:
    return sorted(settings.aging().dataset_types)


def _passed_ids(now: datetime) -> list[str]:
    """Deleted datasets wait: they are judged when somebody restores them."""
    return _ids(f"{_PASSED} ORDER BY p.id", now=utc(now), types=_types())


def _claimed(ids: Sequence[str], now: datetime) -> list[str]:
    """Those that nobody is writing now, locked: whoever does writes their freshness too."""
    statement = f"{_PASSED} AND p.id = ANY(:ids) ORDER BY p.id FOR NO KEY UPDATE OF p SKIP LOCKED"
    return _ids(statement, ids=list(ids), now=utc(now), types=_types())


_PASSED = """
SELECT p.id FROM freshness_dataset d JOIN package p ON p.id = d.package_id
WHERE (d.next_boundary <= :now OR d.judge_anew) AND p.state <> 'deleted' AND p.type = ANY(:types)"""


def _ids(statement: str, **parameters: Any) -> list[str]:
    return list(model.Session.execute(sa.text(statement), parameters).scalars())


def _reap(*, everything: bool) -> int:
    """Remove what is remembered of packages that are gone, for which CKAN calls no hook.

    :param everything: also look for rows of packages of which nothing else is remembered.
    """
    gone = _ids(_GONE.format(table="freshness_dataset"))
    others = ("freshness_evidence", "freshness_resource", "freshness_transition")
    if everything:
        gone = sorted(
            {*gone, *(one for table in others for one in _ids(_GONE.format(table=table)))}
        )
    if gone:
        for table in ("freshness_dataset", "freshness_unindexed", *others):
            model.Session.execute(
                sa.text(f"DELETE FROM {table} WHERE package_id = ANY(:gone)"), {"gone": gone}
            )
    model.Session.commit()
    return len(gone)


_GONE = """
SELECT DISTINCT package_id FROM {table} t
WHERE NOT EXISTS (SELECT 1 FROM package p WHERE p.id = t.package_id)"""
