"""How fresh each dataset is, the evidence for it, and each change of a status.

Revision ID: 002_freshness
Revises: 001_harvest
Create Date: 2026-11-21
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "002_freshness"
down_revision = "001_harvest"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "freshness_dataset",
        sa.Column("package_id", sa.UnicodeText, primary_key=True, comment="dataset"),
        sa.Column(
            "status",
            sa.UnicodeText,
            nullable=False,
            comment="fresh, due, overdue, delinquent or unavailable; as of the last write",
        ),
        sa.Column(
            "last_modified",
            sa.DateTime,
            comment="newest modification that counts; empty if none is known",
        ),
        sa.Column(
            "evidence",
            sa.UnicodeText,
            comment="why last_modified is believed: upload, url, created...",
        ),
        sa.Column(
            "frequency_days",
            sa.Integer,
            comment="days; 0 live, -1 never, -2 as needed; empty if none is understood",
        ),
        sa.Column(
            "frequency_from",
            sa.UnicodeText,
            comment="dataset, or who is assumed to speak for it: source, organization, site; "
            "empty if nobody",
        ),
        sa.Column(
            "due", sa.DateTime, comment="when it becomes due; empty where time changes nothing"
        ),
        sa.Column("overdue", sa.DateTime, comment="when it becomes overdue"),
        sa.Column("delinquent", sa.DateTime, comment="when it becomes delinquent"),
        sa.Column(
            "next_boundary",
            sa.DateTime,
            index=True,
            comment="when status changes by itself; empty if it never does",
        ),
        sa.Column(
            "undetermined",
            sa.UnicodeText,
            comment="why the deciding resource cannot be determined: api, adhoc, blocked",
        ),
        sa.Column(
            "stated_date",
            sa.UnicodeText,
            comment="dataset_date as the dataset has it; never counts",
        ),
        sa.Column("stated_since", sa.DateTime, comment="when that dataset_date was first seen"),
        comment="how fresh a dataset is, as its extras and its document in Solr say it",
    )
    op.create_table(
        "freshness_evidence",
        sa.Column("package_id", sa.UnicodeText, primary_key=True, comment="dataset"),
        sa.Column(
            "resource_id",
            sa.UnicodeText,
            primary_key=True,
            comment="resource; empty text for the dataset as a whole",
        ),
        sa.Column(
            "evidence",
            sa.UnicodeText,
            primary_key=True,
            comment="upload, url, created, harvest...",
        ),
        sa.Column("happened_at", sa.DateTime, nullable=False, comment="the date that counts"),
        sa.Column(
            "claimed_at",
            sa.DateTime,
            comment="the date in the future that happened_at was cut from; empty if it was not",
        ),
        comment="one date, and why it is believed, of a resource or of a dataset as a whole",
    )
    op.create_table(
        "freshness_resource",
        sa.Column("resource_id", sa.UnicodeText, primary_key=True, comment="resource"),
        sa.Column("package_id", sa.UnicodeText, nullable=False, index=True, comment="its dataset"),
        sa.Column("url", sa.UnicodeText, nullable=False, comment="its URL"),
        sa.Column("hash", sa.UnicodeText, comment="its hash as its dataset has it; empty if none"),
        sa.Column(
            "hash_writer",
            sa.UnicodeText,
            comment="who wrote that hash: a user's name; empty if nobody knows",
        ),
        sa.Column("first_seen", sa.DateTime, nullable=False, comment="when it was first seen"),
        comment="what a resource was like when it was last looked at, so that a change is noticed",
    )
    op.create_table(
        "freshness_transition",
        sa.Column("id", sa.BigInteger, primary_key=True),
        sa.Column("package_id", sa.UnicodeText, nullable=False, index=True, comment="dataset"),
        sa.Column("from_status", sa.UnicodeText, comment="status before; empty for the first one"),
        sa.Column("to_status", sa.UnicodeText, nullable=False, comment="status after"),
        sa.Column(
            "changed_at",
            sa.DateTime,
            nullable=False,
            index=True,
            comment="when it changed: a boundary, or the write",
        ),
        sa.Column("evidence", sa.UnicodeText, comment="the evidence that counted then"),
        sa.Column(
            "cause",
            sa.UnicodeText,
            nullable=False,
            comment="edit, time, check or recompute: who wrote it",
        ),
        sa.Column("run_id", sa.UnicodeText, comment="the run that wrote it; empty outside runs"),
        comment="each change of a status",
    )


def downgrade() -> None:
    for table in ("transition", "resource", "evidence", "dataset"):
        op.drop_table(f"freshness_{table}")
