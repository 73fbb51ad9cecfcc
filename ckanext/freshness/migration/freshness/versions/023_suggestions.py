"""Keep the update frequencies that the data of datasets suggest.

Revision ID: 023_suggestions
Revises: 022_uninstall
Create Date: 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION

revision = "023_suggestions"
down_revision = "022_uninstall"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "freshness_suggestion",
        sa.Column("package_id", sa.UnicodeText, primary_key=True, comment="dataset"),
        sa.Column(
            "declared_days",
            sa.Integer,
            comment="its update frequency when it was compared; empty if it had none",
        ),
        sa.Column(
            "suggested_days",
            sa.Integer,
            nullable=False,
            comment="the usual update frequency that fits best",
        ),
        sa.Column(
            "certainty",
            DOUBLE_PRECISION,
            comment="probability that the declared frequency does not fit; empty if none is declared",
        ),
        sa.Column(
            "days",
            DOUBLE_PRECISION,
            nullable=False,
            comment="observed average time between two updates",
        ),
        sa.Column(
            "lowest_days",
            DOUBLE_PRECISION,
            nullable=False,
            comment="lower end of the range of this average",
        ),
        sa.Column(
            "highest_days", DOUBLE_PRECISION, nullable=False, comment="upper end of the range"
        ),
        sa.Column(
            "at_least",
            sa.Boolean,
            nullable=False,
            comment="each check found a change: the data may change more often",
        ),
        sa.Column("changes", sa.Integer, nullable=False, comment="number of updates observed"),
        sa.Column(
            "basis",
            sa.UnicodeText,
            nullable=False,
            comment="what changed: files, or record (dates of the harvested record)",
        ),
        sa.Column(
            "changed_at", ARRAY(sa.DateTime), nullable=False, comment="the moments of the updates"
        ),
        sa.Column(
            "kept_at",
            sa.DateTime,
            comment="when an editor decided to keep the declared frequency; empty without such a decision",
        ),
        sa.Column("counted_at", sa.DateTime, nullable=False, comment="when it was computed"),
        comment="update frequencies that fit datasets better than their own, computed each night",
    )


def downgrade() -> None:
    op.drop_table("freshness_suggestion")
