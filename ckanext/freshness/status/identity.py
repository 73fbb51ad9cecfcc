"""Resources that were made anew: which former resource each of them is.

Some clients and harvesters send datasets without the ids of their resources. CKAN then deletes all resources
and makes new ones. A new resource is the former one of its dataset with the same URL, and takes over all that
is known of it.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from ..ckan_adapter.core import model

_TABLES = ("freshness_resource", "freshness_evidence", "freshness_check", "freshness_copy")


def follow(package_ids: Iterable[str]) -> None:
    """Give the rows of resources that are gone to the resources that they have become.

    :param package_ids: packages that the caller has locked
    """
    ids = {"ids": list(package_ids)}
    pairs = {row.former: row.id for row in model.Session.execute(_MADE_ANEW, ids)}
    for table in _TABLES if pairs else ():
        values = {"former": list(pairs), "now": list(pairs.values())}
        model.Session.execute(sa.text(_TAKE_OVER.format(table=table)), values)


_MADE_ANEW = sa.text("""
WITH gone AS (
    SELECT k.resource_id AS id, k.package_id, k.url,
        row_number() OVER (PARTITION BY k.package_id, k.url ORDER BY k.resource_id) AS number
    FROM freshness_resource k LEFT JOIN resource r ON r.id = k.resource_id AND r.state = 'active'
    WHERE k.package_id = ANY(:ids) AND k.url <> '' AND r.id IS NULL
),
new AS (
    SELECT r.id, r.package_id, btrim(r.url) AS url,
        row_number() OVER (PARTITION BY r.package_id, btrim(r.url) ORDER BY r.id) AS number
    FROM resource r LEFT JOIN freshness_resource k ON k.resource_id = r.id
    WHERE r.package_id = ANY(:ids) AND r.state = 'active' AND k.resource_id IS NULL
)
SELECT gone.id AS former, new.id FROM gone JOIN new USING (package_id, url, number)""")
_TAKE_OVER = """
UPDATE {table} t SET resource_id = p.now
FROM unnest(CAST(:former AS text[]), CAST(:now AS text[])) p (former, now)
WHERE t.resource_id = p.former AND NOT EXISTS (SELECT FROM {table} o WHERE o.resource_id = p.now)"""
