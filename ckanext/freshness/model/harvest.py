"""The tables of harvests, in addition to those of ckanext-harvest."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import Column, DateTime, UnicodeText
from sqlalchemy.dialects.postgresql import JSONB


class HarvestDocument(tk.BaseModel):
    """A document of a source with its outline. While its bytes stay the same, it is not parsed again."""

    __tablename__ = "freshness_harvest_document"

    source_id = Column(UnicodeText, primary_key=True, comment="harvest source")
    url = Column(UnicodeText, primary_key=True, comment="URL of the document")
    digest = Column(
        UnicodeText,
        nullable=False,
        comment="SHA-256 of the document's bytes and of everything else that its outline depends on",
    )
    outline = Column(
        JSONB, nullable=False, comment="what the document lists, and what its records look like"
    )


class HarvestHold(tk.BaseModel):
    """Held deletions of a source: the brake stopped them, and an editor may release exactly these."""

    __tablename__ = "freshness_harvest_hold"

    source_id = Column(UnicodeText, primary_key=True, comment="harvest source")
    job_id = Column(UnicodeText, nullable=False, comment="job whose deletions are held")
    held_at = Column(
        DateTime, nullable=False, comment="when the brake stopped the deletions, in UTC"
    )
    reason = Column(
        UnicodeText, nullable=False, comment="why the brake stopped the deletions, for people"
    )
    held = Column(
        JSONB,
        nullable=False,
        comment="the held deletions: a list of {guid, url, package_id, reason}",
    )
    released_at = Column(
        DateTime, comment="when the deletions were released, in UTC; empty until then"
    )
    released_by = Column(UnicodeText, comment="name of the user who released the deletions")
