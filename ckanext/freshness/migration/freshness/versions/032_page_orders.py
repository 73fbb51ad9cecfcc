"""Let PostgreSQL read the first rows of long lists in their order.

Revision ID: 032_page_orders
Revises: 031_rhythms
Create Date: 2026-11-24
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "032_page_orders"
down_revision = "031_rhythms"
branch_labels = None
depends_on = None

_FAILURES = ("ix_freshness_check_failures", "freshness_check")
_CERTAINTY = ("ix_freshness_suggestion_certainty", "freshness_suggestion")
_UNDECLARED = ("ix_freshness_dataset_undeclared", "freshness_dataset")
_URGENT = ("ix_freshness_dataset_urgent", "freshness_dataset")


def upgrade() -> None:
    op.create_index(
        *_FAILURES,
        ["failures", "resource_id"],
        postgresql_where=sa.text("failing_since IS NOT NULL"),
        postgresql_include=["failing_since", "failed_at", "package_id"],
    )
    op.create_index(
        *_CERTAINTY, ["certainty", "package_id"], postgresql_where=sa.text("kept_at IS NULL")
    )
    op.create_index(
        *_UNDECLARED,
        [sa.text("last_modified DESC NULLS LAST"), "package_id"],
        postgresql_where=sa.text("frequency_days IS NULL"),
    )
    op.create_index(
        *_URGENT,
        [
            sa.text("(array_position(ARRAY['delinquent', 'overdue', 'due'], status))"),
            *("due", "package_id"),
        ],
        postgresql_where=sa.text("status IN ('due', 'overdue', 'delinquent')"),
    )


def downgrade() -> None:
    for name, table in (_URGENT, _UNDECLARED, _CERTAINTY, _FAILURES):
        op.drop_index(name, table)
