"""Create the table of the datasets of registries.

Revision ID: 001_0_1_0
Revises:
Create Date: 2026-11-29
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "001_0_1_0"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Development versions before 0.1.0 made it with the tables of the plugin freshness.
    if sa.inspect(op.get_bind()).has_table("freshness_iati"):
        return
    op.create_table(
        "freshness_iati",
        sa.Column("resource_id", sa.UnicodeText, nullable=False),
        sa.Column("package_id", sa.UnicodeText, nullable=False),
        sa.Column("source_id", sa.UnicodeText, nullable=False),
        sa.Column("organisation_id", sa.UnicodeText, nullable=False),
        sa.Column("organisation_name", sa.UnicodeText, nullable=False),
        sa.Column("dataset_id", sa.UnicodeText, nullable=False),
        sa.Column("dataset_name", sa.UnicodeText, nullable=False),
        sa.Column("state", JSONB, server_default="{}", nullable=False),
        sa.Column("failing_since", sa.DateTime),
        sa.Column("content_changed", sa.DateTime),
        sa.Column("published", sa.Boolean, server_default="false", nullable=False),
        sa.PrimaryKeyConstraint("resource_id"),
    )
    op.create_index("ix_freshness_iati_package_id", "freshness_iati", ["package_id"])
    op.create_index("ix_freshness_iati_source_id", "freshness_iati", ["source_id"])


def downgrade() -> None:
    op.drop_table("freshness_iati")
