"""The table of the datasets of registries. A migration of the plugin ``iati_harvester`` makes it."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import Boolean, Column, DateTime, UnicodeText
from sqlalchemy.dialects.postgresql import JSONB


class IatiDataset(tk.BaseModel):
    """A dataset of an IATI registry, with the state of its file."""

    __tablename__ = "freshness_iati"

    resource_id = Column(UnicodeText, primary_key=True)
    """The only resource of the dataset."""
    package_id = Column(UnicodeText, nullable=False, index=True)
    """Dataset in CKAN."""
    source_id = Column(UnicodeText, nullable=False, index=True)
    """Harvest source that registered it."""
    organisation_id = Column(UnicodeText, nullable=False)
    """The registry's id of the reporting organisation."""
    organisation_name = Column(UnicodeText, nullable=False)
    """Short name of the reporting organisation."""
    dataset_id = Column(UnicodeText, nullable=False)
    """The registry's id of the dataset."""
    dataset_name = Column(UnicodeText, nullable=False)
    """Short name of the dataset."""
    state = Column(JSONB, nullable=False, server_default="{}")
    """The state of its file, a FileState of rules.py, with times in UTC."""
    failing_since = Column(DateTime)
    """The time of this name in the state."""
    content_changed = Column(DateTime)
    """The time ``content_modified_excluding_generated_timestamp`` in the state."""
    published = Column(Boolean, nullable=False, server_default="false")
    """Whether the index files and the bulk ZIPs of its source contain the dataset."""


TABLES = (IatiDataset.__table__,)
"""The tables of this version."""
