"""What a run of all due checks by the policy ``hdx`` chooses from, read at little cost.

:func:`.selection.choose` and :func:`.selection.may_rotate` leave most resources of a large catalogue alone for
a simple reason: the dataset is fresh or the last check is recent, and the hash is young. SQL recognises these
resources (``_IS_UNCHOSEN``) and counts them in groups of equal facts, and the rules give the reason for one
resource of each group. Every other resource is read as a candidate of its own.

SQL may only leave out what the rules would not choose. A test compares both ways for many catalogues.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter.ckan_core import model
from ..settings import Checks
from .check_rows import (
    CANDIDATE,
    FACTS,
    FLAGS,
    OFFERED,
    fetched_ahead,
    host_counts,
    parameters,
    without_garbage_collection,
)
from .run_counts import RunCounts
from .selection import DAILY, SLACK, Candidate, Selection, SelectionRules, shard_of


@dataclass(frozen=True, slots=True)
class Offer:
    """The resources from which a run chooses.

    :ivar unchosen: groups of resources that the run does not choose: the facts about one of them, without its
        ids, and their number. They are neither new nor touched.
    :ivar candidates: all other resources, in no order
    """

    unchosen: Sequence[tuple[Candidate, int]]
    candidates: Iterator[Candidate]
    _connection: Any

    def package_ids(self) -> Iterator[str]:
        """Yield the datasets of the unchosen resources."""
        rows = self._connection.execute(sa.text(_PACKAGES))
        return iter(rows.scalars().all())


@contextmanager
def opened(
    now: datetime, checks: Checks, rules: SelectionRules, *, shards: Collection[int] | None = None
) -> Iterator[Offer]:
    """Open what a run chooses from. Memory grows with the number of datasets, not with that of resources.

    :param now: start of the run, aware
    :param rules: neither ``everything`` nor ``at_once``
    :param shards: leave out the hosts of other shards; None for all hosts
    """
    hosts = () if shards is None and rules.shards is None else host_counts()
    elsewhere = [host for host in hosts if shards is not None and shard_of(host) not in shards]
    values = {**parameters(now, checks), **_parameters(rules, hosts), "elsewhere": elsewhere}
    statement = _OFFER.format(
        waits=_WAITS if rules.rotation else "true",
        interval=_interval(rules),
        which=_IS_HERE if elsewhere else "",
    )
    with model.Session.get_bind().connect() as connection, connection.begin():
        connection.execute(sa.text("SET LOCAL jit = off"))
        connection.execute(sa.text(statement), values)
        # PostgreSQL expects many groups, and would sort all rows.
        connection.execute(sa.text("SET LOCAL work_mem = '64MB'"))
        groups = connection.execute(sa.text(_GROUPS)).all()
        yield Offer(
            [(Candidate(*row[:-1]), row.number) for row in groups],
            (Candidate(*row) for row in fetched_ahead(connection, _CANDIDATES, {})),
            connection,
        )


def offer_all(
    selection: Selection,
    now: datetime,
    checks: Checks,
    rules: SelectionRules,
    shards: Collection[int] | None = None,
    counts: RunCounts | None = None,
) -> None:
    """Offer all resources to a selection.

    :param now: start of the run, aware
    :param rules: of the selection, neither ``everything`` nor ``at_once``
    :param shards: only the hosts of these shards; None for all hosts
    :param counts: count the resources here, too
    """
    with without_garbage_collection(), opened(now, checks, rules, shards=shards) as offer:
        for example, number in offer.unchosen:
            reason = selection.count(example, number)
            if counts is not None:
                counts.unchosen(reason, number)
        if counts is not None:
            counts.known(offer.package_ids())
        for candidate in offer.candidates:
            reason = selection.add(candidate)
            if counts is not None:
                counts.chosen(candidate, reason)


def _parameters(rules: SelectionRules, hosts: Collection[str]) -> dict[str, Any]:
    shards, intervals = rules.shards, rules.intervals
    held = [host for host in hosts if shards is not None and shard_of(host) not in shards]
    return {
        "left_out": [*rules.internal_hosts, *rules.adhoc_hosts, *held],
        "rotation": rules.rotation - SLACK,
        "unread": rules.longest_back_off - SLACK,
        "interval": intervals.above - SLACK,
        **{f"interval_{n}": every - SLACK for n, (_, every) in enumerate(intervals.steps)},
    }


def _interval(rules: SelectionRules) -> str:
    """Return SQL of :meth:`.selection.Intervals.of`, less the slack."""
    steps = (
        f"WHEN d.frequency_days BETWEEN 1 AND {highest} THEN CAST(:interval_{number} AS interval)"
        for number, (highest, _) in enumerate(rules.intervals.steps)
    )
    return f"CASE {' '.join(steps)} WHEN true THEN CAST(:interval AS interval) END"


_NOW = "CAST(:now AS timestamp)"
_VISITED, _HASHED = CANDIDATE["visited_at"], CANDIDATE["hashed_at"]

_IS_RECENT = f"coalesce({_VISITED} > {_NOW} - {{interval}}, false)"
"""SQL: whether the last check of a resource without failures is recent."""

_WAITS = f"""(
    coalesce({_HASHED} > {_NOW} - CAST(:rotation AS interval), false)
    OR NOT coalesce(c.succeeded_at >= c.tried_at, false)
    AND coalesce({_VISITED} > {_NOW} - CAST(:unread AS interval), false)
)"""
"""SQL: whether the rotation may not choose a resource."""

# What is counted of a resource besides the reason makes it a candidate.
_IS_UNCHOSEN = f"""(
    NOT is_new AND NOT is_touched AND NOT requestable AND (
        url_type = 'upload' OR archived OR left_out_host IS NOT NULL
        OR NOT unconfirmed AND failures = 0 AND waits AND (
            coalesce(frequency_days, 0) <= 0 OR is_recent OR frequency_days <> {DAILY} AND is_fresh
        )
    )
) IS TRUE"""

_OF_GROUP = {
    "left_out_host": "CASE WHEN c.host IN (SELECT unnest(CAST(:left_out AS text[]))) THEN c.host END",
    "is_fresh": f"coalesce(d.due > {_NOW}, false)",
    "is_recent": _IS_RECENT,
}
"""SQL of facts by which unchosen resources are grouped, besides those of candidates."""
_KEPT = ("package_id", "host", "assessed", "frequency_days", "due", "archived", "visited_at")
"""The facts of candidates that groups need, too."""

# Each fact is computed once: without OFFSET, PostgreSQL computes it anew wherever it is used.
_OFFER = f"""
CREATE TEMPORARY TABLE freshness_offer ON COMMIT DROP AS
WITH flags AS MATERIALIZED {FLAGS}
SELECT is_unchosen, coalesce(url_type = 'upload', false) AS is_upload, {", ".join((*_OF_GROUP, *_KEPT))},
    {", ".join(f"CASE WHEN NOT is_unchosen THEN {name} END AS {name}" for name in FACTS if name not in _KEPT)}
FROM (
    SELECT *, {_IS_UNCHOSEN} AS is_unchosen FROM (
        SELECT {", ".join(f"{sql} AS {name}" for name, sql in (CANDIDATE | _OF_GROUP).items())},
            {{waits}} AS waits
        {OFFERED.format(flags="flags")}{{which}} OFFSET 0
    ) facts OFFSET 0
) told"""
_IS_HERE = " AND c.host NOT IN (SELECT unnest(CAST(:elsewhere AS text[])))"

_EXAMPLE = dict.fromkeys(FACTS, "NULL") | {
    **dict.fromkeys(("resource_id", "package_id"), "''"),
    "url_type": "CASE WHEN is_upload THEN 'upload' END",
    **{name: f"max({name})" for name in ("host", "due", "visited_at")},
    **{name: name for name in ("assessed", "frequency_days", "archived")},
    **dict.fromkeys(("requestable", "unconfirmed", "is_new", "is_touched"), "false"),
    **{"has_hash": "true", "failures": "0"},
}
_GROUPS = f"""
SELECT {", ".join(_EXAMPLE.values())}, count(*) AS number FROM freshness_offer WHERE is_unchosen
GROUP BY is_upload, assessed, frequency_days, archived, {", ".join(_OF_GROUP)}"""
_PACKAGES = "SELECT DISTINCT package_id FROM freshness_offer WHERE is_unchosen"
_CANDIDATES = f"SELECT {', '.join(FACTS)} FROM freshness_offer WHERE NOT is_unchosen"
