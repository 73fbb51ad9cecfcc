"""A harvested package merged with the package that is already there, and its resources with theirs.

``package_update`` replaces a dataset. Therefore everything that is to stay must be passed back to it. The
harvester owns the keys, tags, resources and languages that the source stated at the previous harvest: if the
source no longer gives them, they are removed. If another harvester did not keep what its source stated, nothing
tells its fields and tags from an editor's: those that the source does not give stay, and ours owns all
resources but uploads. Everything else in the package (an editor's maintainer, tags, files and translations,
another extension's extras, groups, privacy) stays.

A distribution that comes back gets the id that its resource had. Some time after a resource was removed, CKAN
deletes its row, and with it the id. Therefore ids are made of the dataset's id and the distribution's identity.
Other ids are kept with the harvest object when their resource is removed. Pure.
"""

from __future__ import annotations

import copy
import itertools
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...resource_identity import Resource, identify, resource_key
from ..legal_values import EMPTY
from ..record import LaidOutRecord
from .layout import PEOPLE_KEYS, people, stated_keys

SHOWN_EXTRAS = frozenset({"harvest_object_id", "harvest_source_id", "harvest_source_title"})
"""Extras that ckanext-harvest adds when a package is shown. Written back, they would exist twice."""

MEASURED_KEYS = frozenset({"format", "mimetype", "size", "hash", "hash_algorithm"})
"""Facts about the bytes at a URL that other programs measure. They stay as long as the URL does."""

_COLUMNS = frozenset({"url", "name", "description", *MEASURED_KEYS}) - {"hash_algorithm"}
"""Columns of CKAN's resource table. A column that an update omits keeps its value: empty it instead."""

_IDENTITY = frozenset({"id", "name", "type", "owner_org", "private", "state"})
_MERGED_SEPARATELY = frozenset({"extras", "tags", "resources", "groups"})


def merge(
    existing: Mapping[str, Any],
    laid: LaidOutRecord,
    keep_fields: Collection[str] = (),
    *,
    before: LaidOutRecord | None = None,
) -> dict[str, Any]:
    """Return the dictionary for ``package_update``. It equals `existing` if there is nothing to update.

    Identity (id, name, type), organization, privacy and state never change. Groups are only added.
    Resources keep their ids (:func:`...resource_identity.identify`). The arguments stay as they are.

    :param existing: the answer of ``package_show``.
    :param laid: the record as :func:`.layout.package_dict` lays it out.
    :param keep_fields: fields that the source may not change: keys of the package, extras, ``tags``,
        ``groups``, ``resources`` or ``resources.<key>``. A field that an editor emptied stays empty.
    :param before: the record as it was laid out at the previous harvest; None if another harvester did not
        keep that.
    """
    new, owned_keys = laid.package, stated_keys(before or laid)
    stated = (before or laid).package
    keep = set(keep_fields)
    keep |= {f"{key}_translated" for key in keep_fields}
    result = dict(existing)
    # CKAN sets it. If a sysadmin passes it back, CKAN keeps the old value.
    result.pop("metadata_modified", None)

    # A field that the harvester fills in never replaces an editor's value, only its own earlier one.
    filled = people({extra["key"]: extra["value"] for extra in existing.get("extras", [])})
    for key in PEOPLE_KEYS - (new.keys() - laid.filled) - set(owned_keys) - keep:
        old = existing.get(key)
        if key in new and old in (*EMPTY, filled.get(key)):
            result[key] = new[key]
        elif old not in EMPTY and old == filled.get(key):
            result[key] = ""

    for key in (new.keys() | set(owned_keys)) - _IDENTITY - _MERGED_SEPARATELY - keep - laid.filled:
        if key in new:
            result[key] = _value(existing.get(key), new[key], stated.get(key))
        elif existing.get(key) not in EMPTY:
            result.pop(key, None)

    result["extras"] = _extras(existing, new, keep, owned_keys)
    result["groups"] = _groups(existing, new, keep)
    if "tags" not in keep:
        result["tags"] = _tags(
            existing.get("tags", []), new.get("tags", []), stated.get("tags", [])
        )
    if "resources" not in keep:
        kept = {key.partition(".")[2] for key in keep if key.startswith("resources.")}
        result["resources"] = _resources(
            existing.get("resources", []),
            new.get("resources", []),
            kept,
            before.package["resources"] if before else None,
        )
    return copy.deepcopy(dict(existing) if same_package(existing, result) else result)


def same_package(existing: Mapping[str, Any], merged: Mapping[str, Any]) -> bool:
    """Return whether an update to `merged` would change nothing."""
    return _comparable(existing) == _comparable(merged)


def _comparable(package: Mapping[str, Any]) -> dict[str, Any]:
    extras = {extra["key"]: extra["value"] for extra in package.get("extras", [])}
    return {
        **{key: value for key, value in package.items() if key != "metadata_modified"},
        "extras": {key: value for key, value in extras.items() if key not in SHOWN_EXTRAS},
    }


def _value(old: Any, new: Any, before: Any) -> Any:
    """Return a value of the source, with an editor's own languages if it is by language.

    The stored value stays if the new one differs only in its type ("18" and 18).

    :param old: the stored value.
    :param before: the value as the source gave it before.
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return _by_language(old, new, before if isinstance(before, Mapping) else {})
    simple = (str, int, float)
    if isinstance(old, simple) and isinstance(new, simple) and str(old) == str(new):
        return old
    return new


def _by_language(
    old: Mapping[str, Any], new: Mapping[str, Any], before: Mapping[str, Any]
) -> dict[str, Any]:
    """Return texts by language: the source's, and those in languages in which it has none.

    A required field has a text in each language of the site's forms: one that repeats another language's stands
    for a missing translation (:mod:`.schema_fields`).
    """
    merged = {language: text for language, text in old.items() if language not in before}
    texts = list(new.values())
    for position, (language, text) in enumerate(new.items()):
        repeats = text in texts[:position]
        stays = repeats and old.get(language) not in (*EMPTY, before.get(language))
        merged[language] = old[language] if stays else text
    return merged


def _extras(
    existing: Mapping[str, Any],
    laid: Mapping[str, Any],
    keep: Collection[str],
    owned: Collection[str],
) -> list[dict[str, Any]]:
    """Merge extras in their present order, the new ones sorted behind: for CKAN, order is a change."""
    new = {extra["key"]: extra for extra in laid.get("extras", []) if extra["key"] not in keep}
    out = []
    for extra in existing.get("extras", []):
        key = extra["key"]
        if key in SHOWN_EXTRAS:
            continue
        if key in new:
            given = new.pop(key)
            out.append(extra if extra["value"] == given["value"] else {**extra, **given})
        elif key in keep or not (key in owned or key in laid):
            out.append(extra)
    return out + [new[key] for key in sorted(new)]


def _groups(
    existing: Mapping[str, Any], laid: Mapping[str, Any], keep: Collection[str]
) -> list[dict[str, Any]]:
    groups = list(existing.get("groups", []))
    if "groups" in keep:
        return groups
    known = {group.get(key) for group in groups for key in ("id", "name")}
    return groups + [
        group for group in laid.get("groups", []) if group.get("id", group.get("name")) not in known
    ]


def _tags(
    existing: list[dict[str, Any]], laid: list[dict[str, Any]], stated: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the tags of the source, of the site's vocabularies and of editors, by name, as CKAN shows them."""
    free = {tag["name"]: tag for tag in existing if not tag.get("vocabulary_id")}
    theirs = {tag.get("name") for tag in (*stated, *laid)}
    tags = [tag for tag in existing if tag.get("vocabulary_id") or tag["name"] not in theirs]
    tags += [free.get(tag["name"], tag) for tag in laid]
    return sorted(tags, key=lambda tag: tag["name"])


def _resources(
    existing: list[dict[str, Any]],
    laid: list[dict[str, Any]],
    kept: Collection[str],
    stated: Sequence[Resource] | None,
) -> list[dict[str, Any]]:
    """Return the source's resources in its order, each merged with what it was before, and those of editors.

    :param stated: the resources as the source gave them before; None if nothing tells.
    """
    before: list[Resource | None]
    if stated is None:
        # A harvested resource is never an upload.
        before = [None if one.get("url_type") else {} for one in existing]
    else:
        before = identify(existing, stated)
    was = {old.get("id"): one for old, one in zip(existing, before, strict=True)}
    found = identify(laid, existing)
    merged = [
        dict(new) if old is None else _resource(old, new, kept, was[old.get("id")] or {})
        for old, new in zip(found, laid, strict=True)
    ]
    listed = {old.get("id") for old in found if old is not None}
    # Without URL and name, it cannot be told from one that the source states.
    of_editors = [
        one
        for one in existing
        if was[one.get("id")] is None and (one.get("url") or one.get("name"))
    ]
    return merged + [dict(one) for one in of_editors if one.get("id") not in listed]


def _resource(
    old: Mapping[str, Any], new: dict[str, Any], kept: Collection[str], was: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a resource of the source.

    :param was: the resource as the source gave it before. It owns these keys.
    """
    result = dict(old)
    same_bytes = "url" in kept or old.get("url") == new.get("url")
    for key in {*new, *was, *MEASURED_KEYS} - {"id", *kept}:
        if key in new:
            result[key] = _value(old.get(key), new[key], was.get(key))
        elif old.get(key) not in EMPTY and not (same_bytes and key in MEASURED_KEYS):
            if key in _COLUMNS:
                result[key] = ""
            else:
                del result[key]
    return result


# Ids of resources

_RESOURCES = uuid.UUID("9e0a8f4e-53a4-4d5f-8d3f-6a5f0c8b3d15")
"""Namespace of the resource ids."""


def with_resource_ids(
    package_id: str, resources: Iterable[Resource], earlier: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return copies of the resources of a dataset, with an id for each that has none.

    :param earlier: ids of former resources by :func:`resource_key`.
    """
    copies = [dict(resource) for resource in resources]
    taken = {resource["id"] for resource in copies if resource.get("id")}
    for resource in copies:
        if resource.get("id"):
            continue
        key = resource_key(resource)
        of_others = {known for other, known in earlier.items() if other != key}
        resource["id"] = next(
            one
            for one in itertools.chain(filter(None, [earlier.get(key)]), _made_ids(package_id, key))
            if one not in taken and (one == earlier.get(key) or one not in of_others)
        )
        taken.add(resource["id"])
    return copies


def ids_to_keep(
    package_id: str, before: Iterable[Resource], after: Iterable[Resource]
) -> dict[str, str]:
    """Return the ids of removed resources that cannot be made again, by :func:`resource_key`."""
    kept = {resource.get("id") for resource in after}
    return {
        key: resource["id"]
        for resource in before
        if resource["id"] not in kept
        and resource["id"] != next(_made_ids(package_id, key := resource_key(resource)))
    }


def _made_ids(package_id: str, key: str) -> Iterator[str]:
    """Return ids for the distributions of a dataset with the same identity."""
    yield str(uuid.uuid5(_RESOURCES, f"{package_id} {key}"))
    for number in itertools.count(2):
        yield str(uuid.uuid5(_RESOURCES, f"{package_id} {key} {number}"))
