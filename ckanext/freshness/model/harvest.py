"""The tables of harvests, in addition to those of ckanext-harvest."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import Column, DateTime, Integer, UnicodeText
from sqlalchemy.dialects.postgresql import JSONB


class HarvestDocument(tk.BaseModel):
    """A document of a source with its outline. While its bytes stay the same, it is not parsed again."""

    __tablename__ = "freshness_harvest_document"

    source_id = Column(UnicodeText, primary_key=True, doc="harvest source")
    url = Column(UnicodeText, primary_key=True, doc="URL of the document")
    digest = Column(
        UnicodeText,
        nullable=False,
        doc="SHA-256 of the document's bytes and of everything else that its outline depends on",
    )
    outline = Column(
        JSONB, nullable=False, doc="what the document lists, and what its records look like"
    )


class HarvestHold(tk.BaseModel):
    """Held deletions of a source: the brake stopped them, and an editor may release exactly these."""

    __tablename__ = "freshness_harvest_hold"

    source_id = Column(UnicodeText, primary_key=True, doc="harvest source")
    job_id = Column(UnicodeText, nullable=False, doc="job whose deletions are held")
    held_at = Column(DateTime, nullable=False, doc="when the brake stopped the deletions, in UTC")
    reason = Column(
        UnicodeText, nullable=False, doc="why the brake stopped the deletions, for people"
    )
    held = Column(
        JSONB,
        nullable=False,
        doc="the held deletions: a list of {guid, url, package_id, reason}",
    )
    released_at = Column(DateTime, doc="when the deletions were released, in UTC; empty until then")
    released_by = Column(UnicodeText, doc="name of the user who released the deletions")


class HarvestReport(tk.BaseModel):
    """What a harvest job found that belongs to no harvest object."""

    __tablename__ = "freshness_harvest_report"

    job_id = Column(UnicodeText, primary_key=True, doc="harvest job")
    source_id = Column(UnicodeText, nullable=False, doc="harvest source")
    drafts = Column(
        Integer,
        nullable=False,
        doc="how many records and distributions are listed and were never readable",
    )
    warnings = Column(
        JSONB,
        nullable=False,
        doc="warnings about the source that belong to no record: a list of texts",
    )
    not_harvested = Column(
        JSONB,
        nullable=False,
        doc="what the source lists and becomes no dataset: a list of {kind, count, examples}",
    )
