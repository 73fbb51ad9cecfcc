"""The tables of runs: checks of URLs, copies, harvests, mails.

Moments are in UTC, without a zone. These tables do not know who may see a resource, or whether it still exists.
"""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Computed,
    DateTime,
    Index,
    Integer,
    UnicodeText,
    text,
)
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB

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


IS_HERE = "coalesce(r.url_type IN ('upload', 'datastore', 'tabledesigner'), false)"
"""SQL: whether CKAN itself holds the data of the resource ``r``, so that there is no link to check. A link that
begins with the site's own address may lead nowhere."""


FAILURES = """CASE WHEN {row}.failed_at IS NULL THEN 0 ELSE {row}.failures END AS failures,
    CASE WHEN {row}.failed_at IS NOT NULL THEN {row}.failing_since END AS failing_since"""
"""SQL: the failures of the link ``row`` as people see them. Those of an earlier URL count from the moment when
its successor fails, too: whoever mends a link has not mended it then."""


class ResourceCheck(tk.BaseModel):
    """The results of the checks of one resource's URL. A row is reset when the URL changes, but for failures.

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
        Index(
            "ix_freshness_check_mended",
            text("split_part(url_before, '/', 3)"),
            postgresql_where=text("url_before IS NOT NULL"),
        ),
        Index("ix_freshness_check_hash", "hash", postgresql_using="hash"),
    )

    resource_id = Column(UnicodeText, primary_key=True)
    """Resource."""
    package_id = Column(UnicodeText, nullable=False, index=True)
    """Dataset of the resource."""
    url = Column(UnicodeText, nullable=False)
    """URL of the resource; most other columns are about it."""
    host = Column(UnicodeText, nullable=False, index=True)
    """Host of the URL, normalised; empty if it names none."""
    url_before = Column(UnicodeText)
    """URL of the resource before this one; empty if none is known."""
    moved_to = Column(UnicodeText)
    """Where the server said, at the last success, that the file has moved for good; else empty."""
    first_seen = Column(DateTime, nullable=False)
    """Start of the first run that knew the resource."""
    known = Column(JSONB, nullable=False, server_default="{}")
    """What is known of the file, a KnownContent of checking/decisions.py without empty fields."""
    hash = Column(UnicodeText, Computed("known ->> 'hash'", persisted=True))
    """Part of known."""
    promised = Column(UnicodeText, Computed("known ->> 'promised'", persisted=True))
    """Part of known."""
    found = Column(UnicodeText, Computed("known ->> 'found'", persisted=True))
    """Part of known."""
    hashed_at = Column(DateTime)
    """When the file was last read and hashed."""
    checked_at = Column(DateTime)
    """Start of the run of the last check, from which intervals count."""
    tried_at = Column(DateTime)
    """End of the last check."""
    succeeded_at = Column(DateTime)
    """End of the last check that found the resource."""
    changed_at = Column(DateTime)
    """When the last confirmed new hash was found."""
    failures = Column(Integer, nullable=False, server_default="0")
    """Failed checks since the last success, also of earlier URLs of the resource."""
    failing_since = Column(DateTime)
    """End of the first of these failed checks."""
    failed_at = Column(DateTime)
    """End of the last of these failed checks; empty if this URL has not failed."""
    undetermined = Column(UnicodeText)
    """Why changes cannot be detected: api, page, blocked; empty if they can."""
    seen_modified = Column(DateTime)
    """The resource's own last_modified at the last run."""
    shape = Column(JSONB)
    """Tables of the last confirmed content: name, number of rows and columns of each; an empty list if they are
    uncertain, empty if they were not read."""
    attempts = Column(JSONB, nullable=False, server_default="[]")
    """The last five checks, newest first."""
    seen_changes = Column(DOUBLE_PRECISION, nullable=False, server_default="0")
    """Number of changes that checks found."""
    watched_days = Column(DOUBLE_PRECISION, nullable=False, server_default="0")
    """Days between checks that found out whether the file changed."""
    change_seen_at = Column(DateTime)
    """Start of the run that last found a change."""
    hides_changes = Column(Boolean, nullable=False, server_default="false")
    """Whether ETag and Last-Modified stayed the same at the file's last change."""
    wrote = Column(JSONB, nullable=False, server_default="{}")
    """Values that checks wrote into the resource's fields: last_modified, size, mimetype, hash."""
    ignored = Column(JSONB)
    """Decision of an editor that nobody need work on the link: at, by, reason, and until (a day) if it ends;
    empty without one. Reset if the URL changes."""


class CheckRun(tk.BaseModel):
    """A run of checks, or of another part of the nightly run, with its counts."""

    __tablename__ = "freshness_run"

    id = Column(UnicodeText, primary_key=True)
    """UUID; also in freshness_transition.run_id."""
    kind = Column(UnicodeText, nullable=False)
    """Check, or another part of nightly."""
    started_at = Column(DateTime, nullable=False, index=True)
    """When it started."""
    ended_at = Column(DateTime)
    """When it ended; empty while the run goes on, and if it was killed."""
    options = Column(JSONB, nullable=False, server_default="{}")
    """Options of the call."""
    resources = Column(JSONB)
    """Resources by label."""
    datasets = Column(JSONB)
    """Datasets by label."""
    frequencies = Column(JSONB)
    """Datasets by update frequency live, never, as needed."""
    hosts = Column(JSONB)
    """Of all hosts, under *: hosts, bytes, put_off, newly_broken, repaired."""
    checked = Column(Integer)
    """Number of resources that were checked."""
    error = Column(UnicodeText)
    """Why the run ended early; empty if it did not."""
    version = Column(UnicodeText, nullable=False)
    """Version of ckanext-freshness."""


class Copy(tk.BaseModel):
    """The last known good copy of a resource. Its row is written after the store has the bytes."""

    __tablename__ = "freshness_copy"

    resource_id = Column(UnicodeText, primary_key=True)
    """Resource."""
    package_id = Column(UnicodeText, nullable=False, index=True)
    """Dataset of the resource."""
    key = Column(UnicodeText, unique=True)
    """Key of the copy in the store; empty if it was removed because the source failed for too long."""
    zip_key = Column(UnicodeText)
    """Key of the copy's ZIP in the store; empty if there is none."""
    size = Column(BigInteger, nullable=False)
    """Size of the copy in bytes."""
    zip_size = Column(BigInteger)
    """Size of the ZIP in bytes."""
    sha256 = Column(UnicodeText, nullable=False)
    """SHA-256 of the copy, hexadecimal."""
    mimetype = Column(UnicodeText)
    """Media type by the server."""
    filename = Column(UnicodeText, nullable=False)
    """File name for downloads of the copy."""
    source_url = Column(UnicodeText, nullable=False)
    """URL from which the copy was downloaded."""
    stored_at = Column(DateTime, nullable=False)
    """When the copy was stored."""
    verified_at = Column(DateTime, nullable=False)
    """When the source last had the same content, as far as it says so."""


class HarvestDocument(tk.BaseModel):
    """A value in the memory of a source: most are outlines of documents, which are not parsed again."""

    __tablename__ = "freshness_harvest_document"

    source_id = Column(UnicodeText, primary_key=True)
    """Harvest source."""
    url = Column(UnicodeText, primary_key=True)
    """URL of the document."""
    digest = Column(UnicodeText, nullable=False)
    """SHA-256 of the document's bytes and of everything else that its outline depends on."""
    outline = Column(JSONB, nullable=False)
    """What the document lists, and what its records look like."""


class HarvestHold(tk.BaseModel):
    """Held deletions of a source: the brake stopped them, and an editor may release exactly these."""

    __tablename__ = "freshness_harvest_hold"

    source_id = Column(UnicodeText, primary_key=True)
    """Harvest source."""
    job_id = Column(UnicodeText, nullable=False)
    """Job whose deletions are held."""
    held_at = Column(DateTime, nullable=False)
    """When the brake stopped the deletions, in UTC."""
    reason = Column(UnicodeText, nullable=False)
    """Why the brake stopped the deletions, for people."""
    held = Column(JSONB, nullable=False)
    """The held deletions: a list of {guid, url, package_id, reason}."""
    released_at = Column(DateTime)
    """When the deletions were released, in UTC; empty until then."""
    released_by = Column(UnicodeText)
    """Name of the user who released the deletions."""
    kept_at = Column(DateTime)
    """When a user decided to keep the records, in UTC; empty if nobody did."""
    kept_by = Column(UnicodeText)
    """Name of the user who keeps the records."""


class HarvestReport(tk.BaseModel):
    """What a harvest job found that belongs to no harvest object."""

    __tablename__ = "freshness_harvest_report"

    job_id = Column(UnicodeText, primary_key=True)
    """Harvest job."""
    source_id = Column(UnicodeText, nullable=False)
    """Harvest source."""
    unchanged = Column(Integer, nullable=False)
    """How many records had not changed."""
    unchanged_warnings = Column(JSONB, nullable=False)
    """Warnings about the first of these records: a list of {url, guid, messages}."""
    warnings = Column(JSONB, nullable=False)
    """Warnings about the source that belong to no record: a list of texts."""
    not_harvested = Column(JSONB, nullable=False)
    """What the source lists and becomes no dataset: a list of {kind, count, examples}."""


class Mail(tk.BaseModel):
    """A piece of news for one address. It is sent at most once.

    A row is marked as sent, and committed, before its mail is sent. It is deleted when its fact does not last
    any more.
    """

    __tablename__ = "freshness_mail"

    kind = Column(UnicodeText, primary_key=True)
    """Kind of mail: overdue, broken..."""
    about = Column(UnicodeText, primary_key=True)
    """Id of the resource, change or source; of statuses the date that was crossed and the transition
    (overdue:7); of runs the problem and the run (failed:...)."""
    address = Column(UnicodeText, primary_key=True)
    """E-mail address; empty if there is no recipient."""
    sent_at = Column(DateTime)
    """When its mail was about to be sent; empty if it waits for the next mail."""
    error = Column(UnicodeText)
    """Error of the last attempt, or that it is not confirmed; empty if it arrived."""


class MailPerson(tk.BaseModel):
    """An address that was written to, with its owner's choice and the times of its last mails."""

    __tablename__ = "freshness_mail_person"

    id = Column(Integer, primary_key=True)
    """Number in the links of the mails to this address."""
    address = Column(UnicodeText, nullable=False, unique=True)
    """E-mail address, in lower case."""
    choice = Column(UnicodeText, nullable=False, server_default="all")
    """Mails that the owner of the address wants: all, followed or none."""
    told_at = Column(JSONB, nullable=False, server_default="{}")
    """Time of the last mail of each kind."""
