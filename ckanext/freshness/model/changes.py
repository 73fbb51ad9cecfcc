"""The table of data changes."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import BigInteger, Column, DateTime, Index, UnicodeText, text
from sqlalchemy.dialects.postgresql import JSONB


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

    id = Column(UnicodeText, primary_key=True, doc="UUID; the cursor after this change")
    position = Column(
        BigInteger,
        doc="place in the order of commits; empty until the stream is read the next time",
    )
    package_id = Column(UnicodeText, nullable=False, doc="dataset")
    resource_id = Column(
        UnicodeText, doc="resource; empty if the change is of the dataset as a whole"
    )
    seen_at = Column(DateTime, nullable=False, doc="when the change was noticed")
    changed_after = Column(
        DateTime, doc="the last moment at which the old data are known; empty if unknown"
    )
    changed_before = Column(
        DateTime, nullable=False, doc="the first moment at which the new data are known"
    )
    stated_at = Column(DateTime, doc="date of the change as the server, source or editor states it")
    evidence = Column(
        UnicodeText,
        nullable=False,
        doc="how we know: upload, url, harvest, http header, hash or script",
    )
    hash_before = Column(UnicodeText, doc="hash of the old file; empty if unknown")
    hash_after = Column(UnicodeText, doc="hash of the new file; empty if it was not read")
    size_before = Column(BigInteger, doc="bytes of the old file, as the resource had it")
    size_after = Column(BigInteger, doc="bytes of the new file; empty if it was not read")
    media_type_before = Column(
        UnicodeText, doc="media type of the old file, as the resource had it"
    )
    media_type_after = Column(UnicodeText, doc="media type of the new file")
    summary = Column(
        JSONB, doc="what changed in the tables of the file; empty if it could not be determined"
    )
