"""The tables of ckanext-harvest, with the columns that this extension reads and writes.

They are declared here, and not taken from ``ckanext.harvest.model``, so that this extension can be imported
without ckanext-harvest. Call ``p.plugin_loaded("harvest")`` before a statement uses them: a site
without that plugin need not have them.
"""

from __future__ import annotations

from typing import Any

import ckan.plugins as p
import sqlalchemy as sa
from ckan import model


def _table(name: str, texts: str, dates: str = "", flags: str = "", numbers: str = "") -> Any:
    types = (
        (texts, sa.UnicodeText),
        (dates, sa.DateTime),
        (flags, sa.Boolean),
        (numbers, sa.Integer),
    )
    columns = [sa.column(key, kind) for keys, kind in types for key in keys.split()]
    return sa.table(name, *columns)


SOURCE = _table(
    "harvest_source",
    "id url title config type frequency",
    dates="created next_run",
    flags="active",
)
JOB = _table(
    "harvest_job",
    "id source_id status",
    dates="created gather_started gather_finished finished",
)
OBJECT = _table(
    "harvest_object",
    "id guid content state report_status harvest_job_id harvest_source_id package_id",
    dates="gathered fetch_started fetch_finished import_started import_finished",
    flags="current",
    numbers="retry_times",
)
OBJECT_EXTRA = _table("harvest_object_extra", "id harvest_object_id key value")
OBJECT_ERROR = _table("harvest_object_error", "id harvest_object_id message stage", dates="created")
GATHER_ERROR = _table("harvest_gather_error", "id harvest_job_id message", dates="created")


def newest_object_sql() -> str:
    """Return SQL for the newest harvest object of the package ``p``, with its source's configuration.

    Without ckanext-harvest, both columns are null.
    """
    if not p.plugin_loaded("harvest"):
        return "SELECT NULL AS id, NULL AS config"
    return """
        SELECT o.id, s.config FROM harvest_object o
        LEFT JOIN harvest_source s ON s.id = o.harvest_source_id
        WHERE o.package_id = p.id
        ORDER BY o.current DESC NULLS LAST, o.gathered DESC NULLS LAST, o.id LIMIT 1"""


def source_configs_sql() -> str:
    """Return SQL for whether the package ``p`` is harvested, and the configurations of its current sources.

    Without ckanext-harvest, no package is harvested.
    """
    if not p.plugin_loaded("harvest"):
        return "SELECT false AS is_harvested, NULL AS configs"
    return """
        SELECT count(*) > 0 AS is_harvested,
            array_agg(s.config) FILTER (WHERE o.current AND s.id IS NOT NULL) AS configs
        FROM harvest_object o LEFT JOIN harvest_source s ON s.id = o.harvest_source_id
        WHERE o.package_id = p.id"""


PACKAGES_OF_SOURCE = "SELECT package_id FROM harvest_object WHERE harvest_source_id = :owner"
"""SQL: the packages of the source ``:owner``."""
IS_HARVESTED = "EXISTS (SELECT FROM harvest_object o WHERE o.package_id = d.package_id)"
"""SQL: whether the dataset ``d`` is harvested."""
IS_OF_SOURCES = """EXISTS (
    SELECT FROM harvest_object o
    WHERE o.package_id = p.id AND o.current AND o.harvest_source_id = ANY(:sources)
)"""
"""SQL: whether the package ``p`` is a current record of the sources ``:sources``."""
LAST_JOBS = """
SELECT s.id, s.type, s.active, j.status, j.created, j.gather_started, j.finished,
    (SELECT count(*) FROM harvest_gather_error e WHERE e.harvest_job_id = j.id) AS gather_errors,
    (SELECT count(*) FROM harvest_object o WHERE o.harvest_job_id = j.id AND o.state = 'ERROR') AS errored,
    EXISTS (SELECT FROM harvest_object o WHERE o.harvest_job_id = j.id) AS objects,
    (SELECT count(*) FROM freshness_harvest_hold h, jsonb_array_elements(h.held) one
        WHERE h.source_id = s.id AND h.released_at IS NULL AND one ->> 'released' IS NULL)
    AS held,
    (SELECT owner_org FROM package WHERE id = s.id) AS owner_org
FROM harvest_source s
LEFT JOIN LATERAL (
    SELECT * FROM harvest_job WHERE source_id = s.id ORDER BY created DESC LIMIT 1
) j ON true
WHERE s.id = ANY(:ids)"""
"""SQL: the sources ``:ids``, their last jobs, and the numbers of their errors and held deletions."""


def source_row(source_id: str) -> Any:
    """Return the row of a source, active or not; None if there is none."""
    return model.Session.execute(sa.select(SOURCE).where(SOURCE.c.id == source_id)).first()


def job_row(job_id: str) -> Any:
    """Return the row of a job; None if there is none."""
    return model.Session.execute(sa.select(JOB).where(JOB.c.id == job_id)).first()
