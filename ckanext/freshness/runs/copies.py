"""Last known good copies in CKAN: which resources have one, where it is, and how they are stored.

A row is written after the store has the file. To remove a copy, its row is removed first. A process that is
killed in between leaves a file without a row, but never a row without a file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from posixpath import basename
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from .. import settings
from ..checking.decisions import CheckResult, ResourceToCheck
from ..checking.stored_values import as_json
from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..copies import store_keys
from ..copies.store import Store, StoredCopy, StoreError
from ..dates import utc
from ..model import Copy
from ..web.urls import display_url

# The site's options


def store() -> Store:
    """Return the store of the site's copies.

    :raises OptionError: the site has no place for copies
    :raises StoreError: the location cannot be used
    """
    location = settings.option("copies.location")
    if not location:
        storage = tk.config.get("ckan.storage_path")
        if not storage:
            raise settings.OptionError(
                "ckanext.freshness.copies.location must name a directory or a store for copies, since the "
                "site has no ckan.storage_path"
            )
        location = str(Path(storage) / "freshness")
    return Store(str(location), int(settings.option("copies.quota_bytes")) or None)


def is_wanted() -> bool:
    """Decide whether the site keeps copies of any checked resources."""
    return any(_choice().values())


def _choice() -> dict[str, Any]:
    """Return the resources of which copies are kept, by the site's options and its harvest sources."""
    return {
        "all": settings.flag("copies.all"),
        "formats": sorted(name.lower() for name in settings.words("copies.formats")),
        "organizations": sorted(settings.words("copies.organizations")),
        "sources": _sources(),
    }


def _sources() -> list[str]:
    """Return the harvest sources whose configuration has ``keep_copies``."""
    if not p.plugin_loaded("harvest"):
        return []
    source = harvest.SOURCE.c
    rows = model.Session.execute(
        sa.select(source.id, source.config).where(
            source.active.is_(True), source.config.contains('"keep_copies"')
        )
    )
    return [id for id, config in rows if harvest.config_value(config, "keep_copies") is True]


# The rows of copies


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
    """Write the rows of copies of active resources; nothing is committed."""
    # If two are of the same resource, the last one counts.
    rows = {
        one.resource_id: {
            **one._asdict(),
            **one.kept._asdict(),
            "stored_at": utc(one.at),
            "verified_at": utc(one.at),
        }
        for one in copies
    }
    model.Session.execute(sa.text(_REMEMBER), {"rows": as_json(list(rows.values()))})


def stored_files(resource_ids: Sequence[str]) -> list[StoredFiles]:
    """Return the files of the copies of some resources."""
    rows = model.Session.query(Copy.resource_id, Copy.key, Copy.zip_key).filter(
        Copy.resource_id.in_(resource_ids), Copy.key.isnot(None)
    )
    return [_files(row.resource_id, row) for row in rows]


def verified(resource_ids: Collection[str], at: datetime) -> None:
    """Store that the sources still have the copied files; nothing is committed."""
    values = {"ids": list(resource_ids), "at": utc(at)}
    model.Session.execute(sa.text(_VERIFIED), values)


def owners(keys: Collection[str]) -> set[str]:
    """Return those of some keys that rows have."""
    rows = model.Session.query(Copy.key).filter(Copy.key.in_(list(keys)))
    return {row.key for row in rows}


def newest(count: int) -> list[str]:
    """Return the keys of the copies that were stored last."""
    rows = model.Session.query(Copy.key).filter(Copy.key.isnot(None))
    return [row.key for row in rows.order_by(Copy.stored_at.desc(), Copy.key).limit(count)]


def expire(resource_ids: Sequence[str]) -> list[StoredFiles]:
    """Expire copies and commit: their rows stay without keys. Delete the result with :func:`delete_files`."""
    return _deleted(_EXPIRE, {"ids": list(resource_ids)}) if resource_ids else []


def forget_gone() -> list[StoredFiles]:
    """Delete the rows of copies whose resource or dataset is gone, and commit. Delete the result with
    :func:`delete_files`.
    """
    return _deleted(_FORGET_GONE, {})


def delete_files(place: Store, files: Iterable[StoredFiles]) -> int:
    """Delete the files of copies, unless another copy has the key by now, and return the number of copies.

    :raises StoreError: the store refuses
    """
    count = 0
    for one in files:
        if not owners(one.keys[:1]):
            for key in one.keys:
                place.remove(key)
        count += 1
    return count


def _deleted(statement: str, values: dict[str, Any]) -> list[StoredFiles]:
    rows = model.Session.execute(sa.text(statement), values).all()
    model.Session.commit()
    return [_files(row.resource_id, row) for row in rows if row.key is not None]


def _files(resource_id: str, kept: Any) -> StoredFiles:
    return StoredFiles(resource_id, tuple(filter(None, (kept.key, kept.zip_key))))


# Copies of checked resources

_FEW = 100
"""Up to this number, the store is asked for each copy; beyond it, for a list of all."""


def marked(resources: Sequence[ResourceToCheck]) -> list[ResourceToCheck]:
    """Return resources, with ``keep_copy`` set if the site keeps copies of them.

    If there is no copy of the latest file in the store, ``hash_anyway`` is set, too.

    :raises OptionError: the site has no place for copies
    """
    wanted = _wanted([resource.resource_id for resource in resources])
    wanted |= dict.fromkeys(_lost([id_ for id_, has_copy in wanted.items() if has_copy]), False)
    return [
        resource._replace(
            keep_copy=True,
            hash_anyway=resource.hash_anyway or not wanted[resource.resource_id],
        )
        if resource.resource_id in wanted
        else resource
        for resource in resources
    ]


def keep(results: Iterable[CheckResult], now: datetime) -> list[str]:
    """Store the staged files of results as copies, and commit. Return why copies could not be stored.

    If a copy cannot be stored, the earlier copy remains.
    """
    staged = [result for result in results if result.staged is not None]
    if not staged:
        return []
    errors: list[str] = []
    try:
        place = store()
        stored = [copy for result in staged if (copy := _kept(place, result, now, errors))]
        before = stored_files([copy.resource_id for copy in stored])
        remember(stored)
        model.Session.commit()
        new = {copy.kept.key for copy in stored}
        # If a resource was deleted during its check, its copy has no row.
        gone = new - owners(new)
        unnamed = [_files(copy.resource_id, copy.kept) for copy in stored if copy.kept.key in gone]
        delete_files(place, [*(copy for copy in before if copy.keys[0] not in new), *unnamed])
    except StoreError as error:
        errors.append(str(error))
    finally:
        for result in staged:
            if result.staged is not None:
                result.staged.close()
    return errors


def _kept(place: Store, result: CheckResult, now: datetime, errors: list[str]) -> CopyRow | None:
    resource, staged = result.resource, result.staged
    assert staged is not None
    filename, url = _filename(resource), display_url(resource.url)
    key = store_keys.resource_key(resource.resource_id)
    try:
        kept = place.keep(key, staged, zip_member=filename)
    except StoreError as error:
        errors.append(f"{url}: {error}")
        return None
    return CopyRow(
        resource.resource_id, resource.package_id, kept, filename, result.mimetype, url, now
    )


def _filename(resource: ResourceToCheck) -> str:
    name = unquote(basename(urlsplit(resource.url).path), errors="replace")
    if "." not in name and resource.format and resource.format.isalnum():
        name = f"{name or 'data'}.{resource.format.lower()}"
    return store_keys.member(name)


def prune(now: datetime) -> int:
    """Remove the copies of resources that are gone, and unfinished files.

    :returns: number of copies removed
    :raises OptionError: the site has no place for copies
    :raises StoreError: the store refuses
    """
    gone = forget_gone()
    if not gone and not newest(1):
        # Without copies, the store need not exist.
        return 0
    place = store()
    count = delete_files(place, gone)
    place.sweep(now)
    return count


def _wanted(resource_ids: list[str]) -> dict[str, bool]:
    """Return the resources with copies, and whether there is a copy of the latest file."""
    choice = _choice()
    if not any(choice.values()):
        return {}
    # Without harvest sources, their tables may be missing.
    of_source = _IS_OF_SOURCES if choice["sources"] else "false"
    statement = sa.text(_WANTED.format(of_source=of_source))
    rows = model.Session.execute(statement, {**choice, "ids": resource_ids})
    return {row.id: row.has_copy for row in rows}


def _lost(resource_ids: list[str]) -> list[str]:
    """Return the resources whose copies the store lacks or has in part; none if it cannot be reached."""
    rows = model.Session.query(Copy.resource_id, Copy.key, Copy.size).filter(
        Copy.resource_id.in_(resource_ids), Copy.key.isnot(None)
    )
    named = rows.all()
    if not named:
        return []
    try:
        place = store()
        if len(named) <= _FEW:
            return [row.resource_id for row in named if place.size(row.key) != row.size]
        sizes = place.sizes()
    except StoreError:
        return []
    return [row.resource_id for row in named if sizes.get(row.key) != row.size]


_IS_OF_SOURCES = """EXISTS (
    SELECT FROM harvest_object o
    WHERE o.package_id = p.id AND o.current AND o.harvest_source_id = ANY(:sources)
)"""
"""SQL: whether the package ``p`` is a current record of the sources ``:sources``."""
_WANTED = """
SELECT r.id, (
    c.key IS NOT NULL AND c.stored_at >= coalesce(k.changed_at, '-infinity')
    AND k.known ->> 'outdated' IS DISTINCT FROM 'true'
) AS has_copy
FROM resource r JOIN package p ON p.id = r.package_id
LEFT JOIN "group" g ON g.id = p.owner_org
LEFT JOIN freshness_copy c ON c.resource_id = r.id
LEFT JOIN freshness_check k ON k.resource_id = r.id
WHERE r.id = ANY(:ids) AND r.state = 'active' AND coalesce(r.url_type, '') <> 'upload' AND (
    :all OR lower(r.format) = ANY(:formats) OR g.name = ANY(:organizations) OR {of_source}
)"""
_NEWER = ", ".join(f"{column.name} = excluded.{column.name}" for column in Copy.__table__.columns)
_REMEMBER = f"""
INSERT INTO freshness_copy
SELECT f.* FROM jsonb_populate_recordset(NULL::freshness_copy, CAST(:rows AS jsonb)) f
JOIN resource r ON r.id = f.resource_id AND r.state = 'active'
ON CONFLICT (resource_id) DO UPDATE SET {_NEWER}"""
_VERIFIED = "UPDATE freshness_copy SET verified_at = :at WHERE resource_id = ANY(:ids)"
# The second table has the rows as they were when the statement began, with their keys.
_EXPIRE = """
UPDATE freshness_copy c SET key = NULL, zip_key = NULL
FROM freshness_copy b
WHERE b.resource_id = c.resource_id AND c.resource_id = ANY(:ids) AND c.key IS NOT NULL
RETURNING b.resource_id, b.key, b.zip_key"""
_FORGET_GONE = """
DELETE FROM freshness_copy c WHERE NOT EXISTS (
    SELECT FROM resource r JOIN package p ON p.id = r.package_id
    WHERE r.id = c.resource_id AND r.state = 'active' AND p.state = 'active'
) RETURNING resource_id, key, zip_key"""
