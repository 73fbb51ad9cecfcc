"""An estimate of how long a run of checks takes, made before it starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa

from ..checking.run_counts import ALL_HOSTS
from ..ckan_adapter.core import model
from ..web.hosts import HostPolicy

USUAL_SECONDS = 0.5
"""Seconds of a request to a host that no run has met yet."""

CPU_SECONDS = 0.003
"""Seconds that a check keeps one process busy, with the update of the search index."""

PAST_RUNS = 7


@dataclass(frozen=True, slots=True)
class HostEstimate:
    """The checks of one host.

    :ivar per_second: requests that its limits allow in a second
    """

    host: str
    checks: int
    per_second: float
    seconds: float


@dataclass(frozen=True, slots=True)
class PastRun:
    """A complete run of all due checks.

    :ivar request_seconds: mean seconds of a request, by host; under :data:`ALL_HOSTS` that of all hosts
    """

    started_at: datetime
    seconds: float
    checks: int
    request_seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """How long a run takes.

    :ivar hosts: all hosts to check, those that take longest first
    :ivar past: complete runs, the newest first
    """

    checks: int
    seconds: float
    hosts: Sequence[HostEstimate]
    past: Sequence[PastRun]


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of a run.

    :ivar policies: limits of hosts that have their own
    :ivar concurrency: checks at a time
    """

    policy: HostPolicy
    policies: Mapping[str, HostPolicy]
    concurrency: int


def estimate(hosts: Iterable[str], limits: RunLimits, past: Sequence[PastRun]) -> RunEstimate:
    """Estimate how long a run takes. Pure.

    A run ends when the last of three is done: its slowest host, bound by that host's limits; all
    requests, bound by the number of checks at a time; and its own computations. Second downloads, redirects
    and repeated requests are left out: compare the estimate with the past runs.

    :param hosts: the host of each check
    """
    known = past[0].request_seconds if past else {}
    usual = known.get(ALL_HOSTS, USUAL_SECONDS)
    counts = Counter(hosts)
    found = []
    waiting = 0.0
    for host, checks in counts.items():
        policy = limits.policies.get(host, limits.policy)
        request = known.get(host, usual)
        per_second = min(policy.per_second, policy.connections / request)
        waiting += checks * request / limits.concurrency
        found.append(HostEstimate(host, checks, per_second, checks / per_second))
    found.sort(key=lambda one: (-one.seconds, one.host))
    slowest = found[0].seconds if found else 0.0
    seconds = max(slowest, waiting, counts.total() * CPU_SECONDS)
    return RunEstimate(counts.total(), seconds, found, past)


def past_runs() -> list[PastRun]:
    """Return the latest complete runs of all due checks, the newest first."""
    rows = model.Session.execute(sa.text(_PAST), {"number": PAST_RUNS})
    return [
        PastRun(
            row.started_at,
            (row.ended_at - row.started_at).total_seconds(),
            row.visited,
            {
                host: figures["seconds"] / figures["visits"]
                for host, figures in (row.hosts or {}).items()
                if figures.get("visits") and figures.get("seconds")
            },
        )
        for row in rows
    ]


# CheckScope.is_whole of a run that has ended.
_PAST = """
SELECT started_at, ended_at, visited, hosts FROM freshness_run
WHERE kind = 'check' AND ended_at IS NOT NULL AND error IS NULL AND visited > 0
AND options->>'package_ids' IS NULL AND options->>'host' IS NULL
AND NOT COALESCE((options->>'everything')::boolean, false)
ORDER BY started_at DESC LIMIT :number"""
