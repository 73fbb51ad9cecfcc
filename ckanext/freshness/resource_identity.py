"""Which resource of a dataset is which, now that its id is not the same: after a harvest, and after an edit.

The id that a resource has is its identity, or else its distribution's URI. Without either, it is known by
its URL, title and format: several distributions may lead to one page, and others have no URL. A publisher that
moves to another host or path may take distributions and files along: the ends of their URLs stay. Pure.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from .web.urls import loose_spelling

Resource = Mapping[str, Any]


def _facts(resource: Resource) -> tuple[str, str, str, str]:
    """Return the facts by which a resource is recognised: URI, URL, name and format."""
    uri, url, name, kind = (
        str(resource.get(key) or "") for key in ("uri", "url", "name", "format")
    )
    return uri, loose_spelling(url), name, kind.casefold()


def _path(url: str) -> str:
    """Return a URL without its scheme, host and last slash."""
    return loose_spelling(url).partition("/")[2]


_WAYS: tuple[tuple[Callable[[str, str, str, str], Hashable], bool], ...] = (
    (lambda uri, url, name, kind: uri, False),
    (lambda uri, url, name, kind: loose_spelling(uri), False),
    (lambda uri, url, name, kind: not uri and (url, name, kind), False),
    (lambda uri, url, name, kind: (url or name) and (url, name, kind), False),
    (lambda uri, url, name, kind: name and (url, name), False),
    (lambda uri, url, name, kind: url and kind and (url, kind), False),
    (lambda uri, url, name, kind: url, False),
    (lambda uri, url, name, kind: _path(uri or url), True),
    (
        lambda uri, url, name, kind: (end := _path(uri or url).rpartition("/")[2]) and (end, name),
        True,
    ),
    (lambda uri, url, name, kind: not uri and name and (name, kind), True),
)
"""Ways to recognise a resource, the most certain first, and whether a way counts only if it is unambiguous."""


def identify(now: Sequence[Resource], before: Sequence[Resource]) -> list[Resource | None]:
    """Return for each resource the one that it was before, each at most once; None for a new one.

    Of resources that are alike, the first now is the first before.
    """
    facts_now, facts_before = [_facts(one) for one in now], [_facts(one) for one in before]
    found: list[Resource | None] = [None] * len(now)
    left = dict(enumerate(before))
    ids = {one["id"]: index for index, one in left.items() if one.get("id")}
    for index, one in enumerate(now):
        if one.get("id") in ids:
            found[index] = left.pop(ids.pop(one["id"]))
    for way, must_be_single in _WAYS:
        keys_now = [way(*facts) for facts in facts_now]
        keys_before = [way(*facts) for facts in facts_before]
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
    uri, *others = _facts(resource)
    return loose_spelling(uri) or json.dumps(others, ensure_ascii=False)
