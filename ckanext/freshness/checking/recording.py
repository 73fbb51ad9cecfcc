"""What visits brought home, written to the database: many at once, and each whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import lock_packages, model
from ..model.moments import utc
from ..web.errors import Reason
from .decide import Outcome
from .findings import Attempt, Finding
from .store import let_others_write

ATTEMPTS = 5
"""Visits to a resource that are kept."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What an outcome does to what is known of a resource.

    :ivar found: the resource is there: the row of failures ends
    :ivar hashed: the bytes were read, and their hash is remembered or known to be of no use
    :ivar tells: whether changes can be determined, so that an earlier doubt goes
    :ivar undetermined: why they cannot be from now on
    :ivar unconfirmed: another hash was met, and the next run is to ask again; None: as before
    """

    found: bool = False
    hashed: bool = False
    tells: bool = False
    undetermined: str | None = None
    unconfirmed: bool | None = None


_SAME = Effect(found=True, tells=True, unconfirmed=False)
_READ = Effect(found=True, hashed=True, tells=True, unconfirmed=False)

EFFECTS = {
    Outcome.NOT_MODIFIED: _SAME,
    Outcome.HEADER: _SAME,
    Outcome.SAME_HASH: _READ,
    Outcome.FIRST_HASH: _READ,
    Outcome.REPEAT_HASH: _READ,
    Outcome.CHANGED: _READ,
    Outcome.API: Effect(found=True, hashed=True, undetermined="api", unconfirmed=False),
    Outcome.UNCONFIRMED: Effect(found=True, unconfirmed=True),
    Outcome.ERROR: Effect(),
    Outcome.CANNOT_TELL: Effect(undetermined="blocked"),
}

_NOT_ASKED = frozenset(
    one.value
    for one in (Reason.HOST_DEFERRED, Reason.HOST_SILENT, Reason.PROXY, Reason.OUT_OF_SOCKETS)
)
"""Why a visit did not come to anything through no fault of the URL: the next run makes up for it."""


def write(findings: Sequence[Finding], run_start: datetime) -> list[Finding]:
    """Remember what visits brought home. Nothing is committed.

    The datasets' rows in CKAN's table stay locked until the transaction ends, as in every writer of
    theirs. Of two findings about one resource the last counts.

    :param run_start: when the run started, with its zone: intervals count from there.
    :returns: those that were written. The others are about a resource that is gone, or has another
        URL since: they tell nothing.
    """
    last = {one.visit.resource_id: one for one in findings}
    if not last:
        return []
    session = model.Session
    packages = {one.visit.package_id for one in last.values()}
    lock_packages(packages)
    let_others_write(session)
    rows = json.dumps([_row(one) for one in last.values()])
    written = session.execute(sa.text(_WRITE), {"rows": rows, "run_start": utc(run_start)})
    return [last[resource_id] for resource_id in written.scalars()]


def _row(finding: Finding) -> dict[str, Any]:
    visit, memory = finding.visit, finding.memory
    row: dict[str, Any] = {"resource_id": visit.resource_id, "url": visit.url}
    if finding.handed_to is not None:
        return row | {"handed_to": _text(finding.handed_to)}
    effect = EFFECTS[finding.outcome]
    failed = finding.counts_as_failure
    return row | {
        "etag": _text(memory.etag),
        "last_modified": _text(memory.last_modified),
        "hash": memory.hash,
        "earlier": memory.earlier,
        "outdated": memory.outdated,
        "unconfirmed": effect.unconfirmed,
        "hashed": effect.hashed,
        "visited": finding.attempt.reason not in _NOT_ASKED,
        "found": effect.found and not failed,
        "failed": failed,
        "tells": effect.tells,
        "undetermined": effect.undetermined,
        "at": utc(finding.attempt.at).isoformat(),
        "changed_at": _moment(finding.changed_at),
        "attempt": _attempt(finding.attempt),
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    """An attempt as it is kept; what is empty is left out."""
    row = {
        "at": _moment(attempt.at, "Z"),
        "method": attempt.method,
        "outcome": attempt.outcome.value,
        "status": attempt.status,
        "reason": attempt.reason,
        "words": _text(attempt.words),
        "received": attempt.received,
        "seconds": round(attempt.seconds, 3),
        "final_url": _text(attempt.final_url),
        "etag": _text(attempt.etag),
        "last_modified": _text(attempt.last_modified),
        "modified": _moment(attempt.modified, "Z"),
    }
    return {key: value for key, value in row.items() if value is not None}


def _moment(moment: datetime | None, zone: str = "") -> str | None:
    return None if moment is None else utc(moment).replace(microsecond=0).isoformat() + zone


def _text(text: str | None) -> str | None:
    """What a server sent, as the database can have it: neither NUL nor half characters."""
    if text is None or (text.isascii() and "\0" not in text):
        return text
    plain = text.encode("utf-8", "surrogateescape" if _is_bytes(text) else "replace")
    return plain.decode("utf-8", "replace").replace("\0", "\ufffd")


def _is_bytes(text: str) -> bool:
    """Whether all half characters in a text stand for bytes, as the client gives illegal ones."""
    return all(not 0xD800 <= ord(one) <= 0xDFFF or 0xDC80 <= ord(one) <= 0xDCFF for one in text)


def of_package(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Findings by their dataset."""
    found: dict[str, list[Finding]] = {}
    for one in findings:
        found.setdefault(one.visit.package_id, []).append(one)
    return found


_WRITE = f"""
UPDATE freshness_check c SET
    handed_to = f.handed_to,
    etag = CASE WHEN f.handed_to IS NULL THEN f.etag ELSE c.etag END,
    last_modified = CASE WHEN f.handed_to IS NULL THEN f.last_modified ELSE c.last_modified END,
    hash = CASE WHEN f.handed_to IS NULL THEN f.hash ELSE c.hash END,
    earlier = coalesce(f.earlier, c.earlier),
    outdated = coalesce(f.outdated, c.outdated),
    unconfirmed = coalesce(f.unconfirmed, c.unconfirmed),
    hashed_at = CASE WHEN f.hashed THEN f.at ELSE c.hashed_at END,
    visited_at = CASE WHEN f.visited THEN :run_start ELSE c.visited_at END,
    tried_at = coalesce(f.at, c.tried_at),
    succeeded_at = CASE WHEN f.found THEN f.at ELSE c.succeeded_at END,
    changed_at = coalesce(f.changed_at, c.changed_at),
    failures = CASE WHEN f.found THEN 0 WHEN f.failed THEN c.failures + 1 ELSE c.failures END,
    failing_since = CASE
        WHEN f.found THEN NULL
        WHEN f.failed THEN coalesce(c.failing_since, f.at)
        ELSE c.failing_since END,
    undetermined = CASE WHEN f.tells THEN NULL ELSE coalesce(f.undetermined, c.undetermined) END,
    attempts = CASE WHEN f.attempt IS NULL THEN c.attempts
        ELSE jsonb_path_query_array(f.attempt || c.attempts, '$[0 to {ATTEMPTS - 1}]') END
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS f (
    resource_id text, url text, handed_to text, etag text, last_modified text, hash text,
    earlier text[], outdated boolean, unconfirmed boolean, hashed boolean, visited boolean,
    found boolean, failed boolean, tells boolean, undetermined text, at timestamp,
    changed_at timestamp, attempt jsonb
)
WHERE c.resource_id = f.resource_id AND c.url = f.url AND EXISTS (
    SELECT 1 FROM resource r WHERE r.id = f.resource_id AND r.url = f.url AND r.state = 'active'
)
RETURNING c.resource_id"""
