"""The published files of a source: index files and bulk ZIPs of public datasets.

Each cycle writes the index files, and the bulk ZIPs if anything in them changed. Each file is replaced
atomically. Datasets are marked as published before the first file that names them is written, and unmarked
after the last one. So the marks always tell whether everything in the files is still public.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ckanext.freshness import settings
from ckanext.freshness.checking.stored_values import read
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.packages import ORGANIZATION_EXTRAS
from ckanext.freshness.copies import store_keys
from ckanext.freshness.copies.store import MissingCopy, StagedBody, Store, StoredCopy
from ckanext.freshness.harvesting.source_memory import ORGANIZATIONS_OF_SOURCE
from ckanext.freshness.reporting import links
from ckanext.freshness.runs import copies
from ckanext.freshness.web.urls import display_url

from . import datasets, downloads
from .attempts import KEPT, last_of
from .downloads import (
    Archive,
    ArchiveMember,
    GeneratedFile,
    LegacyDataset,
    MembersLost,
    build,
)
from .rules import FileState, GoodDownload
from .source_type import REGISTRY_ID, REGISTRY_NAME, SOURCE_TYPE

BULK_ZIP = "iati-data.zip"
"""In the Bulk Data Service's layout."""
LEGACY_ZIP = "code-for-iati-data-download.zip"
"""In Code for IATI's layout; the name is the Bulk Data Service's."""
_MANIFEST = "manifest.json"
"""Sizes, hashes and dates of the published files."""
_INDICES = (downloads.MINIMAL, downloads.FULL, downloads.ORGANISATIONS)

_ORGANISATION_FIELDS = (
    *("organisation_identifier", "organisation_type", "reporting_source_type", "hq_country"),
    *("region", "website", "data_portal_url", "default_licence_id", "exclusions_policy_url"),
)
"""Fields of the index that are extras of organizations."""


# Reading what was published


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
            etag=entry["sha256"],
            modified=datetime.fromisoformat(entry["modified"]),
            is_public=not is_hidden,
        )
        for filename, entry in entries.items()
    }


def _manifest(store: Store, source_id: str) -> Mapping[str, Any]:
    """Return the manifest of the last publication.

    It is empty before the first, and if it is damaged, so that everything is published again.
    """
    try:
        with closing(store.open(published_key(source_id, _MANIFEST))) as reader:
            found = json.loads(b"".join(reader))
    except (MissingCopy, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


# Publishing


def publish(source_id: str, store: Store, now: datetime) -> None:
    """Publish the present state of a source.

    :param now: aware
    :raises StoreError: a file could not be written; the files already written are valid
    """
    while True:
        try:
            with ExitStack() as stack:
                staged = {name: stack.enter_context(store.stage()) for name in _INDICES}
                _publish(source_id, store, staged, now)
            return
        except MembersLost as error:
            # The next cycle downloads them again.
            for member in error.members:
                store.remove(member.key)


@dataclass(slots=True)
class _Contents:
    """What the files of a source are made of.

    :ivar keys: all keys in the store: only copies with one of these are named
    :ivar legacy: the datasets in Code for IATI's layout
    :ivar organisations: as in the index file
    :ivar members: all stored copies
    """

    keys: Collection[str]
    resource_ids: list[str] = field(default_factory=list)
    legacy: list[LegacyDataset] = field(default_factory=list)
    organisations: list[dict[str, Any]] = field(default_factory=list)
    members: list[ArchiveMember] = field(default_factory=list)
    _hash: hashlib._Hash = field(default_factory=hashlib.sha256)

    def read(self, source_id: str) -> Iterator[dict[str, Any]]:
        """Read the entries of public datasets in the order of the code points of their names."""
        site, taken = settings.site_url(), set[str]()
        values = {"source": source_id}
        for row in model.Session.execute(
            sa.text(_DATASETS), values, execution_options={"yield_per": datasets.PAGE}
        ):
            state = read(FileState, row.state)
            # Without it the copy was not downloaded by a cycle, so there is nothing to say about it.
            good = state.good if row.key in self.keys and row.zip_key in self.keys else None
            path = store_keys.registry_key(row.organisation_name, row.dataset_name)
            if path in taken:
                # Several datasets may have one name.
                name = f"{row.dataset_name} {row.resource_id}"
                path = store_keys.registry_key(row.organisation_name, name)
            taken.add(path)
            entry = _entry_of(row, state, good, site)
            yield entry
            if good is not None:
                self.members.append(ArchiveMember(row.key, path, row.sha256))
            legacy = LegacyDataset.of(entry, path, has_copy=good is not None)
            self.legacy.append(legacy)
            self.resource_ids.append(row.resource_id)
            self._add(legacy, good and (row.sha256, good.hash, good.source_url))

    def read_organisations(self, source_id: str) -> None:
        """Read the organisations in the order of their short names."""
        rows = model.Session.execute(sa.text(_ORGANISATIONS), {"source": source_id})
        found = [_organisation(row) for row in rows]
        self.organisations = sorted(found, key=lambda each: (each["short_name"], each["id"]))
        self._add(self.organisations)

    def _add(self, *values: Any) -> None:
        self._hash.update(repr(values).encode("utf-8", "surrogatepass"))

    @property
    def fingerprint(self) -> str:
        """A hash that changes if the bulk ZIPs must be written again.

        It changes with the bytes and names of files, and with the metadata of datasets and organisations. A
        check or a download of the same bytes does not change it: the times in the ZIPs' index files are those
        of writing them.
        """
        return self._hash.hexdigest()


def _publish(source_id: str, store: Store, staged: Mapping[str, StagedBody], now: datetime) -> None:
    contents = _Contents(frozenset(store.sizes(store_keys.RESOURCES)))
    model.Session.commit()
    model.Session.execute(sa.text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
    try:
        downloads.write_datasets(
            contents.read(source_id),
            now,
            staged[downloads.MINIMAL].write,
            staged[downloads.FULL].write,
        )
        contents.read_organisations(source_id)
    finally:
        model.Session.rollback()
    downloads.write_organisations(
        contents.organisations, now, staged[downloads.ORGANISATIONS].write
    )
    _mark(_MARK, source_id, contents.resource_ids)
    before = _manifest(store, source_id)
    files = before.get("files", {})
    has_changed = before.get("fingerprint") != contents.fingerprint or not all(
        name in files and store.size(published_key(source_id, name)) == files[name]["size"]
        for name in (BULK_ZIP, LEGACY_ZIP)
    )
    written: dict[str, Any] = {name: files.get(name) for name in (BULK_ZIP, LEGACY_ZIP)}
    if has_changed:
        zips = _write_zips(source_id, store, contents, staged, now)
        written = {name: _entry(kept, now) for name, kept in zips.items()}
    for name, body in staged.items():
        kept = store.keep(published_key(source_id, name), body, zip_member=None)
        written[name] = _entry(kept, now)
    text = json.dumps({"fingerprint": contents.fingerprint, "files": written}, sort_keys=True)
    store.write_bytes(published_key(source_id, _MANIFEST), text.encode())
    _mark(_MARK_EXACTLY, source_id, contents.resource_ids)
    datasets.forget_gone(source_id)


def _write_zips(
    source_id: str,
    store: Store,
    contents: _Contents,
    staged: Mapping[str, StagedBody],
    now: datetime,
) -> dict[str, StoredCopy]:
    indices = [
        GeneratedFile(f"{downloads.BULK_FOLDER}/{name}", body.chunks())
        for name, body in staged.items()
    ]
    others = downloads.legacy_files(contents.legacy, contents.organisations, now)
    archives = {
        BULK_ZIP: Archive(
            published_key(source_id, BULK_ZIP), f"{downloads.BULK_FOLDER}/datasets", indices
        ),
        LEGACY_ZIP: Archive(
            published_key(source_id, LEGACY_ZIP), f"{downloads.LEGACY_FOLDER}/data", others
        ),
    }
    kept = build(store, list(archives.values()), contents.members)
    return dict(zip(archives, kept, strict=True))


def _entry(kept: StoredCopy, now: datetime) -> dict[str, Any]:
    return {"size": kept.size, "sha256": kept.sha256, "modified": now.isoformat()}


def _mark(statement: str, source_id: str, resource_ids: Sequence[str]) -> None:
    model.Session.execute(sa.text(statement), {"source": source_id, "ids": list(resource_ids)})
    model.Session.commit()


def _entry_of(row: Any, state: FileState, good: GoodDownload | None, site: str) -> dict[str, Any]:
    """Return the entry of a dataset in ``datasets-full``.

    :param good: the last known good download, if its copy is stored
    """
    return {
        "id": row.dataset_id,
        "short_name": row.dataset_name,
        "reporting_org_id": row.organisation_id,
        "reporting_org_short_name": row.organisation_name,
        "licence_id": row.license_id or None,
        "source_url": display_url(row.url or ""),
        "last_update_check": state.last_update_check,
        "last_known_good_dataset": _good_entry(row, state, good, site),
        "most_recent_head_attempt": downloads.attempt_entry(last_of(state.attempts, "HEAD")),
        "most_recent_get_attempt": downloads.attempt_entry(last_of(state.attempts, "GET")),
        "attempts": [
            {**downloads.attempt_entry(each), "http_method": each["method"]}
            for each in state.attempts[:KEPT]
        ],
    }


def _good_entry(row: Any, state: FileState, good: GoodDownload | None, site: str) -> dict[str, Any]:
    copy = good and links.copy_url(row.package_id, row.resource_id, site)
    changed = state.content_modified_excluding_generated_timestamp
    return {
        "cached_dataset_xml_url": copy,
        "cached_dataset_zip_url": copy and f"{copy}.zip",
        "source_url": good and display_url(good.source_url),
        "server_header_etag": good and good.etag,
        "server_header_last_modified": good and good.last_modified,
        **{name: good and getattr(good, name) for name in _OF_DOWNLOAD},
        "content_modified": good and state.content_modified,
        "content_modified_excluding_generated_timestamp": good and changed,
    }


_OF_DOWNLOAD = (
    *("downloaded", "hash", "hash_excluding_generated_timestamp", "verified_on_server"),
    *("content_length", "initial_contents"),
)
"""Fields of a :class:`.rules.GoodDownload` with the same names in ``datasets-full``."""


def _organisation(row: Any) -> dict[str, Any]:
    extras = row.extras or {}
    values = {name: extras.get(name) or None for name in _ORGANISATION_FIELDS}
    return {
        "id": extras.get(REGISTRY_ID) or row.id,
        "short_name": extras.get(REGISTRY_NAME) or row.name,
        "human_readable_name": row.title or None,
        "description": row.description or None,
        "iati_identifier": values["organisation_identifier"],
        "created_date": None,
        "first_publication_date": None,
        **values,
    }


_PUBLIC_SOURCES = """
SELECT p.id, p.name, coalesce(nullif(p.title, ''), p.name) AS title
FROM package p
WHERE p.id IN (SELECT id FROM harvest_source WHERE type = :type) AND p.state = 'active' AND NOT p.private
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

# "C" compares bytes, which in UTF-8 is the order of code points, as in Python.
_DATASETS = """
SELECT i.*, r.url, p.license_id, c.key, c.zip_key, c.sha256
FROM freshness_iati i
JOIN package p ON p.id = i.package_id AND p.state = 'active' AND NOT p.private
JOIN resource r ON r.id = i.resource_id AND r.state = 'active'
LEFT JOIN freshness_copy c ON c.resource_id = i.resource_id
WHERE i.source_id = :source
ORDER BY i.organisation_name COLLATE "C", i.dataset_name COLLATE "C", i.dataset_id COLLATE "C",
    i.resource_id"""

# Organisations that the registry lists, and organisations that own listed datasets.
_ORGANISATIONS = f"""
SELECT g.id, g.name, g.title, g.description, {ORGANIZATION_EXTRAS} AS extras
FROM "group" g
WHERE g.state = 'active' AND g.id IN (
    {ORGANIZATIONS_OF_SOURCE}
    UNION
    SELECT p.owner_org FROM freshness_iati i JOIN package p ON p.id = i.package_id
    WHERE i.source_id = :source AND p.state = 'active'
)
ORDER BY g.id"""
