"""The counts of organizations by their ids: a name may change, and go to another organization.

Revision ID: 008_organizations
Revises: 007_history
Create Date: 2026-11-22
"""

from __future__ import annotations

from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "008_organizations"
down_revision = "007_history"
branch_labels = None
depends_on = None

_RENAME = """
UPDATE freshness_history h SET organizations = (
    SELECT coalesce(jsonb_object_agg(coalesce(g.{after}, o.key), o.value), '{{}}')
    FROM jsonb_each(h.organizations) o LEFT JOIN "group" g ON g.{before} = o.key
)"""


def upgrade() -> None:
    # What has no organization of its name any more stays as it is: nobody can say whose it was.
    op.execute(_RENAME.format(before="name", after="id"))
    _comment("datasets by status, by id of organization")


def downgrade() -> None:
    op.execute(_RENAME.format(before="id", after="name"))
    _comment("datasets by status, by name of organization")


def _comment(words: str) -> None:
    op.alter_column(
        "freshness_history",
        "organizations",
        existing_type=JSONB,
        existing_nullable=False,
        comment=words,
    )
