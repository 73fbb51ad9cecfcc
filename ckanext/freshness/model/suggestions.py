"""The table of suggested update frequencies."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import Boolean, Column, DateTime, Index, Integer, UnicodeText, text
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION

IS_SUGGESTED = "s.declared_days = f.frequency_days AND s.kept_at IS NULL"
"""SQL: whether a suggestion ``s`` counts for a dataset whose freshness is ``f``: the declared frequency is
still the same, and no editor has decided to keep it."""


class FrequencySuggestion(tk.BaseModel):
    """An update frequency that fits a dataset better than its own, as the last nightly report computed it.

    A row counts only while the dataset still has ``declared_days``.
    """

    __tablename__ = "freshness_suggestion"
    __table_args__ = (
        Index(
            "ix_freshness_suggestion_factor",
            *("factor", "package_id"),
            postgresql_where=text("kept_at IS NULL"),
        ),
    )

    package_id = Column(UnicodeText, primary_key=True, doc="dataset")
    declared_days = Column(
        Integer, doc="its update frequency when it was compared; empty if it had none"
    )
    suggested_days = Column(
        Integer, nullable=False, doc="the usual update frequency that fits best"
    )
    factor = Column(
        DOUBLE_PRECISION,
        doc="how many times longer or shorter the observed days are; empty if none are declared",
    )
    days = Column(DOUBLE_PRECISION, nullable=False, doc="median of the days between two updates")
    lowest_days = Column(DOUBLE_PRECISION, nullable=False, doc="fewest days between two updates")
    highest_days = Column(DOUBLE_PRECISION, nullable=False, doc="most days between two updates")
    at_least = Column(
        Boolean,
        nullable=False,
        doc="each check found a change: the data may change more often",
    )
    changes = Column(Integer, nullable=False, doc="number of updates observed")
    basis = Column(
        UnicodeText,
        nullable=False,
        doc="what changed: files, or record (dates of the harvested record)",
    )
    changed_at: Column[list[object]] = Column(
        ARRAY(DateTime), nullable=False, doc="the moments of the updates"
    )
    kept_at = Column(
        DateTime,
        doc="when an editor decided to keep the declared frequency; empty without such a decision",
    )
    counted_at = Column(DateTime, nullable=False, doc="when it was computed")
