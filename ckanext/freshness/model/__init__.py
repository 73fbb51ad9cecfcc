"""Our own tables. Alembic migrations create them; they have no foreign keys to CKAN's tables."""

from __future__ import annotations

from .datasets import (
    DatasetFreshness,
    FreshnessChange,
    FreshnessEvidence,
    FreshnessTransition,
    HistoryDay,
    KnownResource,
    Unindexed,
)
from .runs import (
    CheckRun,
    Copy,
    HarvestDocument,
    HarvestHold,
    HarvestReport,
    Mail,
    MailPerson,
    ResourceCheck,
)

__all__ = [
    "CheckRun",
    "Copy",
    "DatasetFreshness",
    "FreshnessChange",
    "FreshnessEvidence",
    "FreshnessTransition",
    "HarvestDocument",
    "HarvestHold",
    "HarvestReport",
    "HistoryDay",
    "KnownResource",
    "Mail",
    "MailPerson",
    "ResourceCheck",
    "Unindexed",
]

TABLES = tuple(globals()[name].__table__ for name in __all__)
"""All tables of this version."""
