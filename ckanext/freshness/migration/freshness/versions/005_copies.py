"""Last known good copies of resources, and what IATI's update cycle knows of its datasets.

Revision ID: 005_copies
Revises: 004_check
Create Date: 2026-11-21
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "005_copies"
down_revision = "004_check"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "freshness_copy",
        sa.Column("resource_id", sa.UnicodeText, primary_key=True, comment="resource"),
        sa.Column("package_id", sa.UnicodeText, nullable=False, index=True, comment="its dataset"),
        sa.Column(
            "key",
            sa.UnicodeText,
            unique=True,
            comment="of the bytes in the store; empty if they were removed",
        ),
        sa.Column(
            "zip_key", sa.UnicodeText, comment="of their ZIP in the store; empty if there is none"
        ),
        sa.Column("size", sa.BigInteger, nullable=False, comment="of the bytes"),
        sa.Column("zip_size", sa.BigInteger, comment="of the ZIP in bytes"),
        sa.Column("sha256", sa.UnicodeText, nullable=False, comment="of the bytes, hexadecimal"),
        sa.Column("mimetype", sa.UnicodeText, comment="what the server says the bytes are"),
        sa.Column(
            "filename", sa.UnicodeText, nullable=False, comment="under which they are given out"
        ),
        sa.Column("source_url", sa.UnicodeText, nullable=False, comment="where they came from"),
        sa.Column("stored_at", sa.DateTime, nullable=False, comment="when they were stored"),
        sa.Column(
            "verified_at",
            sa.DateTime,
            nullable=False,
            comment="when the source last had them, as far as it says so",
        ),
        sa.Column(
            "expired_at",
            sa.DateTime,
            index=True,
            comment="when they were removed from the store because the source failed for too long; empty "
            "while they are there",
        ),
        comment="last known good copies of resources",
    )
    op.create_table(
        "freshness_iati",
        sa.Column("resource_id", sa.UnicodeText, primary_key=True, comment="its only resource"),
        sa.Column(
            "package_id", sa.UnicodeText, nullable=False, index=True, comment="its dataset in CKAN"
        ),
        sa.Column(
            "source_id",
            sa.UnicodeText,
            nullable=False,
            index=True,
            comment="harvest source that registered it",
        ),
        sa.Column(
            "organisation_id",
            sa.UnicodeText,
            nullable=False,
            comment="the registry's id of its reporting organisation",
        ),
        sa.Column(
            "organisation_name", sa.UnicodeText, nullable=False, comment="short name of that one"
        ),
        sa.Column(
            "dataset_id", sa.UnicodeText, nullable=False, comment="the registry's id of the dataset"
        ),
        sa.Column("dataset_name", sa.UnicodeText, nullable=False, comment="its short name"),
        sa.Column("last_update_check", sa.DateTime, comment="when a cycle last came to it: step 1"),
        sa.Column("head_attempt", JSONB, comment="the most recent HEAD; empty if there was none"),
        sa.Column("get_attempt", JSONB, comment="the most recent GET; empty if there was none"),
        sa.Column(
            "hash", sa.UnicodeText, comment="SHA-1 of the last known good bytes, hexadecimal"
        ),
        sa.Column(
            "hash_excluding_generated_timestamp",
            sa.UnicodeText,
            comment="likewise, without any generated-datetime attribute",
        ),
        sa.Column(
            "downloaded", sa.DateTime, comment="when the last known good bytes were downloaded"
        ),
        sa.Column("verified_on_server", sa.DateTime, comment="when the server last confirmed them"),
        sa.Column(
            "content_length", sa.BigInteger, comment="Content-Length that came with them, in bytes"
        ),
        sa.Column("initial_contents", sa.UnicodeText, comment="their first 150 characters"),
        sa.Column("etag", sa.UnicodeText, comment="ETag that came with them"),
        sa.Column(
            "last_modified",
            sa.UnicodeText,
            comment="Last-Modified that came with them, as the server wrote it",
        ),
        sa.Column("source_url", sa.UnicodeText, comment="URL that they came from"),
        sa.Column("content_modified", sa.DateTime, comment="when a new hash was last met"),
        sa.Column(
            "content_modified_excluding_generated_timestamp",
            sa.DateTime,
            comment="when a new hash without generated-datetime attributes was last met",
        ),
        sa.Column(
            "attempts",
            JSONB,
            nullable=False,
            server_default=sa.text("'[]'"),
            comment="the last five attempts, newest first",
        ),
        sa.Column(
            "failures",
            sa.Integer,
            nullable=False,
            server_default=sa.text("0"),
            comment="failed visits since the last success",
        ),
        sa.Column(
            "postponed_until",
            sa.DateTime,
            comment="before this moment a failing URL is not asked again; empty if it may be",
        ),
        sa.Column(
            "published",
            sa.Boolean,
            nullable=False,
            server_default=sa.false(),
            comment="the index files and the bulk ZIPs of its source name it",
        ),
        comment="what IATI's update cycle knows of each registered dataset",
    )


def downgrade() -> None:
    for table in ("iati", "copy"):
        op.drop_table(f"freshness_{table}")
