"""A big catalogue in the database, written by SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from hashlib import md5

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from ckan import model
from ckan.lib.search.common import make_connection

from ckanext.freshness.ckan_adapter.core import NAMES
from ckanext.freshness.ckan_adapter.packages import write_extras
from ckanext.freshness.status.assessment import update_packages
from ckanext.freshness.status.changes import TransitionCause

_ID = "md5('{kind} ' || n)::uuid::text"
_PACKAGES = f"""
INSERT INTO package (id, name, title, notes, url, license_id, type, state, private, owner_org,
    creator_user_id, metadata_created, metadata_modified)
SELECT {_ID.format(kind="package")}, :name || '-' || n, 'Dataset ' || n,
    'What was counted in district ' || n || ', by month.', 'http://example.org/' || n, 'cc-by',
    'dataset', 'active', false, :organization, NULL, :now, :now
FROM generate_series(1, :count) n"""
_RESOURCES = f"""
INSERT INTO resource (id, package_id, url, format, name, description, position, state, extras, hash,
    created, metadata_modified)
SELECT {_ID.format(kind="resource ' || k || '")}, {_ID.format(kind="package")},
    'http://example.org/' || n || '/' || k || '.csv', 'CSV', 'Part ' || k, '', k, 'active', '{{}}', '',
    -- In steps of a minute, so that boundaries are passed one after the other.
    CAST(:now AS timestamp) - n * interval '1 minute', :now
FROM generate_series(1, :count) n CROSS JOIN generate_series(0, 1) k"""
_DATASETS = "SELECT id FROM package WHERE type = 'dataset'"
_OWN = ("dataset", "evidence", "resource", "transition", "unindexed")


def is_there(name: str, count: int) -> bool:
    """Return whether the site has exactly this catalogue."""
    found = model.Session.execute(
        sa.text(
            "SELECT count(*) FILTER (WHERE name LIKE :name || '-%'), count(*) "
            "FROM package WHERE type = 'dataset'"
        ),
        {"name": name},
    ).one()
    return tuple(found) == (count, count)


def write(name: str, count: int, organization: str, now: datetime) -> None:
    """Write datasets of two resources each, all of them updated yearly, into an empty site."""
    values = {
        "name": name,
        "count": count,
        "organization": organization,
        "now": now.replace(tzinfo=None),
    }
    for statement in (_PACKAGES, _RESOURCES):
        model.Session.execute(sa.text(statement), values)
    extras = {
        "data_update_frequency": "365",
        "dataset_source": "The statistical office",
        "methodology": "Census",
    }
    ids = _ids(_DATASETS)
    for start in range(0, count, 1000):
        write_extras(dict.fromkeys(ids[start : start + 1000], extras), list(extras))
    model.Session.commit()
    model.Session.execute(sa.text("ANALYZE"))
    model.Session.commit()


def judge(now: datetime) -> None:
    """Judge the datasets by SQL: of each ten, one is unknown, and the others' ages reach up to 540 days."""
    model.Session.execute(sa.text(_JUDGE), {"now": now.replace(tzinfo=None)})
    model.Session.commit()


def index() -> None:
    """Send the documents of all datasets, with the fields by which reports count."""
    solr = make_connection()
    site = tk.config["ckan.site_id"]
    with model.meta.engine.connect() as connection:
        rows = connection.execution_options(stream_results=True).execute(sa.text(_DOCUMENTS))
        for part in rows.mappings().partitions(5000):
            solr.add(
                [
                    {
                        **{key: value for key, value in row.items() if value is not None},
                        "index_id": md5(f"{row['id']}{site}".encode()).hexdigest(),
                        "site_id": site,
                        "entity_type": "package",
                        "dataset_type": "dataset",
                        "state": "active",
                        NAMES.group: _GROUPS.get(row[NAMES.status], "needs_update"),
                    }
                    for row in part
                ],
                commit=False,
            )
    solr.commit()


_GROUPS = {"fresh": "up_to_date", "unavailable": "unknown"}
_JUDGE = """
INSERT INTO freshness_dataset (package_id, status, last_modified, evidence, frequency_days, frequency_from,
    due, overdue, delinquent, next_boundary, judge_anew)
SELECT id, CASE WHEN frequency_days IS NULL THEN 'unavailable' WHEN :now < due THEN 'fresh'
        WHEN :now < overdue THEN 'due' WHEN :now < delinquent THEN 'overdue' ELSE 'delinquent' END,
    last_modified, 'created', frequency_days, CASE WHEN frequency_days IS NOT NULL THEN 'dataset' END,
    due, overdue, delinquent,
    CASE WHEN :now < due THEN due WHEN :now < overdue THEN overdue WHEN :now < delinquent THEN delinquent END,
    false
FROM (
    SELECT id, last_modified, frequency_days, last_modified + frequency_days * interval '1 day' AS due,
        last_modified + (frequency_days + 60) * interval '1 day' AS overdue,
        last_modified + (frequency_days + 90) * interval '1 day' AS delinquent
    FROM (
        SELECT id, CAST(:now AS timestamp) - number % 540 * interval '1 day' AS last_modified,
            CASE WHEN number % 10 <> 0 THEN 365 END AS frequency_days
        FROM (
            SELECT id, row_number() OVER (ORDER BY id) AS number FROM package WHERE type = 'dataset'
        ) numbered
    ) dated
) judged"""
_DOCUMENTS = f"""
SELECT p.id, p.name, p.title, p.owner_org, g.name AS organization,
    CASE WHEN p.private THEN 'private' ELSE 'public' END AS capacity,
    CASE WHEN p.private THEN 'member-' || p.owner_org ELSE 'public' END AS permission_labels,
    f.status AS {NAMES.status}, f.undetermined AS {NAMES.undetermined}
FROM package p JOIN freshness_dataset f ON f.package_id = p.id LEFT JOIN "group" g ON g.id = p.owner_org
WHERE p.type = 'dataset'"""


def forget() -> None:
    """Delete everything that the extension wrote, except the index."""
    write_extras({one: {} for one in _ids(_DATASETS)}, NAMES.extras)
    for table in _OWN:
        model.Session.execute(sa.text(f"TRUNCATE freshness_{table}"))
    model.Session.commit()
    model.Session.expire_all()


def settle() -> None:
    """Have PostgreSQL tidy up now, so that it does not do so during a measurement."""
    model.Session.remove()
    with model.meta.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as session:
        session.execute(sa.text("VACUUM ANALYZE"))
        session.execute(sa.text("CHECKPOINT"))


def next_to_change(count: int) -> tuple[list[str], datetime]:
    """Return the datasets whose boundaries are passed next, and the time when all have passed."""
    rows = model.Session.execute(
        sa.text(
            "SELECT package_id, next_boundary FROM freshness_dataset "
            "WHERE next_boundary IS NOT NULL ORDER BY next_boundary LIMIT :count"
        ),
        {"count": count},
    ).all()
    model.Session.commit()
    moment = rows[-1].next_boundary.replace(tzinfo=timezone.utc)
    return [row.package_id for row in rows], moment + timedelta(seconds=1)


def turn_back(ids: Sequence[str], now: datetime) -> None:
    """Restore the present state of the datasets after a refresh at a later time. The index stays."""
    for start in range(0, len(ids), 1000):
        batch = ids[start : start + 1000]
        update_packages(batch, now, cause=TransitionCause.RECOMPUTE)
    model.Session.execute(sa.text("TRUNCATE freshness_transition"))
    model.Session.commit()
    model.Session.expire_all()


def _ids(statement: str) -> list[str]:
    return list(model.Session.execute(sa.text(statement)).scalars())
