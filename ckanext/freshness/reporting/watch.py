"""Whether the checker does its work: what is wrong with its runs.

Pure: from rows of ``freshness_run`` to findings. Mails to the sysadmins, the dashboard's banner and the
metric of the last run all say what is found here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

SILENCE = timedelta(hours=24)
"""So long after the last run its absence is shown."""
LATE = timedelta(hours=2)
"""So much later a nightly run may come without anybody being written to: clocks change, machines wait."""
STALLED = timedelta(hours=24)
"""A run that has not ended by then was killed."""


class What(str, Enum):
    """What is wrong."""

    FAILED = "failed"
    KILLED = "killed"
    NO_DATASETS = "no datasets"
    HALVED = "halved"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Run:
    """A run as its row has it.

    :ivar datasets: how many it saw; None if it has not said
    :ivar is_whole: whether it was a check that was to look at all datasets
    :ivar kind: ``check``, ``iati``, or ``nightly``, which stands for another part of a night
    """

    id: str
    started_at: datetime
    ended_at: datetime | None
    datasets: int | None
    is_whole: bool
    error: str | None = None
    kind: str = "check"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong.

    :ivar at: since when
    :ivar datasets: how many datasets the run saw
    :ivar before: how many the one before it saw
    :ivar kind: of the run
    """

    what: What
    run_id: str
    at: datetime
    error: str | None = None
    datasets: int | None = None
    before: int | None = None
    kind: str = "check"

    @property
    def key(self) -> str:
        """Names it: it is told once."""
        return f"{self.what.value}:{self.run_id}"


def run(
    id: str,
    kind: str,
    started_at: datetime,
    ended_at: datetime | None,
    options: Mapping[str, Any] | None,
    datasets: Mapping[str, int] | None,
    error: str | None,
) -> Run:
    """A run, from the columns of its row."""
    asked = options or {}
    return Run(
        id,
        started_at,
        ended_at,
        sum(datasets.values()) if datasets is not None and ended_at is not None else None,
        kind == "check" and not asked.get("package_ids") and not asked.get("host"),
        error,
        kind,
    )


def last_run(runs: Sequence[Run]) -> Run | None:
    """The newest run that was to look at everything: the one whose time the metric tells."""
    return max((one for one in runs if one.is_whole), key=_start, default=None)


def is_silent(last: datetime | None, now: datetime) -> bool:
    """Whether no run has been begun for so long that the dashboard is to say so.

    :param last: when the newest run began; None if there has been none.
    """
    return last is None or now - last > SILENCE


def findings(runs: Sequence[Run], now: datetime) -> Iterator[Finding]:
    """All that is wrong with some runs and what lies between them, in the order of time.

    Runs that were to look at a few datasets alone may see none, and do not make up for a night. Where
    there has been no run at all nothing is said: somebody has to begin.

    :param runs: in any order; also the last good one before those that are of interest.
    """
    ordered = sorted(runs, key=_start)
    for one in ordered:
        if one.error:
            at = one.ended_at or one.started_at
            yield Finding(What.FAILED, one.id, at, one.error, kind=one.kind)
    whole = [one for one in ordered if one.is_whole]
    yield from _killed(whole, now)
    yield from _missing(whole, now)
    yield from _counts(whole)


def _start(one: Run) -> datetime:
    return one.started_at


def _killed(whole: list[Run], now: datetime) -> Iterator[Finding]:
    for number, one in enumerate(whole):
        if one.ended_at is None and not one.error:
            followed = number + 1 < len(whole)
            if followed or now - one.started_at > STALLED:
                yield Finding(What.KILLED, one.id, one.started_at)


def _missing(whole: list[Run], now: datetime) -> Iterator[Finding]:
    following = [one.started_at for one in whole[1:]] + [now]
    for one, after in zip(whole, following, strict=False):
        if after - one.started_at > SILENCE + LATE:
            yield Finding(What.MISSING, one.id, one.started_at + SILENCE + LATE)


def _counts(whole: list[Run]) -> Iterator[Finding]:
    before: int | None = None
    for one in whole:
        if one.error or one.datasets is None or one.ended_at is None:
            continue
        if not one.datasets:
            yield Finding(What.NO_DATASETS, one.id, one.ended_at, None, 0, before)
        elif before and 2 * one.datasets <= before:
            yield Finding(What.HALVED, one.id, one.ended_at, None, one.datasets, before)
        # After a run that saw nothing, the one before it is still what is compared with.
        before = one.datasets or before
