"""What is remembered: own tables, made by alembic migrations, with no foreign keys to CKAN's."""

from __future__ import annotations

from .harvest import HarvestDocument, HarvestHold

__all__ = ["HarvestDocument", "HarvestHold"]
