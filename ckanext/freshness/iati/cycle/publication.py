"""The published files of a source: index files and bulk ZIPs, their writing and their look-up.

Index files are written if a check found anything new, bulk ZIPs if anything in them changed. Each file is
replaced atomically. Datasets are marked as published before the first file that names them is written, and
unmarked after the last one. So the marks always tell whether everything in the files is still public.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ...ckan_adapter import harvest
from ...ckan_adapter.core import model
from ...copies import store_keys
from ...copies.store import MissingCopy, StagedBody, Store, StoredCopy
from ...runs import copies
from ..files import index
from ..files.archive import Archive, MembersLost, build
from ..registry.source_type import SOURCE_TYPE
from . import dataset_rows, published_entries
from .dataset_copies import copies_prefix
from .published_entries import PublishedEntries

MIMETYPES = {".json": "application/json", ".zip": "application/zip"}

BULK_ZIP = "iati-data.zip"
"""In the Bulk Data Service's layout."""
LEGACY_ZIP = "code-for-iati-data-download.zip"
"""In Code for IATI's layout; the name is the Bulk Data Service's."""
_MANIFEST = "manifest.json"
"""Sizes, hashes and dates of the published files."""
_INDICES = (index.MINIMAL, index.FULL, index.ORGANISATIONS)

STALE_AFTER = timedelta(hours=24)
"""Index files are never older, so that their readers see that cycles still run."""


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file for everybody.

    :ivar size: when it was published
    :ivar etag: of its bytes, without quotes
    :ivar modified: when its bytes last changed, aware
    :ivar is_public: everything in it is still public
    """

    key: str
    size: int
    mimetype: str
    etag: str
    modified: datetime
    is_public: bool


def published_key(source_id: str, filename: str) -> str:
    """Return the key of a source's published file."""
    return f"iati.d/{store_keys.segment(source_id)}/published.d/{filename}"


def public_sources(name: str | None = None) -> list[Any]:
    """Return ``id``, ``name`` and ``title`` of the sources whose files everybody may download.

    :param name: name or id of a source; None for all sources
    """
    values = {"type": SOURCE_TYPE, "name": name, "any": name is None}
    return list(model.Session.execute(sa.text(_PUBLIC_SOURCES), values).all())


def find(source: str | None, filename: str) -> PublishedFile | None:
    """Return a published file; None if there is none of that name.

    :param source: id or name of a source; None for the site's only source
    :raises StoreError: the store cannot be read
    """
    sources = public_sources(source)
    if len(sources) != 1:
        return None
    return published_files(sources[0].id).get(filename)


def published_files(source_id: str) -> dict[str, PublishedFile]:
    """Return the published files of a source by name.

    :raises StoreError: the store cannot be read
    """
    entries = _manifest(copies.store(), source_id).get("files", {})
    if not entries:
        return {}
    is_hidden = model.Session.execute(sa.text(_NAMES_HIDDEN), {"source": source_id}).scalar()
    return {
        filename: PublishedFile(
            key=published_key(source_id, filename),
            size=entry["size"],
            mimetype=MIMETYPES.get(filename[filename.rfind(".") :], "application/octet-stream"),
            etag=entry["sha256"],
            modified=datetime.fromisoformat(entry["modified"]),
            is_public=not is_hidden,
        )
        for filename, entry in entries.items()
    }


def publish(source_id: str, store: Store, now: datetime, *, force: bool = True) -> bool:
    """Publish the present state of a source; return whether the bulk ZIPs were written again.

    :param now: aware
    :param force: publish although neither the public datasets nor their metadata changed, and the published
        files are recent
    :raises StoreError: a file could not be written; the files already written are valid
    """
    if not force and _is_up_to_date(source_id, store, now):
        return False
    while True:
        keys = frozenset(store.keys(copies_prefix(source_id)))
        try:
            with ExitStack() as stack:
                files = {name: stack.enter_context(store.stage()) for name in _INDICES}
                with published_entries.of_source(source_id, keys) as entries:
                    minimal, full = files[index.MINIMAL], files[index.FULL]
                    index.write_datasets(entries.datasets(), now, minimal.write, full.write)
                files[index.ORGANISATIONS].write(index.reporting_orgs(entries.organisations, now))
                _mark(source_id, entries.resource_ids, exactly=False)
                wrote_zips = _write(source_id, store, entries, files, now)
        except MembersLost as error:
            # The next cycle downloads them again.
            for member in error.members:
                store.remove(member.key)
            continue
        _mark(source_id, entries.resource_ids, exactly=True)
        dataset_rows.forget_gone(source_id)
        return wrote_zips


def _is_up_to_date(source_id: str, store: Store, now: datetime) -> bool:
    before = _manifest(store, source_id)
    summary = published_entries.summary(source_id)
    model.Session.commit()
    if before.get("said") != summary.digest or summary.differs:
        return False
    if not _is_whole(store, source_id, before):
        return False
    written = datetime.fromisoformat(before["files"][index.FULL]["modified"])
    return timedelta(0) <= now - written < STALE_AFTER


def _write(
    source_id: str,
    store: Store,
    entries: PublishedEntries,
    indices: Mapping[str, StagedBody],
    now: datetime,
) -> bool:
    """Write the files and their manifest; return whether the bulk ZIPs were written."""
    before = _manifest(store, source_id)
    fingerprint = entries.fingerprint
    files: dict[str, Any] = {}
    changed = before.get("fingerprint") != fingerprint or not _is_whole(store, source_id, before)
    if changed:
        contents = index.bulk_files(*(staged.pieces() for staged in indices.values()))
        zips = _write_zips(source_id, store, entries, contents, now)
        for name, kept in zip((BULK_ZIP, LEGACY_ZIP), zips, strict=True):
            files[name] = _manifest_entry(kept, now)
    else:
        files |= {name: before["files"][name] for name in (BULK_ZIP, LEGACY_ZIP)}
    for name, staged in indices.items():
        kept = store.keep(published_key(source_id, name), staged, zip_member=None)
        files[name] = _manifest_entry(kept, now)
    plain = {"fingerprint": fingerprint, "files": files, "said": entries.digest}
    text = json.dumps(plain, sort_keys=True)
    store.write_bytes(published_key(source_id, _MANIFEST), text.encode())
    return changed


def _write_zips(
    source_id: str,
    store: Store,
    entries: PublishedEntries,
    indices: Sequence[index.GeneratedFile],
    now: datetime,
) -> list[StoredCopy]:
    bulk = Archive(published_key(source_id, BULK_ZIP), f"{index.BULK_FOLDER}/datasets", indices)
    legacy = Archive(
        published_key(source_id, LEGACY_ZIP),
        f"{index.LEGACY_FOLDER}/data",
        index.legacy_files(entries.outlines, entries.organisations, now),
    )
    return build(store, [bulk, legacy], entries.members.values())


def _manifest(store: Store, source_id: str) -> Mapping[str, Any]:
    """Return the manifest of the last publication; empty before the first."""
    return _read_json(store, published_key(source_id, _MANIFEST))


def _read_json(store: Store, key: str) -> Mapping[str, Any]:
    """Read an object; empty if it is missing or damaged, so that everything is published again."""
    try:
        with closing(store.open(key)) as reader:
            found = json.loads(b"".join(reader))
    except (MissingCopy, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_whole(store: Store, source_id: str, manifest: Mapping[str, Any]) -> bool:
    """Decide whether all published files are in the store with the sizes of their manifest."""
    files = manifest.get("files", {})
    return all(
        name in files and store.size(published_key(source_id, name)) == files[name]["size"]
        for name in (BULK_ZIP, LEGACY_ZIP, *_INDICES)
    )


def _manifest_entry(kept: StoredCopy, now: datetime) -> dict[str, Any]:
    return {"size": kept.size, "sha256": kept.sha256, "modified": now.isoformat()}


def _mark(source_id: str, resource_ids: Sequence[str], *, exactly: bool) -> None:
    """Mark resources as published, and commit.

    :param exactly: also unmark all others
    """
    statement = _MARK_EXACTLY if exactly else _MARK
    model.Session.execute(sa.text(statement), {"source": source_id, "ids": list(resource_ids)})
    model.Session.commit()


_PUBLIC_SOURCES = f"""
SELECT p.id, p.name, coalesce(nullif(p.title, ''), p.name) AS title
FROM package p
WHERE p.id IN ({harvest.SOURCES_OF_TYPE}) AND p.state = 'active' AND NOT p.private
    AND (:any OR p.id = :name OR p.name = :name)
ORDER BY title, p.name"""
_NAMES_HIDDEN = """
SELECT EXISTS (
    SELECT FROM freshness_iati i LEFT JOIN package p ON p.id = i.package_id
    WHERE i.source_id = :source AND i.published
        AND (p.id IS NULL OR p.private OR p.state <> 'active')
)"""

_MARK = """
UPDATE freshness_iati SET published = true
WHERE source_id = :source AND resource_id = ANY(:ids) AND NOT published"""
_MARK_EXACTLY = """
UPDATE freshness_iati SET published = resource_id = ANY(:ids)
WHERE source_id = :source AND published <> (resource_id = ANY(:ids))"""
