"""Keep each change of data.

Revision ID: 019_changes
Revises: 018_groups
Create Date: 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "019_changes"
down_revision = "018_groups"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "freshness_change",
        sa.Column(
            "id",
            sa.UnicodeText,
            primary_key=True,
            comment="UUID; the cursor after this change",
        ),
        sa.Column(
            "position",
            sa.BigInteger,
            comment="place in the order of commits; empty until the stream is read the next time",
        ),
        sa.Column("package_id", sa.UnicodeText, nullable=False, comment="dataset"),
        sa.Column(
            "resource_id",
            sa.UnicodeText,
            comment="resource; empty if the change is of the dataset as a whole",
        ),
        sa.Column("seen_at", sa.DateTime, nullable=False, comment="when the change was noticed"),
        sa.Column(
            "changed_after",
            sa.DateTime,
            comment="the last moment at which the old data are known; empty if unknown",
        ),
        sa.Column(
            "changed_before",
            sa.DateTime,
            nullable=False,
            comment="the first moment at which the new data are known",
        ),
        sa.Column(
            "stated_at",
            sa.DateTime,
            comment="date of the change as the server, source or editor states it",
        ),
        sa.Column(
            "evidence",
            sa.UnicodeText,
            nullable=False,
            comment="how we know: upload, url, harvest, http header, hash or script",
        ),
        sa.Column("hash_before", sa.UnicodeText, comment="hash of the old file; empty if unknown"),
        sa.Column(
            "hash_after", sa.UnicodeText, comment="hash of the new file; empty if it was not read"
        ),
        sa.Column(
            "size_before", sa.BigInteger, comment="bytes of the old file, as the resource had it"
        ),
        sa.Column(
            "size_after", sa.BigInteger, comment="bytes of the new file; empty if it was not read"
        ),
        sa.Column(
            "media_type_before",
            sa.UnicodeText,
            comment="media type of the old file, as the resource had it",
        ),
        sa.Column("media_type_after", sa.UnicodeText, comment="media type of the new file"),
        sa.Column(
            "summary",
            postgresql.JSONB,
            comment="what changed in the tables of the file; empty if it could not be determined",
        ),
        comment="each change of a dataset's data, kept for two years",
    )
    op.create_index("ix_freshness_change_package_id", "freshness_change", ["package_id", "seen_at"])
    op.create_index("ix_freshness_change_seen_at", "freshness_change", ["seen_at"])
    op.create_index("ix_freshness_change_position", "freshness_change", ["position"], unique=True)
    op.create_index(
        "ix_freshness_change_unplaced",
        "freshness_change",
        ["id"],
        postgresql_where=sa.text('"position" IS NULL'),
    )


def downgrade() -> None:
    op.drop_table("freshness_change")
