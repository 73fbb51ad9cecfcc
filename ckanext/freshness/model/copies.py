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

    resource_id = Column(UnicodeText, primary_key=True, comment="resource")
    package_id = Column(UnicodeText, nullable=False, index=True, comment="its dataset")
    key = Column(
        UnicodeText, unique=True, comment="of the bytes in the store; empty if they were removed"
    )
    zip_key = Column(UnicodeText, comment="of their ZIP in the store; empty if there is none")
    size = Column(BigInteger, nullable=False, comment="of the bytes")
    zip_size = Column(BigInteger, comment="of the ZIP in bytes")
    sha256 = Column(UnicodeText, nullable=False, comment="of the bytes, hexadecimal")
    mimetype = Column(UnicodeText, comment="media type by the server")
    filename = Column(UnicodeText, nullable=False, comment="under which they are given out")
    source_url = Column(UnicodeText, nullable=False, comment="where they came from")
    stored_at = Column(DateTime, nullable=False, comment="when they were stored")
    verified_at = Column(
        DateTime, nullable=False, comment="when the source last had them, as far as it says so"
    )
    expired_at = Column(
        DateTime,
        index=True,
        comment="when they were removed from the store because the source failed for too long; empty "
        "while they are there",
    )


class IatiDataset(tk.BaseModel):
    """A dataset of an IATI registry, with the state of its file."""

    __tablename__ = "freshness_iati"

    resource_id = Column(UnicodeText, primary_key=True, comment="its only resource")
    package_id = Column(UnicodeText, nullable=False, index=True, comment="its dataset in CKAN")
    source_id = Column(
        UnicodeText, nullable=False, index=True, comment="harvest source that registered it"
    )
    organisation_id = Column(
        UnicodeText, nullable=False, comment="the registry's id of its reporting organisation"
    )
    organisation_name = Column(UnicodeText, nullable=False, comment="short name of that one")
    dataset_id = Column(UnicodeText, nullable=False, comment="the registry's id of the dataset")
    dataset_name = Column(UnicodeText, nullable=False, comment="its short name")
    last_update_check = Column(DateTime, comment="when a cycle last came to it: step 1")
    head_attempt = Column(
        JSONB(none_as_null=True), comment="the most recent HEAD; empty if there was none"
    )
    get_attempt = Column(
        JSONB(none_as_null=True), comment="the most recent GET; empty if there was none"
    )
    hash = Column(UnicodeText, comment="SHA-1 of the last known good bytes, hexadecimal")
    hash_excluding_generated_timestamp = Column(
        UnicodeText, comment="likewise, without any generated-datetime attribute"
    )
    downloaded = Column(DateTime, comment="when the last known good bytes were downloaded")
    verified_on_server = Column(DateTime, comment="when the server last confirmed them")
    content_length = Column(BigInteger, comment="Content-Length that came with them, in bytes")
    initial_contents = Column(UnicodeText, comment="their first 150 characters")
    etag = Column(UnicodeText, comment="ETag that came with them")
    last_modified = Column(
        UnicodeText, comment="Last-Modified that came with them, as the server wrote it"
    )
    source_url = Column(UnicodeText, comment="URL that they came from")
    content_modified = Column(DateTime, comment="when a new hash was last met")
    content_modified_excluding_generated_timestamp = Column(
        DateTime, comment="when a new hash without generated-datetime attributes was last met"
    )
    attempts = Column(JSONB, nullable=False, comment="the last five attempts, newest first")
    failures = Column(Integer, nullable=False, comment="failed checks since the last success")
    failing_since = Column(DateTime, comment="end of the first of these failed checks")
    postponed_until = Column(
        DateTime, comment="before this moment a failing URL is not asked again; empty if it may be"
    )
    published = Column(
        Boolean, nullable=False, comment="the index files and the bulk ZIPs of its source name it"
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
        i.failures, i.failing_since, i.verified_on_server AS succeeded_at,
        i.content_modified AS changed_at, NULL AS undetermined, i.attempts, '' AS strip,
        NULL AS promised, NULL AS found
    FROM freshness_iati i WHERE i.resource_id = r.id AND i.attempts <> '[]'"""
"""SQL: the last checks of the resource ``r`` by cycles, in columns like those of ``freshness_check``."""

CYCLE_RESULTS = """
SELECT resource_id, CAST(attempts -> 0 ->> 'datetime' AS timestamptz) AT TIME ZONE 'UTC' AS tried_at,
    CASE WHEN CAST(attempts -> 0 ->> 'error_occurred' AS boolean) THEN 'error'
        WHEN attempts -> 0 ->> 'method' = 'GET' THEN 'downloaded' ELSE 'verified' END AS outcome,
    failing_since, failures
FROM freshness_iati WHERE resource_id = ANY(:ids) AND attempts <> '[]'"""
"""SQL: the results of the last checks of the resources ``:ids`` by cycles."""
