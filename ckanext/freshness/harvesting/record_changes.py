"""The differences between two versions of a record, field by field, as short texts. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..resource_identity import identify
from .legal_values import EMPTY
from .record import Record

LONGEST = 200
"""Characters of a text; longer ones are cut."""
MOST = 20
"""How many values of a list, or changed resources, are named."""

_NAMES = ("name", "title", "fn", "label", "prefLabel", "notation", "uri", "url", "email", "text")
"""Keys of a structure that can name it, the most telling first."""
_IDENTIFIERS = frozenset({"uri", "identifier", "modified", "issued"})
"""Keys whose change alone says nothing about a resource."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that differs.

    :ivar field: its key; ``resources`` for resources that come or go, ``tags`` for keywords
    :ivar resource: the name of the resource that it belongs to
    :ivar before: its text before; None if it had none
    :ivar after: its text now; None if it has none
    :ivar removed: values that a list no longer has
    :ivar added: values that a list has in addition
    :ivar language: of a text that the source gives in several
    """

    field: str
    resource: str | None = None
    before: str | None = None
    after: str | None = None
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    language: str | None = None


def changes(before: Record, after: Record, *, without: Collection[str] = ()) -> list[FieldChange]:
    """Return the fields that differ between two versions of a record.

    :param without: fields that are kept as they are; ``resources.<key>`` for those of resources
    """
    fields = _fields(before.fields, after.fields)
    tags = _field("tags", sorted(before.tags), sorted(after.tags))
    resources = _resources(before.resources, after.resources)
    found = [change for change in (*fields, *tags, *resources) if change.field not in without]
    return [
        change
        for change in found
        if change.resource is None
        or ("resources" not in without and f"resources.{change.field}" not in without)
    ]


def _fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[FieldChange]:
    found: list[FieldChange] = []
    for key in sorted(before.keys() | after.keys()):
        if not key.endswith("_translated"):
            found += _field(key, before.get(key), after.get(key))
            continue
        name = key.removesuffix("_translated")
        old, new = before.get(key) or {}, after.get(key) or {}
        for language in sorted(old.keys() | new.keys()):
            one, other = old.get(language), new.get(language)
            if (one, other) != (before.get(name), after.get(name)):  # said already
                found += [
                    replace(change, language=language or None)
                    for change in _field(name, one, other)
                ]
    return found


def _field(key: str, before: Any, after: Any, resource: str | None = None) -> list[FieldChange]:
    if before == after or str(before) == str(after):
        return []
    if isinstance(before, list) or isinstance(after, list):
        old, new = _texts(before), _texts(after)
        removed = tuple(text for text in old if text not in new)[:MOST]
        added = tuple(text for text in new if text not in old)[:MOST]
        return [FieldChange(key, resource, removed=removed, added=added)]
    return [FieldChange(key, resource, before=_text(before), after=_text(after))]


def _resources(
    before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]
) -> list[FieldChange]:
    pairs = list(zip(identify(after, before), after, strict=True))
    kept = {id(old) for old, _ in pairs}
    removed = tuple(_name(old) for old in before if id(old) not in kept)[:MOST]
    added = tuple(_name(new) for old, new in pairs if old is None)[:MOST]
    found = [FieldChange("resources", removed=removed, added=added)] if removed or added else []
    both = [(old, new) for old, new in pairs if old is not None and old != new]
    for old, new in both[:MOST]:
        for field in sorted((old.keys() | new.keys()) - _IDENTIFIERS):
            if not field.endswith("_translated"):
                found += _field(field, old.get(field), new.get(field), _name(new))
    if not found and [old for old, _ in pairs] != list(before):
        # Only their order differs.
        return [FieldChange("resources", before=_text(list(before)), after=_text(list(after)))]
    return found


def lost(before: Record, after: Record) -> list[str]:
    """Return what a version of a record lacks that the version before it has, in a few words each.

    A value that differs is not lost, unless it is a shorter list, or a structure that lacks keys.
    """
    fields = {**after.fields, "tags": after.tags, "groups": after.groups}
    had = {**before.fields, "tags": before.tags, "groups": before.groups}
    found = [key for key, value in had.items() if _lacks(fields.get(key), value)]
    pairs = zip(identify(after.resources, before.resources), after.resources, strict=True)
    now = {id(old): new for old, new in pairs if old is not None}
    for old in before.resources:
        new, name = now.get(id(old)), _name(old)
        if new is None:
            found.append(f"resource {name}")
        else:
            found += [
                f"{key} of resource {name}"
                for key, value in old.items()
                if _lacks(new.get(key), value)
            ]
    return sorted(found)


def _lacks(now: Any, before: Any) -> bool:
    """Return whether a value lacks something that it had."""
    if isinstance(before, Mapping):
        found = now if isinstance(now, Mapping) else {}
        return any(_lacks(found.get(key), value) for key, value in before.items())
    if isinstance(before, list):
        values = now if isinstance(now, list) else [now]
        return len(values) < len(before) or any(
            all(_lacks(value, old) for value in values) for old in before
        )
    return before not in EMPTY and now in EMPTY


def _name(resource: Mapping[str, Any]) -> str:
    return _text(resource) or "?"


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for one in values if (text := _text(one))]


def _text(value: Any) -> str | None:
    """Return a value in a few words; None if it is empty."""
    if value in EMPTY:
        return None
    if isinstance(value, Mapping):
        found = next((value[key] for key in _NAMES if value.get(key)), None)
        value = found if found is not None else ", ".join(map(str, value.values()))
    elif isinstance(value, list):
        value = ", ".join(_texts(value))
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"
