"""Names of harvested datasets and organizations, and ids of their resources. Both stay once given.

A distribution that comes back gets the id that its resource had. Some time after a resource was removed,
CKAN deletes its row, and with it the id. Therefore ids are made of the dataset's id and the
distribution's URI. Ids that another harvester gave are kept with the harvest object when their resource is
removed.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Container, Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter.ckan_core import model, munge_title_to_name
from .record import loose_spelling

_LEGAL_NAME = re.compile("[a-z0-9_-]{2,100}")
_RESERVED_NAMES = frozenset({"new", "edit", "search"})

_RESOURCES = uuid.UUID("9e0a8f4e-53a4-4d5f-8d3f-6a5f0c8b3d15")
"""Namespace of the resource ids."""
_ORGANIZATIONS = uuid.UUID("0c2c6f0e-5b1e-4d0b-9a3e-3b8c1d6f7e21")
"""Namespace of the organization ids."""


def plain_name(title: str) -> str | None:
    """Return the name that a title suggests; None if fewer than two letters or digits are left of it."""
    name = munge_title_to_name(title).strip("-_")
    return name if sum(character.isalnum() for character in name) >= 2 else None


def own_name(name: str) -> str | None:
    """Return a source's own name for a record if CKAN accepts it, otherwise a legal name made of it."""
    return name if _LEGAL_NAME.fullmatch(name) else plain_name(name)


def taken_names(names: Iterable[str | None], *, organizations: bool = False) -> set[str]:
    """Return the names that a package has, or that lead to CKAN's own pages.

    :param organizations: look at groups and organizations instead of packages.
    """
    wanted = {name for name in names if name}
    column = (model.Group if organizations else model.Package).__table__.c.name
    rows = model.Session.execute(sa.select(column).where(column.in_(wanted)))
    return set(rows.scalars()) | (wanted & _RESERVED_NAMES)


def candidate_names(
    plain: str | None, url: str, source_id: str, used: Container[str], *, stem: str = "dataset"
) -> list[str]:
    """Return names for a new dataset, the best first: the plain name, then names with a suffix.

    The first suffix is made of the URL, the second of source and URL, because two sources may harvest the
    same server. They are the same at every attempt. So two consumers never count up each other's names.

    :param used: names that are taken.
    :param stem: the word before the suffix if there is no plain name.
    """
    base = stem if plain is None else plain[:91]
    with_suffix = [f"{base}-{_digest(url)}", f"{base}-{_digest(source_id, url)}"]
    return with_suffix if plain is None or plain in used else [plain, *with_suffix]


def followed_name(
    source_name: str,
    now: str,
    url: str,
    source_id: str,
    *,
    used: Iterable[str] = (),
    stem: str = "dataset",
    organizations: bool = False,
) -> str:
    """Return the name of a package or organization that follows the source's own name for its record.

    :param now: its name in CKAN. It stays if it still fits the source's name, or if no other is free.
    :param used: names that are not free, besides those in CKAN.
    """
    wanted = candidate_names(own_name(source_name), url, source_id, (), stem=stem)
    if now in wanted:
        return now
    taken = taken_names(wanted, organizations=organizations).union(used)
    return next((name for name in wanted if name not in taken), now)


def _digest(*texts: str) -> str:
    return hashlib.sha256(" ".join(texts).encode()).hexdigest()[:8]


def organization_id(source_id: str, url: str) -> str:
    """Return the id for a new organization: the same at every attempt, and when it comes back.

    :param url: the record's URL.
    """
    return str(uuid.uuid5(_ORGANIZATIONS, f"{source_id} {url}"))


def with_resource_ids(
    package_id: str, resources: Iterable[Mapping[str, Any]], earlier: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return copies of the resources of a dataset, with an id for each that has none.

    :param earlier: ids of former resources by :func:`resource_key`.
    """
    copies = [dict(resource) for resource in resources]
    taken = {resource["id"] for resource in copies if resource.get("id")}
    for resource in copies:
        key = resource_key(resource)
        if resource.get("id") or not key:
            continue
        for resource_id in (earlier.get(key), _made_id(package_id, key)):
            if resource_id and resource_id not in taken:
                resource["id"] = resource_id
                taken.add(resource_id)
                break
    return copies


def ids_to_keep(
    package_id: str, before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]
) -> dict[str, str]:
    """Return the ids of removed resources that cannot be made again, by :func:`resource_key`."""
    kept = {resource.get("id") for resource in after}
    return {
        key: resource["id"]
        for resource in before
        if resource["id"] not in kept
        and (key := resource_key(resource))
        and resource["id"] != _made_id(package_id, key)
    }


def resource_key(resource: Mapping[str, Any]) -> str:
    """Return the text that identifies a resource's distribution: its URI, otherwise its URL."""
    return loose_spelling(resource.get("uri") or resource.get("url") or "")


def _made_id(package_id: str, key: str) -> str:
    return str(uuid.uuid5(_RESOURCES, f"{package_id} {key}"))
