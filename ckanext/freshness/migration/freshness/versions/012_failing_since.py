"""Remember since when the file of an IATI dataset fails, because its copy expires by that.

Revision ID: 012_failing_since
Revises: 011_edits
Create Date: 2026-11-22
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "012_failing_since"
down_revision = "011_edits"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # For files that fail already, the time counts from their next failure: no copy expires too early.
    op.add_column(
        "freshness_iati",
        sa.Column("failing_since", sa.DateTime, comment="the first of those failed visits"),
    )


def downgrade() -> None:
    op.drop_column("freshness_iati", "failing_since")
