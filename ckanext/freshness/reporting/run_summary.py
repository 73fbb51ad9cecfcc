"""A run as its page and the list of runs show it: its state, and what its checks found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from .. import settings
from ..aging.messages import N_, NN_
from ..checking import run_records
from ..checking.decisions import Outcome
from ..ckan_adapter.core import model
from ..ckan_adapter.database import is_held
from ..dates import aware, utc_now
from ..model import CheckRun
from . import display, run_problems
from .display import State
from .labels import counted
from .metrics import ALL_HOSTS
from .run_problems import STALLED

STATES = {
    "finished": State("ok", "circle-check", N_("Finished")),
    "incomplete": State("warn", "triangle-exclamation", N_("Finished with problems")),
    "failed": State("bad", "circle-xmark", N_("Failed")),
    "running": State("unknown", "hourglass-half", N_("Running")),
    "interrupted": State("bad", "plug-circle-xmark", N_("Interrupted")),
}
"""The states of a run."""

PROBLEMS = ("incomplete", "failed", "interrupted")
"""The states of runs that need a look."""

NIGHT = timedelta(hours=12)
"""Runs that begin within this time after a check of all links, and before the next one, belong to its night."""


@dataclass(frozen=True, slots=True)
class RunKind:
    """The words and numbers that pages show of the runs of a kind.

    :ivar title: returns the name of a run from the arguments of its call
    :ivar is_alive: decides whether a process is still doing an unfinished run
    :ivar sentences: returns what a run did, in sentences, from its figures
    :ivar is_part_of_night: decides from the arguments of the call whether a nightly run may have made it
    """

    title: Callable[[Mapping[str, Any]], str]
    icon: str
    is_alive: Callable[[Any, datetime], bool]
    sentences: Callable[[Mapping[str, Any]], list[str]] = lambda figures: []
    is_part_of_night: Callable[[Mapping[str, Any]], bool] = lambda options: True


def _title_of_check(options: Mapping[str, Any]) -> str:
    ids = options.get("package_ids")
    if ids:
        forms = NN_("Check of {count} dataset", "Check of {count} datasets")
        return counted(forms, len(ids))
    if options.get("host"):
        return str(tk._("Check of {host}").format(host=options["host"]))
    if options.get("everything"):
        return str(tk._("Check of all links"))
    return str(tk._("Nightly run"))


def _is_young(run: Any, now: datetime) -> bool:
    began: datetime = aware(run.started_at)
    return now - began < STALLED


def _is_check_alive(run: Any, now: datetime) -> bool:
    if (run.options or {}).get("queued"):
        # Between two jobs no process holds a lock.
        return _is_young(run, now)
    return is_held(run_records.lock(run.id))


PARTS = {
    "check": N_("Link checks of the nightly run"),
    "refresh": N_("Statuses of the nightly run"),
    "prune": N_("Clean-up of the nightly run"),
    "report": N_("Daily figures of the nightly run"),
    "iati update": N_("IATI cycles of the nightly run"),
}
"""Titles of the parts of the nightly run."""


def _title_of_part(options: Mapping[str, Any]) -> str:
    part = str(options.get("part") or "")
    if part in PARTS:
        return str(tk._(PARTS[part]))
    return str(tk._("Part of the nightly run: {part}").format(part=part or "?"))


def _title_of_cycle(options: Mapping[str, Any]) -> str:
    return str(tk._("IATI cycle") if _is_whole(options) else tk._("Check of IATI files"))


def _is_whole(options: Mapping[str, Any]) -> bool:
    """Decide whether an update cycle read the registry, so that it checked all files."""
    return options.get("harvest") is not False


def _is_cycle_alive(run: Any, now: datetime) -> bool:
    return is_held(run_records.cycle_lock(str((run.options or {}).get("source"))))


_CYCLE_SENTENCES = (
    (
        "total_number_of_datasets",
        *NN_("The registry lists {number} dataset.", "The registry lists {number} datasets."),
    ),
    (
        "datasets_with_download",
        *NN_("{number} of them has a copy.", "{number} of them have a copy."),
    ),
    ("datasets_added", *NN_("{number} is new.", "{number} are new.")),
    ("changed", *NN_("{number} file changed.", "{number} files changed.")),
    ("failed", *NN_("{number} file failed.", "{number} files failed.")),
    (
        "datasets_unregistered",
        *NN_(
            "{number} dataset was unregistered, and its copy was removed.",
            "{number} datasets were unregistered, and their copies were removed.",
        ),
    ),
    (
        "datasets_expired",
        *NN_(
            "{number} copy expired because its file had failed for too long.",
            "{number} copies expired because their files had failed for too long.",
        ),
    ),
)
"""Sentences about the figures of an update cycle, by figure."""


def _sentences_of_cycle(figures: Mapping[str, Any]) -> list[str]:
    """Return what a cycle did, in sentences; those about zeros are left out."""
    locale = display.locale_of(tk.h.lang())
    told = [
        str(tk.ungettext(one, many, count)).format(number=display.number(count, locale))
        for key, one, many in _CYCLE_SENTENCES
        if (count := int(figures.get(key) or 0))
    ]
    if (seconds := float(figures.get("zipper_run_duration") or 0)) >= 1:
        now = utc_now()
        duration = display.lasting(now - timedelta(seconds=seconds), now, locale)
        words = tk._("Index files and ZIPs were written in {duration}.")
        told.append(str(words.format(duration=duration)))
    return told


KINDS = {
    "check": RunKind(_title_of_check, "moon", _is_check_alive),
    "nightly": RunKind(_title_of_part, "moon", lambda run, now: False),
    "iati": RunKind(_title_of_cycle, "globe", _is_cycle_alive, _sentences_of_cycle, _is_whole),
}
"""The kinds of runs by their stored name."""

_UNKNOWN = RunKind(lambda options: str(tk._("Run")), "gears", _is_young)


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run as a line of a list.

    :ivar state: a key of :data:`STATES`
    :ivar checks: number of checks; None if the run did not count any
    :ivar errors: number of checks that failed
    :ivar unclear: number of checks that could not be made, or that cannot detect changes
    :ivar sentences: the effects of the run
    """

    id: str
    kind: str
    title: str
    icon: str
    state: str
    started_at: datetime
    ended_at: datetime | None
    checks: int | None
    errors: int
    unclear: int
    error: str | None
    sentences: Sequence[str] = ()

    @property
    def look(self) -> State:
        """Colour, icon and words of the state."""
        return STATES[self.state]


def line(run: Any, now: datetime) -> RunLine:
    """Return a line about a row of ``freshness_run``."""
    kind = KINDS.get(run.kind, _UNKNOWN)
    figures = run.datasets or {}
    found = outcomes(run.resources or {}) if run.kind == "check" else Counter[str]()
    ended = run.ended_at is not None
    return RunLine(
        id=run.id,
        kind=run.kind,
        title=kind.title(run.options or {}),
        icon=kind.icon,
        state=_state(run, kind, now),
        started_at=aware(run.started_at),
        ended_at=aware(run.ended_at),
        checks=run.visited if run.kind in KINDS and run.kind != "nightly" else None,
        errors=found["failed"] if run.kind == "check" else int(figures.get("failed") or 0),
        unclear=found["blocked"] + found["undetectable"],
        error=run.error,
        sentences=kind.sentences(figures) if ended and figures else (),
    )


def _state(run: Any, kind: RunKind, now: datetime) -> str:
    if run.error:
        # A run that stopped early has counted nothing.
        return "incomplete" if run.datasets else "failed"
    if run.ended_at is not None:
        return "finished"
    return "running" if kind.is_alive(run, now) else "interrupted"


def is_alive(run_id: str, now: datetime) -> bool:
    """Decide whether something is still doing an unfinished run."""
    run = _lines().filter(CheckRun.__table__.c.id == run_id).one()
    return KINDS.get(run.kind, _UNKNOWN).is_alive(run, now)


# What the checks of a run found

OUTCOMES: Mapping[str, tuple[Outcome, ...]] = {
    "unchanged": (Outcome.NOT_MODIFIED, Outcome.SAME_HASH, Outcome.REPEAT_HASH),
    "changed": (Outcome.HEADER, Outcome.CHANGED),
    "first": (Outcome.FIRST_HASH,),
    "failed": (Outcome.ERROR, Outcome.UNCONFIRMED),
    "blocked": (Outcome.CANNOT_TELL,),
    "undetectable": (Outcome.API,),
}
"""The outcomes of checks, in groups that pages show."""

_GROUPS = {outcome.value: group for group, outcomes in OUTCOMES.items() for outcome in outcomes}


def outcomes(labels: Mapping[str, int]) -> Counter[str]:
    """Count the resources of a run by the group of their outcome.

    :param labels: numbers of resources by label; resources that were not checked are not counted
    """
    found: Counter[str] = Counter()
    for label, number in labels.items():
        # The outcome is the last part of a label. Labels of resources on the site begin with a prefix.
        group = _GROUPS.get(label.rpartition(",")[2])
        if group is not None:
            found[group] += number
    return found


def changed_datasets(labels: Mapping[str, int]) -> int:
    """Return the number of datasets with a file that changed by its header or its hash."""
    dated = {Outcome.HEADER.value, Outcome.CHANGED.value}
    return sum(
        number
        for label, number in labels.items()
        if dated & set(label.partition(", Updated ")[2].split(","))
    )


# Hosts


@dataclass(frozen=True, slots=True)
class HostTrouble:
    """A host whose links could not all be checked.

    :ivar kind: ``failing``, ``waiting`` or ``blocked``
    :ivar affected: number of links
    :ivar reason: why most of them failed, in words; empty if that is not known
    """

    name: str
    kind: str
    affected: int
    checks: int
    reason: str


def troubles(hosts: Mapping[str, Mapping[str, Any]]) -> list[HostTrouble]:
    """Return the hosts in trouble, those with most affected links first."""
    found = (_trouble(name, numbers) for name, numbers in hosts.items() if name != ALL_HOSTS)
    return sorted(
        (one for one in found if one is not None),
        key=lambda one: (one.kind == "blocked", -one.affected, one.name),
    )


def _trouble(name: str, numbers: Mapping[str, Any]) -> HostTrouble | None:
    checks = int(numbers.get("visits", 0))
    waiting, errors = int(numbers.get("put_off", 0)), int(numbers.get("errors", 0))
    blocked = int(numbers.get("blocked", 0))
    if errors and errors >= waiting:
        reason = reason_in_words(str(numbers.get("reason") or ""))
        return HostTrouble(name, "failing", errors, checks, reason)
    if waiting:
        return HostTrouble(name, "waiting", waiting, checks, "")
    if blocked and blocked == checks:
        return HostTrouble(name, "blocked", blocked, checks, "")
    return None


_REASONS = {
    "name not found": N_("Its name doesn't exist any more"),
    "name lookup failed": N_("Its name could not be looked up"),
    "connection refused": N_("It refuses connections"),
    "connection reset": N_("It breaks connections off"),
    "unreachable": N_("It can't be reached"),
    "certificate expired": N_("Its certificate has expired"),
    "certificate self-signed": N_("Its certificate is self-signed"),
    "certificate for another name": N_("Its certificate is for another name"),
    "certificate not trusted": N_("Its certificate isn't trusted"),
    "TLS failed": N_("No secure connection is possible"),
    "connect timeout": N_("It doesn't answer"),
    "read timeout": N_("It doesn't answer in time"),
    "total timeout": N_("Its files take too long to load"),
    "host gave no answer": N_("It doesn't answer"),
    "host asked for a pause": N_("It asked us to slow down"),
    "redirect loop": N_("Its links lead in a circle"),
    "too many redirects": N_("Its links are redirected too often"),
    "truncated": N_("Its files break off"),
    "refused by robots.txt": N_("Its robots.txt forbids checks"),
    "inside address": N_("It is inside this site's own network"),
    "format": N_("Its files aren't of the promised format"),
    "404": N_("Its files can't be found (404)"),
    "410": N_("Its files are gone (410)"),
    "500": N_("It has an internal error (500)"),
    "502": N_("It has an internal error (502)"),
    "503": N_("It is out of service (503)"),
    "504": N_("It doesn't answer in time (504)"),
}


def reason_in_words(reason: str) -> str:
    """Return a phrase about a host from the stored reason of its errors; empty if it says nothing."""
    if reason in _REASONS:
        return str(tk._(_REASONS[reason]))
    if reason.isdecimal():
        return str(tk._("It answers with the error {status}").format(status=reason))
    return ""


# The page of a run


@dataclass(frozen=True, slots=True)
class RunPage:
    """Everything that the page of a run shows in words.

    :ivar line: the run itself
    :ivar outcomes: numbers of checks by group of outcomes, as of :data:`OUTCOMES`
    :ivar changed_datasets: number of datasets with changed files
    :ivar put_off: number of links that wait for the next run
    :ivar sums: figures of all hosts
    :ivar troubles: hosts in trouble, as far as their figures are kept
    :ivar in_trouble: number of all hosts in trouble
    :ivar turns: numbers of datasets by their status before and after
    :ivar is_newest: no later check of all links has begun
    :ivar others: the other runs of the same night
    :ivar datasets: name and title of the datasets that were asked for
    """

    line: RunLine
    outcomes: Counter[str] = field(default_factory=Counter)
    changed_datasets: int = 0
    put_off: int = 0
    sums: Mapping[str, Any] = field(default_factory=dict)
    troubles: Sequence[HostTrouble] = ()
    in_trouble: int = 0
    turns: Sequence[tuple[str, str, int]] = ()
    is_newest: bool = False
    others: Sequence[RunLine] = ()
    datasets: Sequence[tuple[str, str]] = ()

    @property
    def checks(self) -> int:
        """The number of checks."""
        return self.outcomes.total()

    @property
    def failed_parts(self) -> int:
        """The number of the night's other runs that have a problem."""
        return sum(other.state in PROBLEMS for other in self.others)


def page(run_id: str, now: datetime) -> RunPage:
    """Return what the page of a run shows.

    :param run_id: of an existing run
    """
    run = model.Session.query(CheckRun).get(run_id)
    hosts = run.hosts or {}
    sums = hosts.get(ALL_HOSTS, {})
    found = troubles(hosts)
    options = run.options or {}
    ids = options.get("package_ids") or ()
    is_whole = run.kind == "check" and not ids and not options.get("host")
    until = _next_night(run) if is_whole else None
    return RunPage(
        line=line(run, now),
        outcomes=outcomes(run.resources or {}),
        changed_datasets=changed_datasets(run.datasets or {}) if run.kind == "check" else 0,
        put_off=int(sums.get("put_off", 0)),
        sums=sums,
        troubles=found,
        in_trouble=max(int(sums.get("in_trouble", 0)), len(found)),
        turns=_turns(run, until, is_whole=is_whole),
        is_newest=is_whole and until is None,
        others=[line(other, now) for other in _same_night(run, until)] if is_whole else (),
        datasets=_titles(ids),
    )


def _next_night(run: Any) -> datetime | None:
    table = CheckRun.__table__
    following = run_problems.full_checks().filter(table.c.started_at > run.started_at)
    row = following.order_by(None).order_by(table.c.started_at).first()
    return None if row is None else row.started_at


def _same_night(run: Any, until: datetime | None) -> list[Any]:
    """Return the failed parts of a night, and the first run of each other kind and source."""
    table = CheckRun.__table__
    end = run.started_at + NIGHT if until is None else min(until, run.started_at + NIGHT)
    rows = (
        _lines()
        .filter(table.c.kind != "check")
        .filter(table.c.started_at >= run.started_at, table.c.started_at < end)
        .order_by(table.c.started_at, table.c.id)
    )
    first: dict[tuple[str, str], Any] = {}
    for row in rows:
        kind = KINDS.get(row.kind, _UNKNOWN)
        if not kind.is_part_of_night(row.options or {}):
            continue
        about = row.id if row.kind == "nightly" else str((row.options or {}).get("source"))
        first.setdefault((row.kind, about), row)
    return list(first.values())


def _turns(run: Any, until: datetime | None, *, is_whole: bool) -> list[tuple[str, str, int]]:
    values = {
        "run": run.id,
        "whole": is_whole,
        "since": run.started_at,
        "earliest": run.started_at - _BEHIND,
        "until": until,
        "types": sorted(settings.aging().dataset_types),
    }
    rows = model.Session.execute(sa.text(_TURNS), values)
    return [(row.from_status, row.to_status, row.number) for row in rows]


def _titles(ids: Iterable[str]) -> list[tuple[str, str]]:
    rows = model.Session.execute(sa.text(_TITLES), {"ids": list(ids)[:_NAMED]})
    return [(row.name, row.title) for row in rows]


# The list of runs


def filters() -> tuple[str, ...]:
    """Return the filters of the list of runs. Each kind that a subpackage above adds is a filter, too."""
    return tuple(_conditions())


def listed(only: str | None, number: int, size: int, now: datetime) -> tuple[list[RunLine], bool]:
    """Return a page of runs, the newest first, and whether there are more.

    :param only: one of :func:`filters`; None for all
    :param number: of the page, counted from 1
    """
    table = CheckRun.__table__
    query = _lines().order_by(table.c.started_at.desc(), table.c.id)
    if only is not None:
        query = query.filter(_conditions()[only])
    rows = query.offset((number - 1) * size).limit(size + 1).all()
    return [line(row, now) for row in rows[:size]], len(rows) > size


def numbers() -> dict[str | None, int]:
    """Return the number of runs of each filter, and of all runs under None."""
    conditions = _conditions()
    counts = [sa.func.count(), *(sa.func.count().filter(one) for one in conditions.values())]
    row = model.Session.query(*counts).select_from(CheckRun.__table__).one()
    return dict(zip((None, *conditions), row, strict=True))


def _conditions() -> dict[str, Any]:
    table = CheckRun.__table__
    options = table.c.options
    is_check = table.c.kind == "check"
    is_asked = sa.or_(
        options["package_ids"].astext.is_not(None), options["host"].astext.is_not(None)
    )
    return {
        "nights": sa.and_(is_check, sa.not_(is_asked)),
        **{kind: table.c.kind == kind for kind in KINDS if kind not in ("check", "nightly")},
        "asked": sa.and_(is_check, is_asked),
        "problems": sa.or_(table.c.error.is_not(None), table.c.ended_at.is_(None)),
    }


def _lines() -> Any:
    # The figures of hosts are large.
    table = CheckRun.__table__
    return model.Session.query(*(table.c[key] for key in _COLUMNS))


_COLUMNS = (
    *("id", "kind", "started_at", "ended_at", "options", "resources", "datasets", "visited"),
    "error",
)
_NAMED = 20
"""Most datasets that are named on the page of a run."""
_BEHIND = timedelta(days=2)
"""A status change that a run writes has the moment of its boundary, which may have passed this long ago."""

_TURNS = """
SELECT t.from_status, t.to_status, count(*) AS number
FROM freshness_transition t
JOIN package p ON p.id = t.package_id AND p.state = 'active' AND p.type = ANY(:types)
WHERE t.from_status IS NOT NULL AND t.from_status <> t.to_status AND t.changed_at >= :earliest
    AND (t.run_id = :run OR :whole AND t.changed_at >= :since
        AND (CAST(:until AS timestamp) IS NULL OR t.changed_at < :until))
GROUP BY t.from_status, t.to_status ORDER BY number DESC, t.from_status, t.to_status"""
_TITLES = """
SELECT name, coalesce(nullif(title, ''), name) AS title FROM package
WHERE id = ANY(:ids) ORDER BY title"""
