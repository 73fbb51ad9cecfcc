"""Checks of links while somebody waits: each as a run makes it, but quick, and nothing of it is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from threading import Lock
from time import monotonic

import ckan.plugins.toolkit as tk

from .. import settings
from ..checking.decisions import CheckResult, ResourceToCheck
from ..checking.result_writer import EFFECTS
from ..ckan_adapter.database import locked_if_free
from ..dates import utc_now
from ..reporting import labels
from ..web.errors import FailureReason
from ..web.event_loop import in_batches
from ..web.exchange import MIB
from .check_run import checks_of

SECONDS = 15.0
"""How long a person waits."""
_LEAST = 5 * MIB
"""Bytes after which an answer is a file for certain, however long the rest of it takes."""

_one_at_a_time = Lock()
"""The event loop's settings hold for the whole process."""


@contextmanager
def one_of(user: str) -> Iterator[None]:
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


def results(links: Sequence[ResourceToCheck]) -> Mapping[str, CheckResult]:
    """Check links, and return the results by the ids of their resources; without those that take too long."""
    found: dict[str, CheckResult] = {}
    end = monotonic() + SECONDS
    limits = settings.checks().limits
    quick = replace(
        limits,
        attempts=1,
        total=SECONDS,
        max_bytes=min(limits.max_bytes, _LEAST),
        retry_after_max=0,
    )
    if not _one_at_a_time.acquire(timeout=SECONDS):
        return found
    try:
        with closing(in_batches(checks_of(links, utc_now, quick), seconds=0.2)) as batches:
            for batch in batches:
                found |= {result.resource.resource_id: result for result in batch}
                if monotonic() > end:
                    break
    finally:
        _one_at_a_time.release()
    return found


def works(result: CheckResult | None) -> bool:
    """Decide whether a test has found a file."""
    if result is None:
        return False
    is_large = result.attempt.reason == FailureReason.TOO_LARGE.value
    return is_large or (EFFECTS[result.outcome].found and not result.counts_as_failure)


def in_words(result: CheckResult | None) -> str:
    """Return what a test has found, in a sentence."""
    if result is None:
        return str(tk._("The link couldn't be tested now. Try again later."))
    if works(result):
        return str(tk._("The link works."))
    return labels.link_problem({**result.attempt._asdict(), "outcome": result.outcome.value})
