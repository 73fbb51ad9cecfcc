"""Who was told what by mail, and who wants none.

Revision ID: 006_mails
Revises: 005_copies
Create Date: 2026-11-21
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "006_mails"
down_revision = "005_copies"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "freshness_mail",
        sa.Column("kind", sa.UnicodeText, primary_key=True, comment="overdue, delinquent or run"),
        sa.Column(
            "about",
            sa.UnicodeText,
            primary_key=True,
            comment="id of the transition, or the finding and the run's id: failed:...",
        ),
        sa.Column(
            "address",
            sa.UnicodeText,
            primary_key=True,
            comment="e-mail address; empty where nobody is told",
        ),
        sa.Column("package_id", sa.UnicodeText, comment="dataset; empty for runs"),
        sa.Column(
            "outcome",
            sa.UnicodeText,
            nullable=False,
            comment="waiting, claimed, sent, refused, unknown, or why nobody is told: fresh again, "
            "opted out, nobody, gone",
        ),
        sa.Column(
            "tries",
            sa.Integer,
            nullable=False,
            server_default=sa.text("0"),
            comment="how often it was handed to the mail server",
        ),
        sa.Column(
            "mail_id", sa.UnicodeText, index=True, comment="UUID of the last mail in which it stood"
        ),
        sa.Column("claimed_at", sa.DateTime, comment="when that mail was about to be sent"),
        sa.Column("ended_at", sa.DateTime, comment="when its outcome was known"),
        sa.Column("error", sa.UnicodeText, comment="why the last try failed; empty if it did not"),
        comment="what each person was told by mail",
    )
    op.create_table(
        "freshness_mail_person",
        sa.Column("id", sa.Integer, primary_key=True, comment="stands in the links of its mails"),
        sa.Column(
            "address",
            sa.UnicodeText,
            nullable=False,
            unique=True,
            comment="e-mail address, in small letters",
        ),
        sa.Column(
            "opted_out_at",
            sa.DateTime,
            comment="when its owner opted out; empty if mails are wanted",
        ),
        comment="addresses that were written to, and what their owners want",
    )
    op.create_table(
        "freshness_mail_start",
        sa.Column("id", sa.Integer, primary_key=True, comment="1"),
        sa.Column(
            "transition_id",
            sa.BigInteger,
            nullable=False,
            comment="the newest transition that nobody is told of",
        ),
        sa.Column(
            "started_at",
            sa.DateTime,
            nullable=False,
            comment="runs that went wrong before are not told of",
        ),
        comment="where mails begin; one row at most",
    )


def downgrade() -> None:
    for table in ("mail_start", "mail_person", "mail"):
        op.drop_table(f"freshness_{table}")
