"""Finds what is wrong with runs: failed, killed or missing ones. Pure.

Mails to sysadmins, the banner of the dashboard and the metric of the last run report its findings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

SILENCE = timedelta(hours=24)
"""The dashboard reports a missing run this long after the last one."""
LATE = timedelta(hours=2)
"""Delay of a nightly run that causes no mail, since clocks change and machines wait."""
STALLED = timedelta(hours=24)
"""A run that has not ended after this time was killed."""


class ProblemKind(str, Enum):
    """The kind of a problem."""

    FAILED = "failed"
    KILLED = "killed"
    NO_DATASETS = "no datasets"
    HALVED = "halved"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A row of ``freshness_run``.

    :ivar datasets: the number of datasets it covered; None if unknown
    :ivar is_whole: whether it was a check of all datasets
    :ivar kind: ``check``, ``iati``, or ``nightly`` for another part of a nightly run
    """

    id: str
    started_at: datetime
    ended_at: datetime | None
    datasets: int | None
    is_whole: bool
    error: str | None = None
    kind: str = "check"


@dataclass(frozen=True, slots=True)
class RunProblem:
    """A problem of a run.

    :ivar at: when it began
    :ivar datasets: the number of datasets that the run covered
    :ivar before: the number of datasets that the previous run covered
    :ivar kind: the run's kind
    """

    what: ProblemKind
    run_id: str
    at: datetime
    error: str | None = None
    datasets: int | None = None
    before: int | None = None
    kind: str = "check"

    @property
    def key(self) -> str:
        """Its identity: each problem is mailed once."""
        return f"{self.what.value}:{self.run_id}"


def run(
    id: str,
    kind: str,
    started_at: datetime,
    ended_at: datetime | None,
    options: Mapping[str, Any] | None,
    datasets: Mapping[str, int] | None,
    error: str | None,
) -> FinishedRun:
    """Return a run from the columns of its row."""
    asked = options or {}
    return FinishedRun(
        id,
        started_at,
        ended_at,
        sum(datasets.values()) if datasets is not None and ended_at is not None else None,
        kind == "check" and not asked.get("package_ids") and not asked.get("host"),
        error,
        kind,
    )


def last_run(runs: Sequence[FinishedRun]) -> FinishedRun | None:
    """Return the newest check of all datasets, whose time is a metric."""
    return max((one for one in runs if one.is_whole), key=_start, default=None)


def is_silent(last: datetime | None, now: datetime) -> bool:
    """Decide whether the last run began so long ago that the dashboard must say so.

    :param last: when the newest run began; None if there has been none
    """
    return last is None or now - last > SILENCE


def findings(runs: Sequence[FinishedRun], now: datetime) -> Iterator[RunProblem]:
    """Yield the problems of runs and of the gaps between them, in order of time.

    Checks of a few datasets cover no night and may find no datasets. If there has been no run at all,
    there is no problem: the site has not begun.

    :param runs: in any order, including the last good run before the period of interest
    """
    ordered = sorted(runs, key=_start)
    for one in ordered:
        if one.error:
            at = one.ended_at or one.started_at
            yield RunProblem(ProblemKind.FAILED, one.id, at, one.error, kind=one.kind)
    whole = [one for one in ordered if one.is_whole]
    yield from _killed(whole, now)
    yield from _missing(whole, now)
    yield from _counts(whole)


def _start(one: FinishedRun) -> datetime:
    return one.started_at


def _killed(whole: list[FinishedRun], now: datetime) -> Iterator[RunProblem]:
    for number, one in enumerate(whole):
        if one.ended_at is None and not one.error:
            followed = number + 1 < len(whole)
            if followed or now - one.started_at > STALLED:
                yield RunProblem(ProblemKind.KILLED, one.id, one.started_at)


def _missing(whole: list[FinishedRun], now: datetime) -> Iterator[RunProblem]:
    following = [one.started_at for one in whole[1:]] + [now]
    for one, after in zip(whole, following, strict=False):
        if after - one.started_at > SILENCE + LATE:
            yield RunProblem(ProblemKind.MISSING, one.id, one.started_at + SILENCE + LATE)


def _counts(whole: list[FinishedRun]) -> Iterator[RunProblem]:
    before: int | None = None
    for one in whole:
        if one.error or one.datasets is None or one.ended_at is None:
            continue
        if not one.datasets:
            yield RunProblem(ProblemKind.NO_DATASETS, one.id, one.ended_at, None, 0, before)
        elif before and 2 * one.datasets <= before:
            yield RunProblem(ProblemKind.HALVED, one.id, one.ended_at, None, one.datasets, before)
        # Compare with the last run that covered any datasets.
        before = one.datasets or before
