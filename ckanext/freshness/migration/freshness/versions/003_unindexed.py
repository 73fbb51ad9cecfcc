"""Datasets whose documents in Solr are older than their extras.

Revision ID: 003_unindexed
Revises: 002_freshness
Create Date: 2026-11-21
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "003_unindexed"
down_revision = "002_freshness"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "freshness_unindexed",
        sa.Column("package_id", sa.UnicodeText, primary_key=True, comment="dataset"),
        sa.Column(
            "since",
            sa.DateTime,
            nullable=False,
            comment="when its extras were written, by a run that had not sent its document yet",
        ),
        comment="datasets whose documents in Solr are older than their extras",
    )


def downgrade() -> None:
    op.drop_table("freshness_unindexed")
