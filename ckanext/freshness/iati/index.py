"""Index files of an IATI source, and the generated files in its bulk ZIPs. Pure.

The files ``datasets-minimal``, ``datasets-full`` and ``reporting-orgs`` have the fields of IATI's Bulk Data
Service. ``datasets-full`` also has the last attempts, and when the contents last changed. Each entry is written
at once, on a line of its own, so memory does not grow with their number and versions can be compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ..copies import store_keys
from ..copies.staging import PIECE
from ..dates import exact_text

Write = Callable[[bytes], object]
"""Writes the next piece of a file."""

MINIMAL, FULL, ORGANISATIONS = "datasets-minimal.json", "datasets-full.json", "reporting-orgs.json"
"""Names of the index files."""

BULK_FOLDER, LEGACY_FOLDER = "iati-data", "iati-data-main"
"""The top folders of the two bulk ZIPs: the Bulk Data Service's and Code for IATI's."""

_MINIMAL_FIELDS = (
    *("cached_dataset_xml_url", "cached_dataset_zip_url", "downloaded", "hash"),
    *("hash_excluding_generated_timestamp", "source_url", "verified_on_server"),
)
_FULL_FIELDS = (
    *_MINIMAL_FIELDS,
    *("content_length", "initial_contents", "server_header_etag", "server_header_last_modified"),
    *("content_modified", "content_modified_excluding_generated_timestamp"),
)
"""Fields of a last known good copy in ``datasets-minimal`` and ``datasets-full``."""


class DatasetEntry(NamedTuple):
    """A public dataset. All moments are aware.

    :ivar path: of its file in the bulk ZIPs, below the data folder
    :ivar good: fields of its last known good copy, by their names in the index files; None without a copy
    :ivar head_attempt: last HEAD, see :mod:`.attempts`
    :ivar get_attempt: last GET
    :ivar attempts: last attempts, newest first
    """

    id: str
    short_name: str
    reporting_org_id: str
    reporting_org_short_name: str
    licence_id: str | None
    source_url: str
    last_update_check: datetime | None
    path: str
    good: Mapping[str, Any] | None = None
    head_attempt: Mapping[str, Any] | None = None
    get_attempt: Mapping[str, Any] | None = None
    attempts: Sequence[Mapping[str, Any]] = ()


class GeneratedFile(NamedTuple):
    """A generated file in a bulk ZIP.

    :ivar name: whole path in the ZIP
    :ivar pieces: its bytes; iterate once
    """

    name: str
    pieces: Iterable[bytes]


class Index:
    """A writer of an index file. The same entries in the same order give the same bytes."""

    def __init__(self, name: str, created: datetime, write: Write) -> None:
        """
        :param name: of the list of entries
        :param created: aware
        """
        head = as_json(
            {"index_created": created, "index_created_unix_timestamp": int(created.timestamp())}
        )
        self._write = write
        self._held = [head.removesuffix(b"}"), f', "{name}": ['.encode()]
        self._held_bytes = 0
        self._between = b"\n"

    def add(self, entry: Mapping[str, Any]) -> None:
        text = as_json(entry)
        self._held += (self._between, text)
        self._held_bytes += len(text)
        self._between = b",\n"
        if self._held_bytes >= PIECE:
            self._flush()

    def finish(self) -> None:
        if self._between == b"\n":
            self._held.append(b"\n")
        self._held.append(b"\n]}\n")
        self._flush()

    def _flush(self) -> None:
        self._write(b"".join(self._held))
        self._held, self._held_bytes = [], 0


def write_datasets(
    datasets: Iterable[DatasetEntry], created: datetime, minimal: Write, full: Write
) -> None:
    """Write the files ``datasets-minimal`` and ``datasets-full`` in one pass."""
    minimal_file = Index("datasets", created, minimal)
    full_file = Index("datasets", created, full)
    for dataset in datasets:
        names = DatasetEntry._fields[:7]
        registered = {name: getattr(dataset, name) for name in names}
        minimal_file.add(
            {**registered, "last_known_good_dataset": _fields(dataset.good, _MINIMAL_FIELDS)}
        )
        full_file.add(
            {
                **registered,
                "last_known_good_dataset": _fields(dataset.good, _FULL_FIELDS),
                "most_recent_head_attempt": _attempt(dataset.head_attempt),
                "most_recent_get_attempt": _attempt(dataset.get_attempt),
                "attempts": [
                    {**_attempt(each), "http_method": each["method"]} for each in dataset.attempts
                ],
            }
        )
    minimal_file.finish()
    full_file.finish()


def write_organisations(
    organisations: Iterable[Mapping[str, Any]], created: datetime, write: Write
) -> None:
    """Write the file ``reporting-orgs``.

    :param organisations: the file's entries
    """
    file = Index("reporting_orgs", created, write)
    for organisation in organisations:
        file.add(organisation)
    file.finish()


def legacy_files(
    datasets: Sequence[DatasetEntry],
    organisations: Iterable[Mapping[str, Any]],
    created: datetime,
) -> Iterator[GeneratedFile]:
    """Yield the generated files of the bulk ZIP in Code for IATI's layout.

    These are an empty file for each dataset without a copy, metadata of datasets and organisations in CKAN's
    form, and the time when the ZIP was written.
    """
    for dataset in datasets:
        if dataset.good is None:
            yield GeneratedFile(f"{LEGACY_FOLDER}/data/{dataset.path}", ())
    for dataset in datasets:
        name = dataset.path.removesuffix(".xml")
        owner = {"id": dataset.reporting_org_id, "name": dataset.reporting_org_short_name}
        data = {
            "id": dataset.id,
            "name": dataset.short_name,
            "license_id": dataset.licence_id,
            "license_title": None,
            "organization": owner,
            "resources": [{"url": dataset.source_url}],
            **{name: [] for name in ("extras", "tags", "groups", "users")},
        }
        yield GeneratedFile(f"{LEGACY_FOLDER}/metadata/{name}.json", (as_json(data),))
    # Two organisations may have one name, but a folder has one file.
    by_folder = {store_keys.segment(each["short_name"]): each for each in organisations}
    for folder, organisation in by_folder.items():
        data = {"id": organisation["id"], "name": organisation["short_name"]}
        yield GeneratedFile(f"{LEGACY_FOLDER}/metadata/{folder}.json", (as_json(data),))
    times = as_json({"created_at": created, "updated_at": created})
    yield GeneratedFile(f"{LEGACY_FOLDER}/metadata.json", (times,))


def _fields(values: Mapping[str, Any] | None, names: Iterable[str]) -> dict[str, Any]:
    """Return some fields of a record; without a record each is null, as in the Bulk Data Service."""
    return {name: values and values[name] for name in names}


def _attempt(attempt: Mapping[str, Any] | None) -> dict[str, Any]:
    values = _fields(attempt, ("datetime", "http_status", "error_occurred", "error_details"))
    return {**values, "error_details": values["error_details"] or {}}


def as_json(value: Mapping[str, Any]) -> bytes:
    """Return the JSON of an entry."""
    # Foreign JSON may hold a lone surrogate, which has no UTF-8: write its JSON escape, such as \udc80.
    return _ENCODER.encode(value).encode("utf-8", "backslashreplace")


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return exact_text(value)
    raise TypeError(f"{type(value).__name__} has no place in an index")


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, default=_text)
