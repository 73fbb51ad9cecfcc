"""What harvests remember: documents that need not be parsed again, and deletions that are held.

Revision ID: 001_harvest
Revises:
Create Date: 2026-11-21
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "001_harvest"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "freshness_harvest_document",
        sa.Column("source_id", sa.UnicodeText, primary_key=True, comment="harvest source"),
        sa.Column("url", sa.UnicodeText, primary_key=True, comment="URL of the document"),
        sa.Column(
            "digest",
            sa.UnicodeText,
            nullable=False,
            comment="SHA-256 of its bytes and of what its reading depends on",
        ),
        sa.Column(
            "outline",
            JSONB,
            nullable=False,
            comment="what it lists and what its members look like",
        ),
    )
    op.create_table(
        "freshness_harvest_hold",
        sa.Column("source_id", sa.UnicodeText, primary_key=True, comment="harvest source"),
        sa.Column(
            "job_id",
            sa.UnicodeText,
            nullable=False,
            comment="job that would have deleted these",
        ),
        sa.Column("held_at", sa.DateTime, nullable=False, comment="UTC"),
        sa.Column(
            "reason", sa.UnicodeText, nullable=False, comment="why the brake holds, for people"
        ),
        sa.Column("held", JSONB, nullable=False, comment="list of {guid, url, package_id, reason}"),
        sa.Column(
            "released_at", sa.DateTime, comment="UTC; empty while nobody has released the list"
        ),
        sa.Column("released_by", sa.UnicodeText, comment="name of the user who released it"),
    )


def downgrade() -> None:
    op.drop_table("freshness_harvest_hold")
    op.drop_table("freshness_harvest_document")
