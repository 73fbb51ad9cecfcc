"""Runs: their counts by HDX's labels, their rows in the database, and the names of their locks.

The label of a resource says how its metadata changed since the previous run, with a prefix if it is not
checked, and the outcome of its check. The label of a dataset says its status and what was updated.
:class:`.decisions.Outcome` has a few outcomes more than HDX's process.

Memory grows with the number of datasets and of checked hosts, not with the number of resources.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Flag, auto
from importlib.metadata import version
from typing import Any

import sqlalchemy as sa

from ..aging.evidence import Evidence
from ..aging.status import Boundaries, Status, status_at
from ..aging.vocabularies import AS_NEEDED, LIVE, NEVER
from ..ckan_adapter.core import model
from ..dates import utc
from ..model import CheckRun, FreshnessTransition
from .decisions import OUTCOMES, CheckResult, Outcome, ResourceToCheck
from .selection import Candidate, LeftOut

ALL_HOSTS = "*"
"""The key of a run's figures of all hosts; no host can have this name."""

FIRST_RUN = "firstrun"
"""The label of a resource that no run has seen at this URL."""
NOTHING = "nothing"
FILESTORE = "filestore"
"""The label of a resource whose own date is later than at the previous run."""


class DatasetFact(Flag):
    """What a run has found about a dataset. A Flag, since a run keeps one for each dataset of the catalogue."""

    NOTHING = 0
    NEW = auto()
    """It has a resource that no run has seen before."""
    KNOWN = auto()
    """It has another resource."""
    ERROR = auto()
    """A check ended with an error."""
    RESULT = auto()
    """A check ended with another outcome."""
    LEFT_OUT = auto()
    """Neither the dataset nor its resources are counted."""
    FILESTORE = auto()
    """This date, like the following ones, is later than at the previous run."""
    REVIEW = auto()
    SCRIPT = auto()
    HTTP_HEADER = auto()
    HASH = auto()


_NEWER_LABELS = {
    DatasetFact.FILESTORE: FILESTORE,
    DatasetFact.REVIEW: "review date",
    DatasetFact.SCRIPT: "script update",
    DatasetFact.HTTP_HEADER: "http header",
    DatasetFact.HASH: "hash",
}
"""In the order in which a label joins them."""

_HAS_RESOURCES = DatasetFact.NEW | DatasetFact.KNOWN

STATUSES = {
    Status.FRESH: "0: Fresh",
    Status.DUE: "1: Due",
    Status.OVERDUE: "2: Overdue",
    Status.DELINQUENT: "3: Delinquent",
    Status.UNAVAILABLE: "Freshness Unavailable",
}
"""HDX's labels of statuses."""

FREQUENCIES = {LIVE: "live", NEVER: "never", AS_NEEDED: "as needed"}
"""The update frequencies that are counted, with their keys in a run's row."""

_OF_METADATA = {
    FIRST_RUN: DatasetFact.NEW,
    NOTHING: DatasetFact.KNOWN,
    FILESTORE: DatasetFact.KNOWN | DatasetFact.FILESTORE,
}

_PLACES: Mapping[LeftOut | None, str] = {
    LeftOut.INTERNAL: "internal-",
    LeftOut.AD_HOC: "adhoc-",
}
"""Prefixes of the labels of resources that are never checked, because of their place."""


def metadata_change(resource: Candidate | ResourceToCheck) -> str:
    """Return the label of the change of a resource's metadata since the previous run."""
    if resource.is_new:
        return FIRST_RUN
    return FILESTORE if resource.is_touched else NOTHING


def _label_of_check(result: CheckResult) -> str:
    """Return the label of a checked resource."""
    metadata = metadata_change(result.resource)
    parts = [FILESTORE] if metadata == FILESTORE else []
    if result.modified is not None and result.outcome is not Outcome.HEADER:
        parts.append(Outcome.HEADER.value)
    return ",".join([*parts, result.outcome.value])


def _label_of_dataset(facts: DatasetFact) -> str:
    if not facts & _HAS_RESOURCES:
        return "no resources"
    parts = [label for date, label in _NEWER_LABELS.items() if date in facts]
    if not parts:
        parts = [NOTHING if DatasetFact.KNOWN in facts else FIRST_RUN]
    # HDX's rule: an error only if no check had another outcome.
    if DatasetFact.ERROR in facts and DatasetFact.RESULT not in facts:
        parts.append("error")
    return ",".join(parts)


class RunCounts:
    """The counts of a run.

    First call :meth:`chosen` once for each resource, then :meth:`checked` for those that were checked, then
    :meth:`dataset` once for each dataset.

    :ivar checks: number of checks
    :ivar errors: number of checks that ended with an error
    :ivar put_off: resources that were not checked, because their hosts gave no answer to other checks
    :ivar newly_broken: links that counted as broken after their check, but not before
    :ivar repaired: links that counted as broken before their check, but not after
    :ivar longest_days: the longest interval between two checks, in days, if the policy ``learned`` had to
        stretch it; else 0
    """

    def __init__(self) -> None:
        self._resources: Counter[str] = Counter()
        self._facts: dict[str, DatasetFact] = {}
        self._datasets: Counter[str] = Counter()
        self._frequencies: Counter[str] = Counter()
        self._hosts: set[str] = set()
        self._bytes = 0
        self.checks = 0
        self.errors = 0
        self.put_off = 0
        self.newly_broken = 0
        self.repaired = 0
        self.longest_days = 0

    def chosen(self, candidate: Candidate, reason: LeftOut | None) -> None:
        """Count a resource as not checked.

        :param reason: that a selection gave
        """
        if candidate.requestable:
            self.updated(candidate.package_id, DatasetFact.LEFT_OUT)
            return
        metadata = metadata_change(candidate)
        self._resources[_PLACES.get(reason, "") + metadata] += 1
        self.updated(candidate.package_id, _OF_METADATA[metadata])

    def checked(self, result: CheckResult) -> None:
        """Count a resource as checked that was counted as not checked."""
        if result.is_put_off:
            self.put_off += 1
            return
        self._resources[metadata_change(result.resource)] -= 1
        self._resources[_label_of_check(result)] += 1
        is_error = OUTCOMES[result.outcome].group == "failed"
        facts = DatasetFact.ERROR if is_error else DatasetFact.RESULT
        if result.modified is not None:
            facts |= DatasetFact.HTTP_HEADER
        if result.outcome is Outcome.CHANGED:
            facts |= DatasetFact.HASH
        self.updated(result.resource.package_id, facts)
        self.checks += 1
        self.errors += is_error
        self._bytes += result.attempt.received
        self._hosts.add(result.host)

    def updated(self, package_id: str, facts: DatasetFact) -> None:
        """Note facts of a dataset, such as its review or an update by a script, which no check finds."""
        self._facts[package_id] = self._facts.get(package_id, DatasetFact.NOTHING) | facts

    def dataset(self, package_id: str, status: Status, frequency_days: int | None) -> None:
        """Count a dataset with its status after the run."""
        facts = self._facts.get(package_id, DatasetFact.NOTHING)
        if DatasetFact.LEFT_OUT in facts:
            return
        self._datasets[f"{STATUSES[status]}, Updated {_label_of_dataset(facts)}"] += 1
        if facts & _HAS_RESOURCES and frequency_days in FREQUENCIES:
            self._frequencies[FREQUENCIES[frequency_days]] += 1

    def columns(self) -> dict[str, Any]:
        """Return all counts, by the columns of ``freshness_run``."""
        figures = {
            "bytes": self._bytes,
            "hosts": len(self._hosts),
            "put_off": self.put_off,
            "newly_broken": self.newly_broken,
            "repaired": self.repaired,
        }
        return {
            # Without the labels of resources that have others since.
            "resources": dict(+self._resources),
            "datasets": dict(self._datasets),
            "frequencies": {name: self._frequencies[name] for name in FREQUENCIES.values()},
            "hosts": {ALL_HOSTS: figures},
            "checked": self.checks,
        }


# Rows

CHECKING = "checking"
"""The name of the lock that keeps two runs off the same hosts."""


def begin_run(
    now: datetime, options: Mapping[str, Any], *, kind: str = "check", run_id: str | None = None
) -> str:
    """Store the beginning of a run, commit, and return the run's id.

    :param now: aware
    :param options: how the run was called, as JSON. ``package_ids`` names its datasets if it is not a run of
        all; ``lock`` names the lock that its process holds if it is not :func:`lock`
    """
    run_id = run_id or str(uuid.uuid4())
    model.Session.add(
        CheckRun(
            id=run_id,
            kind=kind,
            started_at=utc(now),
            options=dict(options),
            version=version("ckanext-freshness"),
        )
    )
    model.Session.commit()
    return run_id


def lock(run_id: str) -> str:
    """Return the name of the lock that a process holds as long as it does the run."""
    return f"run {run_id}"


def count_checks(run_id: str, number: int) -> None:
    """Add checks to the number of a run that goes on, and commit."""
    _update(run_id, checked=_checked() + number)


def end_run(
    run_id: str,
    now: datetime,
    counts: Mapping[str, Any] | None = None,
    *,
    error: str | None = None,
) -> None:
    """Store the end of a run and its counts, and commit.

    :param counts: by column; None keeps the number of checks that :func:`count_checks` has counted
    :param error: why the run ended early, in words for people; None if it did not
    """
    _update(run_id, ended_at=utc(now), error=error, **(counts or {"checked": _checked()}))


def _checked() -> Any:
    return sa.func.coalesce(CheckRun.checked, 0)


def _update(run_id: str, **values: Any) -> None:
    runs = model.Session.query(CheckRun).filter(CheckRun.id == run_id)
    runs.update(values, synchronize_session=False)
    model.Session.commit()


def prune(now: datetime, *, keep_runs: timedelta, keep_transitions: timedelta) -> list[int]:
    """Delete runs and transitions that are older than they are kept, commit, and return their numbers."""
    runs = model.Session.query(CheckRun).filter(CheckRun.started_at < utc(now - keep_runs))
    transitions = model.Session.query(FreshnessTransition).filter(
        FreshnessTransition.changed_at < utc(now - keep_transitions)
    )
    gone = [int(rows.delete(synchronize_session=False)) for rows in (runs, transitions)]
    model.Session.commit()
    return gone


# Datasets of a run

_UPDATED = {Evidence.REVIEW.value: DatasetFact.REVIEW, Evidence.SCRIPT.value: DatasetFact.SCRIPT}


def with_newer_review_or_script(run_id: str) -> Iterator[tuple[str, DatasetFact]]:
    """Yield the datasets that were reviewed or updated by a script since the last run that included them.

    Only runs count that have stored their counts: news from before a killed run are still news.
    """
    rows = model.Session.execute(sa.text(_NEWER), {"run": run_id, "evidence": list(_UPDATED)}).all()
    for package_id, evidence in rows:
        yield package_id, _UPDATED[evidence]


def statuses(
    now: datetime, package_types: Collection[str], package_ids: Sequence[str] | None = None
) -> Iterator[tuple[str, Status, int | None]]:
    """Yield the assessed active datasets of some types: id, status at ``now`` and update frequency.

    :param package_ids: only these
    """
    values = {"types": sorted(package_types), "ids": list(package_ids or ())}
    statement = _STATUSES if package_ids is None else f"{_STATUSES} AND d.package_id = ANY(:ids)"
    moment = utc(now)
    streamed = {"stream_results": True, "max_row_buffer": 1000}
    for row in model.Session.execute(sa.text(statement), values, execution_options=streamed):
        status = Status(row.status)
        if row.due is not None:
            status = status_at(Boundaries(row.due, row.overdue, row.delinquent), moment)
        yield row.package_id, status, row.frequency_days


_NEWER = """
SELECT e.package_id, e.evidence FROM freshness_evidence e, freshness_run this
WHERE this.id = :run AND e.resource_id = '' AND e.evidence = ANY(:evidence) AND e.happened_at > (
    SELECT max(before.started_at) FROM freshness_run before
    WHERE before.kind = this.kind AND before.started_at < this.started_at
    AND before.datasets <> '{}' AND (before.options ->> 'package_ids' IS NULL
        OR before.options -> 'package_ids' @> to_jsonb(e.package_id))
    AND (before.options ->> 'host' IS NULL OR EXISTS (SELECT FROM freshness_check c
        WHERE c.package_id = e.package_id AND c.host = before.options ->> 'host'))
)"""

_STATUSES = """
SELECT d.package_id, d.status, d.due, d.overdue, d.delinquent, d.frequency_days
FROM freshness_dataset d JOIN package p ON p.id = d.package_id
WHERE p.state = 'active' AND p.type = ANY(:types)"""
