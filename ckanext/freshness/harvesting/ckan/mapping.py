"""Datasets and organizations of another CKAN as records.

A package of the API has the portal's own fields beside each other: those of CKAN, those of its schema, and
extras. All of them become fields of the record, but for those that only mean something on the portal itself.
Pure.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin
from uuid import UUID

from ...ckan_adapter.core import NAMES, munge_tag
from ..legal_values import EMPTY
from ..packages.layout import RESERVED_KEYS, RESERVED_RESOURCE_KEYS
from ..record import Record, is_web_url
from .api import dictionaries, id_of, pairs, text_of

MAPPING_VERSION = 3
"""Raise it when the mapping makes another record of the same dataset: all are then read again."""

MOST_LEVELS = 50
"""How deep lists and dictionaries may be nested. Python copies and writes some 300 levels at most."""

SITE_EXTRAS = RESERVED_KEYS | {
    # ckanext-harvest
    *("harvest_source_url", "harvest_source_type", "harvest_job_id", "harvest_dataset_url"),
}
"""Keys of extras that only mean something on the portal itself. All others are the publisher's own."""

SITE_KEYS = SITE_EXTRAS | {
    # CKAN
    *("display_name", "ckan_url", "download_url", "tracking_summary", "revision_timestamp"),
    *("license_title", "license_url", "notes_rendered", "ratings_average", "ratings_count"),
    *("concat_email", "extras_rollup", "title_string", "opennessscore"),
    # other extensions
    *("archiver", "qa", "qualityassurance", "showcases", "datastore_active", "relationships"),
    *("is_favorite", "followers", "rating", "reviews_count", "validation_status", "harvest"),
}
"""Keys of packages that only mean something on the portal itself."""

SITE_RESOURCE_KEYS = RESERVED_RESOURCE_KEYS | {
    # CKAN
    *("resource_group_id", "webstore_last_updated", "webstore_url", "revision_timestamp"),
    *("cache_url", "cache_filepath", "resource_locator_function", "resource_locator_protocol"),
    *("on_same_domain", "cache_url_updated", "has_views", "preview"),
    # ckanext-datastore, xloader, validation, archiver, qa
    *("datastore_contains_all_records_of_source_file", "datastore_url", "task_created"),
    *("validation_status", "validation_timestamp", "original_url", "ckan_url"),
    *("archiver", "qa", "openness_score", "openness_score_reason", "openness_score_failure_count"),
    *("content_length", "content_type", "verified", "verified_date", "webstore_active"),
    *("_authentication_token", "ckan_api_calls", "resource_views"),
}
"""Keys of resources that only mean something on the portal itself."""

_BY_LANGUAGE = ("title", "notes", "name", "description")
"""Texts that portals with ckanext-fluent give as an object, by language."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class MappingOptions:
    """The part of a source's configuration that decides what records are made of."""

    site: str = ""
    """The portal's URL, to which URLs of resources may be relative."""
    language: str = "en"
    """The language of texts that the portal gives in several."""
    organizations: bool = False
    """The portal's organizations become organizations here."""
    keep_owner: bool = False
    """The organization of this site with the same id owns the dataset."""
    groups: str | None = None
    """``only_local`` or ``create``; None if groups of the portal do not count."""
    default_extras: Mapping[str, Any] = field(default_factory=dict)
    override_extras: bool = False
    clean_tags: bool = False
    placeholders: Mapping[str, str] = field(default_factory=dict)
    """Values for default extras, such as ``{harvest_source_url}``."""


def dataset(raw: Mapping[str, Any], options: MappingOptions) -> Record:
    """Return the record of a package.

    :raises ValueError: it has no name or no list of resources, or is nested too deeply. The text is for people.
    """
    name = text_of(raw.get("name"))
    if name is None:
        raise ValueError("the portal gives the dataset no name")
    if not isinstance(raw.get("resources"), list):
        raise ValueError("the portal gives the dataset no list of resources")
    if _nests_deeper(raw, MOST_LEVELS):
        raise ValueError(f"its values are nested in more than {MOST_LEVELS} levels")
    raw = _with_plain_texts(raw, options.language)
    fields: dict[str, Any] = {}
    extras = pairs(raw.get("extras"))
    stated = [(key, value) for key, value in raw.items() if not _is_of_site(key, SITE_KEYS)]
    stated += [one for one in extras if one[0] not in SITE_EXTRAS and not _is_ours(one[0])]
    for key, value in stated:
        if value not in EMPTY:
            fields.setdefault(key, value)
    fields["title"] = text_of(raw.get("title")) or name
    if (created := text_of(raw.get("metadata_created"))) is not None:
        fields.setdefault("issued", created)
    for key, value in options.default_extras.items():
        if options.override_extras or key not in fields:
            fields[key] = _filled(value, {**options.placeholders, "dataset_id": str(id_of(raw))})
    resources = [_resource(one, options) for one in dictionaries(raw["resources"])]
    with_id: set[str] = set()
    for one in resources:
        if one.get("id") in with_id:
            # Some portals have copies of one resource.
            del one["id"]
        with_id.add(one.get("id", ""))
    tags = set(filter(None, map(_tag, raw["tags"] if isinstance(raw.get("tags"), list) else ())))
    if options.clean_tags:
        tags = {munge_tag(tag) for tag in tags} - {""}
    return Record(
        fields,
        resources,
        sorted(tags),
        name=name,
        id=uuid_of(raw),
        owner=text_of(raw.get("owner_org")) if options.keep_owner else None,
        groups=_groups(raw, options),
    )


def organization(raw: Mapping[str, Any], language: str = "en") -> Record:
    """Return the record of an organization as its datasets describe it.

    :raises ValueError: it has no name. The text is for people.
    """
    name = text_of(raw.get("name"))
    if name is None:
        raise ValueError("the portal gives the organization no name")
    raw = _with_plain_texts(raw, language)
    image = text_of(raw.get("image_url")) or ""
    fields = {
        "title": text_of(raw.get("title")) or name,
        "description": text_of(raw.get("description")),
        # Of an uploaded image, datasets have only the name of the file.
        "image_url": image if is_web_url(image) else None,
    }
    stated = {key: value for key, value in fields.items() if value}
    return Record(stated, name=name, id=uuid_of(raw))


def _nests_deeper(value: Any, most: int) -> bool:
    """Return whether lists and dictionaries are nested in more than a number of levels."""
    level = [value]
    for _ in range(most):
        parts = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for part in parts for one in part if isinstance(one, (dict, list))]
    return bool(level)


def uuid_of(raw: Mapping[str, Any]) -> str | None:
    """Return the id of a record if it is a UUID, as CKAN makes them.

    With any other id a portal could have its dataset shown at the URL of another dataset of this site.
    """
    found = id_of(raw) or ""
    try:
        return found if str(UUID(found)) == found else None
    except ValueError:
        return None


def _is_of_site(key: str, table: frozenset[str]) -> bool:
    return key in table or _is_ours(key) or key.startswith("_")


def _is_ours(key: str) -> bool:
    """Return whether a key is one of this extension, by which the portal says how fresh its dataset is."""
    return key.startswith(NAMES.status)


def _with_plain_texts(raw: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Return the fields of a record or resource, with plain texts beside those by language."""
    found = dict(raw)
    for key in _BY_LANGUAGE:
        texts = raw.get(key) or raw.get(f"{key}_translated")
        if isinstance(texts, dict):
            best = (language, language.partition("_")[0], "en", *sorted(texts))
            found[key] = next(filter(None, (text_of(texts.get(one)) for one in best)), None)
            found[f"{key}_translated"] = {one: text for one, text in texts.items() if text_of(text)}
    return found


def _resource(raw: Mapping[str, Any], options: MappingOptions) -> dict[str, Any]:
    """Return a resource. An upload of the portal becomes a link to it."""
    found = {
        key: value
        for key, value in _with_plain_texts(raw, options.language).items()
        if not _is_of_site(key, SITE_RESOURCE_KEYS) and value not in EMPTY
    }
    url = text_of(raw.get("url"))
    if url is not None:
        found["url"] = url
        if url.startswith("/"):
            with contextlib.suppress(ValueError):  # as of no URL at all
                found["url"] = urljoin(f"{options.site}/", url)
    if (modified := text_of(raw.get("last_modified"))) is not None:
        found.setdefault("modified", modified)
    if (resource_id := uuid_of(raw)) is not None:
        found["id"] = resource_id
    return found


def _tag(raw: Any) -> str | None:
    """Return the name of a tag. Some portals give a text for it."""
    return text_of(raw.get("name") if isinstance(raw, dict) else raw)


def _groups(raw: Mapping[str, Any], options: MappingOptions) -> list[dict[str, str]]:
    if options.groups is None:
        return []
    keys = ("id", "name", "title") if options.groups == "create" else ("id", "name")
    groups = (_with_plain_texts(one, options.language) for one in dictionaries(raw.get("groups")))
    found = [
        {key: text_of(one.get(key)) or "" for key in keys}
        for one in groups
        if uuid_of(one) and text_of(one.get("name"))
    ]
    return sorted(found, key=lambda group: group["name"])


def _filled(value: Any, placeholders: Mapping[str, str]) -> Any:
    if not isinstance(value, str):
        return value
    return _PLACEHOLDER.sub(lambda match: placeholders.get(match[1], match[0]), value)
