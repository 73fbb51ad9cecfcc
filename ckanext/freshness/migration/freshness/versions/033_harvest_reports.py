"""Keep what a harvest found that belongs to no record: drafts, other kinds of records, and warnings.

Revision ID: 033_harvest_reports
Revises: 032_page_orders
Create Date: 2026-11-26
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "033_harvest_reports"
down_revision = "032_page_orders"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "freshness_harvest_report",
        sa.Column("job_id", sa.UnicodeText, primary_key=True, comment="harvest job"),
        sa.Column("source_id", sa.UnicodeText, nullable=False, comment="harvest source"),
        sa.Column(
            "drafts",
            sa.Integer,
            nullable=False,
            comment="how many records and distributions are listed and were never readable",
        ),
        sa.Column(
            "warnings",
            JSONB,
            nullable=False,
            comment="warnings about the source that belong to no record: a list of texts",
        ),
        sa.Column(
            "not_harvested",
            JSONB,
            nullable=False,
            comment="what the source lists and becomes no dataset: a list of {kind, count, examples}",
        ),
    )


def downgrade() -> None:
    op.drop_table("freshness_harvest_report")
