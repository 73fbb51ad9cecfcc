"""What people are told of: facts that last, read from the tables, and the problems of runs.

Each function yields all that lasts at a moment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from itertools import zip_longest
from typing import Any

import ckan.plugins as p

from ..ckan_adapter.core import model
from ..dates import aware, utc
from ..harvesting import holds
from ..model import CheckRun, HarvestHold
from ..model.datasets import IS_OPEN
from ..model.runs import CHECKED_LINKS
from ..reporting import harvest_sql, report_tables
from ..reporting.runs import SILENCE
from ..reporting.tables import TableRequest
from ..reporting.visibility import SITE, rows
from . import recipients
from .recipients import Receivers

NIGHT = timedelta(hours=12)
"""The longest time between two changes that one check of all links finds."""
RECENT = timedelta(days=7)
"""How long a change of data, or a link that works again, can be told of."""


@dataclass(frozen=True, slots=True)
class News:
    """A fact that people are told of once, as long as it lasts. If it returns, it is news again.

    :ivar about: its identity among the news of its kind
    :ivar package_id: the dataset that it is about, if any
    :ivar details: values for its row in a mail; for editors, with the ``owner_org`` of the harvest source
    :ivar is_open: whether somebody must act. If not, nobody is told, but the fact lasts: it is no news when
        somebody must act again
    :ivar at: when it happened: followers are told only if they followed the dataset then
    """

    about: str
    receivers: Receivers
    package_id: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    is_open: bool = True
    at: datetime | None = None


def overdue(now: datetime) -> Iterator[News]:
    """Yield overdue datasets for those who look after them, and delinquent ones for the operators.

    Also datasets whose files change while their data end with the same period.
    """
    yield from _crossed(("overdue", "delinquent"), Receivers.KEEPERS, now)
    yield from _crossed(("delinquent",), Receivers.OPERATORS, now)
    standing = _STANDING.format(open=IS_OPEN.format(row="d"))
    for row in rows(standing, today=now.date().isoformat()):
        about = f"stands:{row.package_id}:{row.data_until}"
        yield News(about, Receivers.KEEPERS, row.package_id, dict(row._mapping))


def _crossed(statuses: tuple[str, ...], receivers: Receivers, now: datetime) -> Iterator[News]:
    """Yield the datasets that have crossed the date of the first of some statuses, and are beyond it.

    A dataset's first status is no news, since it may be years old. Neither is the status that it gets back if
    a confirmation is withdrawn, nor an old date that a check finds at its server, nor a change of the site's
    thresholds, which could affect thousands of datasets. Ignored datasets are left out.
    """
    crossed = _CROSSED.format(date=statuses[0], open=IS_OPEN.format(row="d"))
    today = now.date().isoformat()
    for row in rows(crossed, statuses=list(statuses), now=utc(now), today=today):
        # Not the id of a change: a status that goes and comes back before the next mail is no news.
        about = f"{statuses[0]}:{row.package_id}"
        yield News(about, receivers, row.package_id, at=aware(row.crossed_at))


_CROSSED = """
SELECT t.package_id, d.{date} AS crossed_at FROM (
    SELECT DISTINCT ON (package_id) package_id, from_status, cause FROM freshness_transition
    WHERE to_status = ANY(:statuses) AND coalesce(from_status, '') <> ALL(:statuses)
        AND cause <> 'withdrawal'
    ORDER BY package_id, id DESC
) t JOIN freshness_dataset d ON d.package_id = t.package_id AND d.{date} <= :now
WHERE t.from_status IS NOT NULL AND t.cause NOT IN ('recompute', 'check') AND {open}"""


_STANDING = """
SELECT d.package_id, d.data_until, coalesce((
    SELECT max(c.changed_at) FROM freshness_check c WHERE c.package_id = d.package_id
), d.last_modified) AS changed_at FROM freshness_dataset d
WHERE d.data_stands_since IS NOT NULL AND d.last_modified IS NOT NULL AND {open}"""


def broken_links(now: datetime) -> Iterator[News]:
    """Yield the broken links that nobody ignores."""
    for row in report_tables.OPEN_BROKEN.read(TableRequest(SITE, now)):
        yield News(row["resource_id"], Receivers.KEEPERS, row["package_id"], dict(row))


# Changes of data


def _changes(condition: str, receivers: Receivers, now: datetime) -> Iterator[News]:
    """Yield the newest recent change of each active dataset that meets a condition.

    Its details also have how many ``files`` of the dataset have changed in the same night.
    """
    statement = _NEWEST.format(changes=f"{_CHANGES} AND {condition}")
    for row in rows(statement, since=utc(now - RECENT), night=NIGHT):
        details = dict(row._mapping)
        yield News(row.id, receivers, row.package_id, details, at=aware(row.seen_at))


def lost_contents(now: datetime) -> Iterator[News]:
    """Yield files that have lost more than half of their rows, a column or a sheet."""
    return _changes(_HAS_LOST, Receivers.KEEPERS, now)


def followed(now: datetime) -> Iterator[News]:
    """Yield datasets with followers whose data have changed, or that became overdue."""
    yield from _changes(_IS_FOLLOWED, Receivers.FOLLOWERS, now)
    late = list(_crossed(("overdue", "delinquent"), Receivers.FOLLOWERS, now))
    statement = f"SELECT p.id FROM package p WHERE p.id = ANY(:ids) AND {_IS_FOLLOWED}"
    ids = {row.id for row in rows(statement, ids=[one.package_id for one in late])}
    yield from (one for one in late if one.package_id in ids)


_CHANGES = """
SELECT c.id, c.package_id, c.resource_id, c.seen_at, c.evidence, c.summary,
    r.name AS resource, r.url
FROM freshness_change c JOIN package p ON p.id = c.package_id AND p.state = 'active' AND p.type = ANY(:types)
LEFT JOIN resource r ON r.id = c.resource_id AND r.state = 'active'
WHERE c.seen_at >= :since AND c.evidence <> 'created'"""
"""SQL: changes of the data of active datasets ``p`` since a moment."""
_NEWEST = """
WITH changes AS ({changes})
SELECT n.*, (
    SELECT count(DISTINCT c.resource_id) FROM changes c
    WHERE c.package_id = n.package_id AND c.seen_at > n.seen_at - :night
) AS files
FROM (SELECT DISTINCT ON (package_id) * FROM changes ORDER BY package_id, seen_at DESC, id) n
ORDER BY n.package_id"""

_HAS_LOST = """(jsonb_array_length(coalesce(c.summary -> 'removed', '[]')) > 0 OR EXISTS (
    SELECT FROM jsonb_array_elements(coalesce(c.summary -> 'tables', '[]')) t
    WHERE 2 * CAST(t -> 'rows' ->> 1 AS bigint) < CAST(t -> 'rows' ->> 0 AS bigint)
        OR jsonb_array_length(coalesce(t -> 'removed', '[]')) > 0))"""

_IS_FOLLOWED = f"p.id IN (SELECT package_id FROM ({recipients.FOLLOWERS}) f)"


# Harvest sources


def held_deletions(now: datetime) -> Iterator[News]:
    """Yield sources whose deletions are held. Another list of records is other news, a decision is none."""
    package = model.Package
    found = (
        model.Session.query(HarvestHold, package)
        .join(package, package.id == HarvestHold.source_id)
        .filter(package.state == "active")
    )
    for hold, source in found.order_by(HarvestHold.source_id):
        decided = holds.decisions(hold)
        guids = "\n".join(sorted({*decided.held, *decided.released}))
        about = f"{hold.source_id}:{hashlib.sha256(guids.encode()).hexdigest()[:16]}"
        details = {
            "name": source.name,
            "title": source.title or source.name,
            "owner_org": source.owner_org,
            "count": len(decided.held),
        }
        is_open = bool(decided.held) and hold.kept_at is None
        yield News(about, Receivers.EDITORS, details=details, is_open=is_open)


def failed_sources(now: datetime) -> Iterator[News]:
    """Yield sources whose last job failed. They are news again each week."""
    for row in _jobs_of_sources():
        if row.failing_since is not None:
            weeks = (utc(now) - row.failing_since) // RECENT
            about = f"{row.id}:{row.failing_since.isoformat()}:{weeks}"
            details = {**row._mapping, "failing_since": aware(row.failing_since)}
            yield News(about, Receivers.EDITORS, details=details)


def working_again(now: datetime) -> Iterator[News]:
    """Yield links and sources that work again, with the people who were ``told`` of their failure."""
    for row in rows(_LINKS_AGAIN, recent=utc(now - RECENT)):
        yield News(row.about, Receivers.KEEPERS, row.package_id, dict(row._mapping))
    told = {row.id: row.told for row in rows(_SOURCES_TOLD, recent=utc(now - RECENT))}
    for row in _jobs_of_sources() if told else ():
        if row.id in told and row.failing_since is None:
            details = {**row._mapping, "told": told[row.id]}
            yield News(f"source:{row.id}", Receivers.EDITORS, details=details)


def _jobs_of_sources() -> Any:
    return rows(harvest_sql.STATES_OF_SOURCES) if p.plugin_loaded("harvest") else ()


_TOLD = """(m.kind = '{failed}' AND m.address <> '' AND m.sent_at IS NOT NULL
    OR m.kind = 'back' AND coalesce(m.sent_at > :recent, true))"""
_LINKS_AGAIN = f"""
SELECT m.about, c.package_id, c.resource_id, r.name AS resource, r.url, array_agg(m.address) AS told
FROM freshness_mail m JOIN ({CHECKED_LINKS}) ON c.resource_id = m.about
WHERE c.failing_since IS NULL AND c.succeeded_at >= c.tried_at AND {_TOLD.format(failed="broken")}
GROUP BY m.about, c.package_id, c.resource_id, r.name, r.url"""
_SOURCES_TOLD = f"""
SELECT split_part(m.about, ':', CASE m.kind WHEN 'back' THEN 2 ELSE 1 END) AS id, array_agg(m.address) AS told
FROM freshness_mail m WHERE {_TOLD.format(failed="source")} GROUP BY 1"""


STALLED = timedelta(hours=24)
"""A run that has not ended after this time was killed."""
FALL_PERCENT = 2
"""A loss of datasets from one run to the next that is no problem yet (HDX's rule)."""


class ProblemKind(str, Enum):
    """A way in which a run can go wrong. The value is stored with the mails about it."""

    FAILED = "failed"
    KILLED = "killed"
    FALLEN = "fallen"
    MISSING = "missing"


def problems_of_runs(now: datetime) -> Iterator[News]:
    """Yield the problems of the newest runs."""
    rows = model.Session.query(CheckRun).order_by(CheckRun.started_at.desc()).limit(_MOST)
    return problems(rows, now)


_MOST = 500
"""Runs to read. Among so many, at least one is a nightly run, the others may be checks of single datasets."""


def problems(runs: Iterable[Any], now: datetime) -> Iterator[News]:
    """Yield the problems of runs and of the gaps between them.

    Checks of a few datasets cover no night and may find no datasets. If there has been no run at all,
    there is no problem: the site has not begun.

    :param runs: rows of ``freshness_run`` in any order, including the last good run before the period of
        interest
    :returns: with ``at``, when the run ended, or began if it has not; ``error``; of a missing run when the run
        before it and the ``until`` next one began; of a fall the number of ``datasets`` and that ``before``
    """
    ordered = sorted(runs, key=lambda run: run.started_at)
    for run in ordered:
        if run.error:
            at = aware(run.ended_at or run.started_at)
            yield _problem(ProblemKind.FAILED, run, at, error=run.error)
    whole = [run for run in ordered if _is_whole(run)]
    before = 0
    for run, following in zip_longest(whole, whole[1:]):
        began, until = aware(run.started_at), following and aware(following.started_at)
        if (until or now) - began > SILENCE:
            yield _problem(ProblemKind.MISSING, run, began, until=until)
        if run.error:
            continue
        if run.ended_at is None:
            if until or now - began > STALLED:
                yield _problem(ProblemKind.KILLED, run, began)
        elif run.datasets is not None:
            count = sum(run.datasets.values())
            if 100 * (before - count) > FALL_PERCENT * before:
                at = aware(run.ended_at)
                yield _problem(ProblemKind.FALLEN, run, at, datasets=count, before=before)
            # Compare with the last run that covered any datasets.
            before = count or before


def _problem(kind: ProblemKind, run: Any, at: datetime, **facts: Any) -> News:
    details = {"kind": kind, "run_kind": run.kind, "at": at, **facts}
    return News(f"{kind.value}:{run.id}", Receivers.OPERATORS, details=details)


def _is_whole(run: Any) -> bool:
    """Return whether a run was a check of all datasets."""
    options = run.options or {}
    return run.kind == "check" and not options.get("package_ids") and not options.get("host")
