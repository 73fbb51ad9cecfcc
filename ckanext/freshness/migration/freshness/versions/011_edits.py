"""Transitions name the action that caused them, and the resource that it was about.

Revision ID: 011_edits
Revises: 010_judge_anew
Create Date: 2026-11-22
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "011_edits"
down_revision = "010_judge_anew"
branch_labels = None
depends_on = None

_COLUMNS = {
    "action": "CKAN's action that changed the dataset; empty if no edit did",
    "change": "added, replaced, edited or removed: what it did to a resource",
    "resource_id": "that resource",
    "resource_name": "its name, or its URL if it had none",
}


def upgrade() -> None:
    for name, comment in _COLUMNS.items():
        op.add_column("freshness_transition", sa.Column(name, sa.UnicodeText, comment=comment))


def downgrade() -> None:
    for name in _COLUMNS:
        op.drop_column("freshness_transition", name)
