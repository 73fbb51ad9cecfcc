"""The files that a source publishes: index files, and bulk ZIPs assembled from copies.

The files ``datasets-minimal``, ``datasets-full`` and ``reporting-orgs`` have the fields of IATI's Bulk Data
Service. ``datasets-full`` also has the last attempts, and when the contents last changed. Each entry is written
at once, on a line of its own, so memory does not grow with their number and versions can be compared.

All ZIPs are written in one pass over the members, whose bytes are compared with their hashes, and only then
stored. The same members give the same bytes. Memory does not grow with the size of the files.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from zipfile import ZipFile

from ckanext.freshness.copies import store_keys
from ckanext.freshness.copies.store import (
    MissingCopy,
    Store,
    StoredCopy,
    new_member,
    new_zip,
)
from ckanext.freshness.dates import aware, exact_text

Write = Callable[[bytes], object]
"""Writes the next chunk of a file."""

MINIMAL, FULL, ORGANISATIONS = "datasets-minimal.json", "datasets-full.json", "reporting-orgs.json"
"""Names of the index files."""

BULK_FOLDER, LEGACY_FOLDER = "iati-data", "iati-data-main"
"""The top folders of the two bulk ZIPs: the Bulk Data Service's and Code for IATI's."""

_REGISTERED = (
    *("id", "short_name", "reporting_org_id", "reporting_org_short_name", "licence_id"),
    *("source_url", "last_update_check"),
)
_MINIMAL_FIELDS = (
    *("cached_dataset_xml_url", "cached_dataset_zip_url", "downloaded", "hash"),
    *("hash_excluding_generated_timestamp", "source_url", "verified_on_server"),
)
"""Fields of a dataset and of its last known good copy in ``datasets-minimal``."""


class LegacyDataset(NamedTuple):
    """A dataset in Code for IATI's layout.

    :ivar path: of its file in the bulk ZIPs, below the data folder
    :ivar has_copy: its file is in the bulk ZIPs
    :ivar metadata: in CKAN's form, as JSON
    """

    path: str
    has_copy: bool
    metadata: bytes

    @classmethod
    def of(cls, entry: Mapping[str, Any], path: str, *, has_copy: bool) -> LegacyDataset:
        """Make it of an entry of ``datasets-full``."""
        owner = {"id": entry["reporting_org_id"], "name": entry["reporting_org_short_name"]}
        metadata = {
            "id": entry["id"],
            "name": entry["short_name"],
            "license_id": entry["licence_id"],
            "license_title": None,
            "organization": owner,
            "resources": [{"url": entry["source_url"]}],
            **{name: [] for name in ("extras", "tags", "groups", "users")},
        }
        return cls(path, has_copy, as_json(metadata))


class GeneratedFile(NamedTuple):
    """A generated file in a bulk ZIP.

    :ivar name: whole path in the ZIP
    :ivar chunks: its bytes; iterate once
    """

    name: str
    chunks: Iterable[bytes]


def write_datasets(
    entries: Iterable[Mapping[str, Any]], created: datetime, minimal: Write, full: Write
) -> None:
    """Write the files ``datasets-minimal`` and ``datasets-full`` in one pass.

    :param entries: of ``datasets-full``
    """
    _write_index("datasets", entries, created, {minimal: _minimal_entry, full: dict})


def write_organisations(
    organisations: Iterable[Mapping[str, Any]], created: datetime, write: Write
) -> None:
    """Write the file ``reporting-orgs``.

    :param organisations: the file's entries
    """
    _write_index("reporting_orgs", organisations, created, {write: dict})


def _write_index(
    name: str,
    entries: Iterable[Mapping[str, Any]],
    created: datetime,
    files: Mapping[Write, Callable[[Mapping[str, Any]], Mapping[str, Any]]],
) -> None:
    """Write index files of the same entries. The same entries in the same order give the same bytes.

    :param name: of the list of entries
    :param created: aware
    :param files: what each file has of an entry
    """
    times = {"index_created": created, "index_created_unix_timestamp": int(created.timestamp())}
    between = as_json(times).removesuffix(b"}") + f', "{name}": [\n'.encode()
    for entry in entries:
        for write, part in files.items():
            write(between + as_json(part(entry)))
        between = b",\n"
    for write in files:
        write((b"" if between == b",\n" else between) + b"\n]}\n")


def _minimal_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    good = entry["last_known_good_dataset"]
    return {
        **{name: entry[name] for name in _REGISTERED},
        "last_known_good_dataset": {name: good[name] for name in _MINIMAL_FIELDS},
    }


def legacy_files(
    datasets: Sequence[LegacyDataset],
    organisations: Iterable[Mapping[str, Any]],
    created: datetime,
) -> Iterator[GeneratedFile]:
    """Yield the generated files of the bulk ZIP in Code for IATI's layout.

    These are an empty file for each dataset without a copy, metadata of datasets and organisations in CKAN's
    form, and the time when the ZIP was written.
    """
    for dataset in datasets:
        if not dataset.has_copy:
            yield GeneratedFile(f"{LEGACY_FOLDER}/data/{dataset.path}", ())
    for dataset in datasets:
        name = dataset.path.removesuffix(".xml")
        yield GeneratedFile(f"{LEGACY_FOLDER}/metadata/{name}.json", (dataset.metadata,))
    # Two organisations may have one name, but a folder has one file.
    by_folder = {store_keys.segment(each["short_name"]): each for each in organisations}
    for folder, organisation in by_folder.items():
        data = {"id": organisation["id"], "name": organisation["short_name"]}
        yield GeneratedFile(f"{LEGACY_FOLDER}/metadata/{folder}.json", (as_json(data),))
    times = as_json({"created_at": created, "updated_at": created})
    yield GeneratedFile(f"{LEGACY_FOLDER}/metadata.json", (times,))


def attempt_entry(attempt: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return an attempt as index files have it; without one each field is null, as in the Bulk Data Service."""
    names = ("datetime", "http_status", "error_occurred", "error_details")
    values = {name: attempt and attempt[name] for name in names}
    return {**values, "error_details": values["error_details"] or {}}


def as_json(value: Mapping[str, Any]) -> bytes:
    """Return the JSON of an entry."""
    # Foreign JSON may hold a lone surrogate, which has no UTF-8: write its JSON escape, such as \udc80.
    return _ENCODER.encode(value).encode("utf-8", "backslashreplace")


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return exact_text(value if value.tzinfo else aware(value))
    raise TypeError(f"{type(value).__name__} has no place in an index")


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, default=_text)


# Bulk ZIPs


class ArchiveMember(NamedTuple):
    """A copy that belongs into the archives.

    :ivar name: path below the archive's folder: ``{organisation}/{dataset}.xml``, from
        :func:`ckanext.freshness.copies.store_keys.registry_key`
    """

    key: str
    name: str
    sha256: str


class Archive(NamedTuple):
    """A ZIP to be written.

    :ivar key: its key in the store
    :ivar folder: folder of the members, such as ``iati-data/datasets``
    :ivar generated: further files, after the members
    """

    key: str
    folder: str
    generated: Iterable[GeneratedFile] = ()


class MembersLost(Exception):
    """Members that are missing from the store or damaged.

    :ivar members: all of them
    """

    def __init__(self, members: Sequence[ArchiveMember]) -> None:
        super().__init__()
        self.members = members


def build(
    store: Store, archives: Sequence[Archive], members: Iterable[ArchiveMember]
) -> list[StoredCopy]:
    """Write archives and replace the stored ones atomically.

    :returns: the stored archives, in the order of ``archives``
    :raises MembersLost: members cannot be read; no archive was replaced
    :raises StoreError: an archive cannot be written; it and the later ones were not replaced
    """
    with contextlib.ExitStack() as bodies:
        staged = [bodies.enter_context(store.stage()) for _ in archives]
        with contextlib.ExitStack() as stack:
            zips = [
                (archive, stack.enter_context(new_zip(body)))
                for archive, body in zip(archives, staged, strict=True)
            ]
            in_order = sorted(members, key=lambda member: member.name)
            lost = [member for member in in_order if not _add(store, zips, member)]
            for archive, file in zips:
                for generated in archive.generated:
                    with new_member(file, generated.name) as target:
                        for chunk in generated.chunks:
                            target.write(chunk)
        if lost:
            raise MembersLost(lost)
        return [
            store.keep(archive.key, body, zip_member=None)
            for archive, body in zip(archives, staged, strict=True)
        ]


def _add(store: Store, zips: Sequence[tuple[Archive, ZipFile]], member: ArchiveMember) -> bool:
    """Write a member to all archives, and return whether its bytes were there and undamaged."""
    try:
        reader = store.open(member.key)
    except MissingCopy:
        return False
    digest = hashlib.sha256()
    with contextlib.ExitStack() as files:
        files.enter_context(contextlib.closing(reader))
        targets = [
            files.enter_context(new_member(file, f"{archive.folder}/{member.name}", reader.size))
            for archive, file in zips
        ]
        for chunk in reader:
            digest.update(chunk)
            for target in targets:
                target.write(chunk)
    return digest.hexdigest() == member.sha256
