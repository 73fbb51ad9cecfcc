"""Registries: reporting organisations and their datasets, read from two listings. A dataset is one file.

A registry is a class with the members of :class:`Registry`. ``KINDS`` in :mod:`.source_type` has them by name:
a new kind is a class and a row there. It makes records by :func:`organisation_entry` and :func:`dataset_entry`.

Registries write null, the text "None" and worse for a missing value. An entry that lacks a required value
becomes an entry with an error. An entry without an id cannot be identified, so the registry raises
``UnreadableDocument`` for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from ..ckan_adapter.core import NAMES
from ..harvesting import legal_values
from ..harvesting.ckan.api import (
    CkanApi,
    JsonClient,
    dictionaries,
    id_of,
    pairs,
    quoted,
    text_of,
    too_many,
    without_user,
)
from ..harvesting.listings import NotWhole
from ..harvesting.record import Record
from ..harvesting.source_client import UnreadableDocument
from ..web.errors import FetchError
from ..web.urls import parse_url

# Records

FORMAT = "IATI-XML"
"""Format of every dataset's resource, as in IATI's own registry."""

REGISTRY_ID = "registry_id"
"""Extra of organizations and datasets: the registry's id."""
REGISTRY_NAME = "registry_name"
"""Extra of organizations and datasets: the registry's short name. CKAN's name may need a mark to be unique."""

_TEXT_FIELDS = ("notes", "author", "author_email", "maintainer", "maintainer_email")
_IATI_FIELDS = ("filetype", "iati_version", "data_updated")

FIELD_KEYS = frozenset(
    {
        *("title", "license_id", "license", "uri", REGISTRY_ID, REGISTRY_NAME),
        *_TEXT_FIELDS,
        *_IATI_FIELDS,
    }
)
"""Keys of packages that are deleted if the registry no longer has them."""

# Fields that belong to CKAN itself, or change on their own.
_IGNORED_ORGANISATION_FIELDS = frozenset(
    {
        *("id", "name", "short_name", "title", "human_readable_name", "display_name"),
        *("description", "image_url", "image_display_url", "is_organization", "state", "type"),
        *("package_count", "num_followers", "created", "approval_status", "revision_id"),
        *("users", "tags", "groups", "extras", "packages", "datasets"),
        *(REGISTRY_ID, REGISTRY_NAME),
    }
)
_IGNORED_DATASET_EXTRAS = frozenset(
    {"guid", "harvest_object_id", "harvest_source_id", "harvest_source_title"}
)
"""Extras that this site's harvester writes itself."""


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """An organisation or a dataset in a registry's listing.

    :ivar id: the registry's id, which stays when the name changes
    :ivar record: None if the entry is invalid
    :ivar organisation_id: the registry's id of a dataset's organisation
    :ivar error: why the entry is invalid, for people
    """

    id: str
    record: Record | None
    organisation_id: str | None = None
    error: str | None = None


def _link(value: Any) -> str | None:
    text = text_of(value)
    return None if text is None or legal_values.is_active_url(text) else text


def organisation_entry(raw: Any, url: str, *, name: Any, title: Any) -> RegistryEntry:
    """Make the entry of a reporting organisation.

    :param raw: its JSON object, which has an id
    :param url: the registry's URL of it
    """
    registry_id = str(text_of(raw.get("id")))
    short_name = text_of(name)
    if short_name is None:
        return RegistryEntry(registry_id, None, error="the registry gives the organisation no name")
    fields = {
        "title": text_of(title) or short_name,
        "description": text_of(raw.get("description")),
        "image_url": _link(raw.get("image_display_url")) or _link(raw.get("image_url")),
        "uri": url,
        REGISTRY_ID: registry_id,
        REGISTRY_NAME: short_name,
    }
    for key, value in [*raw.items(), *pairs(raw.get("extras"))]:
        if key not in _IGNORED_ORGANISATION_FIELDS:
            fields.setdefault(legal_values.clean(key), text_of(value))
    return RegistryEntry(registry_id, Record(_present(fields), name=short_name))


def dataset_entry(
    raw: Any, url: str, *, name: Any, title: Any, organisation_id: Any, file_url: Any, license: Any
) -> RegistryEntry:
    """Make the entry of a dataset.

    :param raw: its JSON object, which has an id
    :param url: the registry's URL of it
    :param file_url: URL of its file
    """
    registry_id, owner = str(text_of(raw.get("id"))), text_of(organisation_id)
    short_name, file_text = text_of(name), text_of(file_url)
    if short_name is None or owner is None or file_text is None:
        missing = (
            "name" if short_name is None else "organisation" if owner is None else "URL of a file"
        )
        error = f"the registry gives the dataset no {missing}"
        return RegistryEntry(registry_id, None, owner, error)
    try:
        parse_url(file_text)
    except FetchError as error:
        return RegistryEntry(registry_id, None, owner, f"the URL of its file {error.words}")
    fields = {
        "title": text_of(title) or short_name,
        "license": text_of(license),
        "uri": url,
        REGISTRY_ID: registry_id,
        REGISTRY_NAME: short_name,
        **{key: text_of(raw.get(key)) for key in (*_TEXT_FIELDS, *_IATI_FIELDS)},
    }
    for key, value in pairs(raw.get("extras")):
        is_ours = key in _IGNORED_DATASET_EXTRAS or key.startswith(NAMES.status)
        if not is_ours and fields.get(key) is None:
            fields[legal_values.clean(key)] = text_of(value)
    resource = {"uri": url, "url": file_text, "name": short_name, "format": FORMAT}
    tags = sorted(
        {tag for each in dictionaries(raw.get("tags")) if (tag := text_of(each.get("name")))}
    )
    return RegistryEntry(
        registry_id, Record(_present(fields), [resource], tags, name=short_name), owner
    )


def _present(fields: Mapping[str, str | None]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


EntrySink = Callable[[RegistryEntry], None]
"""Gets each entry as it is read; the same entry may come more than once."""
EntryOf = Callable[[dict[str, Any]], RegistryEntry]
"""Makes the entry of a record that has an id."""


class Registry(Protocol):
    """A registry of reporting organisations and their datasets.

    :ivar organisations_url: URL of the listing of organisations, for people
    :ivar datasets_url: URL of the listing of datasets, for people
    """

    organisations_url: str
    datasets_url: str

    def organisation_url(self, registry_id: str) -> str:
        """Return the registry's URL of an organisation, always the same for an id."""

    def dataset_url(self, registry_id: str) -> str:
        """Return the registry's URL of a dataset, always the same for an id."""

    async def organisations(self, sink: EntrySink) -> None:
        """Read the listing of organisations.

        :raises UnreadableDocument: it was not read completely; the entries read so far were handed on
        """

    async def datasets(self, sink: EntrySink) -> None:
        """Read the listing of datasets.

        :raises UnreadableDocument: it was not read completely; the entries read so far were handed on
        """


# Index files

ORGANISATIONS, DATASETS = "reporting-orgs", "datasets-minimal"
INDEX_NAMES = frozenset({ORGANISATIONS, DATASETS, "datasets-full"})
"""Names of index files, with or without ``.json``."""


class IndexFiles:
    """The Bulk Data Service's index files as a registry: ``reporting-orgs`` and ``datasets-minimal``."""

    def __init__(self, client: JsonClient, source_url: str, max_records: int) -> None:
        """
        :param source_url: URL of a file, or of the folder
        """
        self._client = client
        self._max_records = max_records
        parts = urlsplit(source_url)
        path = parts.path.rstrip("/")
        folder, _, last = path.rpartition("/")
        is_file = last.removesuffix(".json") in INDEX_NAMES
        place = parts._replace(path=folder if is_file else path, query="", fragment="")
        suffix = ".json" if is_file and last.endswith(".json") else ""
        self.organisations_url = f"{place.geturl()}/{ORGANISATIONS}{suffix}"
        self.datasets_url = f"{place.geturl()}/{DATASETS}{suffix}"
        public = place._replace(netloc=without_user(parts.netloc)).geturl()
        # An organisation has no page of its own: a query makes the URL unique, and servers ignore it.
        self._organisation = f"{public}/{ORGANISATIONS}{suffix}?id="
        self._dataset = f"{public}/{DATASETS}{suffix}?id="

    def organisation_url(self, registry_id: str) -> str:
        return self._organisation + quoted(registry_id)

    def dataset_url(self, registry_id: str) -> str:
        return self._dataset + quoted(registry_id)

    async def organisations(self, sink: EntrySink) -> None:
        names = ("reporting_orgs", "reporting_organisations", "organisations")
        await self._read(self.organisations_url, names, self._entry_of_organisation, sink)

    async def datasets(self, sink: EntrySink) -> None:
        await self._read(self.datasets_url, ("datasets",), self._entry_of_dataset, sink)

    def _entry_of_organisation(self, raw: dict[str, Any]) -> RegistryEntry:
        title = text_of(raw.get("human_readable_name")) or raw.get("title")
        url = self.organisation_url(str(text_of(raw.get("id"))))
        name = text_of(raw.get("short_name")) or raw.get("name")
        return organisation_entry(raw, url, name=name, title=title)

    def _entry_of_dataset(self, raw: dict[str, Any]) -> RegistryEntry:
        # Most other fields are results of the service's own checks.
        return dataset_entry(
            raw,
            self.dataset_url(str(text_of(raw.get("id")))),
            name=text_of(raw.get("short_name")) or raw.get("name"),
            title=raw.get("title"),
            organisation_id=raw.get("reporting_org_id"),
            file_url=raw.get("source_url"),
            license=text_of(raw.get("licence_id")) or raw.get("license_id"),
        )

    async def _read(
        self, url: str, names: tuple[str, ...], entry_of: EntryOf, sink: EntrySink
    ) -> None:
        rows = await self._client.json(url)
        if isinstance(rows, dict):
            rows = next((rows[name] for name in names if name in rows), None)
        if isinstance(rows, dict):
            rows = list(rows.values())  # Older files have an object by name.
        if not isinstance(rows, list):
            raise UnreadableDocument(url, f'has no list of "{names[0]}"')
        without_id = _hand_on(rows[: self._max_records], entry_of, sink)
        if len(rows) > self._max_records:
            raise too_many(url, self._max_records)
        _refuse_anonymous(url, without_id)


# CKAN


class CkanRegistry:
    """A registry that is a CKAN with IATI's fields, read through its API."""

    def __init__(self, client: JsonClient, source_url: str, max_records: int) -> None:
        """
        :param source_url: URL of the site, or of its API
        """
        self._api = CkanApi(client, source_url, max_records)
        self.organisations_url = self._api.action_url("organization_list")
        self.datasets_url = self._api.action_url("package_search")

    def organisation_url(self, registry_id: str) -> str:
        return self._api.url_of("organization", registry_id)

    def dataset_url(self, registry_id: str) -> str:
        return self._api.url_of("dataset", registry_id)

    async def organisations(self, sink: EntrySink) -> None:
        async def read() -> int:
            # A page has 1,000 names but only 25 whole organisations: the names are the proof of wholeness.
            names = sum([len(rows) async for rows in self._organisations()])
            without_id = received = 0
            if names:
                whole = {"all_fields": "true", "include_extras": "true"}
                async for rows in self._organisations(**whole):
                    received += len(rows)
                    without_id += _hand_on(rows, self._entry_of_organisation, sink)
            if received != names:
                raise NotWhole(f"it lists {names} organisations and gives {received}")
            return without_id

        without_id = await self._api.until_whole("organization_list", read)
        _refuse_anonymous(self.organisations_url, without_id)

    def _organisations(self, **query: str) -> AsyncIterator[list[Any]]:
        return self._api.listed("organization_list", sort="name asc", **query)

    async def datasets(self, sink: EntrySink) -> None:
        async def read() -> int:
            pages = self._api.search()
            return sum([_hand_on(rows, self._entry_of_dataset, sink) async for rows in pages])

        without_id = await self._api.until_whole("package_search", read)
        _refuse_anonymous(self.datasets_url, without_id)

    def _entry_of_organisation(self, raw: dict[str, Any]) -> RegistryEntry:
        url = self.organisation_url(str(text_of(raw.get("id"))))
        return organisation_entry(raw, url, name=raw.get("name"), title=raw.get("title"))

    def _entry_of_dataset(self, raw: dict[str, Any]) -> RegistryEntry:
        resources, owner = raw.get("resources"), raw.get("organization")
        first = resources[0] if isinstance(resources, list) and resources else None
        return dataset_entry(
            raw,
            self.dataset_url(str(text_of(raw.get("id")))),
            name=raw.get("name"),
            title=raw.get("title"),
            organisation_id=id_of(owner),
            file_url=first.get("url") if isinstance(first, dict) else None,
            license=raw.get("license_id"),
        )


def _hand_on(rows: Iterable[Any], entry_of: EntryOf, sink: EntrySink) -> int:
    """Hand on the entries of records, and return the number of records without an id."""
    without_id = 0
    for raw in rows:
        if id_of(raw) is None:
            without_id += 1
        else:
            sink(entry_of(raw))
    return without_id


def _refuse_anonymous(url: str, without_id: int) -> None:
    if without_id:
        raise UnreadableDocument(url, f"{without_id} of its records have no id")
