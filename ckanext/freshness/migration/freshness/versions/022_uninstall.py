"""Note that the site is being left, so that no process writes the removed extras again.

Revision ID: 022_uninstall
Revises: 021_change_rates
Create Date: 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "022_uninstall"
down_revision = "021_change_rates"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "freshness_uninstall",
        sa.Column(
            "began_at",
            sa.DateTime,
            primary_key=True,
            comment="when ckan freshness-uninstall was first called; no row: never, or undone",
        ),
        comment="while it has a row, no extra and no field of a resource is written",
    )


def downgrade() -> None:
    op.drop_table("freshness_uninstall")
