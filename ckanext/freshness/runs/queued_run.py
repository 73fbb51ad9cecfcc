"""A run of the checker as background jobs of CKAN: one shard of hosts each, for any number of workers.

A host is always visited by one worker. What the jobs counted comes back as their results; a last job,
which waits for all others, ends the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import ckan.plugins.toolkit as tk
import redis
import rq
from rq.job import Dependency

from ..checking import run_records
from ..ckan_adapter import job_from_id
from ..dates import utc_now
from . import check_run
from .check_run import CheckScope, RunContext, RunResult

JOBS = 16
"""Jobs of a run: more than a site has workers, so that nobody waits for long for who has most."""

DATASET_CHECKS: list[Callable[[str, Callable[[], datetime]], None]] = []
"""Checks of one dataset that subpackages above add: each takes its id and the clock."""

_UNDER_WAY = frozenset({"queued", "started", "deferred", "scheduled"})
_DAY = 24 * 60 * 60


class RedisAwayError(Exception):
    """Redis does not answer: nobody can be left any work."""


@dataclass(frozen=True, slots=True)
class QueuedRun:
    """A run whose jobs wait."""

    run_id: str
    jobs: int
    queue: str


def queue() -> str:
    """The queue that the site leaves visits to."""
    return str(tk.config.get("ckanext.freshness.check.queue"))


def enqueue(scope: CheckScope, now: datetime) -> QueuedRun:
    """Begin a run, and leave its work to whoever works on the queue.

    :raises RedisAwayError: nobody was left all of it.
    """
    run = check_run.begin(scope, now)
    try:
        return _enqueue(run)
    except redis.exceptions.RedisError as error:
        told = _away(error)
        run_records.end_run(run.id, utc_now(), error=told)
        raise RedisAwayError(told) from error


def _away(error: redis.exceptions.RedisError) -> str:
    words = tk._("Redis does not answer ({error}): the background workers were left no work")
    return words.format(error=error)


def _enqueue(run: RunContext) -> QueuedRun:
    # CKAN ends jobs after three minutes otherwise; visits have limits of their own.
    options = {"timeout": _DAY, "result_ttl": _DAY}
    parts = [
        tk.enqueue_job(
            work,
            [run, check_run.ALL_SHARDS[number::JOBS]],
            title=f"Freshness run {run.id}: hosts, part {number + 1} of {JOBS}",
            queue=queue(),
            rq_kwargs=dict(options),
        )
        for number in range(JOBS)
    ]
    tk.enqueue_job(
        end,
        [run],
        title=f"Freshness run {run.id}: end",
        queue=queue(),
        rq_kwargs=options | {"depends_on": Dependency(jobs=parts, allow_failure=True)},
    )
    return QueuedRun(run.id, JOBS + 1, queue())


def enqueue_dataset(package_id: str, title: str) -> bool:
    """Let somebody who works on the queue visit a dataset's URLs, due or not.

    :returns: False if that waits, or goes on, already.
    :raises RedisAwayError: nobody was left the work.
    """
    try:
        return _enqueue_dataset(package_id, title)
    except redis.exceptions.RedisError as error:
        raise RedisAwayError(_away(error)) from error


def _enqueue_dataset(package_id: str, title: str) -> bool:
    job_id = f"freshness-check-{package_id}"
    try:
        waiting = job_from_id(job_id)
    except KeyError:
        pass
    else:
        if waiting.get_status() in _UNDER_WAY:
            return False
    tk.enqueue_job(
        visit_dataset,
        [package_id],
        title=f"Freshness of dataset {title}",
        queue=queue(),
        rq_kwargs={"timeout": _DAY, "job_id": job_id},
    )
    return True


def visit_dataset(package_id: str) -> None:
    """A job: all URLs of one dataset, each by the rules that it is visited by at other times."""
    check_run.check(CheckScope(package_ids=(package_id,)), utc_now)
    for check in DATASET_CHECKS:
        check(package_id, utc_now)


def work(run: RunContext, shards: tuple[int, ...]) -> RunResult:
    """A job: the hosts of some shards."""
    return check_run.run_part(run, shards, utc_now)


def end(run: RunContext) -> None:
    """The last job: put together what the others have counted."""
    job = rq.get_current_job()
    assert job is not None, "this is called by a worker only"
    results = [one.return_value() for one in job.fetch_dependencies()]
    done = [result for result in results if result is not None]
    lost = len(results) - len(done)
    words = f"{lost} of {len(results)} jobs failed: see the log of the workers" if lost else None
    check_run.finish(run, done, utc_now, error=words)
