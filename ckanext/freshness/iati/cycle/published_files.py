"""Where a source's index files and bulk ZIPs are, and whether everybody may have them still."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ...ckan_adapter import model
from ...copies import store_keys
from ...copies.store import MissingCopy, Store
from ...runs.copies import options

SOURCE_TYPE = "iati_registry"
MANIFEST = "manifest.json"
MIMETYPES = {".json": "application/json", ".zip": "application/zip"}


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file for everybody.

    :ivar size: as it was published
    :ivar etag: of its bytes, without quotes
    :ivar modified: when it last became another one, aware
    :ivar is_public: whether everything in it is public still
    """

    key: str
    size: int
    mimetype: str
    etag: str
    modified: datetime
    is_public: bool


def copies_prefix(source_id: str) -> str:
    """Below what the copies of a source's datasets are."""
    return f"iati.d/{store_keys.segment(source_id)}/files.d/"


def published_key(source_id: str, filename: str) -> str:
    """Where a file of a source is that everybody may have."""
    return f"iati.d/{store_keys.segment(source_id)}/published.d/{filename}"


def find(source: str | None, filename: str) -> PublishedFile | None:
    """A published file, if there is one of that name.

    :param source: id or name of a source; None if there is one alone
    :raises StoreError: the store is out of reach
    """
    source_id = _source_id(source)
    if source_id is None:
        return None
    entry = manifest(options.store(), source_id).get("files", {}).get(filename)
    if entry is None:
        return None
    ending = filename[filename.rfind(".") :]
    return PublishedFile(
        key=published_key(source_id, filename),
        size=entry["size"],
        mimetype=MIMETYPES.get(ending, "application/octet-stream"),
        etag=entry["sha256"],
        modified=datetime.fromisoformat(entry["modified"]),
        is_public=_is_public(source_id),
    )


def manifest(store: Store, source_id: str) -> Mapping[str, Any]:
    """What was published last; empty if nothing was.

    :raises StoreError: the store is out of reach
    """
    try:
        reader = store.open(published_key(source_id, MANIFEST))
    except MissingCopy:
        return {}
    try:
        found = json.loads(b"".join(reader))
    except ValueError:
        # Whatever it was: all is published anew.
        return {}
    finally:
        reader.close()
    return found if isinstance(found, dict) else {}


def _source_id(source: str | None) -> str | None:
    rows = model.Session.execute(
        sa.text(_SOURCE), {"type": SOURCE_TYPE, "name": source, "any": source is None}
    ).scalars()
    found = list(rows)
    return str(found[0]) if len(found) == 1 else None


def _is_public(source_id: str) -> bool:
    return not model.Session.execute(sa.text(_HIDDEN), {"source": source_id}).scalar()


_SOURCE = """
SELECT s.id FROM harvest_source s JOIN package p ON p.id = s.id
WHERE s.type = :type AND p.state = 'active' AND NOT p.private
    AND (:any OR p.id = :name OR p.name = :name)"""
_HIDDEN = """
SELECT EXISTS (
    SELECT FROM freshness_iati i LEFT JOIN package p ON p.id = i.package_id
    WHERE i.source_id = :source AND i.published
        AND (p.id IS NULL OR p.private OR p.state <> 'active')
)"""
