"""Remember when a refresh last compared all datasets, so that the next ones only look at edited ones.

Revision ID: 029_comparison
Revises: 028_last_failure
Create Date: 2026-11-24
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "029_comparison"
down_revision = "028_last_failure"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "freshness_comparison",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False, comment="always 1"),
        sa.Column(
            "began_at",
            sa.DateTime,
            nullable=False,
            comment="when a refresh began that compared the extras of all datasets",
        ),
        comment="when all datasets were last compared; later refreshes compare edited datasets",
    )


def downgrade() -> None:
    op.drop_table("freshness_comparison")
