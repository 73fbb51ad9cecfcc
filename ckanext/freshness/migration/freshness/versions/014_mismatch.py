"""Remember which files are of another kind than their format says, and which are tables.

Revision ID: 014_mismatch
Revises: 013_authors
Create Date: 2026-11-22
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "014_mismatch"
down_revision = "013_authors"
branch_labels = None
depends_on = None

_INDEX = "ix_freshness_check_mismatch"
_COLUMNS = ("tabular", "promised", "found")


def upgrade() -> None:
    op.add_column(
        "freshness_check",
        sa.Column(
            "tabular",
            sa.Boolean,
            nullable=False,
            server_default=sa.text("false"),
            comment="the last good bytes were a table of several lines or columns, as promised",
        ),
    )
    op.add_column(
        "freshness_check",
        sa.Column(
            "promised",
            sa.UnicodeText,
            comment="format of the resource when the bytes were of another kind; empty if they fitted",
        ),
    )
    op.add_column(
        "freshness_check",
        sa.Column(
            "found",
            sa.UnicodeText,
            comment="kind of those bytes; empty if they fitted",
        ),
    )
    op.create_index(
        _INDEX,
        "freshness_check",
        ["host", "resource_id"],
        postgresql_where=sa.text("found IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index(_INDEX, "freshness_check")
    for name in _COLUMNS:
        op.drop_column("freshness_check", name)
