"""Let people switch off each kind of mail, and remember when they last had one of each kind.

Revision ID: 016_mail_kinds
Revises: 015_people
Create Date: 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "016_mail_kinds"
down_revision = "015_people"
branch_labels = None
depends_on = None

_OLD_KINDS = "'overdue', 'delinquent', 'run'"

_COMMENTS = (
    (
        *("freshness_mail", "kind"),
        "overdue, delinquent or run",
        "kind of mail: overdue, broken...",
    ),
    (
        *("freshness_mail", "about"),
        "id of the transition, or the finding and the run's id: failed:...",
        "id of the transition, the resource, dataset or organization; for runs the problem and the run's "
        "id: failed:...",
    ),
    (
        *("freshness_mail_person", "opted_out_at"),
        "when its owner opted out; empty if mails are wanted",
        "when its owner switched off all mails; empty if some are wanted",
    ),
)


def upgrade() -> None:
    op.add_column(
        "freshness_mail_person",
        sa.Column(
            "off",
            postgresql.ARRAY(sa.UnicodeText),
            nullable=False,
            server_default="{}",
            comment="kinds of mails that its owner switched off",
        ),
    )
    op.add_column(
        "freshness_mail_person",
        sa.Column(
            "told_at",
            postgresql.JSONB,
            nullable=False,
            server_default="{}",
            comment="the time of the last mail by kind",
        ),
    )
    op.execute(
        """
        UPDATE freshness_mail_person p SET told_at = m.told_at
        FROM (
            SELECT address, jsonb_object_agg(kind, ended_at) AS told_at
            FROM (
                SELECT address, kind, max(ended_at) AS ended_at FROM freshness_mail
                WHERE outcome IN ('sent', 'unknown') GROUP BY address, kind
            ) k
            GROUP BY address
        ) m
        WHERE m.address = p.address"""
    )
    op.execute(
        "UPDATE freshness_mail SET kind = 'fallen' WHERE kind = 'run' AND about LIKE 'halved:%'"
    )
    for table, column, old, new in _COMMENTS:
        op.alter_column(table, column, comment=new, existing_comment=old)


def downgrade() -> None:
    for table, column, old, new in _COMMENTS:
        op.alter_column(table, column, comment=old, existing_comment=new)
    op.execute(
        "UPDATE freshness_mail SET kind = 'run' WHERE kind = 'fallen' AND about LIKE 'halved:%'"
    )
    op.execute(f"DELETE FROM freshness_mail WHERE kind NOT IN ({_OLD_KINDS})")
    for column in ("told_at", "off"):
        op.drop_column("freshness_mail_person", column)
