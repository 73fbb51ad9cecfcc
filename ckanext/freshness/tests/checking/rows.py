"""A candidate, from which tests derive others."""

from __future__ import annotations

from datetime import datetime, timedelta

from ckanext.freshness.checking.selection import Candidate

NOW = datetime(2026, 11, 21, 2)

NEW = Candidate(
    resource_id="r",
    package_id="p",
    is_internal=False,
    host="files.example.org",
    assessed=True,
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
