"""The lists of broken and of unclear resources are read from indexes, not from all resources.

Revision ID: 009_lists
Revises: 008_organizations
Create Date: 2026-11-22
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "009_lists"
down_revision = "008_organizations"
branch_labels = None
depends_on = None

# Partial ones: where nothing fails and nothing is in doubt, a visit touches none of them.
_PARTIAL = {
    "ix_freshness_check_failing": (["failing_since", "resource_id"], "failing_since IS NOT NULL"),
    "ix_freshness_check_undetermined": (["host", "resource_id"], "undetermined IS NOT NULL"),
}


def upgrade() -> None:
    for name, (columns, where) in _PARTIAL.items():
        op.create_index(name, "freshness_check", columns, postgresql_where=sa.text(where))
    op.create_index("ix_freshness_check_host", "freshness_check", ["host"])


def downgrade() -> None:
    for name in ("ix_freshness_check_host", *_PARTIAL):
        op.drop_index(name, "freshness_check")
