"""How fresh each dataset is, and why: the truth that extras, fields and documents are written from.

Moments are in UTC, without a zone. Nothing here says who may see a dataset, or whether it still exists:
CKAN changes both without telling, so that whoever reads these tables asks CKAN's own.
"""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import BigInteger, Boolean, Column, DateTime, Index, Integer, UnicodeText, text


class DatasetFreshness(tk.BaseModel):
    """How fresh a dataset is, as its extras and its document in Solr say it."""

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


class FreshnessEvidence(tk.BaseModel):
    """One date, and why it is believed, of a resource or of a dataset as a whole."""

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
    """What a resource was like when we last looked, so that a change is noticed."""

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
    """A status that changed, when, and by what evidence."""

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

    Written with the extras and removed when Solr has the document, so that a run that was killed in
    between is made good by the next one.
    """

    __tablename__ = "freshness_unindexed"

    package_id = Column(UnicodeText, primary_key=True, comment="dataset")
    since = Column(
        DateTime,
        nullable=False,
        comment="when its extras were written, by a run that had not sent its document yet",
    )
