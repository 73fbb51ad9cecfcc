"""What is remembered: own tables, made by alembic migrations, with no foreign keys to CKAN's."""

from __future__ import annotations

from .check import CheckRun, ResourceCheck
from .freshness import (
    DatasetFreshness,
    FreshnessEvidence,
    FreshnessTransition,
    ResourceMemory,
    Unindexed,
)
from .harvest import HarvestDocument, HarvestHold

__all__ = [
    "CheckRun",
    "DatasetFreshness",
    "FreshnessEvidence",
    "FreshnessTransition",
    "HarvestDocument",
    "HarvestHold",
    "ResourceCheck",
    "ResourceMemory",
    "Unindexed",
]
