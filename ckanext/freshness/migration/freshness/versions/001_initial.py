"""Create all tables of the extension.

Revision ID: 001_0_1_0
Revises:
Create Date: 2026-11-26
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB

revision = "001_0_1_0"
down_revision = None
branch_labels = None
depends_on = None

TABLES = (
    "freshness_change",
    "freshness_check",
    "freshness_copy",
    "freshness_dataset",
    "freshness_evidence",
    "freshness_harvest_document",
    "freshness_harvest_hold",
    "freshness_harvest_report",
    "freshness_history",
    "freshness_mail",
    "freshness_mail_person",
    "freshness_resource",
    "freshness_run",
    "freshness_transition",
    "freshness_unindexed",
)


def upgrade() -> None:
    op.create_table(
        "freshness_change",
        sa.Column("id", sa.UnicodeText, nullable=False),
        sa.Column("position", sa.BigInteger),
        sa.Column("package_id", sa.UnicodeText, nullable=False),
        sa.Column("resource_id", sa.UnicodeText),
        sa.Column("seen_at", sa.DateTime, nullable=False),
        sa.Column("changed_after", sa.DateTime),
        sa.Column("changed_before", sa.DateTime, nullable=False),
        sa.Column("stated_at", sa.DateTime),
        sa.Column("evidence", sa.UnicodeText, nullable=False),
        sa.Column("hash_before", sa.UnicodeText),
        sa.Column("hash_after", sa.UnicodeText),
        sa.Column("size_before", sa.BigInteger),
        sa.Column("size_after", sa.BigInteger),
        sa.Column("media_type_before", sa.UnicodeText),
        sa.Column("media_type_after", sa.UnicodeText),
        sa.Column("summary", JSONB),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_freshness_change_package_id", "freshness_change", ["package_id", "seen_at"])
    op.create_index("ix_freshness_change_position", "freshness_change", ["position"], unique=True)
    op.create_index("ix_freshness_change_seen_at", "freshness_change", ["seen_at"])
    op.create_index(
        "ix_freshness_change_unplaced",
        "freshness_change",
        ["id"],
        postgresql_where=sa.text('"position" IS NULL'),
    )
    op.create_table(
        "freshness_check",
        sa.Column("resource_id", sa.UnicodeText, nullable=False),
        sa.Column("package_id", sa.UnicodeText, nullable=False),
        sa.Column("url", sa.UnicodeText, nullable=False),
        sa.Column("host", sa.UnicodeText, nullable=False),
        sa.Column("url_before", sa.UnicodeText),
        sa.Column("moved_to", sa.UnicodeText),
        sa.Column("first_seen", sa.DateTime, nullable=False),
        sa.Column("known", JSONB, server_default="{}", nullable=False),
        *(
            sa.Column(name, sa.UnicodeText, sa.Computed(f"known ->> '{name}'", persisted=True))
            for name in ("hash", "promised", "found")
        ),
        sa.Column("hashed_at", sa.DateTime),
        sa.Column("checked_at", sa.DateTime),
        sa.Column("tried_at", sa.DateTime),
        sa.Column("succeeded_at", sa.DateTime),
        sa.Column("changed_at", sa.DateTime),
        sa.Column("failures", sa.Integer, server_default="0", nullable=False),
        sa.Column("failing_since", sa.DateTime),
        sa.Column("failed_at", sa.DateTime),
        sa.Column("undetermined", sa.UnicodeText),
        sa.Column("seen_modified", sa.DateTime),
        sa.Column("shape", JSONB),
        sa.Column("attempts", JSONB, server_default="[]", nullable=False),
        sa.Column("seen_changes", DOUBLE_PRECISION, server_default="0", nullable=False),
        sa.Column("watched_days", DOUBLE_PRECISION, server_default="0", nullable=False),
        sa.Column("change_seen_at", sa.DateTime),
        sa.Column("hides_changes", sa.Boolean, server_default="false", nullable=False),
        sa.Column("wrote", JSONB, server_default="{}", nullable=False),
        sa.Column("ignored", JSONB),
        sa.PrimaryKeyConstraint("resource_id"),
    )
    op.create_index(
        "ix_freshness_check_failing",
        "freshness_check",
        ["failing_since", "resource_id"],
        postgresql_where=sa.text("failing_since IS NOT NULL"),
        postgresql_include=["failures", "failed_at", "package_id"],
    )
    op.create_index(
        "ix_freshness_check_failures",
        "freshness_check",
        ["failures", "resource_id"],
        postgresql_where=sa.text("failing_since IS NOT NULL"),
        postgresql_include=["failing_since", "failed_at", "package_id"],
    )
    op.create_index("ix_freshness_check_hash", "freshness_check", ["hash"], postgresql_using="hash")
    op.create_index("ix_freshness_check_host", "freshness_check", ["host"])
    op.create_index(
        "ix_freshness_check_mended",
        "freshness_check",
        [sa.text("split_part(url_before, '/', 3)")],
        postgresql_where=sa.text("url_before IS NOT NULL"),
    )
    op.create_index(
        "ix_freshness_check_mismatch",
        "freshness_check",
        ["host", "resource_id"],
        postgresql_where=sa.text("found IS NOT NULL"),
    )
    op.create_index("ix_freshness_check_package_id", "freshness_check", ["package_id"])
    op.create_index(
        "ix_freshness_check_undetermined",
        "freshness_check",
        ["host", "resource_id"],
        postgresql_where=sa.text("undetermined IS NOT NULL"),
    )
    op.create_table(
        "freshness_copy",
        sa.Column("resource_id", sa.UnicodeText, nullable=False),
        sa.Column("package_id", sa.UnicodeText, nullable=False),
        sa.Column("key", sa.UnicodeText),
        sa.Column("zip_key", sa.UnicodeText),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("zip_size", sa.BigInteger),
        sa.Column("sha256", sa.UnicodeText, nullable=False),
        sa.Column("mimetype", sa.UnicodeText),
        sa.Column("filename", sa.UnicodeText, nullable=False),
        sa.Column("source_url", sa.UnicodeText, nullable=False),
        sa.Column("stored_at", sa.DateTime, nullable=False),
        sa.Column("verified_at", sa.DateTime, nullable=False),
        sa.PrimaryKeyConstraint("resource_id"),
        sa.UniqueConstraint("key"),
    )
    op.create_index("ix_freshness_copy_package_id", "freshness_copy", ["package_id"])
    op.create_table(
        "freshness_dataset",
        sa.Column("package_id", sa.UnicodeText, nullable=False),
        sa.Column("status", sa.UnicodeText, nullable=False),
        sa.Column("last_modified", sa.DateTime),
        sa.Column("evidence", sa.UnicodeText),
        sa.Column("frequency_days", sa.Integer),
        sa.Column("frequency_from", sa.UnicodeText),
        sa.Column("due", sa.DateTime),
        sa.Column("overdue", sa.DateTime),
        sa.Column("delinquent", sa.DateTime),
        sa.Column("next_boundary", sa.DateTime),
        sa.Column("undetermined", sa.UnicodeText),
        sa.Column("stated_date", sa.UnicodeText),
        sa.Column("stated_since", sa.DateTime),
        sa.Column("judge_anew", sa.Boolean, server_default="false", nullable=False),
        sa.Column("confirmed_at", sa.DateTime),
        sa.Column("absent_since", sa.DateTime),
        sa.Column("data_stands_since", sa.DateTime),
        sa.Column("data_until", sa.UnicodeText),
        sa.Column("broken_since", sa.DateTime),
        sa.Column("ignored", JSONB),
        sa.PrimaryKeyConstraint("package_id"),
    )
    op.create_index(
        "ix_freshness_dataset_judge_anew",
        "freshness_dataset",
        ["package_id"],
        postgresql_where=sa.text("judge_anew"),
    )
    op.create_index("ix_freshness_dataset_next_boundary", "freshness_dataset", ["next_boundary"])
    op.create_index(
        "ix_freshness_dataset_people",
        "freshness_dataset",
        ["package_id"],
        postgresql_where=sa.text("evidence IN ('created', 'url') AND NOT judge_anew"),
    )
    op.create_index(
        "ix_freshness_dataset_undeclared",
        "freshness_dataset",
        [sa.literal_column("last_modified DESC NULLS LAST"), "package_id"],
        postgresql_where=sa.text("frequency_days IS NULL"),
    )
    op.create_index(
        "ix_freshness_dataset_urgent",
        "freshness_dataset",
        [
            sa.literal_column("(array_position(ARRAY['delinquent', 'overdue', 'due'], status))"),
            "due",
            "package_id",
        ],
        postgresql_where=sa.text("status IN ('due', 'overdue', 'delinquent')"),
    )
    op.create_table(
        "freshness_evidence",
        sa.Column("package_id", sa.UnicodeText, nullable=False),
        sa.Column("resource_id", sa.UnicodeText, nullable=False),
        sa.Column("evidence", sa.UnicodeText, nullable=False),
        sa.Column("happened_at", sa.DateTime, nullable=False),
        sa.Column("claimed_at", sa.DateTime),
        sa.Column("author", sa.UnicodeText),
        sa.Column("previous_at", sa.DateTime),
        sa.Column("previous_author", sa.UnicodeText),
        sa.PrimaryKeyConstraint("package_id", "resource_id", "evidence"),
    )
    op.create_table(
        "freshness_harvest_document",
        sa.Column("source_id", sa.UnicodeText, nullable=False),
        sa.Column("url", sa.UnicodeText, nullable=False),
        sa.Column("digest", sa.UnicodeText, nullable=False),
        sa.Column("outline", JSONB, nullable=False),
        sa.PrimaryKeyConstraint("source_id", "url"),
    )
    op.create_table(
        "freshness_harvest_hold",
        sa.Column("source_id", sa.UnicodeText, nullable=False),
        sa.Column("job_id", sa.UnicodeText, nullable=False),
        sa.Column("held_at", sa.DateTime, nullable=False),
        sa.Column("reason", sa.UnicodeText, nullable=False),
        sa.Column("held", JSONB, nullable=False),
        sa.Column("released_at", sa.DateTime),
        sa.Column("released_by", sa.UnicodeText),
        sa.Column("kept_at", sa.DateTime),
        sa.Column("kept_by", sa.UnicodeText),
        sa.PrimaryKeyConstraint("source_id"),
    )
    op.create_table(
        "freshness_harvest_report",
        sa.Column("job_id", sa.UnicodeText, nullable=False),
        sa.Column("source_id", sa.UnicodeText, nullable=False),
        sa.Column("unchanged", sa.Integer, nullable=False),
        sa.Column("unchanged_warnings", JSONB, nullable=False),
        sa.Column("warnings", JSONB, nullable=False),
        sa.Column("not_harvested", JSONB, nullable=False),
        sa.PrimaryKeyConstraint("job_id"),
    )
    op.create_table(
        "freshness_history",
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("made_at", sa.DateTime, nullable=False),
        sa.Column("statuses", JSONB, nullable=False),
        sa.Column("organizations", JSONB, nullable=False),
        sa.PrimaryKeyConstraint("day"),
    )
    op.create_table(
        "freshness_mail",
        sa.Column("kind", sa.UnicodeText, nullable=False),
        sa.Column("about", sa.UnicodeText, nullable=False),
        sa.Column("address", sa.UnicodeText, nullable=False),
        sa.Column("sent_at", sa.DateTime),
        sa.Column("error", sa.UnicodeText),
        sa.PrimaryKeyConstraint("kind", "about", "address"),
    )
    op.create_table(
        "freshness_mail_person",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("address", sa.UnicodeText, nullable=False),
        sa.Column("choice", sa.UnicodeText, server_default="all", nullable=False),
        sa.Column("told_at", JSONB, server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("address"),
    )
    op.create_table(
        "freshness_resource",
        sa.Column("resource_id", sa.UnicodeText, nullable=False),
        sa.Column("package_id", sa.UnicodeText, nullable=False),
        sa.Column("url", sa.UnicodeText, nullable=False),
        sa.Column("hash", sa.UnicodeText),
        sa.Column("hash_writer", sa.UnicodeText),
        sa.Column("url_changed_at", sa.DateTime),
        sa.Column("date_column", JSONB),
        sa.PrimaryKeyConstraint("resource_id"),
    )
    op.create_index("ix_freshness_resource_package_id", "freshness_resource", ["package_id"])
    op.create_table(
        "freshness_run",
        sa.Column("id", sa.UnicodeText, nullable=False),
        sa.Column("kind", sa.UnicodeText, nullable=False),
        sa.Column("started_at", sa.DateTime, nullable=False),
        sa.Column("ended_at", sa.DateTime),
        sa.Column("options", JSONB, server_default="{}", nullable=False),
        sa.Column("resources", JSONB),
        sa.Column("datasets", JSONB),
        sa.Column("frequencies", JSONB),
        sa.Column("hosts", JSONB),
        sa.Column("checked", sa.Integer),
        sa.Column("error", sa.UnicodeText),
        sa.Column("version", sa.UnicodeText, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_freshness_run_started_at", "freshness_run", ["started_at"])
    op.create_table(
        "freshness_transition",
        sa.Column("id", sa.BigInteger, nullable=False),
        sa.Column("package_id", sa.UnicodeText, nullable=False),
        sa.Column("from_status", sa.UnicodeText),
        sa.Column("to_status", sa.UnicodeText, nullable=False),
        sa.Column("changed_at", sa.DateTime, nullable=False),
        sa.Column("evidence", sa.UnicodeText),
        sa.Column("cause", sa.UnicodeText, nullable=False),
        sa.Column("run_id", sa.UnicodeText),
        sa.Column("action", sa.UnicodeText),
        sa.Column("change", sa.UnicodeText),
        sa.Column("resource_id", sa.UnicodeText),
        sa.Column("resource_name", sa.UnicodeText),
        sa.Column("author", sa.UnicodeText),
        sa.Column("frequency_before", sa.Integer),
        sa.Column("frequency_after", sa.Integer),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_freshness_transition_changed_at", "freshness_transition", ["changed_at"])
    op.create_index("ix_freshness_transition_package_id", "freshness_transition", ["package_id"])
    op.create_table(
        "freshness_unindexed",
        sa.Column("package_id", sa.UnicodeText, nullable=False),
        sa.Column("since", sa.DateTime, nullable=False),
        sa.PrimaryKeyConstraint("package_id"),
    )


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
