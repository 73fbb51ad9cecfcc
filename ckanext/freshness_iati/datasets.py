"""The sources of registries, and the rows of their datasets: what a registry says, and the states of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import ckan.plugins as p
import sqlalchemy as sa

from ckanext.freshness.checking.stored_values import as_json, read
from ckanext.freshness.ckan_adapter import harvest
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.packages import ORGANIZATION_EXTRA, PACKAGE_EXTRAS

from .rules import FileState
from .source_type import REGISTRY_ID, REGISTRY_NAME, SOURCE_TYPE

if TYPE_CHECKING:
    from .iati_check import KnownFile

PAGE = 500
"""Rows fetched at a time from a long query."""


def sources() -> list[Any]:
    """Return the rows of active sources, ordered by id."""
    if not p.plugin_loaded("harvest"):
        return []
    table = harvest.SOURCE
    query = sa.select(table).where(table.c.type == SOURCE_TYPE, table.c.active.is_(True))
    return list(model.Session.execute(query.order_by(table.c.id)))


def sync(source_id: str) -> int:
    """Add and update the rows of datasets that the last harvest registered; return the number of new ones.

    Ids and names are the registry's: CKAN may have had to give a dataset another name. If a dataset got a new
    resource, its state goes to the new one, as its copy has gone when the dataset was edited.
    """
    values = {"source": source_id, "id": REGISTRY_ID, "name": REGISTRY_NAME}
    added = 0
    if model.Session.execute(sa.text(f"{_UNSYNCED} SELECT count(*) FROM f"), values).scalar():
        model.Session.execute(sa.text(_MOVE_ROWS), values)
        added = sum(model.Session.execute(sa.text(_UPSERT), values).scalars())
    model.Session.commit()
    return added


def gone(source_id: str) -> list[str]:
    """Return the resource ids of rows whose datasets are deleted."""
    return list(model.Session.execute(sa.text(_SELECT_GONE), {"source": source_id}).scalars())


def forget_gone(source_id: str) -> None:
    """Delete the rows of deleted datasets, and commit.

    The row of a dataset that published files still name stays: it marks these files as not public.
    """
    model.Session.execute(sa.text(_DELETE_GONE), {"source": source_id})
    model.Session.commit()


def known(source_id: str) -> list[KnownFile]:
    """Return the files of the registered datasets of a source that still have their resource."""
    # Imported only by cycles: web workers check no files.
    from .iati_check import KnownFile

    rows = model.Session.execute(
        sa.text(_KNOWN), {"source": source_id}, execution_options={"yield_per": PAGE}
    )
    datasets = [KnownFile(*row)._replace(state=read(FileState, row.state)) for row in rows]
    model.Session.commit()
    return datasets


def write(states: Mapping[str, FileState]) -> set[str]:
    """Write states by resource id, without a commit.

    :returns: resource ids whose rows were written; the other rows are gone
    """
    if not states:
        return set()
    rows = [
        {
            "resource_id": resource_id,
            "state": state,
            "failing_since": state.failing_since,
            "content_changed": state.content_modified_excluding_generated_timestamp,
        }
        for resource_id, state in states.items()
    ]
    return set(model.Session.execute(sa.text(_WRITE), {"rows": as_json(rows)}).scalars())


_MOMENT = "CAST({0} AS timestamptz) AT TIME ZONE 'UTC'"

CHECKED_LINKS = f"""
SELECT i.resource_id, t.tried_at, CAST(i.state -> 'failures' AS integer) AS failures, i.failing_since,
    t.tried_at AS failed_at, {_MOMENT.format("i.state -> 'good' ->> 'verified_on_server'")} AS succeeded_at,
    i.content_changed AS changed_at, (
        SELECT jsonb_agg(jsonb_build_object(
            'outcome', CASE WHEN e.error <> 'null' THEN 'error' WHEN a ->> 'method' = 'GET' THEN 'downloaded'
                ELSE 'not modified' END,
            'status', a -> 'http_status', 'reason', e.error -> 'error_type',
            'words', e.error -> 'detailed_message'
        ) ORDER BY n)
        FROM jsonb_array_elements(i.state -> 'attempts') WITH ORDINALITY AS x (a, n)
        CROSS JOIN LATERAL (SELECT a -> 'error_details' AS error) e
    ) AS attempts
FROM freshness_iati i JOIN package s ON s.id = i.source_id AND s.state = 'active'
CROSS JOIN LATERAL (
    SELECT {_MOMENT.format("i.state -> 'attempts' -> 0 ->> 'datetime'")} AS tried_at
) t"""
"""SQL: the files that cycles check, with their last checks. A deleted source has no cycles any more."""


def _organization_extra(key: str) -> str:
    return ORGANIZATION_EXTRA.replace(":key", f":{key}")


# If a dataset has two current records or two resources, the first counts.
_UNSYNCED = f"""
WITH f AS MATERIALIZED (SELECT f.* FROM (
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
    <> (f.package_id, :source, f.organisation_id, f.organisation_name, f.dataset_id, f.dataset_name))"""

# A resource that was written without its id got a new one.
_MOVE_ROWS = f"""
{_UNSYNCED} UPDATE freshness_iati i SET resource_id = f.resource_id, package_id = f.package_id
FROM f
WHERE i.source_id = :source AND f.dataset_id = i.dataset_id AND i.resource_id <> f.resource_id
    AND NOT EXISTS (SELECT FROM freshness_iati o WHERE o.resource_id = f.resource_id)"""
_UPSERT = f"""
{_UNSYNCED} INSERT INTO freshness_iati (resource_id, package_id, source_id, organisation_id, organisation_name,
    dataset_id, dataset_name)
SELECT f.resource_id, f.package_id, :source, f.organisation_id, f.organisation_name, f.dataset_id,
    f.dataset_name FROM f
ON CONFLICT (resource_id) DO UPDATE SET package_id = excluded.package_id,
    source_id = excluded.source_id, organisation_id = excluded.organisation_id,
    organisation_name = excluded.organisation_name, dataset_id = excluded.dataset_id,
    dataset_name = excluded.dataset_name
RETURNING CAST(xmax = 0 AS integer)"""

# Only CKAN decides what is gone: an incomplete list of registered datasets removes nothing.
_GONE = """
FROM freshness_iati i WHERE i.source_id = :source AND NOT EXISTS (
    SELECT FROM resource r JOIN package p ON p.id = r.package_id
    WHERE r.id = i.resource_id AND r.state = 'active' AND p.state = 'active'
)"""
_SELECT_GONE = f"SELECT i.resource_id {_GONE}"
_DELETE_GONE = f"DELETE {_GONE} AND NOT i.published"

_KNOWN = """
SELECT i.resource_id, i.package_id, i.dataset_name, coalesce(r.url, '') AS url,
    CAST(i.state AS text) AS state, c.key, c.zip_key, c.size, c.filename
FROM freshness_iati i
JOIN resource r ON r.id = i.resource_id AND r.state = 'active'
JOIN package p ON p.id = r.package_id AND p.state = 'active'
LEFT JOIN freshness_copy c ON c.resource_id = i.resource_id
WHERE i.source_id = :source
ORDER BY i.organisation_name, i.dataset_name, i.resource_id"""

_WRITE = """
UPDATE freshness_iati i
SET state = f.state, failing_since = f.failing_since, content_changed = f.content_changed
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS f (
    resource_id text, state jsonb, failing_since timestamp, content_changed timestamp
)
WHERE i.resource_id = f.resource_id RETURNING i.resource_id"""
