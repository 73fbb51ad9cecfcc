"""Resources that were made anew: they take over all that is known of the resources that they were before.

Some clients and harvesters send datasets without the ids of their resources. CKAN then deletes all resources
and makes new ones.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable

import sqlalchemy as sa

from ..ckan_adapter.core import model
from ..resource_identity import Resource, identify

_TABLES = ("freshness_resource", "freshness_evidence", "freshness_check", "freshness_copy")


def follow(package_ids: Iterable[str]) -> None:
    """Give the rows of resources that are gone to the resources that they have become.

    :param package_ids: packages that the caller has locked
    """
    before: dict[str, list[Resource]] = defaultdict(list)
    now: dict[str, list[Resource]] = defaultdict(list)
    for row in model.Session.execute(_RESOURCES, {"ids": list(package_ids)}):
        uri = json.loads(row.extras or "{}").get("uri")
        facts = {"id": row.id, "uri": uri, "name": row.name, "format": row.format}
        if row.was_there:
            before[row.package_id].append({**facts, "url": row.known_url})
        if row.is_there:
            now[row.package_id].append({**facts, "url": row.url})
    pairs = {
        former["id"]: resource["id"]
        for package_id, resources in now.items()
        for former, resource in zip(identify(resources, before[package_id]), resources, strict=True)
        if former is not None and former["id"] != resource["id"]
    }
    for table in _TABLES if pairs else ():
        values = {"former": list(pairs), "now": list(pairs.values())}
        model.Session.execute(sa.text(_TAKE_OVER.format(table=table)), values)


# CKAN keeps the rows of removed resources until the dataset's next edit.
_RESOURCES = sa.text("""
SELECT coalesce(r.package_id, k.package_id) AS package_id, coalesce(r.id, k.resource_id) AS id,
    k.resource_id IS NOT NULL AS was_there, coalesce(r.state = 'active', false) AS is_there,
    r.url, k.url AS known_url, r.name, r.format, r.extras
FROM (SELECT * FROM resource WHERE package_id = ANY(:ids)) r
FULL JOIN (SELECT * FROM freshness_resource WHERE package_id = ANY(:ids)) k ON k.resource_id = r.id
ORDER BY r.position, r.id, k.resource_id""")
_TAKE_OVER = """
UPDATE {table} t SET resource_id = p.now
FROM unnest(CAST(:former AS text[]), CAST(:now AS text[])) p (former, now)
WHERE t.resource_id = p.former AND NOT EXISTS (SELECT FROM {table} o WHERE o.resource_id = p.now)"""
