"""SQL about harvest sources, their jobs and what became of records, for pages, mails and the doctor.

Call ``p.plugin_loaded("harvest")`` before: a site without that plugin need not have these tables.
"""

from __future__ import annotations

from ..ckan_adapter.harvest import PACKAGES_OF_SOURCE

TITLES_OF_SOURCE = (
    f"SELECT name, title FROM package WHERE id IN ({PACKAGES_OF_SOURCE}) ORDER BY title, name"
)
"""SQL: name and title of the packages of the source ``:owner``."""
_GATHER_ERRORS = """(
    SELECT count(*) FROM harvest_gather_error e
    WHERE e.harvest_job_id = j.id AND e.message NOT LIKE '%"code": "deletions held"%')"""
"""SQL: the number of the errors of the job ``j``. That deletions are on hold is none."""
_HELD_BY = """(
    SELECT max(CAST(substring(e.message FROM '"count": ([0-9]+)') AS integer)) FROM harvest_gather_error e
    WHERE e.harvest_job_id = j.id AND e.message LIKE '%"code": "deletions held"%')"""
"""SQL: the number of deletions that the job ``j`` put on hold, whatever became of them."""
_UNCHANGED = """coalesce((SELECT unchanged FROM freshness_harvest_report WHERE job_id = j.id), 0)"""
"""SQL: how many records the job ``j`` found unchanged."""
_OF_JOB = "harvest_job_id = j.id AND (state <> 'COMPLETE' OR report_status IS NOT NULL)"
"""SQL: whether an object is the result of the job ``j``, and not one that it got from a deleted source."""
_HAS_RECORDS = f"(EXISTS (SELECT FROM harvest_object WHERE {_OF_JOB}) OR {_UNCHANGED} > 0)"
"""SQL: whether the job ``j`` found any records."""
_FAILING_SINCE = f"""(
    SELECT min(k.created) FROM harvest_job k
    WHERE k.source_id = s.id AND k.status = 'Finished' AND k.created > coalesce((
        SELECT j.created FROM harvest_job j
        WHERE j.source_id = s.id AND j.status = 'Finished' AND ({_GATHER_ERRORS} = 0 OR {_HAS_RECORDS})
        ORDER BY j.created DESC LIMIT 1), '-infinity'))"""
"""SQL: since when the jobs of the source ``s`` have failed: they had errors, and no records."""
SOURCES = f"""
SELECT s.id, p.name, coalesce(nullif(p.title, ''), p.name) AS title, p.owner_org, s.type, s.active,
    (SELECT count(*) FROM jsonb_array_elements(h.held) one
        WHERE coalesce(h.released_at, h.kept_at) IS NULL AND one ->> 'released' IS NULL) AS held,
    CASE WHEN h.released_at IS NULL THEN 0 ELSE jsonb_array_length(h.held) END AS approved,
    h.kept_at IS NOT NULL AS is_kept,
    {_FAILING_SINCE} AS failing_since
FROM harvest_source s JOIN package p ON p.id = s.id AND p.state = 'active'
LEFT JOIN freshness_harvest_hold h ON h.source_id = s.id
WHERE {{visible}} AND (CAST(:organization AS text) IS NULL OR p.owner_org = :organization)
ORDER BY s.id"""
"""SQL: the sources that a user may see, of ``:organization`` if it is given, with the numbers of held deletions
about which nobody has decided and of approved ones, whether an editor keeps the records, and since when jobs
have failed."""


NEWEST_JOBS = f"""
SELECT j.*, c.*, c.other_unchanged + {_UNCHANGED} AS "not modified", {_HAS_RECORDS} AS has_records,
    source.type, {_HELD_BY} AS held, {_GATHER_ERRORS} AS gather_errors
FROM harvest_source source
CROSS JOIN LATERAL (
    SELECT id, source_id, status, created, gather_started, gather_finished, finished
    FROM harvest_job WHERE source_id = source.id AND (:job IS NULL OR id = :job)
    ORDER BY created DESC LIMIT :most
) j
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE report_status = 'added') AS "added",
        count(*) FILTER (WHERE report_status = 'updated') AS "updated",
        count(*) FILTER (WHERE report_status = 'deleted') AS "deleted",
        count(*) FILTER (WHERE report_status = 'not modified') AS other_unchanged,
        count(*) FILTER (WHERE state = 'ERROR') AS "errored",
        count(*) FILTER (WHERE state NOT IN ('COMPLETE', 'ERROR')) AS "waiting",
        max(greatest(gathered, fetch_started, fetch_finished, import_started, import_finished)) AS progress
    FROM harvest_object WHERE harvest_job_id = j.id
) c
WHERE source.id = ANY(:sources)
ORDER BY j.created DESC"""
"""SQL: the newest ``:most`` jobs of each of ``:sources``, or only ``:job``, with the numbers of their objects
by result, of their gather errors and of the deletions that they put on hold."""
LAST_IMPORT = """
SELECT max(greatest(o.fetch_started, o.fetch_finished, o.import_started, o.import_finished))
FROM harvest_object o JOIN harvest_job j ON j.id = o.harvest_job_id WHERE j.status = 'Running'"""
"""SQL: when a consumer last began or ended something with a record of any job."""
FIRST_GATHER_ERRORS = """
SELECT job.id, e.message FROM unnest(CAST(:jobs AS text[])) AS job(id)
CROSS JOIN LATERAL (
    SELECT message FROM harvest_gather_error WHERE harvest_job_id = job.id
    ORDER BY created, id LIMIT :most
) e"""
"""SQL: the first ``:most`` gather errors of each of ``:jobs``."""
_READ_BEFORE = """LATERAL (
    SELECT content, package_id FROM harvest_object o
    WHERE o.guid = e.guid AND o.harvest_source_id = e.harvest_source_id AND o.gathered < e.gathered
        AND o.content IS NOT NULL
    ORDER BY o.gathered DESC LIMIT 1
)"""
"""SQL: the last object before the object ``e`` in which the same record was read."""
FIRST_RECORD_ERRORS = f"""
SELECT job.id AS job_id, e.message, coalesce(e.content, b.content) AS content, u.value AS url,
    p.name, p.state, coalesce(nullif(p.title, ''), p.name) AS package_title
FROM unnest(CAST(:jobs AS text[])) AS job(id)
CROSS JOIN LATERAL (
    SELECT o.id, o.guid, o.content, o.package_id, o.harvest_source_id, o.gathered, r.message, r.created,
        r.id AS error_id
    FROM harvest_object o JOIN harvest_object_error r ON r.harvest_object_id = o.id
    WHERE o.harvest_job_id = job.id ORDER BY r.created, r.id LIMIT :most
) e
LEFT JOIN LATERAL (
    SELECT value FROM harvest_object_extra x
    WHERE x.harvest_object_id = e.id AND x.key IN ('dataset_url', 'catalog_url')
    ORDER BY x.key DESC LIMIT 1
) u ON true
LEFT JOIN {_READ_BEFORE} b ON true
LEFT JOIN package p ON p.id = coalesce(e.package_id, b.package_id)
ORDER BY e.created, e.error_id"""
"""SQL: the first ``:most`` errors of records of each of ``:jobs``, with the record's URL and its dataset, and
its content: if it could not be read, that of the job that read it last."""
WRITTEN_RECORDS = f"""
SELECT e.report_status AS result, e.guid, coalesce(e.content, b.content) AS content,
    p.name, p.state, coalesce(nullif(p.title, ''), p.name) AS package_title
FROM (
    SELECT *, row_number() OVER (PARTITION BY report_status ORDER BY guid) AS number
    FROM harvest_object
    WHERE harvest_job_id = :job AND report_status IN ('added', 'updated', 'deleted')
) e LEFT JOIN {_READ_BEFORE} b ON true LEFT JOIN package p ON p.id = e.package_id
WHERE number <= :most"""
"""SQL: the first ``:most`` records that ``:job`` created, changed and deleted, by guid, with their packages,
and their contents: of deleted ones those that were read last."""
STATES_OF_SOURCES = f"""
SELECT p.id, p.name, coalesce(nullif(p.title, ''), p.name) AS title, p.owner_org,
    {_FAILING_SINCE} AS failing_since
FROM harvest_source s JOIN package p ON p.id = s.id AND p.state = 'active' WHERE s.active"""
"""SQL: the active sources, with the first failed job since the last one that did not fail; empty if the last
job did not fail."""
SOURCES_OF_PACKAGES = """
SELECT DISTINCT ON (o.package_id) o.package_id, s.id, coalesce(nullif(s.title, ''), s.url) AS title
FROM harvest_object o JOIN harvest_source s ON s.id = o.harvest_source_id
WHERE o.package_id = ANY(:ids) AND o.current
ORDER BY o.package_id, s.active DESC, o.import_finished DESC NULLS LAST"""
"""SQL: the id and title of the source of each of the packages ``:ids`` that is harvested. An active source
comes before a deleted one, then the one that has imported it last."""
DATASETS_OF_SOURCES = """
SELECT o.harvest_source_id, count(DISTINCT p.id) FROM harvest_object o JOIN package p ON p.id = o.package_id
WHERE o.current AND p.state = 'active' AND p.type = ANY(:types) AND {visible} GROUP BY 1"""
"""SQL: each source with the number of its datasets that a user may see."""
