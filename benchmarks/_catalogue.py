"""A big catalogue in the database, written by SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import sqlalchemy as sa
from ckan import model

from ckanext.freshness.ckan_adapter import write_extras
from ckanext.freshness.field_names import NAMES
from ckanext.freshness.status.assessment import TransitionCause, update_packages

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
    """Whether the site has exactly this catalogue."""
    found = model.Session.execute(
        sa.text(
            "SELECT count(*) FILTER (WHERE name LIKE :name || '-%'), count(*) "
            "FROM package WHERE type = 'dataset'"
        ),
        {"name": name},
    ).one()
    return tuple(found) == (count, count)


def write(name: str, count: int, organization: str, now: datetime) -> None:
    """Datasets of two resources each, all of them updated yearly, in an empty site."""
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


def forget() -> None:
    """The catalogue as it was before the extension; the index stays."""
    write_extras({one: {} for one in _ids(_DATASETS)}, NAMES.extras)
    for table in _OWN:
        model.Session.execute(sa.text(f"TRUNCATE freshness_{table}"))
    model.Session.commit()
    model.Session.expire_all()


def settle() -> None:
    """Leave nothing for PostgreSQL to tidy up while something is measured."""
    model.Session.remove()
    with model.meta.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as session:
        session.execute(sa.text("VACUUM ANALYZE"))
        session.execute(sa.text("CHECKPOINT"))


def next_to_change(count: int) -> tuple[list[str], datetime]:
    """The datasets whose boundaries are passed next, and when all of them are."""
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
    """The datasets as they are now, after a refresh of a later time; the index stays."""
    for start in range(0, len(ids), 1000):
        batch = ids[start : start + 1000]
        update_packages(batch, now, cause=TransitionCause.RECOMPUTE)
    model.Session.execute(sa.text("TRUNCATE freshness_transition"))
    model.Session.commit()
    model.Session.expire_all()


def _ids(statement: str) -> list[str]:
    return list(model.Session.execute(sa.text(statement)).scalars())
