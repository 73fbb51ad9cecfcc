"""Tells our extras from a site's own fields of the same names, by their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

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

    A single ``freshness: fresh`` is not: this extension writes no such status without a date and its evidence.

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
    dated = {names.last_modified, names.evidence} & set(own)
    return status is not None and (status == Status.UNAVAILABLE.value or dated <= values.keys())


def foreign(
    extras: Mapping[str, str], names: FieldNames, keys: Collection[str] | None = None
) -> dict[str, str]:
    """Return the values under our names that are the site's own, or of another extension.

    The parameters are those of :func:`look_ours`.
    """
    own = names.extras if keys is None else keys
    values = {key: extras[key] for key in own if key in extras}
    return {} if not values or look_ours(extras, names, keys) else values


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
