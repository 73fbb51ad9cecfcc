"""Puts a dataset's freshness into its Solr document, and the facet into lists of datasets.

Searches, facets and lists use the stored status, so that a facet's count is the number of datasets that
it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ckan.plugins.toolkit as tk

from .. import settings
from ..aging.status import Status
from ..dates import parse_date
from ..field_names import NAMES, own_extras

_STATUSES = {status.value for status in Status}

_DATES = {
    NAMES.due_date: NAMES.due,
    NAMES.overdue_date: NAMES.overdue,
    NAMES.delinquent_date: NAMES.delinquent,
}
"""Fields of Solr, and the extras that they hold."""

_MAX_TERM = 32766
"""Bytes of UTF-8 that Solr takes as one term: of a longer one it refuses the whole document."""


def document(fields: dict[str, Any]) -> dict[str, Any]:
    """A dataset's document, with what is known of its freshness as fields of their own.

    None of our extras is in the full text, where ``overdue`` would find each overdue dataset. Whatever
    extras a dataset has, Solr takes the document: a field called ``*_date`` is a moment in UTC, or is
    left out; of an extra too long for a term only the words are found.

    :param fields: as CKAN would send them; changed in place.
    """
    ours: dict[str, Any] = {}
    for key in judged_extras(fields.get("type")):
        plain = fields.pop(key, None)
        ours[key] = fields.pop(f"extras_{key}", plain)
    if ours:
        fields |= {field: ours.get(extra) for field, extra in _DATES.items()}
    if ours.get(NAMES.status) in _STATUSES:
        fields[NAMES.status] = ours[NAMES.status]
    if ours.get(NAMES.undetermined):
        fields[NAMES.undetermined] = ours[NAMES.undetermined]
    for key in [key for key in fields if key.endswith("_date")]:
        fields[key] = _solr_date(fields[key])
        if fields[key] is None:
            del fields[key]
    for key in [key for key, value in fields.items() if fields.get(f"extras_{key}") == value]:
        if len(str(fields[key]).encode("utf-8", "replace")) > _MAX_TERM:
            del fields[key]
    return fields


def _solr_date(value: Any) -> str | None:
    when = parse_date(value)
    return None if when is None else f"{when.replace(tzinfo=None).isoformat()}Z"


def with_facet(titles: dict[str, Any], package_type: str | None) -> dict[str, Any]:
    """The facets of a page with ours behind them, if the page lists packages that are judged.

    :param titles: by field, in the order of the page; changed in place.
    :param package_type: None on the pages of organizations and groups, which list all types.
    """
    if package_type is None or package_type in settings.dataset_types():
        titles[NAMES.status] = tk._("Freshness")
    return titles


def judged_extras(package_type: str | None) -> Sequence[str]:
    """Return the extras of packages of a type that are ours; none if their freshness is not judged."""
    kind = package_type or "dataset"
    return own_extras(kind) if kind in settings.dataset_types() else ()
