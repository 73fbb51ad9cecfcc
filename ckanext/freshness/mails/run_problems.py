"""Problems of runs, of which sysadmins get mails: failed, killed or missing ones, and lost datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from itertools import zip_longest
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


def problems(runs: Iterable[Any], now: datetime) -> Iterator[RunProblem]:
    """Yield the problems of runs and of the gaps between them.

    Checks of a few datasets cover no night and may find no datasets. If there has been no run at all,
    there is no problem: the site has not begun.

    :param runs: rows of ``freshness_run`` in any order, including the last good run before the period of
        interest
    """
    ordered = sorted(runs, key=lambda run: run.started_at)
    for run in ordered:
        if run.error:
            at = aware(run.ended_at or run.started_at)
            yield RunProblem(ProblemKind.FAILED, run.id, at, run.error, run_kind=run.kind)
    whole = [run for run in ordered if _is_whole(run)]
    before = 0
    for run, following in zip_longest(whole, whole[1:]):
        began, until = aware(run.started_at), following and aware(following.started_at)
        if (until or now) - began > SILENCE + LATE:
            yield RunProblem(ProblemKind.MISSING, run.id, began, until=until)
        if run.error:
            continue
        if run.ended_at is None:
            if until or now - began > STALLED:
                yield RunProblem(ProblemKind.KILLED, run.id, began)
        elif run.datasets is not None:
            count = sum(run.datasets.values())
            if 100 * (before - count) > FALL_PERCENT * before:
                at = aware(run.ended_at)
                yield RunProblem(ProblemKind.FALLEN, run.id, at, None, count, before)
            # Compare with the last run that covered any datasets.
            before = count or before


def _is_whole(run: Any) -> bool:
    """Return whether a run was a check of all datasets."""
    options = run.options or {}
    return run.kind == "check" and not options.get("package_ids") and not options.get("host")


def newest_problems(now: datetime) -> Iterator[RunProblem]:
    """Yield the problems of the newest runs."""
    rows = model.Session.query(*columns()).order_by(CheckRun.started_at.desc()).limit(_MOST)
    return problems(rows, now)


_MOST = 500
"""Runs to read. Among so many, at least one is a nightly run, the others may be checks of single datasets."""
