"""Find datasets quickly that turned out to be harvested, and name each cause of a transition in its comment.

Revision ID: 015_people
Revises: 014_mismatch
Create Date: 2026-11-22
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "015_people"
down_revision = "014_mismatch"
branch_labels = None
depends_on = None

_INDEX = "ix_freshness_dataset_people"
_OLD = "edit, time, check or recompute: who wrote it"
_NEW = "edit, frequency, time, check or recompute: why it changed"


def upgrade() -> None:
    op.create_index(
        _INDEX,
        "freshness_dataset",
        ["package_id"],
        postgresql_where=sa.text("evidence IN ('created', 'metadata', 'url') AND NOT judge_anew"),
    )
    op.alter_column("freshness_transition", "cause", comment=_NEW, existing_comment=_OLD)


def downgrade() -> None:
    op.alter_column("freshness_transition", "cause", comment=_OLD, existing_comment=_NEW)
    op.drop_index(_INDEX, "freshness_dataset")
