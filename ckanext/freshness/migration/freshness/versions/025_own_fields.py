"""Keep a site's own fields that have the names of ours: ours get a prefix, or the old values are kept.

Revision ID: 025_own_fields
Revises: 024_comments
Create Date: 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "025_own_fields"
down_revision = "024_comments"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "freshness_dataset",
        sa.Column(
            "field_prefix",
            sa.UnicodeText,
            nullable=False,
            server_default="",
            comment="what the names of its extras begin with; usually empty",
        ),
    )
    op.create_table(
        "freshness_replaced",
        sa.Column("package_id", sa.UnicodeText, primary_key=True, comment="dataset"),
        sa.Column("key", sa.UnicodeText, primary_key=True, comment="the extra that was replaced"),
        sa.Column("value", sa.UnicodeText, nullable=False, comment="the site's own value"),
        comment="values of a site's own extras that ours have replaced; uninstalling restores them",
    )


def downgrade() -> None:
    op.drop_table("freshness_replaced")
    op.drop_column("freshness_dataset", "field_prefix")
