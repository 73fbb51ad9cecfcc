"""Create the table."""

import sqlalchemy as sa
from alembic import op

revision = "001_initial"
down_revision = None


def upgrade():
    op.create_table(
        "plain_list_link",
        sa.Column("resource_id", sa.UnicodeText, primary_key=True),
        sa.Column("checked_at", sa.DateTime, nullable=False),
        sa.Column("is_there", sa.Boolean, nullable=False),
    )
