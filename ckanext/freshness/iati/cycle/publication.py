"""Publishes a source: index files when visits found anything new, bulk ZIPs when something in them changed.

Each file takes its place at once. What the files name is marked before the first of them is written, and
unmarked after the last one was: at each moment it is known whether all in them is public still.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ...ckan_adapter import model
from ...copies.store import MissingCopy, StagedBody, Store, StoredCopy
from ..files import index
from ..files.archive import Archive, MembersLost, build
from . import dataset_rows, published_entries
from .published_entries import PublishedEntries
from .published_files import MANIFEST, copies_prefix, manifest, published_key

BULK_ZIP = "iati-data.zip"
"""In the Bulk Data Service's layout."""
LEGACY_ZIP = "code-for-iati-data-download.zip"
"""In Code for IATI's; the Bulk Data Service's name for it."""
_MEMBERS = "members.json"
"""The members of the bulk ZIPs and their hashes."""
_INDICES = (index.MINIMAL, index.FULL, index.ORGANISATIONS)

STALE_AFTER = timedelta(hours=24)
"""So old are index files at most: whoever reads them sees by it that cycles go on."""


def publish(source_id: str, store: Store, now: datetime, *, anyway: bool = True) -> bool:
    """Publish what there is now; whether the bulk ZIPs were made anew.

    :param now: aware
    :param anyway: whether or not the datasets that are public, and what is said of them, are others than
        those that were published, or that was long ago
    :raises StoreError: a file could not be written; those that were written name only what there is
    """
    if not anyway and _is_up_to_date(source_id, store, now):
        return False
    while True:
        there = frozenset(store.keys(copies_prefix(source_id)))
        try:
            with ExitStack() as stack:
                files = {name: stack.enter_context(store.stage()) for name in _INDICES}
                with published_entries.of_source(source_id, there) as found:
                    minimal, full = files[index.MINIMAL], files[index.FULL]
                    index.write_datasets(found.datasets(), now, minimal.write, full.write)
                files[index.ORGANISATIONS].write(index.reporting_orgs(found.organisations, now))
                _mark(source_id, found.resource_ids, exactly=False)
                made_anew = _write(source_id, store, found, files, now)
        except MembersLost as error:
            # Without its ZIP a copy counts as lost, and the next cycle makes it anew.
            for member in error.members:
                store.remove(member.zip_key)
            continue
        _mark(source_id, found.resource_ids, exactly=True)
        dataset_rows.forget_gone(source_id)
        return made_anew


def _is_up_to_date(source_id: str, store: Store, now: datetime) -> bool:
    before = manifest(store, source_id)
    said = published_entries.said_of(source_id)
    model.Session.commit()
    if before.get("said") != said.digest or said.differs or not _has(store, source_id, before):
        return False
    written = datetime.fromisoformat(before["files"][index.FULL]["modified"])
    return timedelta(0) <= now - written < STALE_AFTER


def _write(
    source_id: str,
    store: Store,
    found: PublishedEntries,
    indices: Mapping[str, StagedBody],
    now: datetime,
) -> bool:
    """Write the files of what was found, and what they are; whether the bulk ZIPs are among them."""
    before = manifest(store, source_id)
    fingerprint = found.fingerprint
    files: dict[str, Any] = {}
    made_anew = before.get("fingerprint") != fingerprint or not _has(store, source_id, before)
    if made_anew:
        given = index.bulk_files(*(one.pieces() for one in indices.values()))
        zips = _archive(source_id, store, found, given, now)
        files |= {
            name: _entry(kept.size, kept.sha256, now)
            for name, kept in zip((BULK_ZIP, LEGACY_ZIP), zips, strict=True)
        }
    else:
        files |= {name: before["files"][name] for name in (BULK_ZIP, LEGACY_ZIP)}
    for name, staged in indices.items():
        kept = store.keep(published_key(source_id, name), staged, zip_member=None)
        files[name] = _entry(kept.size, kept.sha256, now)
    plain = {"fingerprint": fingerprint, "files": files, "said": found.said}
    text = json.dumps(plain, sort_keys=True)
    store.write_bytes(published_key(source_id, MANIFEST), text.encode())
    return made_anew


def _archive(
    source_id: str,
    store: Store,
    found: PublishedEntries,
    given: Sequence[index.GeneratedFile],
    now: datetime,
) -> list[StoredCopy]:
    key = published_key(source_id, _MEMBERS)
    bulk = Archive(published_key(source_id, BULK_ZIP), f"{index.BULK_FOLDER}/datasets", given)
    legacy = Archive(
        published_key(source_id, LEGACY_ZIP),
        f"{index.LEGACY_FOLDER}/data",
        index.legacy_files(found.outlines, found.organisations, now),
    )
    made = build(store, [bulk, legacy], found.archived(_read(store, key)))
    store.write_bytes(key, json.dumps(dict(found.sha256), sort_keys=True).encode())
    return made


def _read(store: Store, key: str) -> Mapping[str, str]:
    try:
        reader = store.open(key)
    except MissingCopy:
        return {}
    try:
        found = json.loads(b"".join(reader))
    except ValueError:
        # Then every member counts as changed.
        return {}
    finally:
        reader.close()
    return found if isinstance(found, dict) else {}


def _has(store: Store, source_id: str, before: Mapping[str, Any]) -> bool:
    """Whether the bulk ZIPs are in the store as they were published."""
    files = before.get("files", {})
    return all(
        name in files and store.size(published_key(source_id, name)) == files[name]["size"]
        for name in (BULK_ZIP, LEGACY_ZIP, *_INDICES)
    )


def _entry(size: int, sha256: str, now: datetime) -> dict[str, Any]:
    return {"size": size, "sha256": sha256, "modified": now.isoformat()}


def _mark(source_id: str, resource_ids: Sequence[str], *, exactly: bool) -> None:
    """Write down what the files name, and commit.

    :param exactly: nothing else any more
    """
    statement = _MARK_EXACTLY if exactly else _MARK
    model.Session.execute(sa.text(statement), {"source": source_id, "ids": list(resource_ids)})
    model.Session.commit()


_MARK = """
UPDATE freshness_iati SET published = true
WHERE source_id = :source AND resource_id = ANY(:ids) AND NOT published"""
_MARK_EXACTLY = """
UPDATE freshness_iati SET published = resource_id = ANY(:ids)
WHERE source_id = :source AND published <> (resource_id = ANY(:ids))"""
