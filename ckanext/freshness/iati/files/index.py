"""The files that list an IATI source's datasets and organisations. Pure.

Their fields are those of IATI's Bulk Data Service, so that its users find everything where it was:
``datasets-minimal``, ``datasets-full`` and ``reporting-orgs``, and what the ZIP in the layout of Code for
IATI holds besides the data. Beyond the original, ``datasets-full`` says when the contents last changed,
and keeps the last attempts. Entries come in one order, so that the same ones give the same bytes, and one
after the other, so that memory does not grow with their number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from typing import Any

from ...copies import store_keys
from ...copies.staging import PIECE

Write = Callable[[bytes], object]
"""Takes the next piece of a file."""

MINIMAL, FULL, ORGANISATIONS = "datasets-minimal.json", "datasets-full.json", "reporting-orgs.json"
"""The names of the index files."""

BULK_FOLDER, LEGACY_FOLDER = "iati-data", "iati-data-main"
"""What everything in the two bulk ZIPs is in: the service's own, and Code for IATI's."""

_MINIMAL_FIELDS = (
    *("cached_dataset_xml_url", "cached_dataset_zip_url", "downloaded", "hash"),
    *("hash_excluding_generated_timestamp", "source_url", "verified_on_server"),
)
_FULL_FIELDS = (
    *_MINIMAL_FIELDS,
    *("content_length", "initial_contents", "server_header_etag", "server_header_last_modified"),
    *("content_modified", "content_modified_excluding_generated_timestamp"),
)
"""The fields of a last known good copy, in the two files that list datasets."""


@dataclass(frozen=True, slots=True)
class DatasetEntry:
    """A public dataset.

    :ivar good: the fields of its last known good copy by their names in the index file; None if there
        never was a copy, or it is no longer there
    :ivar head_attempt: a request, as :meth:`..policy.attempts.IatiAttempt.as_json` returns it
    :ivar get_attempt: likewise
    :ivar attempts: the last ones, the newest first
    :ivar path: of its file in the bulk ZIPs, below the folder of the data; made of the short names if
        empty
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
    """What the layout of Code for IATI says of a dataset: fields of :class:`DatasetEntry`.

    :ivar has_copy: whether its file is in the bulk ZIPs
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
    """A reporting organisation; the fields' names are those of the index file."""

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
    """A small file that is made for a bulk ZIP.

    :ivar name: its whole path in there
    :ivar pieces: of its bytes, to be taken once
    """

    name: str
    pieces: Iterable[bytes]


def outline(dataset: DatasetEntry) -> DatasetOutline:
    """What :func:`legacy_files` needs of a dataset."""
    return DatasetOutline(
        id=dataset.id,
        short_name=dataset.short_name,
        reporting_org_id=dataset.reporting_org_id,
        reporting_org_short_name=dataset.reporting_org_short_name,
        source_url=dataset.source_url,
        licence_id=dataset.licence_id,
        licence_title=dataset.licence_title,
        path=dataset.path
        or store_keys.iati_key(dataset.reporting_org_short_name, dataset.short_name),
        has_copy=dataset.good is not None,
    )


def order(dataset: DatasetEntry) -> tuple[str, str, str]:
    """By what datasets are sorted in all files: code point by code point."""
    return dataset.reporting_org_short_name, dataset.short_name, dataset.id


def write_datasets(
    datasets: Iterable[DatasetEntry], created: datetime, minimal: Write, full: Write
) -> None:
    """Write the files ``datasets-minimal`` and ``datasets-full`` in one pass.

    :param datasets: in the order of :func:`order`
    :param created: aware, as are all moments of the entries
    :raises ValueError: the datasets come in another order
    """
    files = _Index("datasets", created, minimal), _Index("datasets", created, full)
    before = ("", "", "")
    for dataset in datasets:
        at = order(dataset)
        if at < before:
            raise ValueError(f"{at} comes after {before}")
        before = at
        for file, entry in zip(files, (_minimal, _full), strict=True):
            file.add(entry(dataset))
    for file in files:
        file.finish()


def reporting_orgs(organisations: Iterable[OrganisationEntry], created: datetime) -> bytes:
    """The file ``reporting-orgs``, in whatever order the organisations come."""
    pieces: list[bytes] = []
    file = _Index("reporting_orgs", created, pieces.append)
    for one in sorted(organisations, key=lambda one: (one.short_name, one.id)):
        file.add(_organisation(one))
    file.finish()
    return b"".join(pieces)


def bulk_files(
    minimal: Iterable[bytes], full: Iterable[bytes], organisations: Iterable[bytes]
) -> list[GeneratedFile]:
    """What the service's own bulk ZIP holds besides the data: the index files, each in pieces."""
    contents = {MINIMAL: minimal, FULL: full, ORGANISATIONS: organisations}
    return [GeneratedFile(f"{BULK_FOLDER}/{name}", pieces) for name, pieces in contents.items()]


def legacy_files(
    datasets: Sequence[DatasetOutline],
    organisations: Iterable[OrganisationEntry],
    created: datetime,
) -> Iterator[GeneratedFile]:
    """What the bulk ZIP in the layout of Code for IATI holds besides the data.

    An empty file for each dataset without a copy, metadata of datasets and organisations as CKAN would
    write them, and when the whole was made.

    :param datasets: in the order of :func:`order`
    """
    for dataset in datasets:
        if not dataset.has_copy:
            yield GeneratedFile(f"{LEGACY_FOLDER}/data/{dataset.path}", ())
    for dataset in datasets:
        name = dataset.path.removesuffix(".xml")
        yield GeneratedFile(f"{LEGACY_FOLDER}/metadata/{name}.json", (_json(_as_in_ckan(dataset)),))
    # One file for each folder, whatever two registries call it.
    by_folder = {
        store_keys.segment(one.short_name): one
        for one in sorted(organisations, key=lambda one: (one.short_name, one.id))
    }
    for folder, one in by_folder.items():
        data = _json({"id": one.id, "name": one.short_name})
        yield GeneratedFile(f"{LEGACY_FOLDER}/metadata/{folder}.json", (data,))
    moment = _text(created)
    data = _json({"created_at": moment, "updated_at": moment})
    yield GeneratedFile(f"{LEGACY_FOLDER}/metadata.json", (data,))


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
        "attempts": [{**_attempt(one), "http_method": one["method"]} for one in dataset.attempts],
    }


def _fields(values: Mapping[str, Any] | None, names: Iterable[str]) -> dict[str, Any]:
    """Return some fields of a record; without one, each is null, as the original writes it."""
    return {name: values and values[name] for name in names}


def _attempt(attempt: Mapping[str, Any] | None) -> dict[str, Any]:
    found = _fields(attempt, ("datetime", "http_status", "error_occurred", "error_details"))
    return {**found, "error_details": found["error_details"] or {}}


def _organisation(one: OrganisationEntry) -> dict[str, Any]:
    found = {field.name: getattr(one, field.name) for field in fields(OrganisationEntry)}
    return {**found, "iati_identifier": one.organisation_identifier}


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
    """An index file on its way: one entry a line, so that versions can be compared."""

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
    # Half of a surrogate pair, which JSON of others may hold, has no UTF-8; \udc80 is its JSON.
    return _ENCODER.encode(value).encode("utf-8", "backslashreplace")


def _text(value: object) -> str:
    if isinstance(value, datetime):
        if value.tzinfo is not timezone.utc:
            value = value.astimezone(timezone.utc)
        return f"{value.isoformat().removesuffix('+00:00')}Z"
    raise TypeError(f"{type(value).__name__} has no place in an index")


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, default=_text)
