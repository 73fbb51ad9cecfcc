"""Checks that somebody asks for: as background jobs of CKAN, or of links while a person waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from threading import Lock
from time import monotonic

import ckan.plugins.toolkit as tk
import redis

from .. import settings
from ..checking.decisions import OUTCOMES, CheckResult, ResourceToCheck
from ..ckan_adapter.core import ONCE_MORE, background_workers, job_from_id
from ..ckan_adapter.database import locked_if_free
from ..dates import utc_now
from ..reporting import labels
from ..web.errors import FailureReason
from ..web.event_loop import in_batches
from ..web.exchange import MIB

_UNDER_WAY = frozenset({"queued", "started", "deferred", "scheduled"})
_DAY = 24 * 60 * 60


class RedisAwayError(Exception):
    """Raised if Redis does not answer: no job can be queued."""


@contextmanager
def _telling_of_redis() -> Iterator[None]:
    """Raise a :class:`RedisAwayError` if Redis does not answer within a block."""
    try:
        yield
    except redis.exceptions.RedisError as error:
        words = tk._("Redis does not answer ({error}): the background workers were left no work")
        raise RedisAwayError(words.format(error=error)) from error


def enqueue_dataset(package_id: str, title: str) -> bool:
    """Queue a job that checks a dataset's URLs, due or not.

    :returns: False if the job is already queued or running
    :raises RedisAwayError: the job could not be queued
    """
    # Imported only here and in tested(): most web workers queue no check.
    from . import check_run

    job_id = _job_id(package_id)
    with _telling_of_redis():
        if _is_under_way(job_id):
            return False
        tk.enqueue_job(
            check_run.check_dataset,
            [package_id],
            title=f"Freshness of dataset {title}",
            # By default CKAN ends jobs after three minutes. Checks have limits of their own.
            rq_kwargs={"timeout": _DAY, "job_id": job_id, "retry": ONCE_MORE},
        )
    return True


def is_checking(package_id: str) -> bool:
    """Decide whether a check of a dataset's URLs is queued or running; False if Redis does not answer."""
    try:
        return _is_under_way(_job_id(package_id))
    except redis.exceptions.RedisError:
        return False


def no_worker() -> str:
    """Return what people are told of a queued job that no worker will take; empty if a worker runs."""
    if background_workers()["default"]:
        return ""
    return str(
        tk._(
            "It waits, because no background worker is running. Ask the operator of this portal to start one."
        )
    )


def when_checked() -> str:
    """Return in words when a queued check ends, or why it waits."""
    return no_worker() or str(tk._("Results usually appear within a few minutes."))


def checking_in_words(package_id: str) -> str:
    """Return in words that a check of a dataset's URLs is queued or running; empty if none is."""
    if not is_checking(package_id):
        return ""
    return f"{tk._('A link check is requested.')} {when_checked()}"


def _job_id(package_id: str) -> str:
    return f"freshness-check-{package_id}"


def _is_under_way(job_id: str) -> bool:
    try:
        return job_from_id(job_id).get_status() in _UNDER_WAY
    except KeyError:
        return False


# Tests of links while a person waits: each as a run checks it, but quick, and nothing of it is stored.

SECONDS = 15.0
"""How long a person waits."""
_LEAST = 5 * MIB
"""Bytes after which an answer is a file for certain, however long the rest of it takes."""

_one_at_a_time = Lock()
"""The event loop's settings hold for the whole process."""


@contextmanager
def one_test_of(user: str) -> Iterator[None]:
    """Let a user make one test at a time.

    :raises tk.ValidationError: the user makes one now
    """
    with locked_if_free(f"test-{user}") as lock:
        if lock is None:
            words = tk._(
                "Nothing was changed: another test or repair of yours is still going on. "
                "Try again when it is done."
            )
            raise tk.ValidationError({"limit": [words]})
        yield


def tested(links: Sequence[ResourceToCheck]) -> Mapping[str, CheckResult]:
    """Check links, and return the results by the ids of their resources; without those that take too long."""
    from . import check_run

    found: dict[str, CheckResult] = {}
    end = monotonic() + SECONDS
    limits = settings.checks().limits
    quick = replace(
        limits,
        attempts=1,
        total=SECONDS,
        all_attempts=SECONDS,
        max_bytes=min(limits.max_bytes, _LEAST),
        retry_after_max=0,
    )
    if not _one_at_a_time.acquire(timeout=SECONDS):
        return found
    try:
        with closing(
            in_batches(check_run.checks_of(links, utc_now, quick), seconds=0.2)
        ) as batches:
            for batch in batches:
                found |= {result.resource.resource_id: result for result in batch}
                if monotonic() > end:
                    break
    finally:
        _one_at_a_time.release()
    return found


def is_working(result: CheckResult | None) -> bool:
    """Decide whether a test has found a file."""
    if result is None:
        return False
    is_large = result.attempt.reason == FailureReason.TOO_LARGE.value
    return is_large or OUTCOMES[result.outcome].found


def tested_in_words(result: CheckResult | None) -> str:
    """Return what a test has found, in a sentence."""
    if result is None:
        return str(tk._("The link couldn't be tested now. Try again later."))
    if is_working(result):
        return str(tk._("The link works."))
    return labels.link_problem({**result.attempt._asdict(), "outcome": result.outcome.value})
