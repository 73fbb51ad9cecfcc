"""The tables of datasets: statuses and their evidence, changes of data, daily counts.

Extras, fields and Solr documents are written from them. Moments are in UTC, without a zone. These tables do not
know who may see a dataset, or whether it still exists. CKAN changes both without calling a hook, so every query
also reads CKAN's own tables.
"""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Index,
    Integer,
    UnicodeText,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

IS_OPEN = "coalesce({row}.ignored ->> 'until' < :today, {row}.ignored IS NULL)"
"""SQL: whether a dataset or a link is not ignored on the day ``today``, a text of ISO 8601."""

URGENCY = "array_position(ARRAY['delinquent', 'overdue', 'due'], status)"
"""SQL that orders datasets that need an update, the most urgent first."""


class DatasetFreshness(tk.BaseModel):
    """A dataset's status at its last assessment. Its extras and its document in Solr have the same values."""

    __tablename__ = "freshness_dataset"
    __table_args__ = (
        Index("ix_freshness_dataset_judge_anew", "package_id", postgresql_where=text("judge_anew")),
        Index(
            "ix_freshness_dataset_people",
            "package_id",
            postgresql_where=text("evidence IN ('created', 'url') AND NOT judge_anew"),
        ),
        # In the order of an editor's worklist.
        Index(
            "ix_freshness_dataset_urgent",
            text(f"({URGENCY})"),
            *("due", "package_id"),
            postgresql_where=text("status IN ('due', 'overdue', 'delinquent')"),
        ),
        Index(
            "ix_freshness_dataset_undeclared",
            text("last_modified DESC NULLS LAST"),
            "package_id",
            postgresql_where=text("frequency_days IS NULL"),
        ),
    )

    package_id = Column(UnicodeText, primary_key=True)
    """Dataset."""
    status = Column(UnicodeText, nullable=False)
    """Fresh, due, overdue, delinquent or unavailable, when the row was last written."""
    last_modified = Column(DateTime)
    """Date of the newest change of the data that counts; empty if none is known."""
    evidence = Column(UnicodeText)
    """Why last_modified is believed: upload, url, created..."""
    frequency_days = Column(Integer)
    """Update frequency in days; 0 live, -1 never, -2 as needed; empty if none is known."""
    frequency_from = Column(UnicodeText)
    """Where the update frequency comes from: dataset, or a default of its source, its organization or the site,
    or rhythm, if it was learned; empty if there is none."""
    due = Column(DateTime)
    """When the dataset becomes due; empty if its status does not depend on time."""
    overdue = Column(DateTime)
    """When the dataset becomes overdue."""
    delinquent = Column(DateTime)
    """When the dataset becomes delinquent."""
    next_boundary = Column(DateTime, index=True)
    """When the status next changes by itself; empty if it never does."""
    undetermined = Column(UnicodeText)
    """Why changes of the deciding resource cannot be detected: api, adhoc, blocked, page."""
    stated_date = Column(UnicodeText)
    """Value of dataset_date, which is no evidence of a change."""
    stated_since = Column(DateTime)
    """When this value of dataset_date was first seen."""
    judge_anew = Column(Boolean, nullable=False, server_default="false")
    """Whether the next refresh judges the dataset again because rules or defaults changed; this causes no
    mail."""
    confirmed_at = Column(DateTime)
    """When an editor last confirmed that the data are accurate; empty if never."""
    absent_since = Column(DateTime)
    """Since when its harvest source has been without it; empty if the source has it."""
    data_stands_since = Column(DateTime)
    """When a check first saw data_until, if the file has changed since for longer than two periods of the
    update frequency; empty if not."""
    data_until = Column(UnicodeText)
    """Period up to which the data reach, by their own dates: 2026-08; empty if none is known."""
    broken_since = Column(DateTime)
    """Since when the links of all of its resources have been broken; empty if one of them is not."""
    ignored = Column(JSONB)
    """Decision of an editor that nobody need work on the dataset: at, by, reason, and until (a day) if it ends;
    empty without one."""


class FreshnessEvidence(tk.BaseModel):
    """A date of a change of a resource or of a whole dataset, with the reason why the date is believed."""

    __tablename__ = "freshness_evidence"

    package_id = Column(UnicodeText, primary_key=True)
    """Dataset."""
    resource_id = Column(UnicodeText, primary_key=True)
    """Resource; empty text for the dataset as a whole."""
    evidence = Column(UnicodeText, primary_key=True)
    """The kind of evidence: upload, url, created, harvest..."""
    happened_at = Column(DateTime, nullable=False)
    """The date that counts."""
    claimed_at = Column(DateTime)
    """The stated date if it is in the future, so that happened_at counts instead; otherwise empty."""
    author = Column(UnicodeText)
    """Name of the user whose edit is the evidence, if known."""
    previous_at = Column(DateTime)
    """Date of the previous review, which counts again if this one is withdrawn."""
    previous_author = Column(UnicodeText)
    """Name of the user who made the previous review."""


class KnownResource(tk.BaseModel):
    """A resource as the last assessment found it, so that the next one notices changes."""

    __tablename__ = "freshness_resource"

    resource_id = Column(UnicodeText, primary_key=True)
    """Resource."""
    package_id = Column(UnicodeText, nullable=False, index=True)
    """Dataset of the resource."""
    url = Column(UnicodeText, nullable=False)
    """URL of the resource."""
    hash = Column(UnicodeText)
    """Hash of the resource in CKAN; empty if it has none."""
    hash_writer = Column(UnicodeText)
    """Name of the user who wrote this hash; empty if unknown."""
    url_changed_at = Column(DateTime)
    """When the resource got this URL in place of another: new data, once a check finds a file there; otherwise
    empty."""
    date_column = Column(JSONB)
    """Answer of an editor: the column that says up to when the data of the file reach, as its sheet (or null)
    and its name; an empty list if none does, empty without an answer."""


class FreshnessTransition(tk.BaseModel):
    """A change of a dataset's status, with its time and cause."""

    __tablename__ = "freshness_transition"

    id = Column(BigInteger, primary_key=True)
    package_id = Column(UnicodeText, nullable=False, index=True)
    """Dataset."""
    from_status = Column(UnicodeText)
    """Status before; empty for the first one."""
    to_status = Column(UnicodeText, nullable=False)
    """Status after."""
    changed_at = Column(DateTime, nullable=False, index=True)
    """When the status changed: at a boundary, or when it was written."""
    evidence = Column(UnicodeText)
    """Evidence that counted at this moment."""
    cause = Column(UnicodeText, nullable=False)
    """Why the status changed: edit, frequency, confirmation, withdrawal, time, check or recompute."""
    run_id = Column(UnicodeText)
    """Run that wrote the row; empty outside runs."""
    action = Column(UnicodeText)
    """CKAN's action that changed the dataset; empty if the cause is no edit."""
    change = Column(UnicodeText)
    """Effect of the action on a resource: added, replaced, edited or removed."""
    resource_id = Column(UnicodeText)
    """Resource that the action changed."""
    resource_name = Column(UnicodeText)
    """Name of this resource, or its URL if it had no name."""
    author = Column(UnicodeText)
    """Name of the user who made the edit; empty if the cause is no edit."""
    frequency_before = Column(Integer)
    """Update frequency before the transition, if its change is the cause."""
    frequency_after = Column(Integer)
    """Update frequency after the transition, if its change is the cause."""


class Unindexed(tk.BaseModel):
    """A dataset whose document in Solr is older than its extras.

    The row is written with the extras and removed when Solr has the document. If a run is killed in between,
    the next run sends the document.
    """

    __tablename__ = "freshness_unindexed"

    package_id = Column(UnicodeText, primary_key=True)
    """Dataset."""
    since = Column(DateTime, nullable=False)
    """When a run wrote the extras, before it sent the document to Solr."""


class FreshnessChange(tk.BaseModel):
    """A change of a dataset's data, written in the transaction that noticed it, and kept for two years.

    If the dataset is purged, an empty row remains in its place.
    """

    __tablename__ = "freshness_change"
    __table_args__ = (
        Index("ix_freshness_change_package_id", "package_id", "seen_at"),
        Index("ix_freshness_change_seen_at", "seen_at"),
        Index("ix_freshness_change_position", "position", unique=True),
        Index(
            "ix_freshness_change_unplaced",
            "id",
            postgresql_where=text('"position" IS NULL'),
        ),
    )

    id = Column(UnicodeText, primary_key=True)
    """UUID; the cursor after this change."""
    position = Column(BigInteger)
    """Place in the order of commits; empty until the stream is read the next time."""
    package_id = Column(UnicodeText, nullable=False)
    """Dataset."""
    resource_id = Column(UnicodeText)
    """Resource; empty if the change is of the dataset as a whole."""
    seen_at = Column(DateTime, nullable=False)
    """When the change was noticed."""
    changed_after = Column(DateTime)
    """The last moment at which the old data are known; empty if unknown."""
    changed_before = Column(DateTime, nullable=False)
    """The first moment at which the new data are known."""
    stated_at = Column(DateTime)
    """Date of the change as the server, source or editor states it."""
    evidence = Column(UnicodeText, nullable=False)
    """How we know: upload, url, harvest, http header, hash or script."""
    hash_before = Column(UnicodeText)
    """Hash of the old file; empty if unknown."""
    hash_after = Column(UnicodeText)
    """Hash of the new file; empty if it was not read."""
    size_before = Column(BigInteger)
    """Bytes of the old file, as the resource had it."""
    size_after = Column(BigInteger)
    """Bytes of the new file; empty if it was not read."""
    media_type_before = Column(UnicodeText)
    """Media type of the old file, as the resource had it."""
    media_type_after = Column(UnicodeText)
    """Media type of the new file."""
    summary = Column(JSONB)
    """What changed in the tables of the file; empty if it could not be determined."""


class HistoryDay(tk.BaseModel):
    """The numbers of public datasets by status on a day. Private datasets are not counted."""

    __tablename__ = "freshness_history"

    day = Column(Date, primary_key=True)
    """Day in UTC."""
    made_at = Column(DateTime, nullable=False)
    """When it was counted."""
    statuses = Column(JSONB, nullable=False)
    """Datasets by status."""
    organizations = Column(JSONB, nullable=False)
    """Datasets by status, by id of organization."""
