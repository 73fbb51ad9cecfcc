"""The table of last known good copies and the table of the datasets of IATI registries.

Moments are in UTC, without a zone. These tables do not know who may see a dataset, or whether it still exists.
"""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import BigInteger, Boolean, Column, DateTime, Integer, UnicodeText
from sqlalchemy.dialects.postgresql import JSONB


class Copy(tk.BaseModel):
    """The last known good copy of a resource. Its row is written after the store has the bytes."""

    __tablename__ = "freshness_copy"

    resource_id = Column(UnicodeText, primary_key=True, doc="resource")
    package_id = Column(UnicodeText, nullable=False, index=True, doc="dataset of the resource")
    key = Column(
        UnicodeText, unique=True, doc="key of the copy in the store; empty if it was removed"
    )
    zip_key = Column(UnicodeText, doc="key of the copy's ZIP in the store; empty if there is none")
    size = Column(BigInteger, nullable=False, doc="size of the copy in bytes")
    zip_size = Column(BigInteger, doc="size of the ZIP in bytes")
    sha256 = Column(UnicodeText, nullable=False, doc="SHA-256 of the copy, hexadecimal")
    mimetype = Column(UnicodeText, doc="media type by the server")
    filename = Column(UnicodeText, nullable=False, doc="file name for downloads of the copy")
    source_url = Column(UnicodeText, nullable=False, doc="URL from which the copy was downloaded")
    stored_at = Column(DateTime, nullable=False, doc="when the copy was stored")
    verified_at = Column(
        DateTime,
        nullable=False,
        doc="when the source last had the same content, as far as it says so",
    )
    expired_at = Column(
        DateTime,
        index=True,
        doc=(
            "when the copy was removed from the store because the source failed for too long; "
            "empty while it is there"
        ),
    )


class IatiDataset(tk.BaseModel):
    """A dataset of an IATI registry, with the state of its file."""

    __tablename__ = "freshness_iati"

    resource_id = Column(UnicodeText, primary_key=True, doc="only resource of the dataset")
    package_id = Column(UnicodeText, nullable=False, index=True, doc="dataset in CKAN")
    source_id = Column(
        UnicodeText, nullable=False, index=True, doc="harvest source that registered it"
    )
    organisation_id = Column(
        UnicodeText, nullable=False, doc="the registry's id of the reporting organisation"
    )
    organisation_name = Column(
        UnicodeText, nullable=False, doc="short name of the reporting organisation"
    )
    dataset_id = Column(UnicodeText, nullable=False, doc="the registry's id of the dataset")
    dataset_name = Column(UnicodeText, nullable=False, doc="short name of the dataset")
    last_update_check = Column(DateTime, doc="when a cycle last checked the file")
    head_attempt = Column(
        JSONB(none_as_null=True), doc="the most recent HEAD; empty if there was none"
    )
    get_attempt = Column(
        JSONB(none_as_null=True), doc="the most recent GET; empty if there was none"
    )
    hash = Column(UnicodeText, doc="SHA-1 of the last known good file, hexadecimal")
    hash_excluding_generated_timestamp = Column(
        UnicodeText, doc="SHA-1 of that file without its generated-datetime attributes"
    )
    downloaded = Column(DateTime, doc="when the last known good file was downloaded")
    verified_on_server = Column(DateTime, doc="when the server last confirmed that file")
    content_length = Column(BigInteger, doc="Content-Length of the last known good file, in bytes")
    initial_contents = Column(UnicodeText, doc="first 150 characters of the last known good file")
    etag = Column(UnicodeText, doc="ETag of the last known good file")
    last_modified = Column(
        UnicodeText, doc="Last-Modified of the last known good file, as the server wrote it"
    )
    source_url = Column(UnicodeText, doc="URL from which the last known good file was downloaded")
    content_modified = Column(DateTime, doc="when a cycle last found a new hash")
    content_modified_excluding_generated_timestamp = Column(
        DateTime, doc="when a cycle last found a new hash without generated-datetime attributes"
    )
    attempts = Column(
        JSONB, nullable=False, server_default="[]", doc="the last five attempts, newest first"
    )
    failures = Column(
        Integer, nullable=False, server_default="0", doc="failed checks since the last success"
    )
    failing_since = Column(DateTime, doc="end of the first of these failed checks")
    postponed_until = Column(
        DateTime,
        doc="a failing URL is not checked again before this moment; empty if it may be checked",
    )
    published = Column(
        Boolean,
        nullable=False,
        server_default="false",
        doc="whether the index files and the bulk ZIPs of its source contain the dataset",
    )


IS_CHECKED_BY_CYCLES = """EXISTS (
        SELECT FROM freshness_iati i JOIN package s ON s.id = i.source_id AND s.state = 'active'
        WHERE i.resource_id = {resource}
    )"""
"""SQL: whether update cycles check the resource, by rules of their own. A deleted source has no cycles any
more."""

LAST_CYCLE_CHECK = """
    SELECT true AS by_cycle,
        CAST(i.attempts -> 0 ->> 'datetime' AS timestamptz) AT TIME ZONE 'UTC' AS tried_at,
        i.failures, i.failing_since,
        CAST(i.attempts -> 0 ->> 'datetime' AS timestamptz) AT TIME ZONE 'UTC' AS failed_at,
        i.verified_on_server AS succeeded_at,
        i.content_modified AS changed_at, NULL AS undetermined, i.attempts, '' AS strip,
        NULL AS promised, NULL AS found
    FROM freshness_iati i WHERE i.resource_id = r.id AND i.attempts <> '[]'"""
"""SQL: the last checks of the resource ``r`` by cycles, in columns like those of ``freshness_check``."""

CYCLE_RESULTS = """
SELECT resource_id, CAST(attempts -> 0 ->> 'datetime' AS timestamptz) AT TIME ZONE 'UTC' AS tried_at,
    CASE WHEN CAST(attempts -> 0 ->> 'error_occurred' AS boolean) THEN 'error'
        WHEN attempts -> 0 ->> 'method' = 'GET' THEN 'downloaded' ELSE 'verified' END AS outcome,
    failing_since, failures
FROM freshness_iati WHERE package_id = ANY(:packages) AND attempts <> '[]'"""
"""SQL: the results of the last checks of the packages ``:packages`` by cycles."""
