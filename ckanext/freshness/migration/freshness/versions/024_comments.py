"""Describe columns of checks and copies in the words of the glossary.

Revision ID: 024_comments
Revises: 023_suggestions
Create Date: 2026-11-23
"""

from __future__ import annotations

from alembic import op

revision = "024_comments"
down_revision = "023_suggestions"
branch_labels = None
depends_on = None

_COMMENTS = (
    (
        "freshness_check",
        "hash",
        "of the bytes as last confirmed, after its detector's name: sha256:...",
        "hash of the last confirmed content, after its detector's name: sha256:...",
    ),
    (
        "freshness_check",
        "earlier",
        "hashes seen before that one, newest first",
        "hashes of earlier content, newest first",
    ),
    (
        "freshness_check",
        "tabular",
        "the last good bytes were a table of several lines or columns, as promised",
        "the last good file was a table of several lines or columns, as promised",
    ),
    (
        "freshness_check",
        "promised",
        "format of the resource when the bytes were of another kind; empty if they fitted",
        "format of the resource if the last file was of another kind; empty if it fitted",
    ),
    (
        "freshness_check",
        "found",
        "kind of those bytes; empty if they fitted",
        "kind of that file; empty if it fitted",
    ),
    (
        "freshness_check",
        "unconfirmed",
        "another hash was met and could not be confirmed: the next run asks again",
        "a new hash could not be confirmed: the next run checks again",
    ),
    (
        "freshness_check",
        "hashed_at",
        "when the bytes were last read and hashed",
        "when the file was last read and hashed",
    ),
    (
        "freshness_check",
        "visited_at",
        "start of the run of the last visit, from which intervals count",
        "start of the run of the last check, from which intervals count",
    ),
    (
        "freshness_check",
        "tried_at",
        "end of the last visit",
        "end of the last check",
    ),
    (
        "freshness_check",
        "succeeded_at",
        "end of the last visit that found the resource there",
        "end of the last check that found the resource",
    ),
    (
        "freshness_check",
        "changed_at",
        "when a confirmed new hash was last met",
        "when a new hash that was confirmed was last found",
    ),
    (
        "freshness_check",
        "failures",
        "failed visits since the last success",
        "failed checks since the last success",
    ),
    (
        "freshness_check",
        "failing_since",
        "the first of those failed visits",
        "end of the first of these failed checks",
    ),
    (
        "freshness_check",
        "handed_to",
        "URL of a host of another worker, to which the URL redirects, and which goes on there",
        "URL on another worker's host, to which the URL redirects; that worker continues there",
    ),
    (
        "freshness_check",
        "seen_modified",
        "the resource's own last_modified as the last run saw it",
        "the resource's own last_modified at the last run",
    ),
    (
        "freshness_check",
        "attempts",
        "the last five visits, newest first",
        "the last five checks, newest first",
    ),
    (
        "freshness_check",
        "seen_changes",
        "changes that checks saw; old ones fade",
        "number of changes that checks found; old ones fade",
    ),
    (
        "freshness_check",
        "watched_days",
        "days in which they were seen; old ones fade",
        "days between the checks that found them; old ones fade",
    ),
    (
        "freshness_check",
        "change_seen_at",
        "start of the run that last saw a change",
        "start of the run that last found a change",
    ),
    (
        "freshness_check",
        "wrote",
        "what the checker wrote into the resource's fields: last_modified, size, mimetype, hash",
        "values that checks wrote into the resource's fields: last_modified, size, mimetype, hash",
    ),
    (
        "freshness_run",
        "hosts",
        "per host: visits, errors, etag, last_modified, agreed, missed, moved, bytes, seconds",
        "per host: checks (visits), errors, etag, last_modified, agreed, missed, moved, bytes, seconds",
    ),
    (
        "freshness_run",
        "visited",
        "resources that were visited",
        "number of resources that were checked",
    ),
    (
        "freshness_copy",
        "mimetype",
        "what the server says the bytes are",
        "media type by the server",
    ),
    (
        "freshness_iati",
        "failures",
        "failed visits since the last success",
        "failed checks since the last success",
    ),
    (
        "freshness_iati",
        "failing_since",
        "the first of those failed visits",
        "end of the first of these failed checks",
    ),
)
"""Table, column, and its comment before and after."""


def upgrade() -> None:
    for table, column, old, new in _COMMENTS:
        op.alter_column(table, column, comment=new, existing_comment=old)


def downgrade() -> None:
    for table, column, old, new in _COMMENTS:
        op.alter_column(table, column, comment=old, existing_comment=new)
