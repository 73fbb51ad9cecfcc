"""What Solr holds about a dataset's freshness, and the status that a single dataset is shown with.

Searches, facets and lists use the stored status, so that a facet's count is the number of datasets that
it finds. Where one dataset is shown, its status is computed from its boundaries. ``now`` is an argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

import ckan.plugins.toolkit as tk

from .. import settings
from ..aging.status import Boundaries, Status, status_at
from ..dates import parse_date
from .assessing import own_keys
from .projection import KEYS

FIELD = "freshness"
UNDETERMINED_FIELD = "freshness_undetermined"
STATUSES = {status.value for status in Status}

_DATES = {
    "freshness_due_date": "freshness_due",
    "freshness_overdue_date": "freshness_overdue",
    "freshness_delinquent_date": "freshness_delinquent",
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
    for key in _own_keys(fields.get("type")):
        plain = fields.pop(key, None)
        ours[key] = fields.pop(f"extras_{key}", plain)
    if ours:
        fields |= {field: ours.get(extra) for field, extra in _DATES.items()}
    if ours.get("freshness") in STATUSES:
        fields[FIELD] = ours["freshness"]
    if ours.get("freshness_undetermined"):
        fields[UNDETERMINED_FIELD] = ours["freshness_undetermined"]
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
        titles[FIELD] = tk._("Freshness")
    return titles


def show_current(dataset: dict[str, Any], now: datetime) -> None:
    """Replace a dataset's stored status, wherever it stands, by the status that it has now.

    It stands among the extras, or in a field of its own if the site's schema shows it as one. A field that
    the schema declares for editors is the site's own and stays as it is.
    """
    places = dict(_places(dataset))
    due, overdue, delinquent = (
        parse_date(places[key][0][places[key][1]]) if key in places else None
        for key in _DATES.values()
    )
    if "freshness" not in places or due is None or overdue is None or delinquent is None:
        return
    holder, key = places["freshness"]
    status = status_at(Boundaries(due, overdue, delinquent), _exact(now)).value
    if holder[key] != status and "freshness" in _own_keys(dataset.get("type")):
        holder[key] = status


def _places(dataset: dict[str, Any]) -> Iterator[tuple[str, tuple[dict[str, Any], str]]]:
    """Where our values stand, by our names: a dict and the key in it."""
    for key in KEYS:
        if isinstance(dataset.get(key), str):
            yield key, (dataset, key)
    extras = dataset.get("extras")
    for extra in extras if isinstance(extras, list) else ():
        if extra.get("key") in KEYS:
            yield extra["key"], (extra, "value")


def _own_keys(package_type: str | None) -> Sequence[str]:
    """The extras of packages of a type that are ours; none where freshness is not judged."""
    kind = package_type or "dataset"
    return own_keys(kind) if kind in settings.dataset_types() else ()


def _exact(now: datetime) -> datetime:
    """Return a moment in UTC to the second, as boundaries are stored."""
    return now.astimezone(timezone.utc).replace(microsecond=0)
