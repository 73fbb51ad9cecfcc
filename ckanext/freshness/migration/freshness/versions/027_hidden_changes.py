"""Remember whose server hides changes of its file.

Revision ID: 027_hidden_changes
Revises: 026_comments
Create Date: 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "027_hidden_changes"
down_revision = "026_comments"
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
