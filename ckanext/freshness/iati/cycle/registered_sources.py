"""The sources of IATI's registries, and what is registered by the last harvest of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ckan.plugins as p
import sqlalchemy as sa

from ...ckan_adapter import ORGANIZATION_EXTRA, PACKAGE_EXTRAS, harvest_tables, model
from ...model import IatiDataset
from ..registry.records import REGISTRY_ID, REGISTRY_NAME
from .dataset_rows import RegisteredDataset
from .published_files import SOURCE_TYPE


def sources() -> list[Any]:
    """The active sources of IATI's registries, in the order of their ids."""
    table = harvest_tables.SOURCE
    query = sa.select(table).where(table.c.type == SOURCE_TYPE, table.c.active.is_(True))
    return list(model.Session.execute(query.order_by(table.c.id)))


def sources_of(package_id: str) -> list[Any]:
    """Likewise those that look after the file of a dataset: one, as a rule; none if it is no such dataset."""
    if not p.plugin_loaded("harvest"):
        return []
    rows = model.Session.query(IatiDataset.source_id).filter_by(package_id=package_id)
    ids = {row.source_id for row in rows}
    return [one for one in sources() if one.id in ids] if ids else []


def among(package_ids: Sequence[str]) -> set[str]:
    """Those of some datasets that a cycle looks at, or will at its next turn."""
    if not p.plugin_loaded("harvest"):
        return set()
    values = {"ids": list(package_ids), "type": SOURCE_TYPE}
    return set(model.Session.execute(sa.text(_AMONG), values).scalars())


def newly(source_id: str) -> list[RegisteredDataset]:
    """The datasets of a source that CKAN has, by their registry's ids and names: those that are not known so.

    Whatever CKAN had to call them: a registry's name may be taken, or be none that CKAN takes.
    """
    rows = model.Session.execute(
        sa.text(_REGISTERED),
        {"source": source_id, "id": REGISTRY_ID, "name": REGISTRY_NAME},
    ).all()
    model.Session.commit()
    return [RegisteredDataset(*row) for row in rows]


def _organization_extra(key: str) -> str:
    return ORGANIZATION_EXTRA.replace(":key", f":{key}")


# Of two current records of one dataset, and of two resources, the first counts.
_REGISTERED = f"""
SELECT f.* FROM (
SELECT DISTINCT ON (p.id) r.id AS resource_id, p.id AS package_id,
    coalesce({_organization_extra("id")}, p.owner_org, '') AS organisation_id,
    coalesce({_organization_extra("name")}, g.name, '') AS organisation_name,
    coalesce(({PACKAGE_EXTRAS}) ->> :id, p.id) AS dataset_id,
    coalesce(({PACKAGE_EXTRAS}) ->> :name, p.name) AS dataset_name
FROM harvest_object o
JOIN package p ON p.id = o.package_id AND p.state = 'active'
JOIN resource r ON r.package_id = p.id AND r.state = 'active'
LEFT JOIN "group" g ON g.id = p.owner_org
WHERE o.harvest_source_id = :source AND o.current
ORDER BY p.id, r.position, r.id
) f LEFT JOIN freshness_iati i ON i.resource_id = f.resource_id
WHERE i.resource_id IS NULL OR (i.package_id, i.source_id, i.organisation_id, i.organisation_name,
        i.dataset_id, i.dataset_name)
    <> (f.package_id, :source, f.organisation_id, f.organisation_name, f.dataset_id, f.dataset_name)"""

# What was harvested by the queues is known to no cycle yet; what was is known to them as long as CKAN has it.
_AMONG = """
SELECT o.package_id FROM harvest_object o JOIN harvest_source s ON s.id = o.harvest_source_id
WHERE o.package_id = ANY(:ids) AND o.current AND s.type = :type AND s.active
UNION SELECT i.package_id FROM freshness_iati i JOIN harvest_source s ON s.id = i.source_id
WHERE i.package_id = ANY(:ids) AND s.type = :type AND s.active"""
