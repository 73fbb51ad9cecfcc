"""What the checker knows of each resource's URL, and what its runs have done.

Revision ID: 004_check
Revises: 003_unindexed
Create Date: 2026-11-21
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "004_check"
down_revision = "003_unindexed"
branch_labels = None
depends_on = None

_NO_JSON = sa.text("'{}'")


def upgrade() -> None:
    op.create_table(
        "freshness_check",
        sa.Column("resource_id", sa.UnicodeText, primary_key=True, comment="resource"),
        sa.Column("package_id", sa.UnicodeText, nullable=False, index=True, comment="its dataset"),
        sa.Column(
            "url", sa.UnicodeText, nullable=False, comment="its URL, which all the rest is about"
        ),
        sa.Column(
            "host",
            sa.UnicodeText,
            nullable=False,
            comment="host of that URL, normalised; empty if it names none",
        ),
        sa.Column(
            "first_seen",
            sa.DateTime,
            nullable=False,
            comment="start of the first run that knew the resource",
        ),
        sa.Column(
            "etag",
            sa.UnicodeText,
            comment="ETag to be sent back; empty if the server gave none",
        ),
        sa.Column(
            "last_modified",
            sa.UnicodeText,
            comment="Last-Modified to be sent back, as the server wrote it",
        ),
        sa.Column(
            "hash",
            sa.UnicodeText,
            comment="of the bytes as last confirmed, after its detector's name: sha256:...",
        ),
        sa.Column(
            "earlier",
            ARRAY(sa.UnicodeText),
            nullable=False,
            server_default=_NO_JSON,
            comment="hashes seen before that one, newest first",
        ),
        sa.Column(
            "outdated",
            sa.Boolean,
            nullable=False,
            server_default=sa.false(),
            comment="the hash is older than ETag and Last-Modified",
        ),
        sa.Column(
            "unconfirmed",
            sa.Boolean,
            nullable=False,
            server_default=sa.false(),
            comment="another hash was met and could not be confirmed: the next run asks again",
        ),
        sa.Column("hashed_at", sa.DateTime, comment="when the bytes were last read and hashed"),
        sa.Column(
            "visited_at",
            sa.DateTime,
            comment="start of the run of the last visit, from which intervals count",
        ),
        sa.Column("tried_at", sa.DateTime, comment="end of the last visit"),
        sa.Column(
            "succeeded_at",
            sa.DateTime,
            comment="end of the last visit that found the resource there",
        ),
        sa.Column("changed_at", sa.DateTime, comment="when a confirmed new hash was last met"),
        sa.Column(
            "failures",
            sa.Integer,
            nullable=False,
            server_default=sa.text("0"),
            comment="failed visits since the last success",
        ),
        sa.Column("failing_since", sa.DateTime, comment="the first of those failed visits"),
        sa.Column(
            "undetermined",
            sa.UnicodeText,
            comment="why changes cannot be determined: api, blocked; empty if they can",
        ),
        sa.Column(
            "handed_to",
            sa.UnicodeText,
            comment="URL of a host of another worker, to which the URL redirects, and which goes on "
            "there",
        ),
        sa.Column(
            "seen_modified",
            sa.DateTime,
            comment="the resource's own last_modified as the last run saw it",
        ),
        sa.Column(
            "attempts",
            JSONB,
            nullable=False,
            server_default=sa.text("'[]'"),
            comment="the last five visits, newest first",
        ),
        sa.Column(
            "wrote",
            JSONB,
            nullable=False,
            server_default=_NO_JSON,
            comment="what the checker wrote into the resource's fields: last_modified, size, "
            "mimetype, hash",
        ),
        comment="what is known of each resource's URL",
    )
    op.create_table(
        "freshness_run",
        sa.Column(
            "id",
            sa.UnicodeText,
            primary_key=True,
            comment="UUID; also in freshness_transition.run_id",
        ),
        sa.Column(
            "kind",
            sa.UnicodeText,
            nullable=False,
            comment="check, or another part of nightly",
        ),
        sa.Column("started_at", sa.DateTime, nullable=False, index=True, comment="when it started"),
        sa.Column(
            "ended_at",
            sa.DateTime,
            comment="when it ended; empty while it runs, or if it was killed",
        ),
        sa.Column(
            "options",
            JSONB,
            nullable=False,
            server_default=_NO_JSON,
            comment="how it was called",
        ),
        sa.Column("resources", JSONB, comment="resources by label"),
        sa.Column("datasets", JSONB, comment="datasets by label"),
        sa.Column(
            "frequencies",
            JSONB,
            comment="datasets by update frequency live, never, as needed",
        ),
        sa.Column(
            "hosts",
            JSONB,
            comment="per host: visits, errors, etag, last_modified, agreed, missed, moved, bytes, "
            "seconds",
        ),
        sa.Column("visited", sa.Integer, comment="resources that were visited"),
        sa.Column("error", sa.UnicodeText, comment="why it ended early; empty if it did not"),
        sa.Column(
            "version",
            sa.UnicodeText,
            nullable=False,
            comment="version of ckanext-freshness",
        ),
        comment="runs of the checker",
    )


def downgrade() -> None:
    for table in ("run", "check"):
        op.drop_table(f"freshness_{table}")
