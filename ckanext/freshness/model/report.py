"""The table of daily counts."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import Column, Date, DateTime
from sqlalchemy.dialects.postgresql import JSONB


class HistoryDay(tk.BaseModel):
    """The numbers of public datasets by status on a day. Private datasets are not counted."""

    __tablename__ = "freshness_history"

    day = Column(Date, primary_key=True, doc="day in UTC")
    made_at = Column(DateTime, nullable=False, doc="when it was counted")
    statuses = Column(JSONB, nullable=False, doc="datasets by status")
    organizations = Column(JSONB, nullable=False, doc="datasets by status, by id of organization")
    hosts = Column(JSONB, nullable=False, doc="resources by host of their URL")
