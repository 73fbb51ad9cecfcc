"""The tables of statuses and their evidence, from which extras, fields and Solr documents are written.

Moments are in UTC, without a zone. These tables do not know who may see a dataset, or whether it still exists.
CKAN changes both without calling a hook, so every query also reads CKAN's own tables.
"""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import BigInteger, Boolean, Column, DateTime, Index, Integer, UnicodeText, text


class DatasetFreshness(tk.BaseModel):
    """A dataset's status at its last assessment. Its extras and its document in Solr have the same values."""

    __tablename__ = "freshness_dataset"
    __table_args__ = (
        Index("ix_freshness_dataset_judge_anew", "package_id", postgresql_where=text("judge_anew")),
        Index(
            "ix_freshness_dataset_people",
            "package_id",
            postgresql_where=text("evidence IN ('created', 'metadata', 'url') AND NOT judge_anew"),
        ),
    )

    package_id = Column(UnicodeText, primary_key=True, comment="dataset")
    status = Column(
        UnicodeText,
        nullable=False,
        comment="fresh, due, overdue, delinquent or unavailable; as of the last write",
    )
    last_modified = Column(
        DateTime, comment="newest modification that counts; empty if none is known"
    )
    evidence = Column(UnicodeText, comment="why last_modified is believed: upload, url, created...")
    frequency_days = Column(
        Integer, comment="days; 0 live, -1 never, -2 as needed; empty if none is understood"
    )
    frequency_from = Column(
        UnicodeText,
        comment="dataset, or who is assumed to speak for it: source, organization, site; empty if nobody",
    )
    due = Column(DateTime, comment="when it becomes due; empty where time changes nothing")
    overdue = Column(DateTime, comment="when it becomes overdue")
    delinquent = Column(DateTime, comment="when it becomes delinquent")
    next_boundary = Column(
        DateTime, index=True, comment="when status changes by itself; empty if it never does"
    )
    undetermined = Column(
        UnicodeText, comment="why the deciding resource cannot be determined: api, adhoc, blocked"
    )
    stated_date = Column(UnicodeText, comment="dataset_date as the dataset has it; never counts")
    stated_since = Column(DateTime, comment="when that dataset_date was first seen")
    judge_anew = Column(
        Boolean,
        nullable=False,
        default=False,
        comment="the next refresh judges it, since rules or assumptions changed; nobody gets a mail",
    )
    field_prefix = Column(
        UnicodeText,
        nullable=False,
        default="",
        comment="what the names of its extras begin with; usually empty",
    )


class FreshnessEvidence(tk.BaseModel):
    """A date of a change of a resource or of a whole dataset, with the reason why the date is believed."""

    __tablename__ = "freshness_evidence"

    package_id = Column(UnicodeText, primary_key=True, comment="dataset")
    resource_id = Column(
        UnicodeText, primary_key=True, comment="resource; empty text for the dataset as a whole"
    )
    evidence = Column(UnicodeText, primary_key=True, comment="upload, url, created, harvest...")
    happened_at = Column(DateTime, nullable=False, comment="the date that counts")
    claimed_at = Column(
        DateTime,
        comment="the date in the future that happened_at was cut from; empty if it was not",
    )
    author = Column(UnicodeText, comment="name of the user whose edit showed it, if known")
    previous_at = Column(
        DateTime, comment="of a review: the one before it, which counts again if it is withdrawn"
    )


class ResourceMemory(tk.BaseModel):
    """A resource as the last assessment found it, so that the next one notices changes."""

    __tablename__ = "freshness_resource"

    resource_id = Column(UnicodeText, primary_key=True, comment="resource")
    package_id = Column(UnicodeText, nullable=False, index=True, comment="its dataset")
    url = Column(UnicodeText, nullable=False, comment="its URL")
    hash = Column(UnicodeText, comment="its hash as its dataset has it; empty if none")
    hash_writer = Column(
        UnicodeText, comment="who wrote that hash: a user's name; empty if nobody knows"
    )
    first_seen = Column(DateTime, nullable=False, comment="when it was first seen")


class FreshnessTransition(tk.BaseModel):
    """A change of a dataset's status, with its time and cause."""

    __tablename__ = "freshness_transition"

    id = Column(BigInteger, primary_key=True)
    package_id = Column(UnicodeText, nullable=False, index=True, comment="dataset")
    from_status = Column(UnicodeText, comment="status before; empty for the first one")
    to_status = Column(UnicodeText, nullable=False, comment="status after")
    changed_at = Column(
        DateTime, nullable=False, index=True, comment="when it changed: a boundary, or the write"
    )
    evidence = Column(UnicodeText, comment="the evidence that counted then")
    cause = Column(
        UnicodeText,
        nullable=False,
        comment="edit, frequency, time, check or recompute: why it changed",
    )
    run_id = Column(UnicodeText, comment="the run that wrote it; empty outside runs")
    action = Column(
        UnicodeText, comment="CKAN's action that changed the dataset; empty if no edit did"
    )
    change = Column(
        UnicodeText, comment="added, replaced, edited or removed: what it did to a resource"
    )
    resource_id = Column(UnicodeText, comment="that resource")
    resource_name = Column(UnicodeText, comment="its name, or its URL if it had none")
    author = Column(UnicodeText, comment="name of the user whose edit it was, if one was")
    frequency_before = Column(
        Integer, comment="update frequency before, if the status changed because that did"
    )
    frequency_after = Column(Integer, comment="and after")


class Unindexed(tk.BaseModel):
    """A dataset whose document in Solr is older than its extras.

    The row is written with the extras and removed when Solr has the document. If a run is killed in between,
    the next run sends the document.
    """

    __tablename__ = "freshness_unindexed"

    package_id = Column(UnicodeText, primary_key=True, comment="dataset")
    since = Column(
        DateTime,
        nullable=False,
        comment="when its extras were written, by a run that had not sent its document yet",
    )


class ReplacedField(tk.BaseModel):
    """An extra of a site's own that ours has replaced."""

    __tablename__ = "freshness_replaced"

    package_id = Column(UnicodeText, primary_key=True, comment="dataset")
    key = Column(UnicodeText, primary_key=True, comment="the extra that was replaced")
    value = Column(UnicodeText, nullable=False, comment="the site's own value")


class Uninstall(tk.BaseModel):
    """A mark that the extension is being uninstalled. Processes that still run write no extras."""

    __tablename__ = "freshness_uninstall"

    began_at = Column(
        DateTime,
        primary_key=True,
        comment="when ckan freshness-uninstall was first called; no row: never, or undone",
    )
