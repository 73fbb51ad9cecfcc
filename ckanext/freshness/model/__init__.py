"""Our own tables. Alembic migrations create them; they have no foreign keys to CKAN's tables."""

from __future__ import annotations

from .changes import FreshnessChange
from .check import CheckRun, ResourceCheck
from .copies import Copy, IatiDataset
from .freshness import (
    Comparison,
    DatasetFreshness,
    FreshnessEvidence,
    FreshnessTransition,
    ResourceMemory,
    Unindexed,
)
from .harvest import HarvestDocument, HarvestHold, HarvestReport
from .mails import Mail, MailPerson
from .report import HistoryDay
from .suggestions import FrequencySuggestion

__all__ = [
    "CheckRun",
    "Comparison",
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
