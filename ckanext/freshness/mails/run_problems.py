"""Problems of runs, of which sysadmins get mails: failed, killed or missing ones, and lost datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from ..ckan_adapter.core import model
from ..dates import aware
from ..model import CheckRun
from ..reporting.runs import SILENCE, STALLED, columns

LATE = timedelta(hours=2)
"""Delay of a nightly run that causes no mail, since clocks change and machines wait."""
FALL_PERCENT = 2
"""A loss of datasets from one run to the next that is no problem yet (HDX's rule)."""


class ProblemKind(str, Enum):
    """A way in which a run can go wrong. The value is stored with the mails about it."""

    FAILED = "failed"
    KILLED = "killed"
    FALLEN = "fallen"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A row of ``freshness_run``.

    :ivar datasets: the number of datasets it covered; None if unknown
    :ivar is_whole: whether it was a check of all datasets
    :ivar kind: ``check``, the kind of an update cycle, or ``nightly`` for another part of a nightly run
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

    :ivar at: when it began; of a missing run, when the run before it began
    :ivar until: when the next run began; None if there is none yet, and for other problems
    :ivar datasets: the number of datasets that the run covered
    :ivar before: the number of datasets that the previous run covered
    """

    kind: ProblemKind
    run_id: str
    at: datetime
    error: str | None = None
    datasets: int | None = None
    before: int | None = None
    run_kind: str = "check"
    until: datetime | None = None

    @property
    def key(self) -> str:
        """The key under which sent mails are stored, so that each problem is mailed once."""
        return f"{self.kind.value}:{self.run_id}"


def finished_run(row: Any) -> FinishedRun:
    """Return a run from its row."""
    options = row.options or {}
    is_counted = row.datasets is not None and row.ended_at is not None
    return FinishedRun(
        row.id,
        aware(row.started_at),
        aware(row.ended_at),
        sum(row.datasets.values()) if is_counted else None,
        row.kind == "check" and not options.get("package_ids") and not options.get("host"),
        row.error,
        row.kind,
    )


def problems(runs: Sequence[FinishedRun], now: datetime) -> Iterator[RunProblem]:
    """Yield the problems of runs and of the gaps between them, each kind in order of time.

    Checks of a few datasets cover no night and may find no datasets. If there has been no run at all,
    there is no problem: the site has not begun.

    :param runs: in any order, including the last good run before the period of interest
    """
    ordered = sorted(runs, key=lambda run: run.started_at)
    for run in ordered:
        if run.error:
            at = run.ended_at or run.started_at
            yield RunProblem(ProblemKind.FAILED, run.id, at, run.error, run_kind=run.kind)
    whole = [run for run in ordered if run.is_whole]
    yield from _killed(whole, now)
    yield from _missing(whole, now)
    yield from _counts(whole)


def _killed(whole: list[FinishedRun], now: datetime) -> Iterator[RunProblem]:
    for number, run in enumerate(whole):
        if run.ended_at is None and not run.error:
            followed = number + 1 < len(whole)
            if followed or now - run.started_at > STALLED:
                yield RunProblem(ProblemKind.KILLED, run.id, run.started_at)


def _missing(whole: list[FinishedRun], now: datetime) -> Iterator[RunProblem]:
    following = [*(run.started_at for run in whole[1:]), None]
    for run, until in zip(whole, following, strict=False):
        if (until or now) - run.started_at > SILENCE + LATE:
            yield RunProblem(ProblemKind.MISSING, run.id, run.started_at, until=until)


def _counts(whole: list[FinishedRun]) -> Iterator[RunProblem]:
    before: int | None = None
    for run in whole:
        if run.error or run.datasets is None or run.ended_at is None:
            continue
        if before and 100 * (before - run.datasets) > FALL_PERCENT * before:
            yield RunProblem(ProblemKind.FALLEN, run.id, run.ended_at, None, run.datasets, before)
        # Compare with the last run that covered any datasets.
        before = run.datasets or before


def newest_problems(now: datetime) -> Iterator[RunProblem]:
    """Yield the problems of the newest runs."""
    rows = model.Session.query(*columns()).order_by(CheckRun.started_at.desc()).limit(_MOST)
    return problems([finished_run(row) for row in rows], now)


_MOST = 500
"""Runs to read. Among so many, at least one is a nightly run, the others may be checks of single datasets."""
