"""The rows of copies in the database. A row is written after the store has the file.

To remove a copy, its row is removed first. A process that is killed in between leaves a file without a row,
which :func:`sweep` removes, but never a row without a file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from ...ckan_adapter.ckan_core import model
from ...copies.store import Store, StoredCopy
from ...dates import utc
from ...model import Copy


class CopyRow(NamedTuple):
    """A row to write for a copy that the store has now.

    :ivar source_url: without secrets
    :ivar at: when it was stored, aware
    """

    resource_id: str
    package_id: str
    kept: StoredCopy
    filename: str
    mimetype: str | None
    source_url: str
    at: datetime


class StoredFiles(NamedTuple):
    """The files of a copy in the store, to be deleted once no row names them."""

    resource_id: str
    keys: tuple[str, ...]


def of_resource(resource_id: str) -> Any:
    """Return the row of a resource's copy; None if there is no copy."""
    return (
        model.Session.query(Copy)
        .filter(Copy.resource_id == resource_id, Copy.key.isnot(None))
        .one_or_none()
    )


def zip_name(filename: str) -> str:
    """Return the name of a file's ZIP in downloads: ``a.zip`` for ``a.xml``, ``a.csv.zip`` for ``a.csv``."""
    return f"{filename.removesuffix('.xml')}.zip"


def remember(copies: Sequence[CopyRow]) -> None:
    """Write the rows of copies; nothing is committed."""
    if not copies:
        return
    rows = [
        {
            "resource_id": one.resource_id,
            "package_id": one.package_id,
            "key": one.kept.key,
            "zip_key": one.kept.zip_key,
            "size": one.kept.size,
            "zip_size": one.kept.zip_size,
            "sha256": one.kept.sha256,
            "filename": one.filename,
            "mimetype": one.mimetype,
            "source_url": one.source_url,
            "at": utc(one.at).isoformat(),
        }
        for one in copies
    ]
    model.Session.execute(sa.text(_REMEMBER), {"rows": json.dumps(rows)})


def stored_files(resource_ids: Sequence[str]) -> list[StoredFiles]:
    """Return the files of the copies of some resources."""
    rows = model.Session.query(Copy.resource_id, Copy.key, Copy.zip_key).filter(
        Copy.resource_id.in_(resource_ids), Copy.key.isnot(None)
    )
    return [
        StoredFiles(row.resource_id, tuple(filter(None, (row.key, row.zip_key)))) for row in rows
    ]


def move(resource_id: str, kept: StoredCopy, filename: str) -> None:
    """Change the keys and file name of a copy, and commit."""
    values = {
        "id": resource_id,
        "key": kept.key,
        "zip_key": kept.zip_key,
        "zip_size": kept.zip_size,
        "filename": filename,
    }
    model.Session.execute(sa.text(_MOVE), values)
    model.Session.commit()


def verified(resource_ids: Collection[str], at: datetime) -> None:
    """Store that the sources still have the copied files; nothing is committed."""
    if resource_ids:
        model.Session.execute(
            sa.text("UPDATE freshness_copy SET verified_at = :at WHERE resource_id = ANY(:ids)"),
            {"ids": list(resource_ids), "at": utc(at)},
        )


def owners(keys: Collection[str]) -> dict[str, str]:
    """Return the resource ids of these keys, as far as rows have them."""
    found = model.Session.execute(
        sa.text("SELECT key, resource_id FROM freshness_copy WHERE key = ANY(:keys)"),
        {"keys": list(keys)},
    )
    return {row.key: row.resource_id for row in found}


def newest(count: int) -> list[str]:
    """Return the keys of the copies that were stored last."""
    rows = model.Session.query(Copy.key).filter(Copy.key.isnot(None))
    return [row.key for row in rows.order_by(Copy.stored_at.desc(), Copy.key).limit(count)]


def files_of(resource_id: str, kept: StoredCopy) -> StoredFiles:
    """Return the files of a copy."""
    return StoredFiles(resource_id, tuple(filter(None, (kept.key, kept.zip_key))))


def expire(resource_ids: Sequence[str], now: datetime) -> list[StoredFiles]:
    """Expire copies and commit: their rows stay without keys. Delete the result with :func:`delete_files`."""
    return _deleted(_EXPIRE, {"ids": list(resource_ids), "now": utc(now)}) if resource_ids else []


def forget(resource_ids: Sequence[str]) -> list[StoredFiles]:
    """Delete the rows of copies and commit. Delete the result with :func:`delete_files`."""
    return _deleted(_FORGET, {"ids": list(resource_ids)}) if resource_ids else []


def forget_gone(prefix: str = "") -> list[StoredFiles]:
    """Delete the rows of copies whose resource or dataset is gone; see :func:`forget`.

    :param prefix: only rows whose keys have this prefix
    """
    return _deleted(_FORGET_GONE, {"prefix": prefix})


def delete_files(store: Store, files: Iterable[StoredFiles]) -> int:
    """Delete the files of copies, unless another copy has the key by now, and return the number of copies.

    :raises StoreError: the store refuses; :func:`sweep` removes the rest later
    """
    count = 0
    for one in files:
        if not owners(one.keys[:1]):
            for key in one.keys:
                store.remove(key)
        count += 1
    return count


def sweep(store: Store, prefix: str, keys: Iterable[str]) -> int:
    """Remove files that no row names, and return their number.

    A file is stored before its row is written. Therefore no other process may write below the prefix meanwhile.

    :param keys: keys of the store below the prefix: all, or those in question
    :raises StoreError: the store refuses
    """
    there = set(keys)
    if not there:
        return 0
    named = model.Session.execute(sa.text(_NAMED), {"prefix": prefix}).all()
    stray = there - {row.key for row in named} - {row.zip_key for row in named}
    for key in stray:
        store.remove(key)
    return len(stray)


def _deleted(statement: str, values: dict[str, Any]) -> list[StoredFiles]:
    rows = model.Session.execute(sa.text(statement), values).all()
    model.Session.commit()
    return [
        StoredFiles(
            row.resource_id, tuple(key for key in (row.key, row.zip_key) if key is not None)
        )
        for row in rows
        if row.key is not None
    ]


_REMEMBER = """
INSERT INTO freshness_copy (resource_id, package_id, key, zip_key, size, zip_size, sha256, filename,
    mimetype, source_url, stored_at, verified_at)
SELECT f.resource_id, f.package_id, f.key, f.zip_key, f.size, f.zip_size, f.sha256, f.filename,
    f.mimetype, f.source_url, f.at, f.at
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS f (
    resource_id text, package_id text, key text, zip_key text, size bigint, zip_size bigint,
    sha256 text, filename text, mimetype text, source_url text, at timestamp
)
WHERE EXISTS (SELECT FROM resource r WHERE r.id = f.resource_id AND r.state = 'active')
ON CONFLICT (resource_id) DO UPDATE SET package_id = excluded.package_id, key = excluded.key,
    zip_key = excluded.zip_key, size = excluded.size, zip_size = excluded.zip_size,
    sha256 = excluded.sha256, filename = excluded.filename, mimetype = excluded.mimetype,
    source_url = excluded.source_url, stored_at = excluded.stored_at,
    verified_at = excluded.verified_at, expired_at = NULL"""

_MOVE = """
UPDATE freshness_copy SET key = :key, zip_key = :zip_key, zip_size = :zip_size, filename = :filename
WHERE resource_id = :id"""

# The second table has the rows as they were when the statement began, with their keys.
_EXPIRE = """
UPDATE freshness_copy c SET key = NULL, zip_key = NULL, expired_at = :now
FROM freshness_copy b
WHERE b.resource_id = c.resource_id AND c.resource_id = ANY(:ids) AND c.key IS NOT NULL
RETURNING b.resource_id, b.key, b.zip_key"""
_FORGET = """
DELETE FROM freshness_copy WHERE resource_id = ANY(:ids) RETURNING resource_id, key, zip_key"""
_FORGET_GONE = """
DELETE FROM freshness_copy c WHERE NOT EXISTS (
    SELECT FROM resource r JOIN package p ON p.id = r.package_id
    WHERE r.id = c.resource_id AND r.state = 'active' AND p.state = 'active'
) AND starts_with(coalesce(c.key, ''), :prefix) RETURNING resource_id, key, zip_key"""
_NAMED = """
SELECT key, zip_key FROM freshness_copy WHERE starts_with(key, :prefix)"""
