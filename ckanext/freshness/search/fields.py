"""Puts a dataset's freshness into its Solr document, and the facets onto pages that list datasets.

Searches, facets and lists use the stored status, so that the count of a facet is the number of datasets
that it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ckan.plugins.toolkit as tk

from .. import settings
from ..aging.status import GROUPS
from ..ckan_adapter import own_extras
from ..dates import parse_date
from ..field_names import NAMES

_GROUP_OF = {status.value: group for group, statuses in GROUPS.items() for status in statuses}

_DATES = {
    NAMES.due_date: NAMES.due,
    NAMES.overdue_date: NAMES.overdue,
    NAMES.delinquent_date: NAMES.delinquent,
    NAMES.last_modified_date: NAMES.last_modified,
}
"""Solr's date fields, with the extras whose values they hold."""

_MAX_TERM = 32766
"""Bytes of UTF-8 in one term, at most. Solr refuses a document with a longer term."""


def document(fields: dict[str, Any]) -> dict[str, Any]:
    """Give a dataset's document fields of our own for its freshness, and make Solr accept it.

    Our extras are removed from the full text, in which ``overdue`` would find each overdue dataset. Fields
    named ``*_date`` become moments in UTC or are left out. An extra that is too long for a term is left to
    the full text.

    :param fields: the document that CKAN is about to send; changed in place
    """
    ours: dict[str, Any] = {}
    for key in judged_extras(fields.get("type")):
        plain = fields.pop(key, None)
        ours[key] = fields.pop(f"extras_{key}", plain)
    if ours:
        fields |= {field: ours.get(extra) for field, extra in _DATES.items()}
    if ours.get(NAMES.status) in _GROUP_OF:
        fields[NAMES.status] = ours[NAMES.status]
        fields[NAMES.group] = _GROUP_OF[ours[NAMES.status]]
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
    """Add our facets to a page's facets, if the page lists packages that are judged.

    :param titles: the facets' titles by field, in the order of the page; changed in place
    :param package_type: None on the pages of organizations and groups, which list all types
    """
    if package_type is None or package_type in settings.dataset_types():
        # One list shows both. The title also names the chosen values of a search.
        titles |= dict.fromkeys((NAMES.group, NAMES.status), tk._("Freshness"))
    return titles


def judged_extras(package_type: str | None) -> Sequence[str]:
    """Return our extras for packages of a type; none if packages of this type are not judged."""
    return own_extras(package_type or "dataset") if settings.is_judged(package_type) else ()
