"""A catalogue of any size as a large portal has it after 90 nights, written by SQL.

Shares follow large portals: a few organizations have most datasets, half of the datasets are harvested, and
hosts have a long tail. The largest host has 8 % of the resources. The extension's own code judges the datasets
and makes their documents; :func:`differing` compares samples of them with those of CKAN's own rebuild.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from datetime import datetime
from hashlib import md5
from itertools import islice
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from ckan import model
from ckan.lib import search
from ckan.lib.search.common import make_connection

from ckanext.freshness import settings
from ckanext.freshness.ckan_adapter.solr import index_present, without_solr_commits
from ckanext.freshness.ckan_adapter.solr_queue import queued
from ckanext.freshness.ckan_adapter.version import IS_2_12
from ckanext.freshness.search import fields as search_fields
from ckanext.freshness.status.assessment import update_packages
from ckanext.freshness.status.transitions import TransitionCause

ORGANIZATIONS, SOURCES, HOSTS = 300, 20, 5_000
NIGHTS = 90
FREQUENCIES = (1, 7, 14, 30, 90, 180, 365)
"""The update frequencies in days that pass boundaries."""
HARVESTED = 0.5
"""The share of harvested datasets."""
NAME = "bench-report"

_SIZES = ("datasets", "resources")
_KEY = "bench-large"
"""The name of the organization whose description says that the catalogue is complete."""

Say = Callable[[str], None]


def is_there(datasets: int, resources: int) -> datetime | None:
    """Return when the site's catalogue was written; None if the site has another one, or a part of it."""
    group = model.Group.get(_KEY)
    found = json.loads(group.description or "{}") if group is not None else {}
    if [found.get(key) for key in _SIZES] != [datasets, resources]:
        return None
    return datetime.fromisoformat(found["now"])


def write(site: Any, datasets: int, resources: int, now: datetime, say: Say) -> None:
    """Write the catalogue into an empty site, and index it.

    :raises SystemExit: not on CKAN 2.12, whose tables and documents it has
    """
    if not IS_2_12:
        raise SystemExit("This catalogue can only be written on CKAN 2.12.")
    sources = [
        site.add_source("fdp", f"https://source-{n}.example.org/", {}) for n in range(SOURCES)
    ]
    values = {
        "datasets": datasets,
        "resources": resources,
        "organizations": ORGANIZATIONS,
        "hosts": HOSTS,
        "nights": NIGHTS,
        "harvested": HARVESTED,
        "sources": sources,
        "name": NAME,
        "now": now.replace(tzinfo=None),
    }
    limits = settings.aging().thresholds.limits
    ages = {days: limits(days) for days in FREQUENCIES}
    values |= {
        "frequencies": list(ages),
        "dues": [each.due for each in ages.values()],
        "overdues": [each.overdue for each in ages.values()],
        "delinquents": [each.delinquent for each in ages.values()],
    }
    _run(say, "datasets and resources", _CATALOGUE, values)
    _run(say, "results of checks", _CHECKS, values)
    _analyze()
    say("judging datasets whose changes cannot be detected")
    _judge(now)
    say("indexing")
    before = time.perf_counter()
    _index()
    say(f"indexing: {time.perf_counter() - before:.0f} s")
    _run(say, f"histories of {NIGHTS} days", _HISTORIES, values)
    _analyze()
    _count_days(now)
    about = {"datasets": datasets, "resources": resources, "now": now.isoformat()}
    values = {"name": _KEY, "about": json.dumps(about)}
    model.Session.execute(sa.text(_COMPLETE), values)
    model.Session.commit()


def judged_anew(count: int, now: datetime) -> int:
    """Judge a sample of the datasets again, and return how many get other extras. Nothing is written."""
    ids = list(model.Session.execute(sa.text(_SAMPLE), {"count": count}).scalars())
    changed = update_packages(ids, now, cause=TransitionCause.RECOMPUTE)
    model.Session.rollback()
    return len(changed)


def differing(count: int) -> dict[str, list[str]]:
    """Return the fields in which documents differ from those that CKAN makes, by the dataset's id.

    :param count: the number of datasets to compare. Their documents are those of CKAN's rebuild afterwards.
    """
    ids = list(model.Session.execute(sa.text(_SAMPLE), {"count": count}).scalars())
    before = _documents(ids)
    search.rebuild(package_ids=ids)
    search.commit()
    after = _documents(ids)
    return {
        id_: fields for id_ in ids if (fields := sorted(_differing_fields(before[id_], after[id_])))
    }


def _differing_fields(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the fields with different values, apart from those of the document itself."""
    keys = (one.keys() | other.keys()) - {"_version_", "indexed_ts"}
    return [key for key in keys if _comparable(one.get(key)) != _comparable(other.get(key))]


def _comparable(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("{"):
        return json.loads(value)
    return sorted(value, key=str) if isinstance(value, list) else value


def _documents(ids: list[str]) -> dict[str, dict[str, Any]]:
    query = f"id:({' OR '.join(json.dumps(one) for one in ids)})"
    found = make_connection().search(query, rows=len(ids), fl="*", search_method="POST")
    return {one["id"]: one for one in found.docs}


def _run(say: Say, what: str, statements: tuple[str, ...], values: Mapping[str, Any]) -> None:
    before = time.perf_counter()
    for statement in statements:
        model.Session.execute(sa.text(statement), values)
    model.Session.commit()
    say(f"{what}: {time.perf_counter() - before:.0f} s")


def _analyze() -> None:
    model.Session.remove()
    with model.meta.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as session:
        session.execute(sa.text("VACUUM ANALYZE"))
        session.execute(sa.text("CHECKPOINT"))


def _judge(now: datetime) -> None:
    """Judge the datasets that the SQL above cannot judge: a resource of theirs is in doubt."""
    ids = list(model.Session.execute(sa.text(_IN_DOUBT)).scalars())
    for start in range(0, len(ids), 500):
        update_packages(ids[start : start + 500], now, cause=TransitionCause.RECOMPUTE)
        model.Session.commit()


def _count_days(now: datetime) -> None:
    """Count today's datasets for the history, and let the days before have had the same."""
    from ckanext.freshness.reporting import history

    history.record(now)
    values = {"nights": NIGHTS, "now": now.replace(tzinfo=None)}
    model.Session.execute(sa.text(_DAYS), values)
    model.Session.commit()


# The documents.


def _index() -> None:
    """Send all documents in two processes.

    CKAN's own way takes hours: it reads each package again by many statements, and validates it twice.
    """
    for part in (0, 1):
        _index_part(part)
    make_connection().commit()


def _index_part(part: int) -> None:
    solr = make_connection()
    documents = _documents_of(part)
    while batch := list(islice(documents, 250)):
        solr.add(batch, commit=False)


def _documents_of(part: int) -> Iterator[dict[str, Any]]:
    """Yield documents: CKAN's document of one dataset, with the values of each of the others."""
    base, package, resource, organizations = _shown()
    site = tk.config["ckan.site_id"]
    with model.meta.engine.connect() as connection:
        streamed = connection.execution_options(stream_results=True, max_row_buffer=250)
        for row in streamed.execute(sa.text(_ROWS), {"part": part}).mappings():
            values = {key: _plain(row[key]) for key in _COLUMNS}
            extras, resources, harvest = row["extras"], row["resources"], row["harvest"]
            shown = {
                **package,
                **values,
                "organization": organizations[row["owner_org"]],
                "extras": [
                    {"key": key, "value": value} for key, value in (extras | harvest).items()
                ],
                "resources": [{**resource, **one} for one in resources],
                "num_resources": len(resources),
            }
            text = json.dumps(shown)
            others = {key: extras[key] for key in extras if not key.startswith("freshness")}
            yield {
                **base,
                **values,
                **others,
                **{f"extras_{key}": value for key, value in others.items()},
                **harvest,
                **search_fields.document({"type": "dataset", **extras}),
                "index_id": md5(f"{row['id']}{site}".encode()).hexdigest(),
                "title_string": row["title"],
                "metadata_created": f"{values['metadata_created']}Z",
                "metadata_modified": f"{values['metadata_modified']}Z",
                "organization": shown["organization"]["name"],
                "capacity": "private" if row["private"] else "public",
                "permission_labels": [f"member-{row['owner_org']}" if row["private"] else "public"],
                "num_resources": len(resources),
                "res_description": [""] * len(resources),
                "res_type": [None] * len(resources),
                **{
                    f"res_{key}": [one[key] for one in resources]
                    for key in ("name", "format", "url")
                },
                "data_dict": text,
                "validated_data_dict": text,
            }


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _shown() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return a document without extras, its package and resource, and all organizations by their ids."""
    context = {"model": model, "ignore_auth": True, "validate": False, "use_cache": False}
    ids = list(model.Session.execute(sa.text(_ONE_OF_EACH_ORGANIZATION)).scalars())
    show = tk.get_action("package_show")
    package = show(dict(context), {"id": ids[0]})
    with without_solr_commits(), queued() as queue:
        index_present(deepcopy(package))
        queue.settle()
        document = queue.find(ids[0]) or {}
    keys = {extra["key"] for extra in package["extras"]}
    base = {
        key: value
        for key, value in document.items()
        if key.removeprefix("extras_") not in keys and not key.startswith(("freshness", "harvest"))
    }
    organizations = (show(dict(context), {"id": id_})["organization"] for id_ in ids)
    return base, package, package["resources"][0], {each["id"]: each for each in organizations}


_ONE_OF_EACH_ORGANIZATION = """
SELECT DISTINCT ON (owner_org) id FROM package WHERE type = 'dataset' ORDER BY owner_org, id"""


def _moment(column: str) -> str:
    """Return SQL for a moment as CKAN's dictionaries have it. The catalogue's moments are whole seconds."""
    return f"""to_char({column}, 'YYYY-MM-DD"T"HH24\\:MI\\:SS')"""


_COLUMNS = (
    *(
        "id",
        "name",
        "title",
        "notes",
        "url",
        "private",
        "owner_org",
        "maintainer",
        "maintainer_email",
    ),
    *("metadata_created", "metadata_modified"),
)
_ROWS = f"""
SELECT {", ".join(f"p.{column}" for column in _COLUMNS)}, p.extras,
    coalesce((SELECT jsonb_build_object(
        'harvest_object_id', o.id, 'harvest_source_id', s.id, 'harvest_source_title', s.title
    ) FROM harvest_object o JOIN harvest_source s ON s.id = o.harvest_source_id
    WHERE o.package_id = p.id), '{{}}') AS harvest,
    (SELECT jsonb_agg(jsonb_build_object(
        'id', r.id, 'package_id', r.package_id, 'url', r.url, 'format', r.format, 'name', r.name,
        'position', r.position, 'size', r.size, 'mimetype', r.mimetype,
        'created', {_moment("r.created")}, 'last_modified', {_moment("r.last_modified")},
        'metadata_modified', {_moment("r.metadata_modified")}
    ) ORDER BY r.position) FROM resource r WHERE r.package_id = p.id) AS resources
FROM package p WHERE p.type = 'dataset' AND abs(hashtext(p.id)) % 2 = :part"""
_IN_DOUBT = (
    "SELECT DISTINCT package_id FROM freshness_check WHERE undetermined IS NOT NULL ORDER BY 1"
)
_SAMPLE = """
SELECT id FROM package WHERE type = 'dataset' ORDER BY md5(id || 'sample') LIMIT :count"""
_COMPLETE = """
INSERT INTO "group" (id, name, title, description, type, is_organization, approval_status, state, image_url,
    created)
VALUES (md5(:name)::uuid::text, :name, 'The catalogue', :about, 'group', false, 'approved', 'active', '',
    now())"""


# The catalogue. Multiples of irrational numbers spread values evenly, and independently of each other.

_IRRATIONAL = {
    "u": "0.6180339887498949",
    "v": "0.4142135623730951",
    "w": "0.7320508075688772",
    "x": "0.2360679774997898",
}


def _u(kind: str) -> str:
    """Return SQL for a number from 0 to 1 that belongs to the number ``n``."""
    return f"CAST((n * {_IRRATIONAL[kind]}) % 1 AS float8)"


def _id(kind: str, n: str = "n") -> str:
    return f"md5('{kind} ' || {n})::uuid::text"


_FREQUENCY = f"""CASE
    WHEN {_u("v")} < 0.10 THEN NULL WHEN {_u("v")} < 0.15 THEN 0 WHEN {_u("v")} < 0.27 THEN -1
    WHEN {_u("v")} < 0.36 THEN -2 WHEN {_u("v")} < 0.37 THEN 1 WHEN {_u("v")} < 0.44 THEN 7
    WHEN {_u("v")} < 0.48 THEN 14 WHEN {_u("v")} < 0.60 THEN 30 WHEN {_u("v")} < 0.66 THEN 90
    WHEN {_u("v")} < 0.73 THEN 180 ELSE 365 END"""
"""HDX's shares of update frequencies, and a tenth without."""
_AGE = f"""CASE WHEN frequency > 0 THEN {_u("w")} * frequency * 1.6
    ELSE {_u("w")} * 1500 END * interval '1 day'"""
_FORMAT = f"""CASE WHEN {_u("v")} < 0.3 THEN 'CSV' WHEN {_u("v")} < 0.45 THEN 'PDF'
    WHEN {_u("v")} < 0.57 THEN 'XLSX' WHEN {_u("v")} < 0.67 THEN 'HTML' WHEN {_u("v")} < 0.75 THEN 'JSON'
    WHEN {_u("v")} < 0.83 THEN 'WMS' WHEN {_u("v")} < 0.88 THEN 'SHP' WHEN {_u("v")} < 0.93 THEN 'XML'
    WHEN {_u("v")} < 0.97 THEN 'GeoJSON' ELSE 'ZIP' END"""
_HOST = f"""CASE WHEN {_u("u")} < 0.08 THEN 0
    ELSE 1 + floor((:hosts - 1) * power(({_u("u")} - 0.08) / 0.92, 3)) END"""

_CATALOGUE = (
    f"""
    INSERT INTO "group" (id, name, title, description, type, is_organization, approval_status, state,
        image_url, created)
    SELECT {_id("organization")}, 'bench-' || n, 'Office ' || n, '', 'organization', true, 'approved',
        'active', '', :now
    FROM generate_series(0, :organizations - 1) n""",
    f"""
    CREATE TEMPORARY TABLE made ON COMMIT DROP AS
    SELECT n, {_id("package")} AS id, {_u("x")} < :harvested AS harvested, frequency,
        date_trunc('second', CAST(:now AS timestamp) - {_AGE}) AS updated
    FROM (SELECT n, {_FREQUENCY} AS frequency FROM generate_series(0, :datasets - 1) n) dealt""",
    f"""
    INSERT INTO package (id, name, title, notes, url, license_id, type, state, private, owner_org,
        maintainer, maintainer_email, creator_user_id, metadata_created, metadata_modified)
    SELECT id, :name || '-' || n, 'Dataset ' || n || ' of the district of ' || chr(65 + CAST(n % 26 AS int)),
        'What was counted in district ' || n || ', by month. ' || repeat('More about its method. ', 8),
        'https://example.org/' || n, 'cc-by', 'dataset', 'active', n % 50 = 49,
        {_id("organization", f"floor(:organizations * power({_u('u')}, 2.5))")},
        'Office', 'office-' || n % 3000 || '@example.org', NULL,
        updated - interval '400 days', updated
    FROM made""",
    f"""
    INSERT INTO resource (id, package_id, url, format, name, description, position, state, extras, hash,
        size, mimetype, created, last_modified, metadata_modified)
    SELECT {_id("resource")}, m.id, 'https://files-' || host || '.example.org/data/' || n || '.csv', format,
        'Part ' || n, '', row_number() OVER (PARTITION BY m.id ORDER BY n) - 1, 'active', '{{}}', '',
        CAST(1000 + n % 100000 AS bigint), 'text/csv', m.updated - interval '300 days',
        CASE WHEN n < :datasets AND NOT m.harvested THEN m.updated END, m.updated
    FROM (
        SELECT n, {_HOST} AS host, {_FORMAT} AS format,
            CASE WHEN n < :datasets THEN n ELSE floor(:datasets * power({_u("w")}, 1.6)) END AS number
        FROM generate_series(0, :resources - 1) n
    ) dealt JOIN (SELECT n AS number, id, harvested, updated FROM made) m USING (number)""",
    """
    INSERT INTO freshness_dataset (package_id, status, last_modified, evidence, frequency_days,
        frequency_from, due, overdue, delinquent, next_boundary, judge_anew, field_prefix)
    SELECT id, CASE WHEN frequency IS NULL THEN 'unavailable' WHEN due IS NULL OR :now < due THEN 'fresh'
            WHEN :now < overdue THEN 'due' WHEN :now < delinquent THEN 'overdue' ELSE 'delinquent' END,
        updated, CASE WHEN harvested THEN 'harvest' ELSE 'upload' END, frequency,
        CASE WHEN frequency IS NOT NULL THEN 'dataset' END, due, overdue, delinquent,
        CASE WHEN :now < due THEN due WHEN :now < overdue THEN overdue
            WHEN :now < delinquent THEN delinquent END, false, ''
    FROM (
        SELECT m.*, updated + a.due AS due, updated + a.overdue AS overdue,
            updated + a.delinquent AS delinquent
        FROM made m LEFT JOIN unnest(CAST(:frequencies AS int[]), CAST(:dues AS interval[]),
            CAST(:overdues AS interval[]), CAST(:delinquents AS interval[])
        ) AS a (frequency, due, overdue, delinquent) USING (frequency)
    ) aged""",
    """
    INSERT INTO freshness_evidence (package_id, resource_id, evidence, happened_at)
    SELECT m.id, r.id, CASE WHEN r.last_modified IS NULL THEN 'created' ELSE 'upload' END,
        coalesce(r.last_modified, r.created)
    FROM made m JOIN resource r ON r.package_id = m.id WHERE NOT m.harvested
    UNION ALL SELECT id, '', 'harvest', updated FROM made WHERE harvested""",
    """
    INSERT INTO freshness_resource (resource_id, package_id, url, first_seen)
    SELECT id, package_id, url, created FROM resource""",
    """
    CREATE TEMPORARY TABLE extra ON COMMIT DROP AS
    SELECT id AS package_id, key, value
    FROM (SELECT 'YYYY-MM-DD"T"HH24\\:MI\\:SS"Z"' AS iso) f, made
    JOIN freshness_dataset d ON d.package_id = made.id CROSS JOIN LATERAL (VALUES
        ('data_update_frequency', CAST(frequency AS text)), ('dataset_source', 'The statistical office'),
        ('methodology', 'Census'),
        ('modified', CASE WHEN harvested THEN to_char(updated, f.iso) END),
        ('freshness', d.status), ('freshness_evidence', d.evidence),
        ('freshness_frequency', CAST(frequency AS text)),
        ('freshness_last_modified', to_char(updated, f.iso)), ('freshness_due', to_char(d.due, f.iso)),
        ('freshness_overdue', to_char(d.overdue, f.iso)),
        ('freshness_delinquent', to_char(d.delinquent, f.iso))
    ) AS e (key, value) WHERE value IS NOT NULL""",
    """
    UPDATE package p SET extras = e.extras FROM (
        SELECT package_id, jsonb_object_agg(key, value) AS extras FROM extra GROUP BY package_id
    ) e WHERE p.id = e.package_id""",
    f"""
    INSERT INTO harvest_job (id, created, gather_started, gather_finished, finished, source_id, status)
    SELECT {_id("job", "s")}, :now, :now, :now, :now, s, 'Finished'
    FROM unnest(CAST(:sources AS text[])) AS s""",
    f"""
    INSERT INTO harvest_object (id, guid, current, gathered, fetch_started, fetch_finished, import_started,
        import_finished, state, package_id, harvest_job_id, harvest_source_id, report_status)
    SELECT {_id("object")}, 'catalog=https://source.example.org/;dataset=https://source.example.org/' || n,
        true, :now, :now, :now, :now, :now, 'COMPLETE', m.id, {_id("job", "s.id")}, s.id, 'added'
    FROM made m JOIN unnest(CAST(:sources AS text[])) WITH ORDINALITY AS s (id, number)
        ON s.number = 1 + floor(cardinality(CAST(:sources AS text[])) * power({_u("u")}, 2))
    WHERE harvested""",
)

_ATTEMPTS = """(SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
    'at', to_char(tried - k * interval '14 days', 'YYYY-MM-DD"T"HH24\\:MI\\:SS"Z"'), 'method', 'GET',
    'outcome', CASE WHEN failures > k THEN 'error' WHEN blocked THEN 'cannot tell' ELSE 'same hash' END,
    'status', CASE WHEN failures > k THEN 404 WHEN blocked THEN 403 ELSE 200 END,
    'reason', CASE WHEN failures > k THEN '404' END,
    'words', CASE WHEN failures > k THEN 'answered 404' END,
    'received', 1000, 'seconds', 0.2, 'etag', '"v1"', 'why', 'expected', 'every_days', 14
)) ORDER BY k) FROM generate_series(0, 4) k)"""
_CHECKS = (
    f"""
    INSERT INTO freshness_check (resource_id, package_id, url, host, first_seen, etag, last_modified, hash,
        earlier, outdated, tabular, promised, found, unconfirmed, hashed_at, visited_at, tried_at,
        succeeded_at, changed_at, failures, failing_since, failed_at, undetermined, seen_modified, attempts,
        strip, seen_changes, watched_days, together, dates_right, dates_wrong, hides_changes, wrote)
    SELECT id, package_id, url, split_part(url, '/', 3), CAST(:now AS timestamp) - interval '90 days',
        CASE WHEN w < 0.6 THEN '"v1"' END, CASE WHEN w < 0.5 THEN 'Mon, 02 Nov 2026 10:00:00 GMT' END,
        CASE WHEN failures = 0 AND NOT blocked THEN 'sha256:' || md5(id) || md5(url) END, '{{}}', false,
        format = 'CSV', CASE WHEN wrong THEN format END, CASE WHEN wrong THEN 'HTML' END, false,
        CASE WHEN NOT blocked THEN CAST(:now AS timestamp) - (n % 30) * interval '1 day' END,
        tried, tried, CASE WHEN failures = 0 THEN tried ELSE tried - failures * interval '1 day' END,
        CASE WHEN x < 0.3 THEN tried - x * interval '300 days' END, failures,
        CASE WHEN failures > 0 THEN tried - (failures - 1) * interval '40 hours' END,
        CASE WHEN failures > 0 THEN tried END,
        CASE WHEN blocked THEN 'blocked' WHEN w > 0.99 THEN 'api' END, last_modified, {_ATTEMPTS},
        repeat('w', 24) || CASE WHEN failures > 0 THEN 'ffffff' WHEN blocked THEN 'uuuuuu' ELSE 'wwwwww' END,
        x * 3, 90, 0.5, CASE WHEN w < 0.5 THEN 5 ELSE 0 END, 0, false, '{{}}'
    FROM (
        SELECT *, CASE WHEN u < 0.05 THEN 5 + CAST(n % 80 AS int) WHEN u < 0.06 THEN 1 ELSE 0 END AS failures,
            u BETWEEN 0.06 AND 0.08 AS blocked, u BETWEEN 0.08 AND 0.09 AS wrong,
            date_trunc('second', CAST(:now AS timestamp) - (1 + n % 14) * interval '1 day') AS tried
        FROM (
            SELECT r.*, {_u("u")} AS u, {_u("w")} AS w, {_u("x")} AS x
            FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM resource WHERE state = 'active') r
        ) drawn
    ) told""",
    """
    INSERT INTO freshness_copy (resource_id, package_id, key, size, sha256, filename, source_url, stored_at,
        verified_at)
    SELECT r.id, r.package_id, r.id, 100000, repeat('0', 64), 'file.csv', r.url, :now, :now
    FROM resource r WHERE CAST(substring(r.url FROM '/([0-9]+).csv') AS bigint) % 50 = 0""",
)
_HISTORIES = (
    f"""
    INSERT INTO freshness_transition (package_id, from_status, to_status, changed_at, evidence, cause)
    SELECT id, CASE WHEN n % 2 = 0 THEN 'fresh' ELSE 'due' END,
        CASE WHEN n % 2 = 0 THEN 'due' ELSE 'fresh' END,
        CAST(:now AS timestamp) - {_u("u")} * :nights * interval '1 day', 'upload', 'time'
    FROM (
        SELECT n, {_id("package", f"floor(:datasets * ({_u('v')}))")} AS id
        FROM generate_series(1, CAST(:datasets * 0.01 * :nights AS int)) n
    ) dealt""",
    f"""
    INSERT INTO freshness_change (id, "position", package_id, resource_id, seen_at, changed_after,
        changed_before, evidence, hash_before, hash_after, size_before, size_after)
    SELECT {_id("change")}, row_number() OVER (ORDER BY seen_at, n), r.package_id, r.id, seen_at,
        seen_at - interval '14 days', seen_at, 'hash', 'sha256:' || md5(r.id), 'sha256:' || md5(r.url),
        1000, 1010
    FROM (
        SELECT n, {_id("resource", f"floor(:resources * ({_u('v')}))")} AS id,
            CAST(:now AS timestamp) - {_u("u")} * :nights * interval '1 day' AS seen_at
        FROM generate_series(1, CAST(:resources * 0.005 * :nights AS int)) n
    ) dealt JOIN resource r USING (id)""",
    """
    WITH hosts AS (
        SELECT jsonb_object_agg(CASE n WHEN 0 THEN '*' ELSE 'files-' || n || '.example.org' END,
            jsonb_build_object('visits', CASE n WHEN 0 THEN :resources / 14 ELSE 100 END, 'errors', 3,
                'blocked', 0, 'etag', 60, 'last_modified', 50, 'either', 60, 'answered', 90, 'agreed', 5,
                'missed', 0, 'moved', 1, 'bytes', 100000,
                'seconds', CASE n WHEN 0 THEN :resources / 70 ELSE 20 END, 'datasets', 80,
                'datasets_either', 60)) AS hosts
        FROM generate_series(0, 500) n
    )
    INSERT INTO freshness_run (id, kind, started_at, ended_at, options, resources, datasets, frequencies,
        hosts, visited, version)
    SELECT CASE night WHEN 1 THEN 'bench-run' ELSE 'bench-run-' || night END, 'check',
        CAST(:now AS timestamp) - night * interval '1 day' + interval '12 hours',
        CAST(:now AS timestamp) - night * interval '1 day' + interval '16 hours', '{}',
        jsonb_build_object('nothing', :resources), jsonb_build_object('0: Fresh, Updated nothing', :datasets),
        '{}', hosts, :resources / 14, 'bench'
    FROM hosts, generate_series(1, :nights) night""",
    """
    INSERT INTO freshness_mail_start (id, transition_id, started_at)
    SELECT 1, (SELECT id FROM freshness_transition
        WHERE changed_at < CAST(:now AS timestamp) - interval '1 day' ORDER BY id DESC LIMIT 1), :now
    ON CONFLICT DO NOTHING""",
)
_DAYS = """
INSERT INTO freshness_history (day, made_at, statuses, organizations, hosts)
SELECT day - night, made_at - night * interval '1 day', statuses, organizations, hosts
FROM freshness_history, generate_series(1, :nights) night
WHERE day = CAST(CAST(:now AS timestamp) AS date)"""
