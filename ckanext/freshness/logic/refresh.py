"""Statuses that changed because time passed, and all of them at once.

A batch of datasets is written in one transaction, which also marks them as not indexed; then their
documents are sent and Solr commits once; then the marks go. Whatever a killed run leaves half done is
marked, and made good first by the next one. ``now`` is an argument.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from .. import settings
from ..ckan_adapter import (
    SearchIndexError,
    disconnect,
    index_package,
    model,
    solr_answers,
    solr_commit,
    without_solr_commits,
)
from ..solr_queue import queued
from .assessing import Cause, assess_packages
from .extras import write_by_sql

log = logging.getLogger(__name__)

BATCH = 100
"""Datasets of one transaction, and of one Solr commit."""


class SolrAwayError(Exception):
    """Solr does not answer. What was written is marked, and indexed by the next run."""


class WorkerError(Exception):
    """A worker ended before it was done. The next run does the rest."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A dataset whose document Solr does not have: it is tried again by each run."""

    package_id: str
    words: str


@dataclass(slots=True)
class Refreshed:
    """What a run has done."""

    datasets: int = 0
    """Datasets that were looked at."""
    changed: int = 0
    """Datasets whose extras changed."""
    healed: int = 0
    """Datasets of earlier runs whose documents were missing."""
    reaped: int = 0
    """Datasets that are gone, and whose rows were removed."""
    failures: list[Failure] = field(default_factory=list)


Progress = Callable[[int, int], None]
"""Told how many datasets are done, and of how many."""


def refresh(
    now: datetime,
    *,
    run_id: str | None = None,
    everything: bool = False,
    workers: int = 1,
    progress: Progress = lambda done, total: None,
) -> Refreshed:
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
    :raises settings.OptionError: an option that cannot be used; the text names it.
    """
    model.Session.rollback()
    result = Refreshed(reaped=_reap(everything=everything))
    _heal(result)
    ids = _all_ids() if everything else _passed_ids(now)
    model.Session.commit()
    job = _Job(now, run_id, everything)
    if workers > 1 and len(ids) > BATCH:
        _share(job, ids, workers, result, progress)
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

    def work(self, ids: Sequence[str], result: Refreshed) -> Iterator[int]:
        """Do so many datasets, a batch at a time; after each, how many are done."""
        for batch in _batches(ids):
            self._batch(batch, result)
            result.datasets += len(batch)
            yield result.datasets

    def _batch(self, batch: Sequence[str], result: Refreshed) -> None:
        ids = batch if self.everything else _claimed(batch, self.now)
        changed = assess_packages(ids, self.now, cause=Cause.RECOMPUTE, run_id=self.run_id)
        marks: dict[str, datetime] = {}
        if changed:
            write_by_sql(changed)
            marks = _marked(changed)
        model.Session.commit()
        _index(marks, result)
        result.changed += len(changed)


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))


# What there is to do.


def _all_ids() -> list[str]:
    types = sorted(settings.aging().dataset_types)
    return _ids(
        "SELECT id FROM package WHERE type = ANY(:types) AND state <> 'deleted' ORDER BY id",
        types=types,
    )


def _passed_ids(now: datetime) -> list[str]:
    """Deleted datasets wait: they are judged when somebody restores them."""
    return _ids(f"{_PASSED} ORDER BY p.id", now=_naive(now))


def _claimed(ids: Sequence[str], now: datetime) -> list[str]:
    """Those that nobody is writing now, locked: whoever does writes their freshness too."""
    statement = f"{_PASSED} AND p.id = ANY(:ids) ORDER BY p.id FOR NO KEY UPDATE OF p SKIP LOCKED"
    return _ids(statement, ids=list(ids), now=_naive(now))


_PASSED = """
SELECT p.id FROM freshness_dataset d JOIN package p ON p.id = d.package_id
WHERE d.next_boundary <= :now AND p.state <> 'deleted'"""


def _ids(statement: str, **parameters: Any) -> list[str]:
    return list(model.Session.execute(sa.text(statement), parameters).scalars())


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(timezone.utc).replace(tzinfo=None)


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


# Solr.


def _marked(ids: Sequence[str]) -> dict[str, datetime]:
    """Mark datasets as not indexed, in the transaction that writes them; the marks by id."""
    rows = model.Session.execute(
        sa.text(
            "INSERT INTO freshness_unindexed (package_id, since) "
            "SELECT id, now() AT TIME ZONE 'utc' FROM unnest(CAST(:ids AS text[])) AS id ORDER BY id "
            "ON CONFLICT (package_id) DO UPDATE SET since = excluded.since "
            "RETURNING package_id, since"
        ),
        {"ids": list(ids)},
    )
    return {package_id: since for package_id, since in rows}


def _unmark(marks: Mapping[str, datetime]) -> None:
    """Take marks away, unless another run has written the dataset again since."""
    model.Session.execute(
        sa.text(
            "DELETE FROM freshness_unindexed u "
            "USING unnest(CAST(:ids AS text[]), CAST(:since AS timestamp[])) AS m (id, since) "
            "WHERE u.package_id = m.id AND u.since = m.since"
        ),
        {"ids": list(marks), "since": list(marks.values())},
    )


def _heal(result: Refreshed) -> None:
    """Index what earlier runs have written and not indexed."""
    rows = model.Session.execute(
        sa.text("SELECT package_id, since FROM freshness_unindexed ORDER BY package_id")
    ).all()
    model.Session.commit()
    marks = iter(rows)
    while batch := dict(tuple(row) for row in islice(marks, BATCH)):
        failed = len(result.failures)
        _index(batch, result)
        result.healed += len(batch) - (len(result.failures) - failed)


def _index(marks: Mapping[str, datetime], result: Refreshed) -> None:
    """Send the documents of datasets, commit Solr, and take their marks away.

    Whoever edits a dataset meanwhile sends its document too, maybe before ours, which is older: such
    datasets are sent again.
    """
    if not marks:
        return
    todo: Sequence[str] = list(marks)
    before = _modified(todo)
    failures: dict[str, str] = {}
    while todo:
        failures |= _send(todo)
        after = _modified(todo)
        todo = [one for one in todo if before.get(one) != after.get(one)]
        before = after
    if failures and not solr_answers():
        raise SolrAwayError(next(iter(failures.values())))
    result.failures += [Failure(package_id, words) for package_id, words in failures.items()]
    _unmark({one: since for one, since in marks.items() if one not in failures})
    model.Session.commit()


def _modified(ids: Sequence[str]) -> dict[str, datetime]:
    """When packages were written last; waits for those that are being written."""
    rows = model.Session.execute(
        sa.text(
            "SELECT id, metadata_modified FROM package WHERE id = ANY(:ids) ORDER BY id FOR SHARE"
        ),
        {"ids": list(ids)},
    ).all()
    model.Session.commit()
    return {package_id: modified for package_id, modified in rows}


def _send(ids: Sequence[str]) -> dict[str, str]:
    """Send documents and commit Solr; why it has not worked, by id."""
    # Sessions keep what they have loaded, and we write by SQL.
    model.Session.expire_all()
    failures: dict[str, str] = {}
    with without_solr_commits(), queued() as queue:
        for package_id in ids:
            try:
                index_package(package_id)
            except tk.ObjectNotFound:
                continue
            except Exception as error:
                # Some plugin's hook, or the dataset itself: the others are not to wait for it.
                log.exception("Dataset %s could not be indexed", package_id)
                failures[package_id] = f"{type(error).__name__}: {error}"[:1000]
                queue.discard()
                model.Session.rollback()
            else:
                queue.settle()
    failures |= {one.package_id: one.words for one in queue.refused}
    model.Session.commit()
    try:
        solr_commit()
    except SearchIndexError as error:
        raise SolrAwayError(str(error)) from error
    return failures


# Workers.


def _share(
    job: _Job, ids: Sequence[str], workers: int, result: Refreshed, progress: Progress
) -> None:
    """Let processes do the work, each on its part of the datasets."""
    disconnect()
    context = multiprocessing.get_context("fork")
    pipes: dict[Connection, Any] = {}
    for number in range(workers):
        ours, theirs = context.Pipe(duplex=False)
        # In turn: those that are new, and cost most, lie together.
        arguments = (job, ids[number::workers], theirs, os.getpid())
        process = context.Process(target=_work, args=arguments, daemon=True)
        process.start()
        theirs.close()
        pipes[ours] = process
    parts: dict[Connection, Refreshed] = {}
    done: dict[Connection, int] = {}
    open_pipes = list(pipes)
    while open_pipes:
        for pipe in wait(open_pipes):
            assert isinstance(pipe, Connection)
            try:
                message = pipe.recv()
            except EOFError:
                open_pipes.remove(pipe)
                continue
            if isinstance(message, Exception):
                raise message
            if isinstance(message, Refreshed):
                parts[pipe] = message
            else:
                done[pipe] = message
                progress(sum(done.values()), len(ids))
    for pipe, process in pipes.items():
        process.join()
        if pipe not in parts:
            raise WorkerError(f"A worker ended with exit code {process.exitcode} before its work")
        result.datasets += parts[pipe].datasets
        result.changed += parts[pipe].changed
        result.failures += parts[pipe].failures


def _work(job: _Job, ids: Sequence[str], pipe: Connection, parent: int) -> None:
    """A worker: its part, unless whoever started it is gone."""
    result = Refreshed()
    try:
        for done in job.work(ids, result):
            if os.getppid() != parent:
                return
            pipe.send(done)
        pipe.send(result)
    except SolrAwayError as error:
        pipe.send(error)
    finally:
        pipe.close()
