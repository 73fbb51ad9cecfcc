"""Remember when a file changed last, and how regularly it changes.

Revision ID: 031_rhythms
Revises: 030_broken_links
Create Date: 2026-11-24
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION

revision = "031_rhythms"
down_revision = "030_broken_links"
branch_labels = None
depends_on = None

_COLUMNS = (
    sa.Column(
        "last_change_at",
        sa.DateTime,
        comment="when the last change that a check saw happened, as far as known",
    ),
    sa.Column(
        "interval_days",
        DOUBLE_PRECISION,
        comment="days between the last changes; empty if fewer than two are known",
    ),
    sa.Column(
        "regularity",
        DOUBLE_PRECISION,
        nullable=False,
        server_default=sa.text("0.1"),
        comment="probability that the file changes at regular intervals",
    ),
)


def upgrade() -> None:
    for column in _COLUMNS:
        op.add_column("freshness_check", column)


def downgrade() -> None:
    for column in _COLUMNS:
        op.drop_column("freshness_check", column.name)
