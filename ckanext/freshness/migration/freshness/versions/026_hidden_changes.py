"""Remember whose server hides changes of its file.

Revision ID: 026_hidden_changes
Revises: 025_own_fields
Create Date: 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "026_hidden_changes"
down_revision = "025_own_fields"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "freshness_check",
        sa.Column(
            "hides_changes",
            sa.Boolean,
            nullable=False,
            server_default=sa.false(),
            comment="whether ETag and Last-Modified stayed the same at the file's last change",
        ),
    )


def downgrade() -> None:
    op.drop_column("freshness_check", "hides_changes")
