"""Let the next refresh judge every dataset by the rule that a stated date outweighs a resource's creation.

Revision ID: 010_judge_anew
Revises: 009_lists
Create Date: 2026-11-22
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "010_judge_anew"
down_revision = "009_lists"
branch_labels = None
depends_on = None

_INDEX = "ix_freshness_dataset_judge_anew"


def upgrade() -> None:
    op.add_column(
        "freshness_dataset",
        sa.Column(
            "judge_anew",
            sa.Boolean,
            nullable=False,
            server_default=sa.true(),
            comment="the next refresh judges it, since rules or assumptions changed; nobody gets a mail",
        ),
    )
    op.alter_column("freshness_dataset", "judge_anew", server_default=sa.false())
    op.create_index(
        _INDEX, "freshness_dataset", ["package_id"], postgresql_where=sa.text("judge_anew")
    )


def downgrade() -> None:
    op.drop_index(_INDEX, "freshness_dataset")
    op.drop_column("freshness_dataset", "judge_anew")
