"""The table of checked URLs and the table of runs.

Moments are in UTC, without a zone. These tables do not know who may see a resource, or whether it still exists.
"""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import Boolean, Column, DateTime, Index, Integer, UnicodeText, text
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB

DECLARED = "left(coalesce(nullif(trim(r.format), ''), trim(r.mimetype)), 100)"
"""The format that a resource ``r`` promises now, in SQL. A stored mismatch counts only while ``promised`` is
the same: after a correction of the format, the next check decides."""

CHECKED_LINKS = """freshness_check c
JOIN resource r ON r.id = c.resource_id AND r.state = 'active' AND CASE WHEN r.url = c.url THEN true END
JOIN package p ON p.id = c.package_id"""
"""The checks of links that are in use, in SQL. Rows about an earlier URL or a deleted resource stay in the
table until the next run.

PostgreSQL takes ids and URLs for independent. For both conditions it expects one row, and sorts all links to
find the first few. CASE hides the second condition from its estimates.
"""


class ResourceCheck(tk.BaseModel):
    """The results of the checks of one resource's URL. A row is reset when the URL changes.

    The partial indexes hold only rows that fail or are in doubt, so that a successful check writes to no index.
    Those of failing links have all that decides which of them are broken.
    """

    __tablename__ = "freshness_check"
    __table_args__ = (
        Index(
            "ix_freshness_check_failing",
            *("failing_since", "resource_id"),
            postgresql_where=text("failing_since IS NOT NULL"),
            postgresql_include=["failures", "failed_at", "package_id"],
        ),
        Index(
            "ix_freshness_check_failures",
            *("failures", "resource_id"),
            postgresql_where=text("failing_since IS NOT NULL"),
            postgresql_include=["failing_since", "failed_at", "package_id"],
        ),
        Index(
            "ix_freshness_check_undetermined",
            *("host", "resource_id"),
            postgresql_where=text("undetermined IS NOT NULL"),
        ),
        Index(
            "ix_freshness_check_mismatch",
            *("host", "resource_id"),
            postgresql_where=text("found IS NOT NULL"),
        ),
    )

    resource_id = Column(UnicodeText, primary_key=True, doc="resource")
    package_id = Column(UnicodeText, nullable=False, index=True, doc="dataset of the resource")
    url = Column(
        UnicodeText, nullable=False, doc="URL of the resource; all other columns are about it"
    )
    host = Column(
        UnicodeText,
        nullable=False,
        index=True,
        doc="host of the URL, normalised; empty if it names none",
    )
    first_seen = Column(
        DateTime, nullable=False, doc="start of the first run that knew the resource"
    )
    etag = Column(UnicodeText, doc="ETag to be sent back; empty if the server gave none")
    last_modified = Column(UnicodeText, doc="Last-Modified to be sent back, as the server wrote it")
    hash = Column(
        UnicodeText,
        doc="hash of the last confirmed content, after its detector's name: sha256:...",
    )
    earlier: Column[list[str]] = Column(
        ARRAY(UnicodeText),
        nullable=False,
        server_default="{}",
        doc="hashes of earlier content, newest first",
    )
    outdated = Column(
        Boolean,
        nullable=False,
        server_default="false",
        doc="the hash is older than ETag and Last-Modified",
    )
    tabular = Column(
        Boolean,
        nullable=False,
        server_default="false",
        doc="the last good file was a table of several lines or columns, as promised",
    )
    promised = Column(
        UnicodeText,
        doc="format of the resource if the last file was of another kind; empty if it fitted",
    )
    found = Column(UnicodeText, doc="kind of that file; empty if it fitted")
    unconfirmed = Column(
        Boolean,
        nullable=False,
        server_default="false",
        doc="a new hash could not be confirmed: the next run checks again",
    )
    hashed_at = Column(DateTime, doc="when the file was last read and hashed")
    visited_at = Column(
        DateTime, doc="start of the run of the last check, from which intervals count"
    )
    tried_at = Column(DateTime, doc="end of the last check")
    succeeded_at = Column(DateTime, doc="end of the last check that found the resource")
    changed_at = Column(DateTime, doc="when the last confirmed new hash was found")
    failures = Column(
        Integer, nullable=False, server_default="0", doc="failed checks since the last success"
    )
    failing_since = Column(DateTime, doc="end of the first of these failed checks")
    failed_at = Column(DateTime, doc="end of the last of these failed checks")
    undetermined = Column(
        UnicodeText, doc="why changes cannot be detected: api, blocked; empty if they can"
    )
    seen_modified = Column(DateTime, doc="the resource's own last_modified at the last run")
    shape = Column(
        JSONB,
        doc=(
            "tables of the last confirmed content: name, number of rows and columns of each; an "
            "empty list if they are uncertain, empty if they were not read"
        ),
    )
    attempts = Column(
        JSONB, nullable=False, server_default="[]", doc="the last five checks, newest first"
    )
    strip = Column(
        UnicodeText,
        nullable=False,
        server_default="",
        doc="the last 30 checks, oldest first: w worked, f failed, u could not be made",
    )
    seen_changes = Column(
        DOUBLE_PRECISION,
        nullable=False,
        server_default="0",
        doc="number of changes that checks found",
    )
    watched_days = Column(
        DOUBLE_PRECISION,
        nullable=False,
        server_default="0",
        doc="days between checks that found out whether the file changed",
    )
    change_seen_at = Column(DateTime, doc="start of the run that last found a change")
    hides_changes = Column(
        Boolean,
        nullable=False,
        server_default="false",
        doc="whether ETag and Last-Modified stayed the same at the file's last change",
    )
    wrote = Column(
        JSONB,
        nullable=False,
        server_default="{}",
        doc="values that checks wrote into the resource's fields: last_modified, size, mimetype, hash",
    )


class CheckRun(tk.BaseModel):
    """A run of checks, or of another part of the nightly run, with its counts."""

    __tablename__ = "freshness_run"

    id = Column(UnicodeText, primary_key=True, doc="UUID; also in freshness_transition.run_id")
    kind = Column(UnicodeText, nullable=False, doc="check, or another part of nightly")
    started_at = Column(DateTime, nullable=False, index=True, doc="when it started")
    ended_at = Column(
        DateTime, doc="when it ended; empty while the run goes on, and if it was killed"
    )
    options = Column(JSONB, nullable=False, server_default="{}", doc="options of the call")
    resources = Column(JSONB, doc="resources by label")
    datasets = Column(JSONB, doc="datasets by label")
    frequencies = Column(JSONB, doc="datasets by update frequency live, never, as needed")
    hosts = Column(
        JSONB,
        doc="per host: checks (visits), errors, etag, last_modified, agreed, missed, moved, bytes, seconds",
    )
    visited = Column(Integer, doc="number of resources that were checked")
    error = Column(UnicodeText, doc="why the run ended early; empty if it did not")
    version = Column(UnicodeText, nullable=False, doc="version of ckanext-freshness")
