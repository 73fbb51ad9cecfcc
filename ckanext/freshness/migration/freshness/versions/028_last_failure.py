"""Remember when a link last failed, apart from checks that could not tell.

Revision ID: 028_last_failure
Revises: 027_hidden_changes
Create Date: 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "028_last_failure"
down_revision = "027_hidden_changes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "freshness_check",
        sa.Column("failed_at", sa.DateTime, comment="end of the last of these failed checks"),
    )
    op.execute("UPDATE freshness_check SET failed_at = tried_at WHERE failing_since IS NOT NULL")


def downgrade() -> None:
    op.drop_column("freshness_check", "failed_at")
