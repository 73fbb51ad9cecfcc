"""The harvest sources of datasets. Whoever edits such a dataset here loses the edit at the next harvest."""

from __future__ import annotations

from collections.abc import Iterable

import ckan.plugins as p
import sqlalchemy as sa

from ..ckan_adapter import harvest_tables
from ..ckan_adapter.ckan_core import model


def of_packages(package_ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return ``id`` and ``title`` of the harvest source of each dataset that is harvested, by its id."""
    ids = sorted(set(package_ids))
    if not ids or not p.plugin_loaded("harvest"):
        return {}
    rows = model.Session.execute(sa.text(harvest_tables.SOURCES_OF_PACKAGES), {"ids": ids})
    return {row.package_id: {"id": row.id, "title": row.title} for row in rows}
