"""How soon each policy sees changes and dead links, in two simulated years over several catalogues.

The policies choose with the project's own code. Catalogues, updates and deaths of links are the same for all
policies and in each run; ``WORLDS`` describes them. ``learned`` makes each night as
many checks as ``hdx`` makes on average, then half as many. No network and no database is used.
"""

from __future__ import annotations

import random
import statistics
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf
from typing import Any

from benchmarks.measure import Result
from ckanext.freshness.aging.status import Ages, Thresholds
from ckanext.freshness.checking.learned import LearnedSelection
from ckanext.freshness.checking.selection import (
    Candidate,
    Selection,
    SelectionRules,
    is_broken,
    rotation_budget,
)
from ckanext.freshness.tests.checking.rows import NEW

START = datetime(2024, 1, 1)
DAY = timedelta(days=1)
NIGHTS = 730
WARM_UP = 30
"""Nights after which changes, deaths and statuses count: the policy hdx has then read each file once."""

_RULES = SelectionRules()


@dataclass(frozen=True, slots=True)
class World:
    """A kind of catalogue. Numbers in dicts are weights of datasets.

    :ivar frequencies: update frequencies in days; 0 live, -1 never, -2 as needed, None if there is none
    :ivar habits: of datasets with a number of days: they keep it, update 1.3 to 3 times later (miss), twice
        as often (double), or at any interval from 5 to 1,000 days (ignore)
    :ivar rhythms: regular (10 % early or late at most), random (a Poisson process), seasonal (in four months of
        the year) or bursts (up to six updates within days, then a pause)
    :ivar daily: share of the datasets without a number of days that are updated every day
    :ivar together: shares of a dataset's files that an update changes; each dataset has one of them
    :ivar files: files of a dataset on average
    :ivar dated: share of datasets whose server states the right date of the last change
    :ivar silent: share of datasets whose server says "not modified" although the file changed: only a
        check that reads the file whole sees it
    """

    name: str
    frequencies: dict[int | None, float] = field(
        default_factory=lambda: {
            **{None: 18, 0: 3, -1: 8, -2: 7, 1: 5, 7: 14, 14: 6, 30: 22, 90: 5, 180: 4, 365: 8}
        }
    )
    habits: dict[str, float] = field(
        default_factory=lambda: {"keep": 40, "miss": 25, "double": 10, "ignore": 25}
    )
    rhythms: dict[str, float] = field(default_factory=lambda: {"regular": 75, "random": 25})
    daily: float = 0.08
    together: tuple[float, ...] = (1.0, 1.0, 0.5)
    files: float = 4.0
    dated: float = 0.5
    silent: float = 0.02


WORLDS = (
    World("usual"),
    World("regular", rhythms={"regular": 1}),
    World("random", rhythms={"random": 1}),
    World("seasonal", rhythms={"seasonal": 50, "bursts": 30, "regular": 20}),
    World("undeclared", frequencies={None: 70, 0: 2, -1: 8, -2: 10, 7: 4, 30: 4, 365: 2}),
    World("separate", together=(0.2, 0.5), files=8.0),
    World("slow", daily=0.0, frequencies={None: 30, -1: 10, 30: 25, 90: 15, 180: 10, 365: 10}),
    World("undated", dated=0.0, silent=0.1),
)
DEATHS = 0.1
"""Share of links that die at some time in the two years."""


@dataclass(slots=True)
class File:
    """A resource.

    :ivar changes: true moments, in days
    :ivar dies: when its link dies
    :ivar seen: number of changes that checks have seen
    """

    number: int
    dataset: Dataset
    changes: list[float]
    dies: float
    seen: int = 0
    seen_changes: float = 0.0
    watched_days: float = 0.0


@dataclass(slots=True)
class Dataset:
    """A dataset.

    :ivar updates: moments at which any of its files changed
    :ivar known: date of its last update, as the catalogue knows it
    :ivar hides_changes: whether a check has read a change of which the server said "not modified"
    """

    number: int
    frequency: int | None
    host: str
    dated: bool
    silent: bool
    limits: Ages | None
    known: float
    files: list[File] = field(default_factory=list)
    updates: list[float] = field(default_factory=list)
    change_seen_at: datetime | None = None
    hides_changes: bool = False


def catalogue(world: World, count: int) -> list[Dataset]:
    """Return datasets with at least ``count`` files."""
    rnd = random.Random(f"2026 {world.name}")
    thresholds = Thresholds()
    datasets: list[Dataset] = []
    total = 0
    while total < count:
        frequency = _one_of(world.frequencies, rnd)
        interval = _interval(frequency, _one_of(world.habits, rnd), world, rnd)
        rhythm = _one_of(world.rhythms, rnd)
        updates = [at for at in _updates(interval, rhythm, rnd) if at < NIGHTS]
        before = [at for at in updates if at <= 0]
        dataset = Dataset(
            number=len(datasets),
            frequency=frequency,
            host=f"h{int(rnd.paretovariate(1)) % 100}",
            dated=rnd.random() < world.dated,
            silent=rnd.random() < world.silent,
            limits=thresholds.limits(frequency) if frequency and frequency > 0 else None,
            known=max(before, default=-rnd.random() * interval),
        )
        share = rnd.choice(world.together)
        files = min(1 + int(rnd.expovariate(1 / (world.files - 1))), 40)
        changes: list[list[float]] = [[] for _ in range(files)]
        for at in updates:
            for one in [one for one in changes if rnd.random() < share] or [rnd.choice(changes)]:
                one.append(at)
        for one in changes:
            dies = rnd.uniform(0, NIGHTS) if rnd.random() < DEATHS else inf
            dataset.files.append(File(total, dataset, [at for at in one if 0 < at < dies], dies))
            total += 1
        dataset.updates = sorted({at for file in dataset.files for at in file.changes})
        datasets.append(dataset)
    return datasets


def _one_of(weights: dict[Any, float], rnd: random.Random) -> Any:
    return rnd.choices(list(weights), list(weights.values()))[0]


def _interval(frequency: int | None, habit: str, world: World, rnd: random.Random) -> float:
    if frequency is not None and frequency > 0 and habit != "ignore":
        factor = {"keep": 1.0, "miss": rnd.uniform(1.3, 3), "double": 0.5}[habit]
        return max(frequency * factor, 1.0)
    if frequency == -1:
        return float(10 ** rnd.uniform(2.5, 4))
    if rnd.random() < (0.5 if frequency == 0 else world.daily):
        return 1.0
    return float(10 ** rnd.uniform(0.7, 3))


def _updates(interval: float, rhythm: str, rnd: random.Random) -> Iterator[float]:
    """Yield the moments of a dataset's updates in ascending order, from before the first night on."""
    at = first = -rnd.random() * interval
    number = 0
    phase = rnd.random() * 365
    early = 0.04 if interval <= 2 else interval * 0.1
    while at < NIGHTS:
        if rhythm == "bursts":
            for _ in range(rnd.randint(1, 6)):
                yield at
                at += rnd.uniform(1, 3)
            at += 4 * interval * rnd.expovariate(1)
            continue
        yield at
        number += 1
        if rhythm == "random":
            at += max(interval, 3) * rnd.expovariate(1)
        elif rhythm == "seasonal":
            at += interval * rnd.uniform(0.9, 1.1)
            if (at + phase) % 365 > 122:
                at += 365 - (at + phase) % 365
        else:
            at = first + number * interval + rnd.uniform(-early, early)


class Simulation:
    """Two years of nightly runs by one policy.

    :param budget: checks a night by the policy ``learned``; None for the policy ``hdx``
    """

    def __init__(self, datasets: Sequence[Dataset], budget: int | None) -> None:
        self._datasets = datasets
        self._files = [file for dataset in datasets for file in dataset.files]
        self._budget = budget
        self._rotation = rotation_budget(len(self._files))
        self._known = [dataset.known for dataset in datasets]
        self._stale = set(range(len(datasets)))
        """Datasets whose candidates' histories are to be made anew."""
        self.checks: list[int] = []
        self._delays: list[float] = []
        self._dead: list[float] = []
        self._false = self._shown = 0
        for dataset in datasets:
            dataset.change_seen_at = None
            dataset.hides_changes = False
        for file in self._files:
            file.seen, file.seen_changes, file.watched_days = 0, 0.0, 0.0
        self._candidates = [self._new(file) for file in self._files]

    def _new(self, file: File) -> Candidate:
        dataset = file.dataset
        return NEW._replace(
            resource_id=str(file.number),
            package_id=str(dataset.number),
            host=dataset.host,
            frequency_days=dataset.frequency,
            due=self._due(dataset),
        )

    def _due(self, dataset: Dataset) -> datetime | None:
        if dataset.limits is None:
            return None
        return START + self._known[dataset.number] * DAY + dataset.limits.due

    def run(self) -> None:
        """Do all nights."""
        for night in range(1, NIGHTS):
            self._run_night(night)
        for file in self._files:
            # At the end, the changes that were never seen have waited until now.
            end = bisect_right(file.changes, NIGHTS - 1)
            self._count_seen(file.changes[file.seen : end], float(NIGHTS))

    def _run_night(self, night: int) -> None:
        now = START + night * DAY
        selection: Selection | LearnedSelection
        if self._budget is None:
            selection = Selection(now, _RULES, self._rotation)
        else:
            selection = LearnedSelection(now, _RULES, self._budget, self._rotation)
            for number in self._stale:
                self._renew_histories(self._datasets[number])
            self._stale.clear()
        for candidate in self._candidates:
            selection.add(candidate)
        chosen, rotation = selection.chosen(), selection.rotation()
        self.checks.append(len(chosen))
        for id_ in chosen:
            self._check(self._files[int(id_)], float(night), now, id_ in rotation)
        if night >= WARM_UP:
            self._count_statuses(float(night))

    def _renew_histories(self, dataset: Dataset) -> None:
        rows = [self._candidates[file.number] for file in dataset.files]
        rows.sort(key=lambda row: (row.failures > 0, row.checked_at or datetime.max))
        working = [row.checked_at for row in rows if not row.failures and row.checked_at]
        due = self._due(dataset)
        for turn, row in enumerate(rows):
            file = self._files[int(row.resource_id)]
            self._candidates[file.number] = row._replace(
                due=due,
                changes=file.seen_changes,
                days=file.watched_days,
                files=max(len(working), 1),
                turn=turn,
                probed_at=max(working, default=None),
                change_seen_at=dataset.change_seen_at,
            )

    def _check(self, file: File, at: float, now: datetime, is_read: bool) -> None:
        dataset, row = file.dataset, self._candidates[file.number]
        self._stale.add(dataset.number)
        if file.dies <= at:
            self._fail(file, row, now)
            return
        is_first = row.succeeded_at is None
        is_whole = is_read or is_first or dataset.hides_changes or not dataset.silent
        found = bisect_right(file.changes, at) if is_whole else file.seen
        seen = file.changes[file.seen : found]
        file.seen = found
        self._count_seen(seen, at)
        changed = bool(seen) and not is_first
        dataset.hides_changes |= changed and dataset.silent
        if row.succeeded_at is not None:
            # As :mod:`ckanext.freshness.checking.result_writer` observes a file.
            days = (now - row.succeeded_at) / DAY
            file.watched_days += days / 2 if changed else days
            file.seen_changes += changed
        self._candidates[file.number] = row._replace(
            checked_at=now,
            tried_at=now,
            succeeded_at=now,
            hashed_at=now if is_whole else row.hashed_at,
            has_hash=True,
        )
        if changed:
            dataset.change_seen_at = now
            date = seen[-1] if dataset.dated else at
            if date > self._known[dataset.number]:
                self._known[dataset.number] = date
                due = self._due(dataset)
                for other in dataset.files:
                    number = other.number
                    self._candidates[number] = self._candidates[number]._replace(due=due)

    def _fail(self, file: File, row: Candidate, now: datetime) -> None:
        since = row.failing_since or now
        after = row._replace(
            checked_at=now,
            tried_at=now,
            failures=row.failures + 1,
            failing_since=since,
            failed_at=now,
        )
        self._candidates[file.number] = after
        if _is_broken(after) and not _is_broken(row) and file.dies > WARM_UP:
            self._dead.append((now - START) / DAY - file.dies)

    def _count_seen(self, seen: Sequence[float], at: float) -> None:
        self._delays += [at - change for change in seen if change > WARM_UP]

    def _count_statuses(self, at: float) -> None:
        for dataset, known in zip(self._datasets, self._known, strict=True):
            if dataset.limits is None:
                continue
            due = dataset.limits.due / DAY
            self._shown += 1
            if known + due <= at:
                index = bisect_right(dataset.updates, at)
                self._false += bool(index and dataset.updates[index - 1] + due > at)

    def figures(self) -> dict[str, tuple[float, str]]:
        """Return the figures of the policy, with their units."""
        return {
            "checks a night": (statistics.fmean(self.checks), ""),
            "mean delay": (statistics.fmean(self._delays or [0.0]), "days"),
            "dead links found after": (statistics.fmean(self._dead or [0.0]), "days"),
            "false statuses": (100 * self._false / max(self._shown, 1), "%"),
        }


def _is_broken(row: Candidate) -> bool:
    return is_broken(row.failures, row.failing_since, row.failed_at)


def measure(say: Callable[[str], None], size: int = 60_000) -> Iterator[Result]:
    """Yield the figures of ``learned`` beside those of ``hdx`` in each world.

    :param size: resources in all worlds together
    """
    for world in WORLDS:
        datasets = catalogue(world, size // len(WORLDS))
        say(f"{world.name}: hdx")
        hdx = Simulation(datasets, None)
        hdx.run()
        budget = round(statistics.fmean(hdx.checks))
        peer = hdx.figures()
        for name, checks in (("learned", budget), ("half the checks", budget // 2)):
            say(f"{world.name}: {name}")
            ours = Simulation(datasets, checks)
            ours.run()
            for figure, (value, unit) in ours.figures().items():
                what = f"{world.name}, {name}: {figure}"
                yield Result(what, value, "hdx", peer[figure][0] or inf, unit=unit)
