"""Runs, as their page shows them: their state, and what their checks found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk

from ..checking import run_records
from ..checking.decisions import OUTCOMES, outcomes_that
from ..checking.run_records import ALL_HOSTS
from ..ckan_adapter.core import model
from ..ckan_adapter.database import is_held
from ..dates import aware
from ..interfaces import IFreshnessOperations, RunKind
from ..model import CheckRun
from . import labels
from .tables import Row

SILENCE = timedelta(hours=26)
"""A nightly run is missing this long after the last one: clocks change, and machines wait."""
NIGHT = timedelta(hours=12)
"""Runs that begin within this time after a check of all links belong to its night."""
NIGHTS = 30
"""The number of nights that are listed."""


def other_kinds() -> Mapping[str, RunKind]:
    """Return the words for the kinds of runs that other plugins store."""
    plugins = p.PluginImplementations(IFreshnessOperations)
    return {kind: words for plugin in plugins for kind, words in plugin.run_kinds().items()}


def line(run: Any) -> Row:
    """Return a row of ``freshness_run`` as a line of a list.

    :returns: ``id``, ``title``; ``state``: a key of :data:`.labels.RUNS`, and its ``look``; ``started_at``,
        ``ended_at``; the number of ``checks``, None if the run did not count any; of these the ``errors``, and
        the ``unclear`` ones, which could not be made or cannot detect changes; ``error``
    """
    state, found = _state(run), outcomes(run.resources or {})
    return {
        "id": run.id,
        "title": _title(run.kind, run.options or {}),
        "state": state,
        "look": labels.RUNS[state],
        "started_at": aware(run.started_at),
        "ended_at": aware(run.ended_at),
        "checks": run.checked,
        "errors": found["failed"],
        "unclear": found["blocked"] + found["undetectable"],
        "error": run.error,
    }


def _title(kind: str, options: Mapping[str, Any]) -> str:
    if kind == "check":
        return str(tk._("Check of all links") if options.get("everything") else tk._("Nightly run"))
    if kind == "nightly":
        return str(tk._("Part of the nightly run: {part}").format(part=options["part"]))
    words = other_kinds().get(kind)
    return str(tk._("Run") if words is None else tk._(words.title))


def _state(run: Any) -> str:
    if run.error:
        # A run that stopped early has counted nothing.
        return "incomplete" if run.datasets else "failed"
    if run.ended_at is not None:
        return "finished"
    return "running" if _is_alive(run) else "interrupted"


def _is_alive(run: Any) -> bool:
    """Decide whether a process is still doing an unfinished run."""
    if run.kind == "nightly":
        return False
    return is_held((run.options or {}).get("lock") or run_records.lock(run.id))


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
    run = full_checks().first()
    if run is None:
        return None
    shown = line(run)
    is_late = shown["state"] == "finished" and is_silent(shown["started_at"], now)
    return {"line": shown, "state": "late" if is_late else shown["state"]}


# What the checks of a run found

_GROUPS = {outcome.value: traits.group for outcome, traits in OUTCOMES.items()}
_CHANGED = outcomes_that(lambda traits: traits.group == "changed")


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
    return sum(
        number
        for label, number in labels.items()
        if _CHANGED & set(label.partition(", Updated ")[2].split(","))
    )


# The page of runs

FIELDS = ("id", "started_at", "ended_at", "state", "checks", "errors", "unclear", "error")
"""The columns of the list of nights in files."""


def nights() -> list[Row]:
    """Return the newest :data:`NIGHTS` checks of all links as lines, the newest first."""
    return [line(row) for row in full_checks().limit(NIGHTS)]


def last_night() -> dict[str, Any] | None:
    """Return what the page of runs shows of the newest check of all links; None before the first.

    :returns: ``line``: the run itself; ``outcomes``: numbers of checks by group, see
        :class:`..checking.decisions.OutcomeTraits`; ``colours``: of the groups, in their order;
        ``checks``: their sum; ``changed_datasets``: number of datasets with changed files; ``put_off``: number
        of links that wait for the next run; ``sums``: figures of all hosts; ``failed_parts``: the other runs of
        the night that ended with an error, as lines
    """
    run = full_checks().first()
    if run is None:
        return None
    sums = (run.hosts or {}).get(ALL_HOSTS, {})
    counts = outcomes(run.resources or {})
    return {
        "line": line(run),
        "outcomes": counts,
        "colours": {group: colour for group, (colour, _) in labels.FOUND.items()},
        "checks": counts.total(),
        "changed_datasets": changed_datasets(run.datasets or {}),
        "put_off": int(sums.get("put_off", 0)),
        "sums": sums,
        "failed_parts": [line(part) for part in _failed_parts(run)],
    }


def _failed_parts(run: Any) -> list[Any]:
    """Return the other runs of the night of a check of all links that ended with an error."""
    table = CheckRun.__table__
    rows = (
        model.Session.query(CheckRun)
        .filter(table.c.kind != "check", table.c.error.is_not(None))
        .filter(table.c.options["package_ids"].astext.is_(None))
        .filter(table.c.started_at.between(run.started_at, run.started_at + NIGHT))
        .order_by(table.c.started_at, table.c.id)
    )
    return list(rows)


# HDX's layout

_FREQUENCIES = {"live": "Live", "never": "Never", "as needed": "As Needed"}


def hdx_text(run: Mapping[str, Mapping[str, int]]) -> str:
    """Return the counts of a run in the layout of HDX's data freshness process, which scripts parse.

    Labels are sorted by code point. Every line of a list but the last ends with a comma.

    :param run: ``resources`` and ``datasets``, by label, and ``frequencies``
    """
    lines = [
        "*** Resources ***",
        _counts(run["resources"]),
        "",
        "*** Datasets ***",
        _counts(run["datasets"]),
        "",
    ]
    lines += [
        f"{run['frequencies'].get(key, 0)} datasets have update frequency of {words}"
        for key, words in _FREQUENCIES.items()
    ]
    return "\n".join(lines)


def _counts(counts: Mapping[str, int]) -> str:
    total = f"* total: {sum(counts.values())} *"
    return ",\n".join([total, *(f"{label}: {counts[label]}" for label in sorted(counts))])
