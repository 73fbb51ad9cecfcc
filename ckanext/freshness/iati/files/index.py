"""Index files of an IATI source, and the generated files in its bulk ZIPs. Pure.

The files ``datasets-minimal``, ``datasets-full`` and ``reporting-orgs`` have the fields of IATI's Bulk Data
Service. ``datasets-full`` also has the last attempts, and when the contents last changed. Entries have a fixed
order, so the same entries give the same bytes. Each is written at once, so memory does not grow with their
number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from ...copies import store_keys
from ...copies.staging import PIECE
from ...dates import exact_text

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


@dataclass(frozen=True, slots=True)
class DatasetEntry:
    """A public dataset.

    :ivar good: fields of its last known good copy, by their names in the index files; None without a copy
    :ivar head_attempt: last HEAD, as :meth:`..policy.attempts.IatiAttempt.as_json` returns it
    :ivar get_attempt: last GET, in the same form
    :ivar attempts: last attempts, newest first, in the same form
    :ivar path: of its file in the bulk ZIPs, below the data folder; if empty, made of the short names
    """

    id: str
    short_name: str
    reporting_org_id: str
    reporting_org_short_name: str
    source_url: str
    licence_id: str | None = None
    licence_title: str | None = None
    last_update_check: datetime | None = None
    good: Mapping[str, Any] | None = None
    head_attempt: Mapping[str, Any] | None = None
    get_attempt: Mapping[str, Any] | None = None
    attempts: Sequence[Mapping[str, Any]] = ()
    path: str = ""


@dataclass(frozen=True, slots=True)
class DatasetOutline:
    """A dataset in Code for IATI's layout, with fields of :class:`DatasetEntry`.

    :ivar has_copy: its file is in the bulk ZIPs
    """

    id: str
    short_name: str
    reporting_org_id: str
    reporting_org_short_name: str
    source_url: str
    licence_id: str | None
    licence_title: str | None
    path: str
    has_copy: bool


@dataclass(frozen=True, slots=True)
class OrganisationEntry:
    """A reporting organisation, with the index file's field names."""

    id: str
    short_name: str
    human_readable_name: str | None = None
    organisation_identifier: str | None = None
    organisation_type: str | None = None
    reporting_source_type: str | None = None
    hq_country: str | None = None
    region: str | None = None
    description: str | None = None
    website: str | None = None
    data_portal_url: str | None = None
    default_licence_id: str | None = None
    exclusions_policy_url: str | None = None
    created_date: datetime | None = None
    first_publication_date: datetime | None = None


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """A generated file in a bulk ZIP.

    :ivar name: whole path in the ZIP
    :ivar pieces: its bytes; iterate once
    """

    name: str
    pieces: Iterable[bytes]


def outline(dataset: DatasetEntry) -> DatasetOutline:
    """Return the part of a dataset that :func:`legacy_files` needs."""
    return DatasetOutline(
        id=dataset.id,
        short_name=dataset.short_name,
        reporting_org_id=dataset.reporting_org_id,
        reporting_org_short_name=dataset.reporting_org_short_name,
        source_url=dataset.source_url,
        licence_id=dataset.licence_id,
        licence_title=dataset.licence_title,
        path=dataset.path
        or store_keys.registry_key(dataset.reporting_org_short_name, dataset.short_name),
        has_copy=dataset.good is not None,
    )


def order(dataset: DatasetEntry) -> tuple[str, str, str]:
    """Return the sort key of datasets in all files; strings compare by code points."""
    return dataset.reporting_org_short_name, dataset.short_name, dataset.id


def write_datasets(
    datasets: Iterable[DatasetEntry], created: datetime, minimal: Write, full: Write
) -> None:
    """Write the files ``datasets-minimal`` and ``datasets-full`` in one pass.

    :param datasets: in the order of :func:`order`
    :param created: aware, as are all moments of the entries
    :raises ValueError: the datasets have another order
    """
    minimal_file = _Index("datasets", created, minimal)
    full_file = _Index("datasets", created, full)
    previous = ("", "", "")
    for dataset in datasets:
        key = order(dataset)
        if key < previous:
            raise ValueError(f"{key} comes after {previous}")
        previous = key
        minimal_file.add(_minimal(dataset))
        full_file.add(_full(dataset))
    minimal_file.finish()
    full_file.finish()


def reporting_orgs(organisations: Iterable[OrganisationEntry], created: datetime) -> bytes:
    """Return the file ``reporting-orgs``; the organisations may have any order."""
    pieces: list[bytes] = []
    file = _Index("reporting_orgs", created, pieces.append)
    for organisation in _sorted(organisations):
        values = asdict(organisation)
        file.add({**values, "iati_identifier": organisation.organisation_identifier})
    file.finish()
    return b"".join(pieces)


def bulk_files(
    minimal: Iterable[bytes], full: Iterable[bytes], organisations: Iterable[bytes]
) -> list[GeneratedFile]:
    """Return the generated files of the Bulk Data Service's ZIP: the index files, given in pieces."""
    contents = {MINIMAL: minimal, FULL: full, ORGANISATIONS: organisations}
    return [GeneratedFile(f"{BULK_FOLDER}/{name}", pieces) for name, pieces in contents.items()]


def legacy_files(
    datasets: Sequence[DatasetOutline],
    organisations: Iterable[OrganisationEntry],
    created: datetime,
) -> Iterator[GeneratedFile]:
    """Yield the generated files of the bulk ZIP in Code for IATI's layout.

    These are an empty file for each dataset without a copy, metadata of datasets and organisations in CKAN's
    form, and the time when the ZIP was written.

    :param datasets: in the order of :func:`order`
    """
    for dataset in datasets:
        if not dataset.has_copy:
            yield GeneratedFile(f"{LEGACY_FOLDER}/data/{dataset.path}", ())
    for dataset in datasets:
        name = dataset.path.removesuffix(".xml")
        yield GeneratedFile(f"{LEGACY_FOLDER}/metadata/{name}.json", (_json(_as_in_ckan(dataset)),))
    # Two organisations may have one name, but a folder has one file.
    by_folder = {
        store_keys.segment(organisation.short_name): organisation
        for organisation in _sorted(organisations)
    }
    for folder, organisation in by_folder.items():
        data = _json({"id": organisation.id, "name": organisation.short_name})
        yield GeneratedFile(f"{LEGACY_FOLDER}/metadata/{folder}.json", (data,))
    data = _json({"created_at": created, "updated_at": created})
    yield GeneratedFile(f"{LEGACY_FOLDER}/metadata.json", (data,))


def _sorted(organisations: Iterable[OrganisationEntry]) -> list[OrganisationEntry]:
    return sorted(
        organisations, key=lambda organisation: (organisation.short_name, organisation.id)
    )


def _registered(dataset: DatasetEntry) -> dict[str, Any]:
    return {
        "id": dataset.id,
        "short_name": dataset.short_name,
        "reporting_org_id": dataset.reporting_org_id,
        "reporting_org_short_name": dataset.reporting_org_short_name,
        "licence_id": dataset.licence_id,
        "source_url": dataset.source_url,
        "last_update_check": dataset.last_update_check,
    }


def _minimal(dataset: DatasetEntry) -> dict[str, Any]:
    good = _fields(dataset.good, _MINIMAL_FIELDS)
    return {**_registered(dataset), "last_known_good_dataset": good}


def _full(dataset: DatasetEntry) -> dict[str, Any]:
    return {
        **_registered(dataset),
        "last_known_good_dataset": _fields(dataset.good, _FULL_FIELDS),
        "most_recent_head_attempt": _attempt(dataset.head_attempt),
        "most_recent_get_attempt": _attempt(dataset.get_attempt),
        "attempts": [
            {**_attempt(attempt), "http_method": attempt["method"]} for attempt in dataset.attempts
        ],
    }


def _fields(values: Mapping[str, Any] | None, names: Iterable[str]) -> dict[str, Any]:
    """Return some fields of a record; without a record each is null, as in the Bulk Data Service."""
    return {name: values and values[name] for name in names}


def _attempt(attempt: Mapping[str, Any] | None) -> dict[str, Any]:
    values = _fields(attempt, ("datetime", "http_status", "error_occurred", "error_details"))
    return {**values, "error_details": values["error_details"] or {}}


def _as_in_ckan(dataset: DatasetOutline) -> dict[str, Any]:
    return {
        "id": dataset.id,
        "name": dataset.short_name,
        "license_id": dataset.licence_id,
        "license_title": dataset.licence_title,
        "organization": {
            "id": dataset.reporting_org_id,
            "name": dataset.reporting_org_short_name,
        },
        "resources": [{"url": dataset.source_url}],
        **{name: [] for name in ("extras", "tags", "groups", "users")},
    }


class _Index:
    """A writer of an index file, with one entry per line so that versions can be compared."""

    def __init__(self, name: str, created: datetime, write: Write) -> None:
        head = _json(
            {"index_created": created, "index_created_unix_timestamp": int(created.timestamp())}
        )
        self._write = write
        self._held = [head.removesuffix(b"}"), f', "{name}": ['.encode()]
        self._held_bytes = 0
        self._between = b"\n"

    def add(self, entry: dict[str, Any]) -> None:
        text = _json(entry)
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


def _json(value: Mapping[str, Any]) -> bytes:
    # Foreign JSON may hold a lone surrogate, which has no UTF-8: write its JSON escape, such as \udc80.
    return _ENCODER.encode(value).encode("utf-8", "backslashreplace")


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return exact_text(value)
    raise TypeError(f"{type(value).__name__} has no place in an index")


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, default=_text)
