"""What reports have counted, day by day."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import Column, Date, DateTime
from sqlalchemy.dialects.postgresql import JSONB


class HistoryDay(tk.BaseModel):
    """How fresh the public datasets were on a day; private ones are not among them."""

    __tablename__ = "freshness_history"

    day = Column(Date, primary_key=True, comment="day in UTC")
    made_at = Column(DateTime, nullable=False, comment="when it was counted")
    statuses = Column(JSONB, nullable=False, comment="datasets by status")
    organizations = Column(
        JSONB, nullable=False, comment="datasets by status, by id of organization"
    )
    hosts = Column(JSONB, nullable=False, comment="resources by host of their URL")
