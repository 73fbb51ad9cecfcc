"""Runs, as their pages and the list of runs show them: their state, and what their checks found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..aging.messages import N_, NN_
from ..checking import run_records
from ..checking.decisions import Outcome
from ..checking.run_records import ALL_HOSTS
from ..ckan_adapter.core import model
from ..ckan_adapter.database import is_held
from ..dates import aware
from ..model import CheckRun
from . import labels, visibility
from .labels import counted
from .tables import Row

SILENCE = timedelta(hours=24)
"""The dashboard reports a missing run this long after the last one."""
STALLED = timedelta(hours=24)
"""A run that has not ended after this time was killed."""
NIGHT = timedelta(hours=12)
"""Runs that begin within this time after a check of all links, and before the next one, belong to its night."""

PROBLEMS = ("incomplete", "failed", "interrupted")
"""The states of runs that need a look."""

PARTS = {
    "check": N_("Link checks of the nightly run"),
    "refresh": N_("Statuses of the nightly run"),
    "iati update": N_("IATI cycles of the nightly run"),
    "prune": N_("Clean-up of the nightly run"),
    "report": N_("Daily figures of the nightly run"),
}
"""Titles of the parts of the nightly run."""


def line(run: Any, now: datetime) -> Row:
    """Return a row of ``freshness_run`` as a line of a list.

    :returns: ``id``, ``kind``, ``title``; ``state``: a key of :data:`.labels.RUNS`, and its ``look``;
        ``started_at``, ``ended_at``; the number of ``checks``, None if the run did not count any; of these the
        ``errors``, and the ``unclear`` ones, which could not be made or cannot detect changes; ``error``;
        ``sentences``: what the run did
    """
    figures, state = run.datasets or {}, _state(run, now)
    found = outcomes(run.resources or {}) if run.kind == "check" else Counter[str]()
    is_told = run.kind == "iati" and run.ended_at is not None
    return {
        "id": run.id,
        "kind": run.kind,
        "title": _title(run.kind, run.options or {}),
        "state": state,
        "look": labels.RUNS[state],
        "started_at": aware(run.started_at),
        "ended_at": aware(run.ended_at),
        "checks": run.checked if run.kind in ("check", "iati") else None,
        "errors": found["failed"] if run.kind == "check" else int(figures.get("failed") or 0),
        "unclear": found["blocked"] + found["undetectable"],
        "error": run.error,
        "sentences": _sentences_of_cycle(figures) if is_told else (),
    }


def _title(kind: str, options: Mapping[str, Any]) -> str:
    if kind == "check":
        if ids := options.get("package_ids"):
            forms = NN_("Check of {count} dataset", "Check of {count} datasets")
            return counted(forms, len(ids))
        if options.get("host"):
            return str(tk._("Check of {host}").format(host=options["host"]))
        return str(tk._("Check of all links") if options.get("everything") else tk._("Nightly run"))
    if kind == "iati":
        return str(tk._("IATI cycle") if _is_whole_cycle(options) else tk._("Check of IATI files"))
    if kind == "nightly":
        part = str(options.get("part") or "")
        if part in PARTS:
            return str(tk._(PARTS[part]))
        return str(tk._("Part of the nightly run: {part}").format(part=part or "?"))
    return str(tk._("Run"))


def _is_whole_cycle(options: Mapping[str, Any]) -> bool:
    """Decide whether an update cycle read the registry, so that it checked all files."""
    return options.get("harvest") is not False


def _state(run: Any, now: datetime) -> str:
    if run.error:
        # A run that stopped early has counted nothing.
        return "incomplete" if run.datasets else "failed"
    if run.ended_at is not None:
        return "finished"
    return "running" if _is_alive(run, now) else "interrupted"


def _is_alive(run: Any, now: datetime) -> bool:
    """Decide whether a process is still doing an unfinished run."""
    options = run.options or {}
    if run.kind == "nightly":
        return False
    if run.kind == "iati":
        return is_held(run_records.cycle_lock(str(options.get("source"))))
    if run.kind == "check" and not options.get("queued"):
        return is_held(run_records.lock(run.id))
    # Between two jobs no process holds a lock.
    began: datetime = aware(run.started_at)
    return now - began < STALLED


_CYCLE_SENTENCES = {
    "total_number_of_datasets": NN_(
        "The registry lists {number} dataset.", "The registry lists {number} datasets."
    ),
    "datasets_with_download": NN_("{number} of them has a copy.", "{number} of them have a copy."),
    "datasets_added": NN_("{number} is new.", "{number} are new."),
    "changed": NN_("{number} file changed.", "{number} files changed."),
    "failed": NN_("{number} file failed.", "{number} files failed."),
    "datasets_unregistered": NN_(
        "{number} dataset was unregistered, and its copy was removed.",
        "{number} datasets were unregistered, and their copies were removed.",
    ),
    "datasets_expired": NN_(
        "{number} copy expired because its file had failed for too long.",
        "{number} copies expired because their files had failed for too long.",
    ),
}
"""Sentences about the figures of an update cycle, by figure."""


def _sentences_of_cycle(figures: Mapping[str, Any]) -> list[str]:
    """Return what a cycle did, in sentences; those about zeros are left out."""
    return [
        counted(forms, count, number=labels.number(count))
        for key, forms in _CYCLE_SENTENCES.items()
        if (count := int(figures.get(key) or 0))
    ]


def is_silent(last: datetime | None, now: datetime) -> bool:
    """Decide whether the last check began so long ago that the dashboard must say so.

    :param last: when the newest check of all datasets began; None if there has been none
    """
    return last is None or now - last > SILENCE


def full_checks() -> Any:
    """Return a query for the checks of all datasets, the newest first."""
    options = CheckRun.options
    return (
        model.Session.query(CheckRun)
        .filter(CheckRun.kind == "check")
        .filter(options["package_ids"].astext.is_(None), options["host"].astext.is_(None))
        .order_by(CheckRun.started_at.desc())
    )


def last_check(now: datetime) -> dict[str, Any] | None:
    """Return the ``line`` of the newest check of all datasets, and its ``state``; None if there was none.

    The state is ``late`` if the next check should have come.
    """
    run = full_checks().with_entities(*columns()).first()
    if run is None:
        return None
    shown = line(run, now)
    is_late = shown["state"] == "finished" and is_silent(shown["started_at"], now)
    return {"line": shown, "state": "late" if is_late else shown["state"]}


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

GROUPS = {outcome.value: group for group, outcomes in OUTCOMES.items() for outcome in outcomes}
"""The group of each outcome."""


def outcomes(labels: Mapping[str, int]) -> Counter[str]:
    """Count the resources of a run by the group of their outcome.

    :param labels: numbers of resources by label; resources that were not checked are not counted
    """
    found: Counter[str] = Counter()
    for label, number in labels.items():
        # The outcome is the last part of a label. Labels of resources on the site begin with a prefix.
        group = GROUPS.get(label.rpartition(",")[2])
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


def troubles(hosts: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the hosts whose links could not all be checked, those with most affected links first.

    :returns: each with its ``name``, its ``kind`` (``failing``, ``waiting`` or ``blocked``), the numbers of
        ``affected`` links and of ``checks``, and the ``reason`` why most failed, empty if that is not known
    """
    found = []
    for name, numbers in hosts.items():
        checks, waiting, errors, blocked = (
            int(numbers.get(key, 0)) for key in ("checks", "put_off", "errors", "blocked")
        )
        if errors and errors >= waiting:
            kind, affected = "failing", errors
        elif waiting:
            kind, affected = "waiting", waiting
        elif blocked and blocked == checks:
            kind, affected = "blocked", blocked
        else:
            continue
        if name != ALL_HOSTS:
            reason = _reason(str(numbers.get("reason") or "")) if kind == "failing" else ""
            row = {"name": name, "kind": kind, "affected": affected, "checks": checks}
            found.append({**row, "reason": reason})
    return sorted(found, key=lambda one: (one["kind"] == "blocked", -one["affected"], one["name"]))


def _reason(stored: str) -> str:
    """Return the sentence for the stored reason of a host's errors; empty if it says nothing."""
    if stored.isdecimal():
        return labels.link_problem({"status": int(stored)})
    return labels.link_problem({"reason": stored}) if stored in labels.REASONS else ""


# The page of a run


def page(run_id: str, now: datetime) -> dict[str, Any]:
    """Return what the page of a run shows in words.

    :param run_id: of an existing run
    :returns: ``line``: the run itself; ``outcomes``: numbers of checks by group, as of :data:`OUTCOMES`;
        ``checks``: their sum; ``changed_datasets``: number of datasets with changed files; ``put_off``: number
        of links that wait for the next run; ``sums``: figures of all hosts; ``reasons``: why links were
        checked, in words, with their numbers; ``troubles``: hosts in trouble, as far as their figures are kept;
        ``in_trouble``: number of all of them; ``turns``: numbers of datasets by their status before and after;
        ``is_newest``: no later check of all links has begun; ``others``: the other runs of the same night, of
        which ``failed_parts`` have a problem; ``datasets``: name and title of those that were asked for
    """
    run = model.Session.query(CheckRun).get(run_id)
    hosts, options = run.hosts or {}, run.options or {}
    sums, found = hosts.get(ALL_HOSTS, {}), troubles(hosts)
    ids = options.get("package_ids") or ()
    is_whole = run.kind == "check" and not ids and not options.get("host")
    until = _next_night(run) if is_whole else None
    others = [line(other, now) for other in _same_night(run, until)] if is_whole else []
    counts = outcomes(run.resources or {})
    return {
        "line": line(run, now),
        "outcomes": counts,
        "checks": counts.total(),
        "changed_datasets": changed_datasets(run.datasets or {}) if run.kind == "check" else 0,
        "put_off": int(sums.get("put_off", 0)),
        "sums": sums,
        "reasons": labels.chosen(sums),
        "troubles": found,
        "in_trouble": max(int(sums.get("in_trouble", 0)), len(found)),
        "turns": _turns(run, until, is_whole=is_whole),
        "is_newest": is_whole and until is None,
        "others": others,
        "failed_parts": sum(other["state"] in PROBLEMS for other in others),
        "datasets": _titles(ids),
    }


def _next_night(run: Any) -> datetime | None:
    table = CheckRun.__table__
    following = full_checks().filter(table.c.started_at > run.started_at)
    row = following.order_by(None).order_by(table.c.started_at).first()
    return None if row is None else row.started_at


def _same_night(run: Any, until: datetime | None) -> list[Any]:
    """Return the failed parts of a night, and the first run of each other kind and source."""
    table = CheckRun.__table__
    end = run.started_at + NIGHT if until is None else min(until, run.started_at + NIGHT)
    rows = (
        model.Session.query(*columns())
        .filter(table.c.kind != "check")
        .filter(table.c.started_at >= run.started_at, table.c.started_at < end)
        .order_by(table.c.started_at, table.c.id)
    )
    first: dict[tuple[str, str], Any] = {}
    for row in rows:
        if row.kind == "iati" and not _is_whole_cycle(row.options or {}):
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
    }
    return list(map(tuple, visibility.rows(_TURNS, **values)))


def _titles(ids: Iterable[str]) -> list[tuple[str, str]]:
    return list(map(tuple, visibility.rows(_TITLES, ids=list(ids)[:_NAMED])))


# The list of runs


def filters() -> tuple[str, ...]:
    """Return the filters of the list of runs."""
    return tuple(_conditions())


def listed(only: str | None, number: int, size: int, now: datetime) -> tuple[list[Row], bool]:
    """Return a page of runs, the newest first, and whether there are more.

    :param only: one of :func:`filters`; None for all
    :param number: of the page, counted from 1
    """
    table = CheckRun.__table__
    query = model.Session.query(*columns()).order_by(table.c.started_at.desc(), table.c.id)
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
        "iati": table.c.kind == "iati",
        "asked": sa.and_(is_check, is_asked),
        "problems": sa.or_(table.c.error.is_not(None), table.c.ended_at.is_(None)),
    }


def columns() -> list[Any]:
    """Return the columns of a run without the figures of its hosts, which are large."""
    return [column for column in CheckRun.__table__.c if column.key != "hosts"]


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
