"""Have the next refresh send every dataset's document to Solr, with the field of the status's group.

Revision ID: 018_groups
Revises: 017_strip
Create Date: 2026-11-23
"""

from __future__ import annotations

from alembic import op

revision = "018_groups"
down_revision = "017_strip"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "INSERT INTO freshness_unindexed (package_id, since) "
        "SELECT d.package_id, now() AT TIME ZONE 'utc' "
        "FROM freshness_dataset d JOIN package p ON p.id = d.package_id WHERE p.state <> 'deleted' "
        "ON CONFLICT (package_id) DO NOTHING"
    )


def downgrade() -> None:
    """Leave the documents: an older version ignores the field."""
