"""Puts a dataset's freshness into its Solr document, and the facets onto pages that list datasets.

Searches, facets and lists use the stored status, so that the count of a facet is the number of datasets
that it finds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ckan.plugins.toolkit as tk

from .. import settings
from ..aging.status import GROUPS
from ..ckan_adapter.core import own_extras, site_names
from ..dates import parse_date
from ..field_names import REVIEW_KEY, FieldNames
from ..own_values import foreign

_GROUP_OF = {status.value: group for group, statuses in GROUPS.items() for status in statuses}

_MAX_TERM = 32766
"""Bytes of UTF-8 in one term, at most. Solr refuses a document with a longer term."""


def document(fields: dict[str, Any]) -> dict[str, Any]:
    """Give a dataset's document fields of our own for its freshness, and make Solr accept it.

    Our extras are removed from the full text, in which ``overdue`` would find each overdue dataset. The date
    of a review becomes a moment in UTC or is left out. An extra that is too long for a term is left to the
    full text.

    :param fields: the document that CKAN is about to send; changed in place
    """
    names = site_names()
    keys = judged_extras(fields.get("type"))
    stored = {key: fields.get(f"extras_{key}", fields.get(key)) for key in keys}
    extras = {key: str(value) for key, value in stored.items() if value is not None}
    # The site's own fields of the same names are searched as before.
    if extras and not foreign(extras, names, keys):
        for key in keys:
            fields.pop(key, None)
            fields.pop(f"extras_{key}", None)
        fields |= _own_fields(names, extras)
    if REVIEW_KEY in fields:
        fields[REVIEW_KEY] = _solr_date(fields[REVIEW_KEY])
    for key in [key for key, value in fields.items() if fields.get(f"extras_{key}") == value]:
        if len(str(fields[key]).encode("utf-8", "replace")) > _MAX_TERM:
            del fields[key]
    return fields


def _own_fields(names: FieldNames, extras: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a document by our extras."""
    found: dict[str, Any] = {
        names.due_date: extras.get(names.due),
        names.overdue_date: extras.get(names.overdue),
        names.delinquent_date: extras.get(names.delinquent),
        names.last_modified_date: extras.get(names.last_modified),
    }
    status = extras.get(names.status)
    if status in _GROUP_OF:
        found |= {names.status: status, names.group: _GROUP_OF[status]}
    if extras.get(names.undetermined):
        found[names.undetermined] = extras[names.undetermined]
    return found


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
        titles |= dict.fromkeys((site_names().group, site_names().status), tk._("Freshness"))
    return titles


def judged_extras(package_type: str | None) -> Sequence[str]:
    """Return our extras for packages of a type; none if packages of this type are not judged."""
    return own_extras(package_type or "dataset") if settings.is_judged(package_type) else ()
