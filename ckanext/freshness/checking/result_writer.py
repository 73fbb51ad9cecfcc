"""Writes results of checks to the database: many in one statement, each whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter.core import model
from ..ckan_adapter.database import lock_checks_shared
from ..ckan_adapter.packages import lock_packages
from ..dates import utc, utc_text
from ..web.errors import FailureReason
from . import data_changes
from .decisions import OUTCOMES, Attempt, CheckResult, Outcome
from .stored_values import as_json

ATTEMPTS = 5
"""Number of checks that are stored of a resource."""


_TRAITS = ("found", "hashed", "tells", "undetermined", "is_new_content")
_TRAIT_COLUMNS = {
    outcome: {name: getattr(traits, name) for name in _TRAITS}
    for outcome, traits in OUTCOMES.items()
}

_NOT_ASKED = frozenset(
    {
        FailureReason.HOST_DEFERRED.value,
        FailureReason.HOST_SILENT.value,
        FailureReason.NO_ROUTE.value,
        FailureReason.PROXY.value,
        FailureReason.OUT_OF_SOCKETS.value,
        FailureReason.NO_ROOM.value,
    }
)
"""Failures that are not the URL's: the resource counts as not checked, so that the next run checks it."""


def write(results: Sequence[CheckResult], run_start: datetime) -> list[tuple[CheckResult, Any]]:
    """Write results into the rows of their resources; nothing is committed.

    The rows of the datasets in CKAN's own table stay locked until the transaction ends, as with everything that
    writes datasets. If two results are about the same resource, the last one counts.

    :param run_start: from which intervals count, aware
    :returns: the results that were written, each with a row of the resource's own fields (``url_type``,
        ``last_modified``, ``size``, ``mimetype``, ``hash``), what a check has written into them (``wrote``, see
        :mod:`.fields`), whether ``undetermined`` has changed (``undetermined_changed``), and its
        failures after and before the check (``failures``, ``failures_before``, ...). If the check shows that
        data have changed, ``was`` has the earlier ``attempts``, ``succeeded_at`` and ``shape``. Results for
        resources that are gone, or have another URL since, are not written.
    """
    by_id = {result.resource.resource_id: result for result in results}
    if not by_id:
        return []
    lock_packages({result.resource.package_id for result in by_id.values()})
    lock_checks_shared(model.Session)
    values = {
        "rows": as_json([_row(result) for result in by_id.values()]),
        "run_start": utc(run_start),
    }
    rows = model.Session.execute(sa.text(_WRITE), values).all()
    return [(by_id[row.resource_id], row) for row in rows]


def _row(result: CheckResult) -> dict[str, Any]:
    """Return the columns of :data:`_COLUMNS` for a result. Missing columns become NULL."""
    resource, attempt = result.resource, result.attempt
    row = {
        "resource_id": resource.resource_id,
        "url": resource.url,
        **_TRAIT_COLUMNS[result.outcome],
        "known": result.known,
        "checked": attempt.reason not in _NOT_ASKED,
        "failed": result.outcome is Outcome.ERROR,
        "at": utc(attempt.at).isoformat(),
        "changed_at": utc_text(result.changed_at),
        "shape": result.shape,
        "attempt": _stored_attempt(attempt),
        "hides_changes": result.hides_changes,
        "moved_to": result.moved_to,
        "change_seen": _change_seen(result),
    }
    return _without_empty(row)


def _stored_attempt(attempt: Attempt) -> dict[str, Any]:
    """Return a check as an entry of ``attempts``."""
    as_text = {
        "at": utc_text(attempt.at),
        "method": "GET",
        "outcome": attempt.outcome.value,
        "seconds": round(attempt.seconds, 3),
        "modified": utc_text(attempt.modified),
        "outdated_tls": attempt.outdated_tls or None,
    }
    return _without_empty(attempt._asdict() | as_text)


def _without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _change_seen(result: CheckResult) -> bool | None:
    """Return whether the file has changed since the previous check; None if that is not known."""
    if data_changes.evidence_of(result) is not None:
        return True
    return False if OUTCOMES[result.outcome].is_unchanged else None


_COLUMNS = """
    resource_id text, url text, known jsonb, checked boolean, failed boolean,
    found boolean, hashed boolean, tells boolean, undetermined text, is_new_content boolean, at timestamp,
    changed_at timestamp, shape jsonb, attempt jsonb, change_seen boolean, hides_changes boolean,
    moved_to text"""

_LEAST_DAYS, _MOST_DAYS = 1 / 24, 1e5
"""Limits of the days between two checks: a clock may have gone back, or wrong."""

_WATCHED = f"""CASE WHEN f.change_seen IS NOT NULL THEN
        least(greatest(extract(epoch FROM f.at - c.succeeded_at) / 86400, {_LEAST_DAYS}), {_MOST_DAYS})
        / CASE WHEN f.change_seen THEN 2 ELSE 1 END END"""
"""The days that a check has watched. A change came some time between two checks: on average, in the middle."""

_WRITE = f"""
UPDATE freshness_check c SET
    known = jsonb_strip_nulls(f.known),
    hashed_at = CASE WHEN f.hashed THEN f.at ELSE c.hashed_at END,
    checked_at = CASE WHEN f.checked THEN :run_start ELSE c.checked_at END,
    tried_at = coalesce(f.at, c.tried_at),
    succeeded_at = CASE WHEN f.found THEN f.at ELSE c.succeeded_at END,
    changed_at = coalesce(f.changed_at, c.changed_at),
    failures = CASE
        WHEN f.failed THEN c.failures + 1
        WHEN f.found THEN 0
        ELSE c.failures END,
    failing_since = CASE
        WHEN f.failed THEN coalesce(c.failing_since, f.at)
        WHEN f.found THEN NULL
        ELSE c.failing_since END,
    failed_at = CASE WHEN f.failed THEN f.at WHEN f.found THEN NULL ELSE c.failed_at END,
    undetermined = CASE WHEN f.tells THEN NULL ELSE coalesce(f.undetermined, c.undetermined) END,
    shape = CASE WHEN f.is_new_content THEN f.shape ELSE coalesce(f.shape, c.shape) END,
    seen_changes = c.seen_changes + CASE WHEN f.change_seen THEN 1 ELSE 0 END,
    watched_days = c.watched_days + coalesce({_WATCHED}, 0),
    change_seen_at = CASE WHEN f.change_seen THEN :run_start ELSE c.change_seen_at END,
    hides_changes = coalesce(f.hides_changes, c.hides_changes),
    moved_to = CASE WHEN f.found THEN f.moved_to ELSE c.moved_to END,
    attempts = jsonb_path_query_array(f.attempt || c.attempts, '$[0 to {ATTEMPTS - 1}]')
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS f ({_COLUMNS})
JOIN resource r ON r.id = f.resource_id AND r.url = f.url AND r.state = 'active'
JOIN freshness_check before ON before.resource_id = f.resource_id
WHERE c.resource_id = f.resource_id AND c.url = f.url
RETURNING c.resource_id, r.url_type, r.last_modified, r.size, r.mimetype, r.hash,
    c.wrote, c.undetermined IS DISTINCT FROM before.undetermined AS undetermined_changed,
    c.failures, c.failing_since, c.failed_at, before.failures AS failures_before,
    before.failing_since AS failing_since_before, before.failed_at AS failed_at_before,
    CASE WHEN f.change_seen THEN jsonb_build_object(
        'attempts', before.attempts, 'succeeded_at', before.succeeded_at, 'shape', before.shape
    ) END AS was"""
