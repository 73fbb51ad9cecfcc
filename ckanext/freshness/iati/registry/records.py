"""What a registry says of an organisation or a dataset as a record; every registry's words are mapped here.

Registries hold nulls, the text "None" and worse where something should stand. An entry without an id
cannot be told from others; one without anything else that it must have is an entry with an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...harvesting import legal_values
from ...harvesting.record import Record
from ...web.client import FetchError
from ...web.urls import parse_url
from .registries import RegistryEntry

FORMAT = "IATI-XML"
"""The format of the resource of every dataset, as IATI's registry has it."""

REGISTRY_ID = "registry_id"
"""The extra of organisations and datasets that has the registry's id."""
REGISTRY_NAME = "registry_name"
"""The extra that has the registry's short name; CKAN's own name may need a mark to be unique."""

FIELD_KEYS = frozenset(
    {
        *("title", "notes", "license_id", "license", "uri", REGISTRY_ID, REGISTRY_NAME),
        *("author", "author_email", "maintainer", "maintainer_email"),
        *("filetype", "iati_version", "data_updated"),
    }
)
"""Keys of packages that go when the registry no longer gives them."""

_TEXTS = ("notes", "author", "author_email", "maintainer", "maintainer_email")
_OF_IATI = ("filetype", "iati_version", "data_updated")

# What a listing says of an organisation that is CKAN's own business, or changes by itself.
_NOT_OF_ORGANISATIONS = frozenset(
    {
        *("id", "name", "short_name", "title", "human_readable_name", "display_name"),
        *("description", "image_url", "image_display_url", "is_organization", "state", "type"),
        *("package_count", "num_followers", "created", "approval_status", "revision_id"),
        *("users", "tags", "groups", "extras", "packages", "datasets"),
        *(REGISTRY_ID, REGISTRY_NAME),
    }
)
_NOT_OF_DATASETS = frozenset(
    {"guid", "harvest_object_id", "harvest_source_id", "harvest_source_title"}
)
"""Extras that the harvester of this site writes itself."""


def said(value: Any) -> str | None:
    """A text or number as a text; None for what registries write where they have nothing."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    text = legal_values.clean(str(value)).strip()
    return None if text in ("", "None", "null") else text


def _link(value: Any) -> str | None:
    text = said(value)
    return None if text is None or legal_values.is_active_url(text) else text


def organisation(raw: Any, url: str, *, name: Any, title: Any) -> RegistryEntry:
    """A reporting organisation.

    :param raw: a record with an id.
    :param url: the registry's own of it.
    """
    registry_id = str(said(raw.get("id")))
    short_name = said(name)
    if short_name is None:
        return RegistryEntry(registry_id, None, error="the registry gives the organisation no name")
    fields = {
        "title": said(title) or short_name,
        "description": said(raw.get("description")),
        "image_url": _link(raw.get("image_display_url")) or _link(raw.get("image_url")),
        "uri": url,
        REGISTRY_ID: registry_id,
        REGISTRY_NAME: short_name,
    }
    for key, value in [*raw.items(), *_pairs(raw.get("extras"))]:
        if key not in _NOT_OF_ORGANISATIONS:
            fields.setdefault(legal_values.clean(key), said(value))
    return RegistryEntry(registry_id, Record(_present(fields), name=short_name))


def dataset(
    raw: Any, url: str, *, name: Any, title: Any, organisation_id: Any, file_url: Any, license: Any
) -> RegistryEntry:
    """A dataset.

    :param raw: a record with an id.
    :param url: the registry's own of it.
    """
    registry_id, owner = str(said(raw.get("id"))), said(organisation_id)
    short_name, file_text = said(name), said(file_url)
    missing = next(
        (
            words
            for words, value in (
                ("no name", short_name),
                ("no organisation", owner),
                ("no URL of a file", file_text),
            )
            if value is None
        ),
        None,
    )
    if missing is not None or short_name is None or file_text is None:
        return RegistryEntry(registry_id, None, owner, f"the registry gives the dataset {missing}")
    try:
        parse_url(file_text)
    except FetchError as error:
        return RegistryEntry(registry_id, None, owner, f"the URL of its file {error.words}")
    fields = {
        "title": said(title) or short_name,
        "license": said(license),
        "uri": url,
        REGISTRY_ID: registry_id,
        REGISTRY_NAME: short_name,
        **{key: said(raw.get(key)) for key in (*_TEXTS, *_OF_IATI)},
    }
    for key, value in _pairs(raw.get("extras")):
        own = key in _NOT_OF_DATASETS or key.startswith("freshness")
        if not own and fields.get(key) is None:
            fields[legal_values.clean(key)] = said(value)
    resource = {"uri": url, "url": file_text, "name": short_name, "format": FORMAT}
    tags = sorted({tag for one in _dictionaries(raw.get("tags")) if (tag := said(one.get("name")))})
    return RegistryEntry(
        registry_id, Record(_present(fields), [resource], tags, name=short_name), owner
    )


def _present(fields: Mapping[str, str | None]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def _pairs(extras: Any) -> Iterable[tuple[str, Any]]:
    """Extras as CKAN lists them, or as an object."""
    if isinstance(extras, dict):
        return list(extras.items())
    return [
        (one["key"], one.get("value"))
        for one in _dictionaries(extras)
        if isinstance(one.get("key"), str)
    ]


def _dictionaries(values: Any) -> list[dict[str, Any]]:
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []
