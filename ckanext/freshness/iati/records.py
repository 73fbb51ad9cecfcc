"""Records of organisations and datasets, made from a registry's JSON. Every kind of registry maps its fields
here.

Registries write null, the text "None" and worse for a missing value. An entry that lacks a required value
becomes an entry with an error. An entry without an id cannot be identified, so the registry raises
``UnreadableListing`` for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..ckan_adapter.core import NAMES
from ..harvesting import legal_values
from ..harvesting.ckan.api import dictionaries, pairs, text_of
from ..harvesting.record import Record
from ..web.errors import FetchError
from ..web.urls import parse_url

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


def organisation(raw: Any, url: str, *, name: Any, title: Any) -> RegistryEntry:
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


def dataset(
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
