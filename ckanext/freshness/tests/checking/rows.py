"""A candidate and a result of a check, from which tests derive others."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from ckanext.freshness.checking.decisions import (
    Attempt,
    CheckResult,
    KnownContent,
    Outcome,
    ResourceToCheck,
)
from ckanext.freshness.checking.selection import Candidate

NOW = datetime(2026, 11, 21, 2)

NEW = Candidate(
    resource_id="r",
    package_id="p",
    is_internal=False,
    host="files.example.org",
    frequency_days=30,
    due=NOW - timedelta(days=1),
    archived=False,
    requestable=False,
    checked_at=None,
    has_hash=False,
    hashed_at=None,
    tried_at=None,
    succeeded_at=None,
    failures=0,
    failing_since=None,
    unconfirmed=False,
    is_new=False,
    is_touched=False,
)
"""Its dataset has been due for a day, and it was never checked."""

AWARE = NOW.replace(tzinfo=timezone.utc)
URL = "http://files.example.org/a.csv"
HASH = "sha256:" + "a" * 64


def visit(url: str = URL, known: KnownContent | None = None, **more: Any) -> ResourceToCheck:
    return ResourceToCheck("r", "p", url, known or KnownContent(), **more)


def finding(
    outcome: Outcome = Outcome.FIRST_HASH,
    at: datetime = AWARE,
    **more: Any,
) -> CheckResult:
    told = {name: more.pop(name) for name in ("reason", "modified") if name in more}
    attempt = Attempt(at, outcome, 200, **told)
    known = more.pop("known", KnownContent('"e"', "Sat, 21 Nov 2026 01:00:00 GMT", HASH))
    return CheckResult(visit(), "files.example.org", known, attempt)._replace(**more)
