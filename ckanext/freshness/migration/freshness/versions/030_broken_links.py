"""Let PostgreSQL find broken links in the index alone, since the table's rows are large.

Revision ID: 030_broken_links
Revises: 029_comparison
Create Date: 2026-11-24
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "030_broken_links"
down_revision = "029_comparison"
branch_labels = None
depends_on = None

NAME, TABLE = "ix_freshness_check_failing", "freshness_check"
COLUMNS = ["failing_since", "resource_id"]
WHERE = sa.text("failing_since IS NOT NULL")


def upgrade() -> None:
    op.drop_index(NAME, TABLE)
    op.create_index(
        NAME,
        TABLE,
        COLUMNS,
        postgresql_where=WHERE,
        postgresql_include=["failures", "failed_at", "package_id"],
    )


def downgrade() -> None:
    op.drop_index(NAME, TABLE)
    op.create_index(NAME, TABLE, COLUMNS, postgresql_where=WHERE)
