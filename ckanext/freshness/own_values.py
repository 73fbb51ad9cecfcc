"""Tells our extras from a site's own fields of the same names, by their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .aging.evidence import Evidence
from .aging.status import Status
from .field_names import FieldNames

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_STATUSES = frozenset(status.value for status in Status)
_EVIDENCE = frozenset(evidence.value for evidence in Evidence)
_REASONS = frozenset({"api", "adhoc", "blocked"})


def look_ours(
    extras: Mapping[str, str], names: FieldNames, keys: Collection[str] | None = None
) -> bool:
    """Decide whether the values under our names are a complete set as this extension writes it.

    A single ``freshness: fresh`` is not: this extension writes no such status without an update frequency.

    :param extras: all extras of a dataset
    :param keys: those of our names that are extras, if the site's schema declares others
    """
    own = names.extras if keys is None else keys
    values = {key: extras[key] for key in own if key in extras}
    if not values or not all(_is_valid(key, value, names) for key, value in values.items()):
        return False
    if names.status not in own:
        return True
    status = values.get(names.status)
    needs = {names.frequency} & set(own) if status != Status.UNAVAILABLE.value else set()
    return status is not None and needs <= values.keys()


def foreign(
    extras: Mapping[str, str], names: FieldNames, keys: Collection[str] | None = None
) -> dict[str, str]:
    """Return the values under our names that are the site's own, or of another extension.

    The parameters are those of :func:`look_ours`.
    """
    own = names.extras if keys is None else keys
    values = {key: extras[key] for key in own if key in extras}
    return {} if not values or look_ours(extras, names, keys) else values


def claimed(
    extras: Mapping[str, str], names: FieldNames, keys: Collection[str] | None = None
) -> dict[str, str]:
    """Return the values under our names, if one of them is no value that this extension writes.

    For extras that a caller sends: a caller who sends ``freshness: fresh`` alone may not claim a status.
    The parameters are those of :func:`look_ours`.
    """
    own = names.extras if keys is None else keys
    values = {key: extras[key] for key in own if key in extras}
    return {} if all(_is_valid(key, value, names) for key, value in values.items()) else values


def ours_among(extras: Iterable[Mapping[str, Any]], names: FieldNames) -> Collection[str]:
    """Return our names, unless a list of extras has values of the site's own under them.

    :param extras: as actions show them, each with ``key`` and ``value``
    """
    return () if foreign(as_mapping(extras), names) else names.extras


def as_mapping(extras: object) -> dict[str, str]:
    """Return a list of extras as actions take it by key; without malformed ones, which CKAN refuses."""
    found = {}
    for extra in extras if isinstance(extras, list) else ():
        if isinstance(extra, Mapping) and isinstance(extra.get("key"), str):
            found[extra["key"]] = str(extra.get("value", ""))
    return found


def _is_valid(key: str, value: str, names: FieldNames) -> bool:
    if key == names.status:
        return value in _STATUSES
    if key == names.evidence:
        return value in _EVIDENCE
    if key == names.undetermined:
        return value in _REASONS
    if key == names.frequency:
        return re.fullmatch(r"-?\d{1,9}", value) is not None
    return _MOMENT.fullmatch(value) is not None
