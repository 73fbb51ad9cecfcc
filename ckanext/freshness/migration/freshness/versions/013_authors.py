"""Remember who changed an update frequency and who confirmed a dataset's data, and what was there before.

Revision ID: 013_authors
Revises: 012_failing_since
Create Date: 2026-11-22
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "013_authors"
down_revision = "012_failing_since"
branch_labels = None
depends_on = None

_COLUMNS = {
    "freshness_transition": (
        sa.Column(
            "author", sa.UnicodeText, comment="name of the user whose edit it was, if one was"
        ),
        sa.Column(
            "frequency_before",
            sa.Integer,
            comment="update frequency before, if the status changed because that did",
        ),
        sa.Column("frequency_after", sa.Integer, comment="and after"),
    ),
    "freshness_evidence": (
        sa.Column(
            "author", sa.UnicodeText, comment="name of the user whose edit showed it, if known"
        ),
        sa.Column(
            "previous_at",
            sa.DateTime,
            comment="of a review: the one before it, which counts again if it is withdrawn",
        ),
    ),
}


def upgrade() -> None:
    for table, columns in _COLUMNS.items():
        for column in columns:
            op.add_column(table, column)


def downgrade() -> None:
    for table, columns in _COLUMNS.items():
        for column in columns:
            op.drop_column(table, column.name)
