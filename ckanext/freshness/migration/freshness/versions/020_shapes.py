"""Remember the tables of each file, so that a change says what has changed in them.

Revision ID: 020_shapes
Revises: 019_changes
Create Date: 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "020_shapes"
down_revision = "019_changes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "freshness_check",
        sa.Column(
            "shape",
            postgresql.JSONB,
            comment="of the bytes as last confirmed: name, number of rows and columns of each table; an empty "
            "list if they are uncertain, empty if they were not read",
        ),
    )


def downgrade() -> None:
    op.drop_column("freshness_check", "shape")
