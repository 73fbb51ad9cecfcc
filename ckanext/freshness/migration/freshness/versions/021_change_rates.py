"""Keep how often each file changes, as checks have seen it.

Revision ID: 021_change_rates
Revises: 020_shapes
Create Date: 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION

revision = "021_change_rates"
down_revision = "020_shapes"
branch_labels = None
depends_on = None

_COLUMNS = (
    sa.Column(
        "seen_changes",
        DOUBLE_PRECISION,
        nullable=False,
        server_default="0",
        comment="changes that checks saw; old ones fade",
    ),
    sa.Column(
        "watched_days",
        DOUBLE_PRECISION,
        nullable=False,
        server_default="0",
        comment="days in which they were seen; old ones fade",
    ),
    sa.Column("change_seen_at", sa.DateTime, comment="start of the run that last saw a change"),
    sa.Column(
        "together",
        DOUBLE_PRECISION,
        nullable=False,
        server_default="0.5",
        comment="how often the file changed when others of its dataset had, from 0 to 1",
    ),
    sa.Column(
        "dates_right",
        sa.Integer,
        nullable=False,
        server_default="0",
        comment="checks in which the stated date was right",
    ),
    sa.Column(
        "dates_wrong",
        sa.Integer,
        nullable=False,
        server_default="0",
        comment="checks in which the stated date was wrong",
    ),
)


def upgrade() -> None:
    for column in _COLUMNS:
        op.add_column("freshness_check", column.copy())


def downgrade() -> None:
    for column in _COLUMNS:
        op.drop_column("freshness_check", column.name)
