"""How fresh the public datasets were, day by day.

Revision ID: 007_history
Revises: 006_mails
Create Date: 2026-11-21
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "007_history"
down_revision = "006_mails"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "freshness_history",
        sa.Column("day", sa.Date, primary_key=True, comment="day in UTC"),
        sa.Column("made_at", sa.DateTime, nullable=False, comment="when it was counted"),
        sa.Column("statuses", JSONB, nullable=False, comment="datasets by status"),
        sa.Column(
            "organizations",
            JSONB,
            nullable=False,
            comment="datasets by status, by name of organization",
        ),
        sa.Column("hosts", JSONB, nullable=False, comment="resources by host of their URL"),
    )


def downgrade() -> None:
    op.drop_table("freshness_history")
