"""Keep the results of the last 30 checks of each resource, and begin with the five that are stored.

Revision ID: 017_strip
Revises: 016_mail_kinds
Create Date: 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "017_strip"
down_revision = "016_mail_kinds"
branch_labels = None
depends_on = None

# The reasons of failures that are not the URL's.
_FILL = """
UPDATE freshness_check c SET strip = (
    SELECT string_agg(
        CASE
            WHEN attempt ->> 'outcome' = 'error' THEN CASE WHEN attempt ->> 'reason' IN (
                'inside address', 'host not allowed', 'refused by robots.txt', 'host asked for a pause',
                'host gave no answer', 'too large', 'invalid request', 'proxy', 'out of sockets'
            ) THEN 'u' ELSE 'f' END
            WHEN attempt ->> 'outcome' = 'cannot tell' THEN 'u'
            ELSE 'w'
        END, '' ORDER BY number DESC
    )
    FROM jsonb_array_elements(c.attempts) WITH ORDINALITY AS a (attempt, number)
)
WHERE c.attempts <> '[]'"""


def upgrade() -> None:
    op.add_column(
        "freshness_check",
        sa.Column(
            "strip",
            sa.UnicodeText,
            nullable=False,
            server_default="",
            comment="the last 30 checks, oldest first: w worked, f failed, u could not be made",
        ),
    )
    op.execute(_FILL)


def downgrade() -> None:
    op.drop_column("freshness_check", "strip")
