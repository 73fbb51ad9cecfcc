"""Our own tables. Alembic migrations create them; they have no foreign keys to CKAN's tables."""

from __future__ import annotations

from .datasets import (
    DatasetFreshness,
    FrequencySuggestion,
    FreshnessChange,
    FreshnessEvidence,
    FreshnessTransition,
    HistoryDay,
    ResourceMemory,
    Unindexed,
)
from .runs import (
    CheckRun,
    Copy,
    HarvestDocument,
    HarvestHold,
    HarvestReport,
    IatiDataset,
    Mail,
    MailPerson,
    ResourceCheck,
)

__all__ = [
    "CheckRun",
    "Copy",
    "DatasetFreshness",
    "FrequencySuggestion",
    "FreshnessChange",
    "FreshnessEvidence",
    "FreshnessTransition",
    "HarvestDocument",
    "HarvestHold",
    "HarvestReport",
    "HistoryDay",
    "IatiDataset",
    "Mail",
    "MailPerson",
    "ResourceCheck",
    "ResourceMemory",
    "Unindexed",
]
