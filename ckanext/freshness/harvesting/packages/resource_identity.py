"""The identity of resources: which one a distribution was before, and the ids of those that come back.

A distribution's URI is its identity. Without one, it is known by its URL, title and format: several
distributions may lead to one page, and others have no URL.

A distribution that comes back gets the id that its resource had. Some time after a resource was removed, CKAN
deletes its row, and with it the id. Therefore ids are made of the dataset's id and the distribution's
identity. Other ids are kept with the harvest object when their resource is removed. Pure.
"""

from __future__ import annotations

import itertools
import json
import uuid
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..record import loose_spelling

Resource = Mapping[str, Any]

_RESOURCES = uuid.UUID("9e0a8f4e-53a4-4d5f-8d3f-6a5f0c8b3d15")
"""Namespace of the resource ids."""


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts by which a resource is recognised."""

    uri: str
    url: str
    name: str
    format: str

    @property
    def without_uri(self) -> tuple[str, str, str]:
        return self.url, self.name, self.format


def _facts(resource: Resource) -> _Facts:
    uri, url, name, kind = (
        str(resource.get(key) or "") for key in ("uri", "url", "name", "format")
    )
    return _Facts(uri, loose_spelling(url), name, kind.casefold())


_WAYS: tuple[tuple[Callable[[_Facts], Hashable], bool], ...] = (
    (lambda one: one.uri, False),
    (lambda one: loose_spelling(one.uri), False),
    (lambda one: not one.uri and one.without_uri, False),
    (lambda one: (one.url or one.name) and one.without_uri, False),
    (lambda one: one.name and (one.url, one.name), False),
    (lambda one: one.url and one.format and (one.url, one.format), False),
    (lambda one: one.url, False),
    (lambda one: not one.uri and one.name and (one.name, one.format), True),
)
"""Ways to recognise a resource, the most certain first, and whether a way counts only if it is unambiguous."""


def former(now: Sequence[Resource], before: Sequence[Resource]) -> list[Resource | None]:
    """Return for each resource the one that it was before, each at most once; None for a new one."""
    facts_now, facts_before = [*map(_facts, now)], [*map(_facts, before)]
    found: list[Resource | None] = [None] * len(now)
    left = dict(enumerate(before))
    for way, must_be_single in _WAYS:
        keys_now, keys_before = [*map(way, facts_now)], [*map(way, facts_before)]
        counts = (Counter(keys_now), Counter(keys_before))
        waiting: dict[Hashable, list[int]] = {}
        for index in left:
            waiting.setdefault(keys_before[index], []).append(index)
        for index, key in enumerate(keys_now):
            if not key or found[index] is not None or not waiting.get(key):
                continue
            if not must_be_single or all(count[key] == 1 for count in counts):
                found[index] = left.pop(waiting[key].pop(0))
    return found


def resource_key(resource: Resource) -> str:
    """Return the text that identifies a resource's distribution: its URI, or URL, title and format."""
    facts = _facts(resource)
    return loose_spelling(facts.uri) or json.dumps(facts.without_uri, ensure_ascii=False)


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
