"""The newest runs and their problems: failed, killed or missing ones.

Mails to sysadmins, the banner of the dashboard and a metric report them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from ..ckan_adapter.core import model
from ..dates import aware
from ..model import CheckRun

SILENCE = timedelta(hours=24)
"""The dashboard reports a missing run this long after the last one."""
LATE = timedelta(hours=2)
"""Delay of a nightly run that causes no mail, since clocks change and machines wait."""
STALLED = timedelta(hours=24)
"""A run that has not ended after this time was killed."""
FALL_PERCENT = 2
"""A loss of datasets from one run to the next that is no problem yet (HDX's rule)."""


class ProblemKind(str, Enum):
    """A way in which a run can go wrong. The value is stored with the mails about it."""

    FAILED = "failed"
    KILLED = "killed"
    NO_DATASETS = "no datasets"
    HALVED = "halved"
    FALLEN = "fallen"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A row of ``freshness_run``.

    :ivar datasets: the number of datasets it covered; None if unknown
    :ivar is_whole: whether it was a check of all datasets
    :ivar visited: the number of links it checked; None if unknown
    :ivar kind: ``check``, the kind of an update cycle, or ``nightly`` for another part of a nightly run
    """

    id: str
    started_at: datetime
    ended_at: datetime | None
    datasets: int | None
    is_whole: bool
    error: str | None = None
    kind: str = "check"
    visited: int | None = None


@dataclass(frozen=True, slots=True)
class RunProblem:
    """A problem of a run.

    :ivar at: when it began
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

    @property
    def key(self) -> str:
        """The key under which sent mails are stored, so that each problem is mailed once."""
        return f"{self.kind.value}:{self.run_id}"


def finished_run(
    id: str,
    kind: str,
    started_at: datetime,
    ended_at: datetime | None,
    options: Mapping[str, Any] | None,
    datasets: Mapping[str, int] | None,
    error: str | None,
    visited: int | None = None,
) -> FinishedRun:
    """Return a run from the columns of its row."""
    given = options or {}
    return FinishedRun(
        id,
        started_at,
        ended_at,
        sum(datasets.values()) if datasets is not None and ended_at is not None else None,
        kind == "check" and not given.get("package_ids") and not given.get("host"),
        error,
        kind,
        visited,
    )


def is_silent(last: datetime | None, now: datetime) -> bool:
    """Decide whether the last run began so long ago that the dashboard must say so.

    :param last: when the newest run began; None if there has been none
    """
    return last is None or now - last > SILENCE


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
    following = [run.started_at for run in whole[1:]] + [now]
    for run, after in zip(whole, following, strict=False):
        if after - run.started_at > SILENCE + LATE:
            yield RunProblem(ProblemKind.MISSING, run.id, run.started_at + SILENCE + LATE)


def _counts(whole: list[FinishedRun]) -> Iterator[RunProblem]:
    before: int | None = None
    for run in whole:
        if run.error or run.datasets is None or run.ended_at is None:
            continue
        if not run.datasets:
            yield RunProblem(ProblemKind.NO_DATASETS, run.id, run.ended_at, None, 0, before)
        elif before and 2 * run.datasets <= before:
            yield RunProblem(ProblemKind.HALVED, run.id, run.ended_at, None, run.datasets, before)
        elif before and 100 * (before - run.datasets) > FALL_PERCENT * before:
            yield RunProblem(ProblemKind.FALLEN, run.id, run.ended_at, None, run.datasets, before)
        # Compare with the last run that covered any datasets.
        before = run.datasets or before


# From the database


def full_checks() -> Any:
    """Return a query for the checks of all datasets, the newest first."""
    options = CheckRun.options
    return (
        model.Session.query(CheckRun)
        .filter(CheckRun.kind == "check")
        .filter(options["package_ids"].astext.is_(None), options["host"].astext.is_(None))
        .order_by(CheckRun.started_at.desc())
    )


def last() -> datetime | None:
    """Return the start of the newest check of all datasets; None if there was none."""
    run = full_checks().first()
    return None if run is None else aware(run.started_at)


def is_missing(now: datetime) -> bool:
    """Decide whether the newest check of all datasets is so old that an operator should know."""
    return is_silent(last(), now)


def newest() -> list[FinishedRun]:
    """Return the newest runs."""
    rows = model.Session.query(*_COLUMNS).order_by(CheckRun.started_at.desc()).limit(_MOST)
    return [_finished(row) for row in rows]


def newest_check() -> FinishedRun | None:
    """Return the newest check of all datasets; None if there was none."""
    row = full_checks().with_entities(*_COLUMNS).first()
    return None if row is None else _finished(row)


def _finished(row: Any) -> FinishedRun:
    return finished_run(
        id=row.id,
        kind=row.kind,
        started_at=aware(row.started_at),
        ended_at=aware(row.ended_at),
        options=row.options,
        datasets=row.datasets,
        error=row.error,
        visited=row.visited,
    )


_COLUMNS = tuple(
    CheckRun.__table__.c[key]
    for key in ["id", "kind", "started_at", "ended_at", "options", "datasets", "error", "visited"]
)
_MOST = 500
"""Runs to read. Among so many, at least one is a nightly run, the others may be checks of single datasets."""
